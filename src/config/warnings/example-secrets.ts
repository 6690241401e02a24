// Secrets that the documentation prints, so anyone can know them. Operators may forget to replace them.
import { isLoopbackHost } from '../../base/loopback.ts'
import type { Bootstrap } from '../records/records.ts'

const EXAMPLES: ReadonlySet<string> = new Set([
  'a-good-password',
  'a-long-random-secret',
  'adminsecret',
  'another-random-secret',
  'appclientsecret',
  'change-me',
  'change-me-too',
  'koala',
])

/** Warnings about such secrets of clients and users, where others than this machine can reach the server. */
export function exampleSecretWarnings(
  { clients, users, identityZones }: Pick<Bootstrap, 'clients' | 'users' | 'identityZones'>,
  baseUrl: string,
): readonly string[] {
  if (isLoopbackHost(new URL(baseUrl).hostname)) return []
  const zones = [{ clients, users }, ...identityZones.map(({ bootstrap }) => bootstrap)]
  const isExample = (secret: unknown): boolean =>
    typeof secret === 'string' && (EXAMPLES.has(secret) || /^<.*>$/.test(secret)) // a placeholder
  return zones.flatMap(zone => [
    ...zone.clients.flatMap(client =>
      ['client_secret', 'secondary_client_secret']
        .filter(member => isExample(client[member]))
        .map(member => `client ${client.client_id}: ${member} ${IS_PRINTED}`),
    ),
    ...zone.users
      .filter(({ password }) => isExample(password))
      .map(({ userName }) => `user ${userName}: password ${IS_PRINTED}`),
  ])
}

const IS_PRINTED = 'is an example from the documentation, which is public: replace it'

// The stored audit trail in tests: servers that store it, auditors, and the results of verification.
import type { AuditReport } from '../../src/ops/audit/verify.ts'
import { verifyAuditTrail } from '../../src/ops/audit/verify.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import type { AuditPosition } from '../../src/model/audit/audit-entry.ts'
import type { TestServer } from './server.ts'
import { defaultBootstrap } from './server.ts'

/** An event as the API shows it. */
export interface ShownEvent {
  readonly number: number
  readonly time: string
  readonly type: string
  readonly outcome: string
  readonly principal: string
  readonly actor?: string
  readonly clientId?: string
  readonly remoteAddress?: string
  readonly requestId?: string
  readonly data?: string
  readonly hash: string
}

const machine = (id: string, authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

/** The default accounts, an auditor of each zone, and administrators. */
export const auditBootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'console',
      client_secret: 'console-secret',
      authorized_grant_types: ['password'],
      scope: ['clients.write', 'scim.write', 'scim.read'],
      authorities: ['svc.resource'],
    },
    machine('auditor', ['audit.read']),
    machine('root', ['svc.admin']),
    machine('guest', ['scim.read', 'clients.read', 'zones.z1.read']),
    machine('z1-admin', ['zones.z1.admin']),
    machine('z1-auditor', ['zones.z1.audit.read']),
    machine('z2-auditor', ['zones.z2.audit.read']),
  ],
  users: [
    ...defaultBootstrap.users,
    {
      userName: 'boss',
      password: 'marsupial',
      emails: [{ value: 'boss@example.org' }],
      groups: ['clients.write', 'scim.write', 'scim.read'],
    },
  ],
  identity_zones: ['z1', 'z2'].map(id => ({
    id,
    subdomain: id,
    name: id,
    bootstrap: { clients: [machine('auditor', ['audit.read']), machine('service', ['jobs.run'])] },
  })),
}

/** Configuration of a server that stores its audit trail. */
export const auditConfig = (audit: object = {}) => ({ bootstrap: auditBootstrap, audit: { enabled: true, ...audit } })

/** An access token of one of the clients of `auditBootstrap`. */
export async function machineToken(server: TestServer, id: string, host?: string): Promise<string> {
  const basic = [id, `${id}-secret`] as const
  const answer = await server.token(
    { grant_type: 'client_credentials' },
    { basic, ...(host !== undefined && { host }) },
  )
  return answer.json<{ access_token: string }>().access_token
}

/** The entries that an auditor reads. */
export async function eventsOf(
  server: TestServer,
  query: Readonly<Record<string, string>> = {},
  { id = 'auditor', host, headers }: { id?: string; host?: string; headers?: Record<string, string> } = {},
): Promise<readonly ShownEvent[]> {
  const bearer = await machineToken(server, id, host)
  const request = { query, bearer, ...(host !== undefined && { host }), ...(headers && { headers }) }
  return (await server.send('/audit/events', request)).json<{ events: ShownEvent[] }>().events
}

/** The hashes of every test server. */
export const testHashes = createVault(Buffer.alloc(32, 7), createRandom())

/** The result of verification, with everything that the server knows. */
export async function verified(
  server: TestServer,
  { zoneId = 'svc', expected }: { zoneId?: string; expected?: AuditPosition | undefined } = {},
): Promise<AuditReport> {
  await server.app.trail?.flush()
  return verifyAuditTrail(server.store.audit, testHashes, { zoneId, expected })
}

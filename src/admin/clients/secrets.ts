// Secrets of clients at rest: made, and compared with what somebody sent. Outside of any transaction, for it is slow.
import type { FastifyRequest } from 'fastify'
import type { Requester } from '../../base/fair-queue.ts'
import type { Passwords } from '../../base/passwords.ts'
import type { Random } from '../../base/random.ts'
import type { ClientSecret } from '../../model/client.ts'
import { isBlank } from '../../model/secret-policy.ts'

/** What making and comparing secrets needs. */
export interface SecretDeps {
  /** The queue of clients' secrets. */
  readonly clientSecrets: Passwords
  readonly random: Random
  /** Who asks; absent for the server itself. */
  readonly requester?: Requester
}

/** A new secret as it is kept. Its revision is new as well, so that tokens of the one it replaces die. */
export async function newSecret(
  secret: string,
  { clientSecrets, random, requester }: SecretDeps,
): Promise<ClientSecret> {
  const hash = await clientSecrets.hash(secret, requester)
  return { hash, revision: random.urlSafe(22), ...(isBlank(secret) && { empty: true }) }
}

/** Whether it is one of the secrets; takes as long where there are none. */
export async function isSecretOf(
  secrets: readonly ClientSecret[],
  secret: string,
  { clientSecrets, requester }: Pick<SecretDeps, 'clientSecrets' | 'requester'>,
): Promise<boolean> {
  if (secrets.length === 0) return clientSecrets.verifyNothing(secret, requester)
  for (const { hash } of secrets.toReversed()) if (await clientSecrets.verify(hash, secret, requester)) return true
  return false
}

/** The same for whoever sent the request. */
export const askedBy = <D extends SecretDeps>(deps: D, { zone, ip }: FastifyRequest): D & Required<SecretDeps> => ({
  ...deps,
  requester: { zoneId: zone.id, address: ip },
})

/** How many of a batch are hashed at a time: the queue is not the batch's alone. */
const AT_ONCE = 4

/** Does a slow work for each, a few at a time, and answers in their order. */
export async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))))
  }
  return results
}

import type { Clock } from '../base/clock.ts'
import { isAutoApproved } from '../model/scopes.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import type { VerifiedToken } from '../token/reader.ts'

/**
 * Those of a token's scopes for which the person's approval is missing, denied or expired: a token is worth its approvals.
 * None for a client's own token, and none where the person told the client the password, which approves everything.
 */
export async function unapprovedScopes(
  zone: Zone,
  { user, client, claims }: VerifiedToken,
  scopes: readonly string[],
  { store, clock }: { store: Store; clock: Clock },
): Promise<readonly string[]> {
  if (!user || claims['grant_type'] === 'password') return []
  const asked = scopes.filter(scope => !isAutoApproved(client, scope))
  if (asked.length === 0) return []
  const approvals = await store.approvals.list(zone.id, user.id, client.clientId, clock.now())
  const approved = new Set(approvals.filter(each => each.status === 'APPROVED').map(each => each.scope))
  return asked.filter(scope => !approved.has(scope))
}

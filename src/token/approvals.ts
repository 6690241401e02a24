import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { APPROVAL_SECONDS, isCurrent } from '../model/users/approval.ts'
import type { Client } from '../model/clients/client.ts'
import type { TokenGrantType } from '../model/clients/grant-types.ts'
import { isAutoApproved } from '../model/tokens/scopes.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { VerifiedToken } from './token-validity.ts'

/** A user who gives a client the password is not asked for approval; an exchange is approved by the rule of the client. */
const WITHOUT_APPROVAL: ReadonlySet<unknown> = new Set<TokenGrantType>([
  'password',
  'urn:ietf:params:oauth:grant-type:token-exchange',
])

/** The scopes without those that the user has denied the client, on the account page for example. */
export async function withoutDenied(
  zone: Zone,
  { user, client }: { readonly user: Pick<User, 'id'>; readonly client: Client },
  scopes: readonly string[],
  { store, clock }: { store: Store; clock: Clock },
): Promise<readonly string[]> {
  if (scopes.every(scope => isAutoApproved(client, scope))) return scopes
  const decided = await store.approvals.list(zone.id, user.id, client.clientId, clock.now())
  const denied = new Set(decided.filter(({ status }) => status === 'DENIED').map(({ scope }) => scope))
  return scopes.filter(scope => !denied.has(scope) || isAutoApproved(client, scope))
}

/**
 * Why the user's approvals do not cover these scopes (expired, missing or denied); undefined if they do.
 * A client's own token needs no approval, nor does one of these grants.
 */
export async function approvalProblem(
  zone: Zone,
  { user, client, claims }: Pick<VerifiedToken, 'user' | 'client' | 'claims'>,
  scopes: readonly string[],
  { store, clock }: { store: Store; clock: Clock },
): Promise<string | undefined> {
  if (!user || WITHOUT_APPROVAL.has(claims['grant_type'])) return undefined
  const asked = scopes.filter(scope => !isAutoApproved(client, scope))
  if (asked.length === 0) return undefined
  const now = clock.now()
  const approvals = await store.approvals.list(zone.id, user.id, client.clientId, addSeconds(now, -APPROVAL_SECONDS))
  const decided = approvals.filter(approval => asked.includes(approval.scope))
  if (decided.some(approval => !isCurrent(approval, now))) return 'Invalid token (approvals expired)'
  const approved = new Set(decided.filter(each => each.status === 'APPROVED').map(each => each.scope))
  const missing = asked.filter(scope => !approved.has(scope))
  if (missing.length === 0) return undefined
  return `Invalid token (some requested scopes are not approved): [${missing.join(', ')}]`
}

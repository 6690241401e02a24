import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { APPROVAL_SECONDS, isCurrent } from '../model/users/approval.ts'
import type { Client } from '../model/clients/client.ts'
import { TOKEN_EXCHANGE } from '../model/clients/grant-types.ts'
import type { TokenGrantType } from '../model/clients/grant-types.ts'
import { isAutoApproved } from '../model/tokens/scopes.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { VerifiedToken } from './token-validity.ts'

const PASSWORD: TokenGrantType = 'password'

/**
 * The client whose approvals a token of a user needs; undefined if it needs none. A user who gives a client the password is not
 * asked. An exchange is approved by the rule of the client, but what the user withdraws from the client of the first token is
 * withdrawn from all that it was exchanged for.
 */
export function approvedClientOf({ client, claims }: Pick<VerifiedToken, 'client' | 'claims'>): string | undefined {
  const { grant_type: grantType, approved_client: first } = claims
  if (grantType === PASSWORD) return undefined
  if (grantType !== TOKEN_EXCHANGE) return client.clientId
  return typeof first === 'string' ? first : undefined
}

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
 * Why the user's approvals do not cover these scopes (expired, missing or denied); undefined if they do. A client's own token
 * needs no approval.
 */
export async function approvalProblem(
  zone: Zone,
  { user, client, claims }: Pick<VerifiedToken, 'user' | 'client' | 'claims'>,
  scopes: readonly string[],
  { store, clock }: { store: Store; clock: Clock },
): Promise<string | undefined> {
  const clientId = approvedClientOf({ client, claims })
  if (!user || clientId === undefined) return undefined
  const approved = clientId === client.clientId ? client : await store.clients.find(zone.id, clientId)
  const asked = scopes.filter(scope => !approved || !isAutoApproved(approved, scope))
  if (asked.length === 0) return undefined
  const now = clock.now()
  const approvals = await store.approvals.list(zone.id, user.id, clientId, addSeconds(now, -APPROVAL_SECONDS))
  const decided = approvals.filter(approval => asked.includes(approval.scope))
  if (decided.some(approval => !isCurrent(approval, now))) return 'Invalid token (approvals expired)'
  const given = new Set(decided.filter(each => each.status === 'APPROVED').map(each => each.scope))
  const missing = asked.filter(scope => !given.has(scope))
  if (missing.length === 0) return undefined
  return `Invalid token (some requested scopes are not approved): [${missing.join(', ')}]`
}

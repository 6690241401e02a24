// Whether a token that this server issued is valid now: its kind, expiry and revocation, that client, user and scopes are what
// they were, and that the client that presents it is the one it is bound to.
import type { Clock } from '../base/clock.ts'
import { isJsonRecord, stringsIn } from '../base/json.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { AddressedZone, TokenPresentation } from '../model/request.ts'
import { hasRequiredGroups, lacksRequiredGroup, lostScopes } from '../model/tokens/scopes.ts'
import type { UserGroups } from '../model/tokens/scopes.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'
import { approvalProblem } from './approvals.ts'
import { scopesOf } from './claims.ts'
import type { Claims } from './claims.ts'
import { isCurrentSignature } from './revocation-signature.ts'
import type { Senders } from './sender/sender.ts'
import { GONE, refuseToken, shown } from './token-refusals.ts'

/** A valid token. */
export interface VerifiedToken {
  readonly claims: Claims
  readonly client: Client
  /** Absent for a token of the client itself. */
  readonly user?: User
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  readonly expiresAt: Date
  /** The row of an opaque or revocable token. */
  readonly stored?: StoredToken
}

/** The expected kind of token. */
export type Expected = 'access_token' | 'refresh_token'

/** The claims, and the row of an opaque or revocable token. */
interface Held {
  readonly claims: Claims
  readonly stored?: StoredToken | undefined
}

/** Refuses a token that is not valid; its signature was checked before. */
type TokenValidity = (
  held: Held,
  expected: Expected,
  by: { readonly presentation: TokenPresentation; readonly token: string },
) => Promise<VerifiedToken>

/** Dependencies of `createTokenValidity`. */
export interface ValidityDeps {
  readonly store: Store
  readonly clock: Clock
  readonly urls: Urls
  readonly senders: Senders
  readonly behaviour: Pick<Behaviour, 'ownApisNeedApproval'>
  /** Injected, so that this folder does not depend on groups. */
  readonly groupsOf: (zone: AddressedZone, user: User) => Promise<UserGroups>
}

/** Does not name the token's id: the id of an opaque token is the token itself. */
const REVOKED = 'The token has been revoked'

/** One instance serves every zone. */
export function createTokenValidity(deps: ValidityDeps): TokenValidity {
  const { store, clock, urls, senders, behaviour } = deps

  async function checkSubject(
    zone: AddressedZone,
    claims: Claims,
    { client, isOpaque }: { readonly client: Client; readonly isOpaque: boolean },
  ): Promise<User | undefined> {
    const userId = claims['user_id']
    if (userId === undefined) {
      if (!isCurrentSignature(String(claims['rev_sig']), client, undefined)) {
        throw refuseToken('token-outdated', 'revocable signature mismatch')
      }
      return undefined
    }
    if (typeof userId !== 'string') throw refuseToken('token-malformed', 'The token is malformed.')
    const user = await store.users.findWithGroups(zone.id, userId)
    if (!user?.active || (await store.providers.isBeingDeleted(zone.id, user.origin))) {
      // The holder of an opaque token may not know whose it is.
      throw refuseToken('unknown-user', `Token bears a non-existent user ID${isOpaque ? '' : `: ${userId}`}`)
    }
    if (!isCurrentSignature(String(claims['rev_sig']), client, user)) {
      throw refuseToken('token-outdated', 'revocable signature mismatch')
    }
    return user
  }

  /**
   * The clients that an exchanged token came through. It ends when all tokens of one of them end, for example by a new secret.
   */
  async function exchangersOf(
    zone: AddressedZone,
    { exchanged_from: from }: Claims,
    user: User | undefined,
  ): Promise<readonly Client[]> {
    if (from === undefined || !user) return []
    const clients: Client[] = []
    if (!isJsonRecord(from)) throw refuseToken('token-malformed', 'The token is malformed.')
    for (const [clientId, signature] of Object.entries(from)) {
      const client = await store.clients.find(zone.id, clientId)
      if (!client || !isCurrentSignature(String(signature), client, user)) {
        throw refuseToken('token-outdated', 'revocable signature mismatch')
      }
      clients.push(client)
    }
    return clients
  }

  /** Whether the client, or for a user each of the clients that the token came through, would still get these scopes. */
  async function checkScopes(
    zone: AddressedZone,
    scopes: readonly string[],
    { client, exchangers, user }: { client: Client; exchangers: readonly Client[]; user: User | undefined },
  ): Promise<void> {
    if (!user) {
      const lost = scopes.filter(scope => !client.authorities.includes(scope))
      if (lost.length > 0) throw refuseToken('token-scopes', `Some required "scope" are missing: [${lost.join(', ')}]`)
      return
    }
    const held = await deps.groupsOf(zone, user)
    for (const each of [client, ...exchangers]) {
      const lost = lostScopes(scopes, { client: each }, held)
      if (lost.length > 0) throw refuseToken('token-scopes', `Some required "scope" are missing: [${lost.join(', ')}]`)
      if (!hasRequiredGroups(each, held.groups)) throw lacksRequiredGroup('invalid_token')
    }
  }

  return async (held, expected, { presentation, token }) => {
    const { claims, stored } = held
    const { zone } = presentation
    if (claims['revocable'] === true && !stored) throw refuseToken('token-unknown', REVOKED)
    checkKind(claims, stored, expected)
    const expiresAt = expiryOf(claims, expected, clock.now())
    const client = await store.clients.find(zone.id, String(claims['client_id']))
    if (!client)
      throw refuseToken(
        'unknown-client',
        `The token refers to a non-existent client: ${shown(String(claims['client_id']))}`,
      )
    // A refresh token is compared by its grant, with what the token request proved.
    if (expected === 'access_token') await senders.check(presentation, { token, cnf: claims['cnf'], client })
    if (expected === 'access_token' && !('inspected' in presentation) && isForOthersOnly(zone, claims, urls)) {
      throw refuseToken('token-audience', 'The token is for another resource')
    }
    if (await isRevoked(zone, held, store)) throw refuseToken('token-revoked', REVOKED)
    const user = await checkSubject(zone, claims, { client, isOpaque: stored?.format === 'opaque' })
    const exchangers = await exchangersOf(zone, claims, user)
    const scopes = scopesOf(claims, expected)
    if (expected === 'access_token') await checkScopes(zone, scopes, { client, exchangers, user })
    if (expected === 'access_token' && !('inspected' in presentation) && behaviour.ownApisNeedApproval) {
      const unapproved = await approvalProblem(zone, { claims, client, ...(user && { user }) }, scopes, deps)
      if (unapproved !== undefined) throw refuseToken('approval-missing', unapproved)
    }
    return {
      claims,
      client,
      ...(user && { user }),
      scopes,
      audience: stringsIn(claims['aud']),
      expiresAt,
      ...(stored && { stored }),
    }
  }
}

function checkKind(claims: Claims, stored: StoredToken | undefined, expected: Expected): void {
  const isRefresh = String(claims['jti']).endsWith('-r')
  if (isRefresh !== (expected === 'refresh_token') || (stored && stored.kind !== expected)) {
    throw refuseToken('token-kind', expected === 'refresh_token' ? 'Invalid refresh token.' : GONE)
  }
}

/** Refuses an expired token, and one without a usable `exp`. */
function expiryOf(claims: Claims, expected: Expected, now: Date): Date {
  const expiresAt = new Date(Number(claims['exp']) * 1000)
  // False for an invalid date, too.
  if (expiresAt > now) return expiresAt
  const kind = expected === 'refresh_token' ? 'refresh token expired' : 'access token: expired'
  throw refuseToken(
    'token-expired',
    `Invalid ${kind} at ${Number.isNaN(expiresAt.getTime()) ? 'an unknown time' : expiresAt.toISOString()}`,
  )
}

/**
 * Whether a token names only others as its audience. It is not for our own endpoints (RFC 8707 §2.2): a server that received
 * it must not be able to use it here. Other tokens have their client among them.
 */
export function isForOthersOnly(zone: AddressedZone, { aud, client_id: clientId }: Claims, urls: Urls): boolean {
  const audience = stringsIn([aud].flat())
  if (aud === undefined || (typeof clientId === 'string' && audience.includes(clientId))) return false
  return !urls.addressesOf(zone).some(address => audience.includes(address))
}

/** A stored token is revoked by deleting its row; revocations of plain JWTs, of whole grants and of sessions are stored. */
export async function isRevoked(zone: AddressedZone, { claims, stored }: Held, store: Store): Promise<boolean> {
  // Without `grant_id` in the claims, read it from the row, which may have been inserted just after the revocation.
  const grantId = typeof claims['grant_id'] === 'string' ? claims['grant_id'] : stored?.grantId
  // Refresh and ID tokens have one: an ended session revokes those that are not stored, or not yet.
  const sid = typeof claims['sid'] === 'string' ? claims['sid'] : undefined
  if (stored) {
    const tokenId = sid ?? grantId
    return tokenId !== undefined && store.tokens.isRevoked(zone.id, { grantId, tokenId })
  }
  const isOne = await store.tokens.isRevoked(zone.id, { grantId, tokenId: String(claims['jti']) })
  return isOne || (sid !== undefined && store.tokens.isRevoked(zone.id, { grantId: undefined, tokenId: sid }))
}

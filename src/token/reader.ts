// Validates tokens that this server issued: signature or row, zone, expiry and revocation. The only place that does, for
// userinfo, introspection, refresh and every bearer-protected route.
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import type { Clock } from '../base/clock.ts'
import { isJsonRecord, stringsIn } from '../base/json.ts'
import { digest } from '../base/secrets.ts'
import type { TokenKind } from '../model/tokens/authorization.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { descriptionText, OAuthError } from '../model/oauth-error.ts'
import { hasRequiredGroups, lacksRequiredGroup, lostScopes } from '../model/tokens/scopes.ts'
import type { Rule } from '../model/rules.ts'
import type { UserGroups } from '../model/tokens/scopes.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/users/user.ts'
import type { AddressedZone, TokenPresentation } from '../model/request.ts'
import type { Store } from '../store/store.ts'
import { approvalProblem } from './approvals.ts'
import { scopesOf } from './claims.ts'
import type { Claims } from './claims.ts'
import type { KeyRing } from './keys.ts'
import { isCurrentSignature } from './revocation-signature.ts'
import type { Senders } from './sender/sender.ts'
import { kindOf } from './token-kind.ts'
import type { Verifications } from './verifications.ts'

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

/** A token that this server issued; it may be expired or revoked. */
export interface IssuedToken {
  readonly kind: TokenKind
  readonly claims: Claims
  readonly expiresAt: Date
  /** The row of an opaque or revocable token, as long as there is one. */
  readonly stored?: StoredToken
}

/** The expected kind of token. */
type Expected = 'access_token' | 'refresh_token'

/** Verifies tokens; every refusal is an `invalid_token`. */
export interface TokenReader {
  /**
   * Checks signature or row, issuer, expiry, revocation, that client, user and scopes are still valid, and that the client that
   * presents an access token is the one it is bound to.
   */
  read(request: TokenPresentation, token: string, expected?: Expected): Promise<VerifiedToken>
  /** Checks the rest of what `read` does, but not who presents the token; for what `readIssued` has read. */
  verifyIssued(
    zone: AddressedZone,
    issued: Pick<IssuedToken, 'claims' | 'stored'>,
    expected: Expected,
  ): Promise<VerifiedToken>
  /** Checks only signature or row, and issuer, for revocation (RFC 7009 §2.1): an unusable token may become usable again. */
  readIssued(zone: AddressedZone, token: string): Promise<IssuedToken>
  /** Checks only signature and issuer of an ID token: a logout hint may be expired (RP-Initiated Logout §4). */
  readHint(zone: AddressedZone, idToken: string): Promise<Claims>
}

/** A JWT longer than this is refused before it is parsed. */
const MAX_TOKEN_LENGTH = 32_768

const refuse = (rule: Rule, description: string, detail?: string): OAuthError =>
  new OAuthError('invalid_token', description, detail === undefined ? { rule } : { rule, detail })

/** Does not name the token's id: the id of an opaque token is the token itself. */
const REVOKED = 'The token has been revoked'

const GONE = 'The token expired, was revoked, or the token ID is incorrect.'

/** `groupsOf` is injected, so that this folder does not depend on groups. */
export function createTokenReader(deps: {
  store: Store
  keys: KeyRing
  clock: Clock
  urls: Urls
  senders: Senders
  verifications: Verifications
  behaviour: Pick<Behaviour, 'ownApisNeedApproval'>
  groupsOf: (zone: AddressedZone, user: User) => Promise<UserGroups>
}): TokenReader {
  const { store, keys, clock, urls, senders, verifications, behaviour } = deps

  async function verifySignature(zone: AddressedZone, token: string): Promise<{ claims: Claims; type: unknown }> {
    const header = protectedHeader(token)
    if (typeof header.kid !== 'string') throw refuse('token-key', 'kid claim not found in JWT token header')
    const key = await keys.find(zone.id, header.kid)
    if (!key) {
      const description = `Token header claim [kid] references unknown signing key : [${shown(header.kid)}]`
      throw refuse('token-key', description)
    }
    try {
      // The key's own algorithm and no other: neither "none" nor HS256 over a public key gets past this line.
      const verify = () => compactVerify(token, key.verifyKey, { algorithms: [key.algorithm] })
      const { payload } = await verifications.inTurn(zone.id, verify)
      return { claims: parseClaims(payload), type: header.typ }
    } catch (cause) {
      if (cause instanceof OAuthError) throw cause
      throw new OAuthError('invalid_token', 'Could not verify token signature.', {
        rule: 'token-signature',
        cause,
      })
    }
  }

  function checkIssuer(zone: AddressedZone, claims: Claims): void {
    const issuers = urls.issuersOf(zone)
    const [expected] = issuers
    if (!issuers.some(issuer => issuer === claims['iss'])) {
      throw refuse(
        'token-issuer',
        `Invalid issuer (${shown(String(claims['iss']))}) for token did not match expected: ${expected}`,
      )
    }
  }

  async function readJwt(
    zone: AddressedZone,
    token: string,
    expected: Expected,
  ): Promise<[Claims, StoredToken | undefined]> {
    const { claims, type } = await verifySignature(zone, token)
    checkIssuer(zone, claims)
    if (expected === 'access_token' && kindOf(claims, type) === 'id_token') {
      throw refuse('token-kind', 'Invalid access token', 'an ID token is not an access token') // RFC 8725 §3.11
    }
    if (claims['revocable'] !== true) return [claims, undefined]
    return [claims, await store.tokens.find(zone.id, digest(String(claims['jti'])))]
  }

  async function readOpaque(zone: AddressedZone, token: string): Promise<[Claims, StoredToken]> {
    const stored = await store.tokens.find(zone.id, digest(token))
    if (!stored || stored.format !== 'opaque') throw refuse('token-unknown', GONE)
    return [{ ...stored.claims, jti: token }, stored]
  }

  /**
   * A token that names only others as its audience is not for our own endpoints (RFC 8707 §2.2): a server that received it must
   * not be able to use it here. Other tokens have their client among them.
   */
  function requireOwn(zone: AddressedZone, { aud, client_id: clientId }: Claims): void {
    const audience = stringsIn([aud].flat())
    if (aud === undefined || (typeof clientId === 'string' && audience.includes(clientId))) return
    if (urls.addressesOf(zone).some(address => audience.includes(address))) return
    throw refuse('token-audience', 'The token is for another resource')
  }

  /** A stored token is revoked by deleting its row; revocations of plain JWTs and of whole grants are stored. */
  async function isRevoked(zone: AddressedZone, claims: Claims, stored: StoredToken | undefined): Promise<boolean> {
    // Without `grant_id` in the claims, read it from the row, which may have been inserted just after the revocation.
    const grantId = typeof claims['grant_id'] === 'string' ? claims['grant_id'] : stored?.grantId
    // Of refresh tokens: a session that was ended revokes those that are not stored, or not yet.
    const sid = typeof claims['sid'] === 'string' ? claims['sid'] : undefined
    if (stored) {
      const tokenId = sid ?? grantId
      return tokenId !== undefined && store.tokens.isRevoked(zone.id, { grantId, tokenId })
    }
    const isOne = await store.tokens.isRevoked(zone.id, { grantId, tokenId: String(claims['jti']) })
    return isOne || (sid !== undefined && store.tokens.isRevoked(zone.id, { grantId: undefined, tokenId: sid }))
  }

  async function checkSubject(
    zone: AddressedZone,
    claims: Claims,
    { client, isOpaque }: { readonly client: Client; readonly isOpaque: boolean },
  ): Promise<User | undefined> {
    const userId = claims['user_id']
    if (userId === undefined) {
      if (!isCurrentSignature(String(claims['rev_sig']), client, undefined))
        throw refuse('token-outdated', 'revocable signature mismatch')
      return undefined
    }
    if (typeof userId !== 'string') throw refuse('token-malformed', 'The token is malformed.')
    const user = await store.users.findWithGroups(zone.id, userId)
    if (!user?.active || (await store.providers.isBeingDeleted(zone.id, user.origin))) {
      // The holder of an opaque token may not know whose it is.
      throw refuse('unknown-user', `Token bears a non-existent user ID${isOpaque ? '' : `: ${userId}`}`)
    }
    if (!isCurrentSignature(String(claims['rev_sig']), client, user))
      throw refuse('token-outdated', 'revocable signature mismatch')
    return user
  }

  async function checkScopes(
    zone: AddressedZone,
    client: Client,
    user: User | undefined,
    scopes: readonly string[],
  ): Promise<void> {
    if (!user) {
      const lost = scopes.filter(scope => !client.authorities.includes(scope))
      if (lost.length > 0) throw refuse('token-scopes', `Some required "scope" are missing: [${lost.join(', ')}]`)
      return
    }
    const held = await deps.groupsOf(zone, user)
    const lost = lostScopes(client, held, scopes)
    if (lost.length > 0) throw refuse('token-scopes', `Some required "scope" are missing: [${lost.join(', ')}]`)
    if (!hasRequiredGroups(client, held.groups)) throw lacksRequiredGroup('invalid_token')
  }

  /** Everything but the signature. */
  async function verify(
    { claims, stored }: { readonly claims: Claims; readonly stored?: StoredToken | undefined },
    expected: Expected,
    { presentation, token }: { readonly presentation: TokenPresentation; readonly token: string },
  ): Promise<VerifiedToken> {
    const { zone } = presentation
    if (claims['revocable'] === true && !stored) throw refuse('token-unknown', REVOKED)
    const isRefresh = String(claims['jti']).endsWith('-r')
    if (isRefresh !== (expected === 'refresh_token') || (stored && stored.kind !== expected)) {
      throw refuse('token-kind', expected === 'refresh_token' ? 'Invalid refresh token.' : GONE)
    }
    const expiresAt = new Date(Number(claims['exp']) * 1000)
    // Written so that a token without a usable `exp` is refused as well.
    if (!(expiresAt > clock.now())) {
      const kind = expected === 'refresh_token' ? 'refresh token expired' : 'access token: expired'
      throw refuse(
        'token-expired',
        `Invalid ${kind} at ${Number.isNaN(expiresAt.getTime()) ? 'an unknown time' : expiresAt.toISOString()}`,
      )
    }
    // A refresh token is compared by its grant, with what the token request proved.
    if (expected === 'access_token') await senders.check(presentation, token, claims['cnf'])
    const client = await store.clients.find(zone.id, String(claims['client_id']))
    if (!client)
      throw refuse('unknown-client', `The token refers to a non-existent client: ${shown(String(claims['client_id']))}`)
    if (expected === 'access_token' && !('inspected' in presentation)) requireOwn(zone, claims)
    if (await isRevoked(zone, claims, stored)) throw refuse('token-revoked', REVOKED)
    const user = await checkSubject(zone, claims, { client, isOpaque: stored?.format === 'opaque' })
    const scopes = scopesOf(claims, expected)
    if (expected === 'access_token') await checkScopes(zone, client, user, scopes)
    if (expected === 'access_token' && !('inspected' in presentation) && behaviour.ownApisNeedApproval) {
      const unapproved = await approvalProblem(zone, { claims, client, ...(user && { user }) }, scopes, deps)
      if (unapproved !== undefined) throw refuse('approval-missing', unapproved)
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

  return {
    async read(presentation, token, expected = 'access_token') {
      const { zone } = presentation
      if (token.length > MAX_TOKEN_LENGTH) throw refuse('token-too-long', 'The token is too long.')
      const [claims, stored] = isJwt(token) ? await readJwt(zone, token, expected) : await readOpaque(zone, token)
      return verify({ claims, stored }, expected, { presentation, token })
    },

    verifyIssued: (zone, issued, expected) =>
      verify(issued, expected, { presentation: { zone, inspected: true }, token: '' }),

    async readIssued(zone, token) {
      if (token.length > MAX_TOKEN_LENGTH) throw refuse('token-too-long', 'The token is too long.')
      if (!isJwt(token)) {
        const [claims, stored] = await readOpaque(zone, token)
        return { kind: stored.kind, claims, expiresAt: stored.expiresAt, stored }
      }
      const { claims, type } = await verifySignature(zone, token)
      checkIssuer(zone, claims)
      const stored =
        claims['revocable'] === true ? await store.tokens.find(zone.id, digest(String(claims['jti']))) : undefined
      return {
        kind: kindOf(claims, type),
        claims,
        expiresAt: new Date(Number(claims['exp']) * 1000),
        ...(stored && { stored }),
      }
    },

    async readHint(zone, idToken) {
      if (idToken.length > MAX_TOKEN_LENGTH || !isJwt(idToken))
        throw refuse('token-kind', 'The hint is not an ID token.')
      const { claims, type } = await verifySignature(zone, idToken)
      checkIssuer(zone, claims)
      if (kindOf(claims, type) !== 'id_token' || type !== 'JWT' || claims['events'] !== undefined) {
        throw refuse('token-kind', 'The hint is not an ID token.')
      }
      return claims
    },
  }
}

const isJwt = (token: string): boolean => token.split('.').length === 3

/** Shortens input that a description repeats. */
const shown = (text: string): string => descriptionText(text.slice(0, 200))

function protectedHeader(token: string): { kid?: unknown; typ?: unknown } {
  try {
    return decodeProtectedHeader(token)
  } catch (cause) {
    throw new OAuthError('invalid_token', 'The token is malformed.', { rule: 'token-malformed', cause })
  }
}

function parseClaims(payload: Uint8Array): Claims {
  const value: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
  if (!isJsonRecord(value)) throw refuse('token-malformed', 'The token is malformed.')
  return value
}

// The only file that issues tokens, from an `Authorization`. Does not decide who gets which scope.
import { hash } from 'node:crypto'
import { addSeconds } from '../base/clock.ts'
import { digest } from '../base/secrets.ts'
import type { Authorization } from '../model/tokens/authorization.ts'
import { demandsOn } from '../model/clients/client-demands.ts'
import type { Client } from '../model/clients/client.ts'
import type { Audit } from '../model/audit/event.ts'
import type { SigningAlgorithm } from '../model/tokens/signing-key.ts'
import type { TokenFormat } from '../model/tokens/token.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { AccessTokenType } from '../records/client.ts'
import type { Store } from '../store/store.ts'
import { refreshTokenClaims } from './claims.ts'
import type { Claims, Facts } from './claims.ts'
import { hashOf } from './keys/jws-algorithms.ts'
import type { KeyRing } from './keys/keys.ts'
import type { SigningKey } from './keys/zone-key.ts'
import { clientKey, signable, tokenKey } from './keys/key-choice.ts'
import { maxRefreshTokens, refreshTokenSeconds } from './lifetimes.ts'
import { idBarrier, plannedAccessClaims, plannedIdClaims, planTokens, refreshBarrier } from './plan.ts'
import type { PlanDeps, TokenPlan } from './plan.ts'
import type { RequestContext } from '../model/request.ts'

/** The JSON response of the token endpoint (RFC 6749 §5.1). */
export interface TokenResponse {
  /** Null for a grant that issues only a refresh token. */
  readonly access_token: string | null
  /** `DPoP` for a token that is used with proofs of a key (RFC 9449 §5). */
  readonly token_type: 'bearer' | 'DPoP'
  readonly id_token?: string | undefined
  readonly refresh_token?: string | undefined
  /** For an exchange (RFC 8693 §2.2.1). */
  readonly issued_token_type?: string | undefined
  /** Seconds until the access token expires. */
  readonly expires_in: number
  readonly scope: string
  /** Id of the access token, or of the refresh token if it is the only one. */
  readonly jti: string
  /** UAA: repeated from the request. See docs/compatibility.md, C5. */
  readonly nonce?: string | undefined
  readonly az_attr?: Readonly<Record<string, string>> | undefined
}

/** Issues the tokens of an authorization. */
export interface TokenIssuer {
  issue(authorization: Authorization, request: RequestContext): Promise<TokenResponse>
}

/** Whether each refresh rotates the refresh token: required by the zone or for public clients. */
export const rotatesRefreshTokens = (zone: Zone, client: Client): boolean =>
  (zone.config.tokenPolicy?.refreshTokenRotate === true || client.allowPublic === true) &&
  !demandsOn(zone, client).keepsRefreshToken

/**
 * The `typ` of JWT access tokens: the client's setting, then the zone's, then `JWT`. Widely used resource servers refuse
 * the `at+jwt` of RFC 9068 §2.1 unless configured for it (row T7).
 */
const accessTokenType = (zone: Zone, client: Client): AccessTokenType =>
  client.accessTokenType ?? zone.config.tokenPolicy?.accessTokenType ?? 'JWT'

interface IssuerDeps extends PlanDeps {
  readonly store: Store
  readonly keys: KeyRing
  readonly audit: Audit
}

/** Stores opaque, revocable and refresh tokens before it returns; a plain JWT needs no write. */
export function createTokenIssuer(deps: IssuerDeps): TokenIssuer {
  return { issue: (authorization, { remoteAddress }) => issueTokens(authorization, remoteAddress, deps) }
}

async function issueTokens(
  authorization: Authorization,
  remoteAddress: RequestContext['remoteAddress'],
  deps: IssuerDeps,
): Promise<TokenResponse> {
  const { audit, behaviour, keys, store } = deps
  const { client, zone, subject, scopes, tokens } = authorization
  const user = subject.kind === 'user' ? subject.user : undefined
  const plan = planTokens(authorization, deps)
  const { facts, seconds } = plan
  const key = await signable(tokenKey({ zone, client, keys }), behaviour)
  const wantsRefresh = refreshBarrier(authorization, deps) === undefined
  const wantsId = idBarrier(authorization) === undefined
  const access = tokens.includes('access_token')
    ? issueAccessToken(plan, key, deps)
    : Promise.resolve<string | null>(null)
  const refresh = wantsRefresh ? issueRefreshToken(authorization, { facts, key }, deps) : undefined
  // Concurrent, so that the rows of both tokens share a transaction; the ID token contains the access token's hash.
  const [accessToken, refreshToken, idToken] =
    wantsRefresh || wantsId
      ? await Promise.all([
          access,
          refresh,
          wantsId ? access.then(token => signIdToken(plan, token, deps)) : undefined,
        ]).catch(async (cause: unknown) => {
          const made = await refresh?.catch(() => undefined) // fails with the same error
          if (made?.isNew) await store.tokens.delete(zone.id, digest(made.tokenId)) // it was never returned to a client
          throw cause
        })
      : [await access]
  if (refreshToken?.isNew) await limitRefreshTokens(authorization, refreshToken.tokenId, deps)
  const scope = scopes.join(' ')
  audit({
    type: 'TokenIssuedEvent',
    zoneId: zone.id,
    principal: user?.id ?? client.clientId,
    clientId: client.clientId,
    remoteAddress,
    data: JSON.stringify(scopes),
  })
  return {
    access_token: accessToken,
    token_type: authorization.confirmation?.jkt === undefined ? 'bearer' : 'DPoP',
    issued_token_type: authorization.issuedTokenType,
    id_token: idToken,
    refresh_token: refreshToken?.value,
    expires_in: Math.max(0, seconds - behaviour.expiresInLag),
    scope,
    jti: accessToken === null ? (refreshToken?.tokenId ?? facts.tokenId) : facts.tokenId,
    nonce: behaviour.ignoreTokenNonce ? undefined : authorization.nonce,
    az_attr: authorization.azAttr,
  }
}

async function issueRefreshToken(
  authorization: Authorization,
  { facts, key }: { readonly facts: Facts; readonly key: SigningKey },
  deps: IssuerDeps,
): Promise<{ readonly value: string; readonly tokenId: string; readonly isNew: boolean }> {
  const { random, service } = deps
  const { client, zone, refreshed } = authorization
  if (refreshed && !refreshed.rotate) return { value: refreshed.value, tokenId: '', isNew: false }
  const policy = zone.config.tokenPolicy
  const isOpaque = authorization.format === 'opaque' || facts.pairwiseSubject !== undefined
  const format: TokenFormat = isOpaque ? 'opaque' : (policy?.refreshTokenFormat ?? 'opaque')
  const isCounted = maxRefreshTokens(zone, client) !== undefined || rotatesRefreshTokens(zone, client)
  const stored = format === 'opaque' || policy?.jwtRevocable === true || isCounted
  const refreshFacts: Facts = {
    ...facts,
    tokenId: `${random.hex(16)}-r`,
    issuedAt: refreshed?.issuedAt ?? facts.issuedAt, // rotation does not extend the lifetime (RFC 9700 §4.14.2)
    expiresAt: refreshed?.expiresAt ?? addSeconds(facts.issuedAt, refreshTokenSeconds(zone, client)),
  }
  const grantedScopes = refreshed?.grantedScopes ?? authorization.scopes
  const claims = refreshTokenClaims(refreshFacts, {
    grantedScopes,
    noneScope: service.scope('none'),
    revocable: stored,
  })
  const { tokenId } = refreshFacts
  const value = format === 'opaque' ? tokenId : await key.sign('JWT', claims, keyUrl(authorization, deps))
  if (stored) await storeToken(authorization, { facts: refreshFacts, kind: 'refresh_token', format, claims }, deps)
  return { value, tokenId, isNew: true }
}

/** Deletes the oldest tokens beyond the limit. Runs last, so that an earlier failure leaves one too many rather than none. */
async function limitRefreshTokens(
  { zone, client, subject }: Authorization,
  tokenId: string,
  { store }: IssuerDeps,
): Promise<void> {
  const max = maxRefreshTokens(zone, client)
  if (max === undefined || subject.kind !== 'user') return
  const pair = { clientId: client.clientId, userId: subject.user.id }
  await store.tokens.deleteRefreshTokens(zone.id, { ...pair, kept: digest(tokenId), others: max - 1 })
}

async function issueAccessToken(plan: TokenPlan, key: SigningKey, deps: IssuerDeps): Promise<string> {
  const { facts, format, isRevocable } = plan
  const { authorization } = facts
  const claims = plannedAccessClaims(plan, deps)
  const type = accessTokenType(authorization.zone, authorization.client)
  const signed = format === 'opaque' ? facts.tokenId : key.sign(type, claims, keyUrl(authorization, deps))
  if (!isRevocable) return signed
  const [token] = await Promise.all([
    signed,
    storeToken(authorization, { facts, kind: 'access_token', format, claims }, deps),
  ])
  return token
}

function storeToken(
  { zone, client, subject, grantId }: Authorization,
  {
    facts,
    kind,
    format,
    claims,
  }: {
    readonly facts: Facts
    readonly kind: 'access_token' | 'refresh_token'
    readonly format: TokenFormat
    readonly claims: Claims
  },
  { store }: IssuerDeps,
): Promise<void> {
  return store.tokens.insert(zone.id, {
    zoneId: zone.id,
    idDigest: digest(facts.tokenId),
    kind,
    format,
    clientId: client.clientId,
    ...(subject.kind === 'user' && { userId: subject.user.id }),
    ...(grantId !== undefined && { grantId }),
    claims: format === 'opaque' ? { ...claims, jti: undefined } : claims, // the id of an opaque token is the token
    issuedAt: facts.issuedAt,
    expiresAt: facts.expiresAt,
  })
}

async function signIdToken(plan: TokenPlan, accessToken: string | null, deps: IssuerDeps): Promise<string> {
  const { authorization } = plan.facts
  const { code, state, zone, client } = authorization
  const key = await signable(clientKey('id_token', { zone, client, keys: deps.keys }), deps.behaviour)
  const hashes = {
    accessTokenHash: accessToken === null ? undefined : leftHalf(accessToken, key.algorithm),
    codeHash: code === undefined ? undefined : leftHalf(code, key.algorithm),
    stateHash: state === undefined ? undefined : leftHalf(state, key.algorithm),
  }
  return key.sign('JWT', plannedIdClaims(plan, hashes, deps), keyUrl(authorization, deps))
}

/** UAA: names the key document in the header, always with https. See docs/compatibility.md, T7. */
function keyUrl(
  { zone }: Authorization,
  { urls, behaviour }: IssuerDeps,
): Readonly<Record<string, string>> | undefined {
  if (behaviour.standardAccessTokens) return undefined
  return { jku: `${urls.atBaseHost(zone).replace(/^http:/, 'https:')}/token_keys` }
}

/** The left half of a hash, base64url: at_hash and c_hash (OpenID Connect Core §3.1.3.6), s_hash (FAPI 1.0 Advanced §5.1). */
export function leftHalf(value: string, algorithm: SigningAlgorithm): string {
  const whole = hash(hashOf(algorithm), value, 'buffer')
  return whole.subarray(0, whole.length / 2).toString('base64url')
}

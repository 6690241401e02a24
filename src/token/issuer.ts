// The only file that issues tokens, from an `Authorization`. Does not decide who gets which scope.
import { hash } from 'node:crypto'
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import type { Authorization } from '../model/authorization.ts'
import { demandsOn } from '../model/client-demands.ts'
import type { Client } from '../model/client.ts'
import { mayUseGrant } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/event.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import type { TokenSettings } from '../model/settings.ts'
import type { SigningAlgorithm } from '../model/signing-key.ts'
import type { TokenFormat } from '../model/token.ts'
import type { Subjects } from '../model/subject.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import type { AccessTokenType } from '../records/client.ts'
import type { Store } from '../store/store.ts'
import { accessTokenClaims, idTokenClaims, refreshTokenClaims } from './claims.ts'
import type { Claims, Facts } from './claims.ts'
import { excludeClaims } from './excluded-claims.ts'
import type { KeyRing, SigningKey } from './keys.ts'
import { NoSigningKey, hashOf } from './keys.ts'
import { accessTokenSeconds, refreshTokenSeconds } from './lifetimes.ts'
import { revocationSignature } from './revocation-signature.ts'
import type { RequestContext } from '../model/request.ts'

/** The JSON response of the token endpoint (RFC 6749 §5.1). */
export interface TokenResponse {
  /** Null for a grant that issues only a refresh token. */
  readonly access_token: string | null
  /** `DPoP` for a token that is used with proofs of a key (RFC 9449 §5). */
  readonly token_type: 'bearer' | 'DPoP'
  readonly id_token?: string | undefined
  readonly refresh_token?: string | undefined
  /** Of an exchange (RFC 8693 §2.2.1). */
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
export const accessTokenType = (zone: Zone, client: Client): AccessTokenType =>
  client.accessTokenType ?? zone.config.tokenPolicy?.accessTokenType ?? 'JWT'

/** Stores opaque, revocable and refresh tokens before it returns; a plain JWT needs no write. */
export function createTokenIssuer(deps: {
  store: Store
  keys: KeyRing
  clock: Clock
  random: Random
  urls: Urls
  service: Service
  behaviour: Behaviour
  settings: TokenSettings
  audit: Audit
  subjects: Subjects
}): TokenIssuer {
  const { store, keys, clock, random, urls, behaviour, settings, audit, subjects } = deps
  const noneScope = deps.service.scope('none')
  const offlineScope = deps.service.scope('offline_token')

  async function issueRefreshToken(
    authorization: Authorization,
    facts: Facts,
    key: SigningKey,
  ): Promise<{ value: string; tokenId: string }> {
    const { client, zone, refreshed, subject } = authorization
    if (refreshed && !refreshed.rotate) return { value: refreshed.value, tokenId: '' }
    const policy = zone.config.tokenPolicy
    const isOpaque = authorization.format === 'opaque' || facts.pairwiseSubject !== undefined
    const format: TokenFormat = isOpaque ? 'opaque' : (policy?.refreshTokenFormat ?? 'opaque')
    const isCounted = policy?.refreshTokenUnique === true || rotatesRefreshTokens(zone, client)
    const stored = format === 'opaque' || policy?.jwtRevocable === true || isCounted
    const refreshFacts: Facts = {
      ...facts,
      tokenId: `${random.hex(16)}-r`,
      issuedAt: refreshed?.issuedAt ?? facts.issuedAt, // rotation does not extend the lifetime (RFC 9700 §4.14.2)
      expiresAt: refreshed?.expiresAt ?? addSeconds(facts.issuedAt, refreshTokenSeconds(zone, client)),
    }
    const grantedScopes = refreshed?.grantedScopes ?? authorization.scopes
    const claims = refreshTokenClaims(refreshFacts, { grantedScopes, noneScope, revocable: stored })
    if (stored) await storeToken(authorization, refreshFacts, { kind: 'refresh_token', format, claims })
    if (policy?.refreshTokenUnique === true && subject.kind === 'user') {
      const kept = digest(refreshFacts.tokenId) // last, so that a failure in between leaves two tokens rather than none
      await store.tokens.deleteRefreshTokens(zone.id, { clientId: client.clientId, userId: subject.user.id, kept })
    }
    const { tokenId } = refreshFacts
    if (format === 'opaque') return { value: tokenId, tokenId }
    return { value: await key.sign('JWT', claims, keyUrl(authorization)), tokenId }
  }

  async function issueAccessToken(facts: Facts, key: SigningKey, format: TokenFormat): Promise<string> {
    const { authorization } = facts
    const isRevocable =
      format === 'opaque' ||
      authorization.zone.config.tokenPolicy?.jwtRevocable === true ||
      authorization.revocable === true
    const all = accessTokenClaims(facts, { behaviour, noneScope, revocable: isRevocable })
    const claims = excludeClaims(all, settings.excludedClaims)
    const type = accessTokenType(authorization.zone, authorization.client)
    const signed = format === 'opaque' ? facts.tokenId : key.sign(type, claims, keyUrl(authorization))
    if (!isRevocable) return signed
    const [token] = await Promise.all([
      signed,
      storeToken(authorization, facts, { kind: 'access_token', format, claims }),
    ])
    return token
  }

  function storeToken(
    { zone, client, subject, grantId }: Authorization,
    facts: Facts,
    { kind, format, claims }: { kind: 'access_token' | 'refresh_token'; format: TokenFormat; claims: Claims },
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

  async function signIdToken(
    facts: Facts,
    { active, accessToken, format }: { active: SigningKey; accessToken: string | null; format: TokenFormat },
  ): Promise<string> {
    const key = await idTokenKey(facts.authorization, active)
    // The id of an opaque access token is the token itself. ID tokens appear in URLs as hints, so give them another id.
    const idTokenFacts = format === 'opaque' ? { ...facts, tokenId: random.hex(16) } : facts
    const { code } = facts.authorization
    const claims = idTokenClaims(idTokenFacts, {
      behaviour,
      accessTokenHash: accessToken === null ? undefined : leftHalf(accessToken, key.algorithm),
      codeHash: code === undefined ? undefined : leftHalf(code, key.algorithm),
    })
    const excluded = settings.excludedClaims.filter(
      name => name !== 'auth_time' || facts.authorization.client.requireAuthTime !== true,
    )
    return key.sign('JWT', excludeClaims(claims, excluded), keyUrl(facts.authorization))
  }

  /** With `restrictRefresh`, only a grant with the scope `<service>.offline_token` gets a refresh token. */
  const mayRefresh = ({ refreshed, scopes }: Authorization): boolean =>
    !settings.restrictRefresh || (refreshed?.grantedScopes ?? scopes).includes(offlineScope)

  const unsignable = (detail: string, cause?: unknown): OAuthError =>
    new OAuthError(behaviour.noSigningKey, 'Unable to sign token, misconfigured JWT signing keys', { detail, cause })

  async function signingKey(zone: Zone): Promise<SigningKey> {
    try {
      return await keys.active(zone.id)
    } catch (cause) {
      if (!(cause instanceof NoSigningKey)) throw cause
      throw unsignable(cause.message, cause)
    }
  }

  /** The key of the client's own algorithm, if it has one. */
  async function idTokenKey({ zone, client }: Authorization, active: SigningKey): Promise<SigningKey> {
    const algorithm = client.idTokenSignedResponseAlg
    if (algorithm === undefined || algorithm === active.algorithm) return active
    const key = await keys.withAlgorithm(zone.id, algorithm)
    if (key) return key
    throw unsignable(`the zone has no key for ${algorithm}, which ${client.clientId} asks for`)
  }

  /** The active key, unless the client's demands ask for other algorithms than it has. */
  async function keyFor(zone: Zone, client: Client): Promise<SigningKey> {
    const active = await signingKey(zone)
    const { algorithms } = demandsOn(zone, client)
    if (!algorithms || algorithms.some(one => one === active.algorithm)) return active
    for (const algorithm of algorithms) {
      const key = await keys.withAlgorithm(zone.id, algorithm)
      if (key) return key
    }
    throw unsignable(`the zone has no key for ${algorithms.join(', ')}, of which ${client.clientId} must have one`)
  }

  /** UAA: names the key document in the header, always with https. See docs/compatibility.md, T7. */
  function keyUrl({ zone }: Authorization): Readonly<Record<string, string>> | undefined {
    if (behaviour.standardAccessTokens) return undefined
    return { jku: `${urls.ofZone(zone).replace(/^http:/, 'https:')}/token_keys` }
  }

  return {
    async issue(authorization, { remoteAddress }) {
      const { client, zone, subject, scopes } = authorization
      const user = subject.kind === 'user' ? subject.user : undefined
      // Whoever reads a JWT sees the account's id, which a pairwise client must not.
      const isPairwise = user !== undefined && subjects.isPairwise(zone, client)
      const format = isPairwise ? 'opaque' : (authorization.format ?? 'jwt')
      const issuedAt = clock.now()
      const seconds = secondsOf(authorization, accessTokenSeconds(zone, client, behaviour), issuedAt)
      const facts: Facts = {
        authorization,
        issuer: urls.issuer(zone),
        tokenId: random.hex(16),
        issuedAt,
        expiresAt: addSeconds(issuedAt, seconds),
        revocationSignature: revocationSignature(client, user),
        ...(isPairwise && { pairwiseSubject: subjects.of(zone, client, user) }),
      }
      const key = await keyFor(zone, client)
      const { tokens } = authorization
      const wantsRefresh =
        tokens.includes('refresh_token') && mayUseGrant(client, 'refresh_token') && mayRefresh(authorization)
      const wantsId = tokens.includes('id_token') && scopes.includes('openid') && user !== undefined
      const access = tokens.includes('access_token')
        ? issueAccessToken(facts, key, format)
        : Promise.resolve<string | null>(null)
      // Concurrent, so that the rows of both tokens share a transaction; the ID token contains the access token's hash.
      const [accessToken, refreshToken, idToken] =
        wantsRefresh || wantsId
          ? await Promise.all([
              access,
              wantsRefresh && user ? issueRefreshToken(authorization, facts, key) : undefined,
              wantsId
                ? access.then(token => signIdToken(facts, { active: key, accessToken: token, format }))
                : undefined,
            ])
          : [await access]
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
    },
  }
}

/** How long the access token lives: no longer than what it was issued for. */
function secondsOf({ expiresBefore }: Authorization, seconds: number, now: Date): number {
  if (!expiresBefore) return seconds
  return Math.max(0, Math.min(seconds, Math.floor((expiresBefore.getTime() - now.getTime()) / 1000)))
}

/** The left half of a token's hash, base64url: at_hash and c_hash (OpenID Connect Core §3.1.3.6). */
export function leftHalf(value: string, algorithm: SigningAlgorithm): string {
  const whole = hash(hashOf(algorithm), value, 'buffer')
  return whole.subarray(0, whole.length / 2).toString('base64url')
}

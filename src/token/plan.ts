// Plans the tokens of an authorization before anything is signed or stored: their kinds, lifetimes, formats and claims. The
// issuer issues them, and `/explain` reports them.
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Authorization } from '../model/tokens/authorization.ts'
import { mayUseGrant } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Rule } from '../model/rules.ts'
import type { Service } from '../model/service.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { Subjects } from '../model/tokens/subject.ts'
import type { TokenFormat } from '../model/tokens/token.ts'
import type { Urls } from '../model/urls.ts'
import { accessTokenClaims, idTokenClaims } from './claims.ts'
import type { Claims, Facts, TokenHashes } from './claims.ts'
import { accessTokenSeconds } from './lifetimes.ts'
import { revocationSignature } from './revocation-signature.ts'

/** Dependencies of planning. */
export interface PlanDeps {
  readonly clock: Clock
  readonly random: Random
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: Pick<TokenSettings, 'excludedClaims' | 'restrictRefresh'>
  readonly subjects: Subjects
}

/** The tokens to come. */
export interface TokenPlan {
  readonly facts: Facts
  readonly format: TokenFormat
  /** Lifetime of the access token. */
  readonly seconds: number
  /** Whether the access token has a row, so that it can be revoked. */
  readonly isRevocable: boolean
}

/** Decides about the tokens of an authorization. */
export function planTokens(authorization: Authorization, deps: PlanDeps): TokenPlan {
  const { client, zone, subject, revocable } = authorization
  const { behaviour, clock, random, subjects, urls } = deps
  const user = subject.kind === 'user' ? subject.user : undefined
  // A JWT shows the account's id, which a pairwise client must not see.
  const isPairwise = user !== undefined && subjects.isPairwise(zone, client)
  const format = isPairwise ? 'opaque' : (authorization.format ?? 'jwt')
  const issuedAt = clock.now()
  const seconds = secondsOf(authorization, accessTokenSeconds(zone, client, behaviour), issuedAt)
  return {
    facts: {
      authorization,
      issuer: urls.issuer(zone),
      tokenId: random.hex(16),
      issuedAt,
      expiresAt: addSeconds(issuedAt, seconds),
      revocationSignature: revocationSignature(client, user),
      ...(isPairwise && { pairwiseSubject: subjects.of(zone, client, user) }),
    },
    format,
    seconds,
    isRevocable: format === 'opaque' || zone.config.tokenPolicy?.jwtRevocable === true || revocable === true,
  }
}

/** Why there is no refresh token; undefined if there is one. With `restrictRefresh`, it needs the scope `<service>.offline_token`. */
export function refreshBarrier(
  { tokens, client, refreshed, scopes, subject }: Authorization,
  { settings, service }: Pick<PlanDeps, 'settings' | 'service'>,
): Rule | undefined {
  if (!tokens.includes('refresh_token') || subject.kind !== 'user') return 'grant-type'
  if (!mayUseGrant(client, 'refresh_token')) return 'client-grant-type'
  const mayRefresh =
    !settings.restrictRefresh || (refreshed?.grantedScopes ?? scopes).includes(service.scope('offline_token'))
  return mayRefresh ? undefined : 'offline-scope'
}

/** Why there is no ID token; undefined if there is one. */
export function idBarrier({ tokens, scopes, subject }: Authorization): Rule | undefined {
  if (!tokens.includes('id_token') || subject.kind !== 'user') return 'grant-type'
  return scopes.includes('openid') ? undefined : 'openid-scope'
}

/** The claims of the access token. */
export function plannedAccessClaims({ facts, isRevocable }: TokenPlan, deps: PlanDeps): Claims {
  const { behaviour, service, settings } = deps
  const claims = accessTokenClaims(facts, { behaviour, noneScope: service.scope('none'), revocable: isRevocable })
  return excludeClaims(claims, settings.excludedClaims)
}

/** The claims of the ID token. */
export function plannedIdClaims(
  { facts, format }: Pick<TokenPlan, 'facts' | 'format'>,
  hashes: TokenHashes,
  { behaviour, random, settings }: PlanDeps,
): Claims {
  // The id of an opaque access token is the token itself. ID tokens appear in URLs as hints, so give them another id.
  const idTokenFacts = format === 'opaque' ? { ...facts, tokenId: random.hex(16) } : facts
  const excluded = settings.excludedClaims.filter(
    name => name !== 'auth_time' || facts.authorization.client.requireAuthTime !== true,
  )
  return excludeClaims(idTokenClaims(idTokenFacts, { behaviour, ...hashes }), excluded)
}

/** Lifetime of the access token: never longer than that of the token it was exchanged for. */
function secondsOf({ expiresBefore }: Authorization, seconds: number, now: Date): number {
  if (!expiresBefore) return seconds
  return Math.max(0, Math.min(seconds, Math.floor((expiresBefore.getTime() - now.getTime()) / 1000)))
}

/** Unsets, in place, the claims that the configuration excludes. */
function excludeClaims(claims: Claims, excluded: readonly string[]): Claims {
  for (const name of excluded) if (Object.hasOwn(claims, name)) claims[name] = undefined
  return claims
}

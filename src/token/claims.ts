// The claims of each kind of token. Pure functions: no store and no signatures.
import { epochSeconds } from '../base/clock.ts'
import { stringsIn } from '../base/json.ts'
import { classesOf, levelOf, tokenClasses } from '../model/sessions/assurance.ts'
import type { Authorization, TokenKind } from '../model/tokens/authorization.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import { supportsLevels } from '../model/users/second-factor.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { customAttributes, nonEmpty, userClaims, roles } from './user-claims.ts'

/** Values shared by the claims of all tokens of one response. */
export interface Facts {
  readonly authorization: Authorization
  readonly issuer: string
  readonly tokenId: string
  readonly issuedAt: Date
  readonly expiresAt: Date
  readonly revocationSignature: string
  /** The identifier of the user for this client, where it must not get the account's id (OpenID Connect Core §8.1). */
  readonly pairwiseSubject?: string
}

/** The claims of a token; undefined members are omitted. */
export type Claims = Record<string, unknown>

/**
 * The client id, and for each scope the part before its last dot; `openid` is added unchanged, other scopes without a dot
 * and the empty scope add nothing.
 */
export function audience(clientId: string, scopes: readonly string[], noneScope: string): string[] {
  const resources = new Set<string>()
  for (const scope of scopes) {
    const dot = scope.lastIndexOf('.')
    if (scope === 'openid') resources.add(scope)
    else if (dot > 0 && scope !== noneScope) resources.add(scope.slice(0, dot))
  }
  resources.add(clientId)
  return [...resources]
}

/** Claims of an access token (RFC 9068 §2.2), and those of UAA. */
export function accessTokenClaims(
  facts: Facts,
  { behaviour, noneScope, revocable }: { behaviour: Behaviour; noneScope: string; revocable: boolean },
): Claims {
  const { authorization, issuedAt, expiresAt } = facts
  const { client, subject, scopes, zone } = authorization
  const signIn = subject.kind === 'user' ? subject : undefined
  const user = signIn?.user
  const shownSignIn = signIn && supportsLevels(zone, behaviour) ? signIn : undefined
  // A client that nobody vouches for can read the token, too, not only the API that it is for.
  const hasEmail = !behaviour.claimsByScope || client.registration === undefined || scopes.includes('email')
  // One object literal: spreading costs several times as much.
  return {
    jti: facts.tokenId,
    sub: user ? user.id : client.clientId,
    authorities: user ? undefined : client.authorities,
    scope: behaviour.standardAccessTokens ? scopes.join(' ') : scopes,
    client_id: client.clientId,
    cid: client.clientId,
    azp: client.clientId,
    revocable: revocable ? true : undefined,
    grant_type: authorization.grantType,
    user_id: user?.id,
    user_name: user?.userName,
    origin: user?.origin,
    email: hasEmail ? user?.email : undefined,
    auth_time: signIn?.authenticatedAt && epochSeconds(signIn.authenticatedAt),
    amr: shownSignIn && shownSignIn.amr.length > 0 ? shownSignIn.amr : undefined, // RFC 9068 §2.2.1, with acr
    acr: shownSignIn && acrClaim(shownSignIn.acr, zone, behaviour),
    rev_sig: facts.revocationSignature,
    iat: epochSeconds(issuedAt),
    exp: epochSeconds(expiresAt),
    iss: facts.issuer,
    zid: zone.id,
    aud: authorization.resources ?? audience(client.clientId, scopes, noneScope),
    cnf: authorization.confirmation,
    act: authorization.actor,
    exchanged_from: authorization.exchangedFrom,
    approved_client: authorization.approvedClient,
    nonce: behaviour.standardAccessTokens ? undefined : authorization.nonce,
    az_attr: authorization.azAttr,
    client_auth_method: authorization.clientAuthMethod,
    grant_id: namesGrant(authorization, behaviour) ? authorization.grantId : undefined,
  }
}

/**
 * Whether tokens name their grant, and so end with it. UAA: no grant_id; but it has no token exchange, whose tokens end with the
 * grant of another client, and no clients without a record, whose tokens end with nothing else.
 */
const namesGrant = ({ client, issuedTokenType }: Authorization, behaviour: Behaviour): boolean =>
  behaviour.revokeReusedCode || issuedTokenType !== undefined || client.registration?.byDocument === true

/** Claims of a refresh token; `grantedScopes` may exceed the scopes of the access token. */
export function refreshTokenClaims(
  facts: Facts,
  { grantedScopes, noneScope, revocable }: { grantedScopes: readonly string[]; noneScope: string; revocable: boolean },
): Claims {
  const { authorization } = facts
  const { client, subject } = authorization
  if (subject.kind !== 'user') throw new Error('a refresh token needs a user')
  return {
    jti: facts.tokenId,
    sub: subject.user.id,
    iat: epochSeconds(facts.issuedAt),
    exp: epochSeconds(facts.expiresAt),
    cid: client.clientId,
    client_id: client.clientId,
    iss: facts.issuer,
    zid: authorization.zone.id,
    aud: audience(client.clientId, grantedScopes, noneScope),
    granted_scopes: grantedScopes,
    amr: subject.amr.length > 0 ? subject.amr : undefined,
    acr: subject.acr && { level: levelOf(subject.acr), values: classesOf(subject.acr) },
    auth_time: subject.authenticatedAt && epochSeconds(subject.authenticatedAt),
    az_attr: authorization.azAttr,
    client_auth_method: authorization.clientAuthMethod,
    grant_type: authorization.grantType,
    ...identityClaims(subject.user),
    cnf: authorization.clientAuthMethod === 'none' ? authorization.confirmation : undefined,
    resources: authorization.grantedResources ?? authorization.resources,
    act: authorization.actor,
    revocable: revocable ? true : undefined,
    rev_sig: facts.revocationSignature,
    sid: subject.sessionId,
    grant_id: authorization.grantId,
  }
}

/** Hashes of what is returned with an ID token. */
export interface TokenHashes {
  readonly accessTokenHash?: string | undefined
  readonly codeHash?: string | undefined
  readonly stateHash?: string | undefined
}

/** Claims of an ID token (OpenID Connect Core §2), and those of UAA. */
export function idTokenClaims(
  facts: Facts,
  { behaviour, accessTokenHash, codeHash, stateHash }: TokenHashes & { readonly behaviour: Behaviour },
): Claims {
  const { authorization } = facts
  const { client, scopes, subject } = authorization
  if (subject.kind !== 'user') throw new Error('an ID token needs a user')
  const { user } = subject
  const { tokens, code } = authorization
  const isMinimal = client.idTokenMinimal === true
  // OpenID Connect Core §5.4: claims requested by scope come from userinfo, unless no access token is issued.
  const isOnlySource = !tokens.includes('access_token') && code === undefined
  const has = (scope: string): boolean => scopes.includes(scope) && (!isMinimal || isOnlySource)
  const isPairwise = facts.pairwiseSubject !== undefined
  // UAA: the e-mail address always.
  const includes = (scope: string): boolean => has(scope) || (scope === 'email' && !isMinimal && !isPairwise)
  const attributes = has('user_attributes') ? customAttributes(user) : undefined
  return {
    sub: facts.pairwiseSubject ?? user.id,
    ...(isMinimal ? undefined : referenceClaims(facts, { user, behaviour })),
    ...(behaviour.claimsByScope ? userClaims(user, has) : classicClaims(user, includes)),
    user_attributes: attributes,
    roles: has('roles') ? roles(user) : undefined,
    aud: [client.clientId],
    iss: facts.issuer,
    iat: epochSeconds(facts.issuedAt),
    exp: epochSeconds(facts.expiresAt),
    auth_time: subject.authenticatedAt && epochSeconds(subject.authenticatedAt),
    amr: subject.amr.length > 0 && !isMinimal ? subject.amr : undefined,
    acr: acrClaim(subject.acr, authorization.zone, behaviour), // OpenID Connect Core §5.5.1.1: answers `acr_values`
    nonce: authorization.nonce,
    at_hash: behaviour.tokenHashes ? accessTokenHash : undefined,
    c_hash: behaviour.tokenHashes ? codeHash : undefined,
    s_hash: behaviour.tokenHashes ? stateHash : undefined,
    sid: behaviour.sessionIdClaim || passesLogoutOn(authorization.zone, behaviour) ? subject.sessionId : undefined,
  }
}

/** Whether applications are notified of ended sessions, for which they need the session's id. */
const passesLogoutOn = (zone: Zone, behaviour: Behaviour): boolean =>
  supportsProtocol(zone, 'backchannelLogout', behaviour) || supportsProtocol(zone, 'frontchannelLogout', behaviour)

/**
 * UAA: all classes, in an object. OpenID Connect Core §2: one string. It is the level unless the zone has no second factors, or
 * a provider named a class that has none.
 */
function acrClaim(acr: readonly string[] | undefined, zone: Zone, behaviour: Behaviour): unknown {
  const isLevel = supportsLevels(zone, behaviour)
  const classes = isLevel ? (tokenClasses(acr) ?? []) : classesOf(acr)
  if (behaviour.acrAsText) return classes[0] ?? (isLevel ? '1' : undefined)
  return classes.length > 0 ? { values: classes } : undefined
}

/** Non-standard claims of UAA's ID tokens. */
const referenceClaims = (
  { authorization, tokenId, revocationSignature, pairwiseSubject }: Facts,
  { user, behaviour }: { readonly user: User; readonly behaviour: Behaviour },
): Claims => ({
  ...(pairwiseSubject === undefined && identityClaims(user)),
  azp: authorization.client.clientId,
  client_id: authorization.client.clientId,
  cid: authorization.client.clientId,
  zid: authorization.zone.id,
  jti: tokenId,
  rev_sig: pairwiseSubject === undefined ? revocationSignature : undefined,
  // What ends the grant also ends the use of the token as an assertion, which no pairwise one can be.
  grant_id: namesGrant(authorization, behaviour) && pairwiseSubject === undefined ? authorization.grantId : undefined,
  grant_type: authorization.grantType,
  scope: ['openid'],
  // Two sectors could correlate the same user by its milliseconds.
  previous_logon_time: pairwiseSubject === undefined ? user.previousLogonAt?.getTime() : undefined,
})

/** The scopes of the claims: `scope` as a list or string, or the refresh token's `granted_scopes`. */
export function scopesOf(claims: Readonly<Claims>, kind: TokenKind): readonly string[] {
  const value = claims[kind === 'refresh_token' ? 'granted_scopes' : 'scope']
  if (typeof value === 'string') return value === '' ? [] : value.split(' ')
  return stringsIn(value)
}

/** The client that a token was issued to: an explicit claim, or the audience of a minimal ID token. */
export function clientIdOf(claims: Readonly<Claims>): string | undefined {
  const [only, ...others] = [claims['aud']].flat()
  const clientId = claims['azp'] ?? claims['client_id'] ?? (others.length === 0 ? only : undefined)
  return typeof clientId === 'string' ? clientId : undefined
}

/** UAA: names and phone number with `profile` (row T3). */
const classicClaims = (user: User, has: (scope: string) => boolean): Claims => ({
  ...(has('email') && { email: user.email, email_verified: user.verified }),
  ...(has('profile') && {
    given_name: nonEmpty(user.givenName),
    family_name: nonEmpty(user.familyName),
    phone_number: nonEmpty(user.phoneNumber),
  }),
})

const identityClaims = (user: User): Claims => ({ user_id: user.id, user_name: user.userName, origin: user.origin })

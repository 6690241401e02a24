import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { decodeJwt } from 'jose/jwt/decode'
import { concerningUser, OAuthError } from '../../model/oauth-error.ts'
import { jwtType } from '../../model/tokens/jwt.ts'
import { isCurrentSignature } from '../../token/revocation-signature.ts'
import { approvalProblem } from '../../token/approvals.ts'
import type { IssuedToken } from '../../token/reader.ts'
import { isForOthersOnly, isRevoked } from '../../token/token-validity.ts'
import { isExchanged, signInOf, signInOfIdToken } from '../presented-sign-in.ts'
import type { AssertedUser } from './assertion.ts'
import { assertedUser, assertionRefusal, authorizeByAssertion } from './assertion.ts'
import type { Grant, GrantDeps, GrantRequest } from './grant.ts'
import { requireAllowedProvider } from './grant.ts'
import { checkProvider, requireFactorOfToken } from './resource-owner.ts'
import { JWT_BEARER } from '../../model/clients/grant-types.ts'

/** RFC 8725 §3.11: what a provider signs for another purpose, such as a logout token, may name the same user and audience. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt', 'authorization-grant+jwt'])

/** Longer assertions are refused unparsed. */
const MAX_ASSERTION_LENGTH = 32_768

/**
 * Accepts a JWT as an assertion about a user (RFC 7523): an ID token or access token of a trusted provider or of the
 * zone itself. Does not check `jti` for reuse, which RFC 7523 §3 permits: clients present a token until it expires.
 */
export const jwtBearer: Grant = {
  type: JWT_BEARER,
  caller: 'client',
  async authorize(request, deps) {
    const { zone, client, params } = request
    const { behaviour, identity, service, urls } = deps
    const assertion = params.get('assertion')
    if (assertion === undefined) {
      throw assertionRefusal(behaviour.missingAssertion, 'Assertion is missing', { service })
    }
    const { typ, claims } = decoded(assertion, deps)
    const { iss: issuer, origin, cnf: confirmation } = claims
    if (typeof issuer !== 'string' || issuer === '') throw unusable('Issuer is missing in id_token', deps)
    if (!TYPES.has(jwtType(typ))) throw untrusted('The token is of another kind', deps)
    // A stolen sender-constrained token, whoever issued it, must not be exchangeable for an unbound one.
    if (confirmation !== undefined) throw untrusted('The token is bound to its sender', deps)
    const recipient = `${urls.ofZone(zone)}/oauth/token`
    const unmapped = `Unable to map issuer, ${issuer.slice(0, 200)} , to a single registered provider`
    const isOwn = urls.issuersOf(zone).includes(issuer)
    // A token without an origin is a client's own and has no user.
    if (isOwn && typeof origin !== 'string') throw unusable(unmapped, deps)
    // Checked before a provider with the zone's own issuer creates an account: only the zone knows whether it was revoked.
    const own = isOwn ? await currentToken(request, { assertion, origin }, deps) : undefined
    const { undoOnFailure } = request
    const signIn = { assertion, type: 'oidc1.0', client, recipient, undoOnFailure }
    const result = await identity.signInWithAssertion(request, signIn)
    const asserted =
      assertedUser(result, deps) ?? (own && (await concerningUser(own.user, () => ownUser(request, own, deps))))
    if (!asserted) throw unusable(unmapped, deps)
    return authorizeByAssertion(JWT_BEARER, asserted, { request, deps })
  },
}

const unusable = (description: string, { behaviour, service }: GrantDeps): OAuthError =>
  assertionRefusal(behaviour.unusableAssertion, description, { service })

const untrusted = (description: string, { behaviour, service }: GrantDeps, cause?: unknown): OAuthError =>
  assertionRefusal(behaviour.untrustedAssertion, description, { service, cause })

/** Header and claims, not yet verified. */
function decoded(
  assertion: string,
  deps: GrantDeps,
): { readonly typ?: unknown; readonly claims: Readonly<Record<string, unknown>> } {
  try {
    if (assertion.length <= MAX_ASSERTION_LENGTH) {
      const { typ } = decodeProtectedHeader(assertion)
      return { typ, claims: decodeJwt(assertion) }
    }
  } catch {
    // the same error as for a token that is too long
  }
  throw unusable('Unable to decode expected id_token', deps)
}

/** A token of the zone that is valid, and its user. */
interface CurrentToken {
  readonly token: IssuedToken
  readonly user: AssertedUser['user']
}

/** Refuses a token that has expired or was revoked, and one whose user no longer exists. */
async function currentToken(
  { zone }: GrantRequest,
  { assertion, origin }: { readonly assertion: string; readonly origin: unknown },
  deps: GrantDeps,
): Promise<CurrentToken> {
  const { clock, store } = deps
  const token = await readOwn(() => deps.reader.readIssued(zone, assertion), deps)
  if (token.kind === 'refresh_token') throw unusable('Unable to decode expected id_token', deps)
  const { claims, expiresAt } = token
  if (Number.isNaN(expiresAt.getTime())) throw untrusted('Token does not bear a valid EXP claim.', deps)
  if (expiresAt <= clock.now()) throw untrusted(`Token expired at ${expiresAt.toISOString()}`, deps)
  // Tokens of any kind: an access token of a client named `openid` looks like an ID token.
  if (claims['revocable'] === true && !token.stored) throw untrusted(REVOKED, deps)
  const user = await store.users.find(zone.id, String(claims['user_id']))
  if (!user?.active || user.origin !== origin) {
    throw new OAuthError('invalid_grant', 'User authentication not found')
  }
  await checkNotRevoked(zone, token, { assertion, user }, deps)
  return { token, user }
}

/** The user of a token that this zone issued. Does not count as a new sign-in, and updates no account. */
async function ownUser(
  { zone, client }: GrantRequest,
  { token, user }: CurrentToken,
  deps: GrantDeps,
): Promise<AssertedUser> {
  const { behaviour, service } = deps
  const { claims } = token
  requireAllowedProvider(client, user, behaviour)
  await checkProvider(zone, user, deps)
  if (!user.verified && user.origin === service.name) {
    throw assertionRefusal(behaviour.unverifiedAccount, 'Account not verified', { service })
  }
  if (behaviour.strictOwnAssertions) checkAudience(token, { zone, client }, deps)
  else if (isForOthersOnly(zone, claims, deps.urls)) throw untrusted('The token is for another resource', deps)
  const authTime = claims['auth_time']
  const signIn = (token.kind === 'access_token' ? signInOf : signInOfIdToken)(claims, zone, behaviour)
  await requireFactorOfToken(zone, { user, acr: signIn.acr }, deps)
  return {
    user,
    ...signIn,
    authenticatedAt: typeof authTime === 'number' ? new Date(authTime * 1000) : undefined,
  }
}

/** RFC 7523 §3: the audience must be this server or the client that presents the assertion. */
function checkAudience(
  { claims }: IssuedToken,
  { zone, client }: Pick<GrantRequest, 'zone' | 'client'>,
  deps: GrantDeps,
): void {
  const { urls } = deps
  const audience = Array.isArray(claims['aud']) ? claims['aud'] : [claims['aud']]
  const endpoints = urls.addressesOf(zone).map(base => `${base}/oauth/token`)
  const accepted = [...urls.issuersOf(zone), ...endpoints, client.clientId]
  if (!accepted.some(each => audience.includes(each))) {
    throw untrusted(`Some parties were not in the token audience: ${client.clientId}`, deps)
  }
}

/** Refuses a token that a new password, a new e-mail address or a revocation has invalidated. */
async function checkNotRevoked(
  zone: GrantRequest['zone'],
  token: IssuedToken,
  { assertion, user }: { readonly assertion: string; readonly user: CurrentToken['user'] },
  deps: GrantDeps,
): Promise<void> {
  const { store } = deps
  const { claims } = token
  if (isExchanged(claims)) throw untrusted('An exchanged token cannot be used as an assertion', deps)
  if (token.kind === 'access_token') {
    const read = await readOwn(() => deps.reader.read({ zone, inspected: true }, assertion), deps)
    if (!deps.behaviour.strictOwnAssertions) return
    const unapproved = await approvalProblem(zone, read, read.scopes, deps)
    if (unapproved !== undefined) throw untrusted(unapproved, deps)
    return
  }
  const issuedTo = await store.clients.find(zone.id, String(claims['client_id']))
  if (!issuedTo) throw untrusted(`The token refers to a non-existent client: ${String(claims['client_id'])}`, deps)
  if (!isCurrentSignature(String(claims['rev_sig']), issuedTo, user)) {
    throw untrusted('revocable signature mismatch', deps)
  }
  if (await isRevoked(zone, token, store)) throw untrusted(REVOKED, deps)
}

const REVOKED = 'The token has been revoked'

/** Translates the reader's bearer-token errors into errors of this grant (row C11). */
async function readOwn<T>(read: () => Promise<T>, deps: GrantDeps): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof OAuthError) throw untrusted(cause.message, deps, cause)
    throw cause
  }
}

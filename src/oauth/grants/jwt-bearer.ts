import { decodeJwt } from 'jose/jwt/decode'
import { allowsProvider } from '../../model/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isCurrentSignature } from '../../token/revocation-signature.ts'
import type { IssuedToken } from '../../token/reader.ts'
import type { AssertedPerson } from './assertion.ts'
import { assertedPerson, assertionRefusal, authorizeByAssertion } from './assertion.ts'
import type { Grant, GrantDeps, GrantRequest } from './grant.ts'
import { PROVIDER_BARRED } from './grant.ts'
import { checkProvider } from './resource-owner.ts'

const TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** A longer assertion is refused before it is parsed. */
const MAX_ASSERTION_LENGTH = 32_768

/**
 * A JWT speaks for a person (RFC 7523): an ID token or access token of a provider that the zone trusts, or of the zone
 * itself. Its id is not remembered, which RFC 7523 §3 leaves open: clients hand in the same token for as long as it lives.
 */
export const jwtBearer: Grant = {
  type: TYPE,
  caller: 'client',
  async authorize(request, deps) {
    const { zone, client, params, remoteAddress } = request
    const { behaviour, identity, service, urls } = deps
    const assertion = params.get('assertion')
    if (assertion === undefined) {
      throw assertionRefusal(behaviour.missingAssertion, 'Assertion is missing', { service })
    }
    const { iss: issuer, origin } = claimsOf(assertion, deps)
    if (typeof issuer !== 'string' || issuer === '') throw unusable('Issuer is missing in id_token', deps)
    const result = await identity.signInWithAssertion(zone, { assertion, type: 'oidc1.0', client, remoteAddress })
    const foreign = assertedPerson(result, deps)
    if (foreign) return authorizeByAssertion(TYPE, foreign, { request, deps })

    // A client's own token has no origin: it speaks for nobody.
    if (!urls.issuersOf(zone).includes(issuer) || typeof origin !== 'string') {
      throw unusable(`Unable to map issuer, ${issuer.slice(0, 200)} , to a single registered provider`, deps)
    }
    const own = await ownPerson(request, { assertion, origin }, deps)
    return authorizeByAssertion(TYPE, own, { request, deps })
  },
}

const unusable = (description: string, { behaviour, service }: GrantDeps): OAuthError =>
  assertionRefusal(behaviour.unusableAssertion, description, { service })

const untrusted = (description: string, { behaviour, service }: GrantDeps, cause?: unknown): OAuthError =>
  assertionRefusal(behaviour.untrustedAssertion, description, { service, cause })

/** What the token says before anything is proven. */
function claimsOf(assertion: string, deps: GrantDeps): Readonly<Record<string, unknown>> {
  try {
    if (assertion.length <= MAX_ASSERTION_LENGTH) return decodeJwt(assertion)
  } catch {
    // told below, like what is too long to be looked at
  }
  throw unusable('Unable to decode expected id_token', deps)
}

/** The person of a token that this zone issued; neither a new sign-in nor news about the account. */
async function ownPerson(
  { zone, client }: GrantRequest,
  { assertion, origin }: { assertion: string; origin: string },
  deps: GrantDeps,
): Promise<AssertedPerson> {
  const { behaviour, clock, service, store } = deps
  const token = await readOwn(() => deps.reader.readIssued(zone, assertion), deps)
  if (token.kind === 'refresh_token') throw unusable('Unable to decode expected id_token', deps)
  const { claims, expiresAt } = token
  if (Number.isNaN(expiresAt.getTime())) throw untrusted('Token does not bear a valid EXP claim.', deps)
  if (expiresAt <= clock.now()) throw untrusted(`Token expired at ${expiresAt.toISOString()}`, deps)
  if (claims['revocable'] === true && !token.stored) throw untrusted(REVOKED, deps)
  if (!allowsProvider(client, origin)) throw new OAuthError(behaviour.userProviderBarred, PROVIDER_BARRED)
  const user = await store.users.find(zone.id, String(claims['user_id']))
  if (!user?.active || user.origin !== origin) {
    throw new OAuthError('invalid_grant', 'User authentication not found')
  }
  await checkProvider(zone, user, deps)
  if (!user.verified && origin === service.name) {
    throw assertionRefusal(behaviour.unverifiedAccount, 'Account not verified', { service })
  }
  if (behaviour.strictOwnAssertions) checkAudience(token, { zone, client }, deps)
  await checkStillGood(zone, token, { assertion, user }, deps)
  const { amr, auth_time: authTime } = claims
  return {
    user,
    amr: Array.isArray(amr) ? amr.filter(item => typeof item === 'string') : [],
    authenticatedAt: typeof authTime === 'number' ? new Date(authTime * 1000) : undefined,
  }
}

/** RFC 7523 §3: it was meant for this server or for the client that brings it. */
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

/** A new password, another owner or a revocation ends what an assertion is worth: nothing is made of it that lives longer. */
async function checkStillGood(
  zone: GrantRequest['zone'],
  token: IssuedToken,
  { assertion, user }: { readonly assertion: string; readonly user: AssertedPerson['user'] },
  deps: GrantDeps,
): Promise<void> {
  const { store } = deps
  const { claims } = token
  if (token.kind === 'access_token') {
    await readOwn(() => deps.reader.read(zone, assertion), deps)
    return
  }
  const issuedTo = await store.clients.find(zone.id, String(claims['client_id']))
  if (!issuedTo) throw untrusted(`The token refers to a non-existent client: ${String(claims['client_id'])}`, deps)
  if (!isCurrentSignature(String(claims['rev_sig']), issuedTo, user)) {
    throw untrusted('revocable signature mismatch', deps)
  }
  const grantId = typeof claims['grant_id'] === 'string' ? claims['grant_id'] : undefined
  if (await store.tokens.isRevoked(zone.id, { grantId, tokenId: String(claims['jti']) })) {
    throw untrusted(REVOKED, deps)
  }
}

const REVOKED = 'The token has been revoked'

/** The reader speaks of bearers; here the refusal is the grant's (row C11). */
async function readOwn<T>(read: () => Promise<T>, deps: GrantDeps): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof OAuthError) throw untrusted(cause.message, deps, cause)
    throw cause
  }
}

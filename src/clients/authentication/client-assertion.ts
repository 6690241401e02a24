// Signed JWTs that authenticate a client (RFC 7521 §4.2, RFC 7523 §2.2): the checks common to assertions signed by the client
// and by another issuer that it trusts.
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { decodeJwt } from 'jose/jwt/decode'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import { hasOneSpelling, isNumericDate, jwtType } from '../../model/tokens/jwt.ts'
import { algorithmNamed } from '../../model/tokens/signing-key.ts'
import { FOREIGN_ALGORITHMS } from '../../token/foreign-keys.ts'
import type { KeySource, WantedKey } from '../../token/foreign-keys.ts'
import { UnusableDocument } from '../../token/published-documents.ts'
import { outboundShareOf } from '../outbound-share.ts'
import { allowsFormCredentials } from './client-secret.ts'
import type { AuthenticatingEndpoint, ClientAuthDeps, ClientAuthRequest, CredentialParams } from './method.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const MAX_ASSERTION_LENGTH = 16_384
/** How far the clocks of the signer and this server may differ. */
export const SKEW_SECONDS = 60

/** The content of an assertion, not verified yet. */
export interface ClientAssertion {
  readonly jwt: string
  readonly issuer: string
  readonly subject: string
  readonly wanted: WantedKey
  /** See `jwtType`. */
  readonly type: unknown
  readonly audience: readonly string[]
  /** Whether the audience is one string, not a list. */
  readonly hasOneAudience: boolean
  /** The claim `jti`. */
  readonly id: unknown
  readonly expiresAt: number
  /** `iat` and `nbf`, if present; neither may lie in the future. */
  readonly notBefore: readonly number[]
}

/** The client that an assertion must authenticate, and the endpoint. */
export interface AssertionContext {
  readonly client: Client | undefined
  readonly zone: AddressedZone
  readonly endpoint: AuthenticatingEndpoint
}

/** A refusal with a reason for the log. */
export const refuse = (description: string, detail?: string): OAuthError =>
  new OAuthError('invalid_client', description, { detail })

/** A refusal of the contents of an assertion. */
export const unauthorized = (detail: string): OAuthError => refuse('Unauthorized client_assertion', detail)

/** Whether the request has an assertion in the form, correct or not. */
export const carriesAssertion = ({ authorization, params, endpoint }: ClientAuthRequest): boolean =>
  endpoint.allowsAssertion &&
  allowsFormCredentials(authorization) &&
  (params.get('client_assertion') ?? params.get('client_assertion_type')) !== undefined

/** Throws `invalid_client` unless it is a JWT with the required claims and an accepted algorithm. */
export function readAssertion(params: CredentialParams): ClientAssertion {
  if (params.get('client_assertion_type') !== ASSERTION_TYPE) throw refuse('Bad client_assertion type')
  const jwt = params.get('client_assertion') ?? ''
  const { header, claims } = decode(jwt)
  const { iss, sub, aud, jti, exp, iat, nbf } = claims
  const audience = [aud].flat().filter(item => typeof item === 'string')
  const notBefore = [iat, nbf].filter(moment => moment !== undefined)
  const isComplete = isText(iss) && isText(sub) && audience.length > 0 && isNumericDate(exp)
  if (!isComplete || !notBefore.every(isNumericDate)) throw refuse('Bad credentials')
  const { alg, kid, typ } = header
  if (alg === undefined || !FOREIGN_ALGORITHMS.includes(alg)) throw refuse('Bad client_assertion algorithm')
  return {
    jwt,
    issuer: iss,
    subject: sub,
    wanted: { alg, kid },
    type: jwtType(typ),
    audience,
    hasOneAudience: typeof aud === 'string',
    id: jti,
    expiresAt: exp,
    notBefore,
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Header and claims. Keys in the header (`jwk`, `jku`, `x5u`, `x5c`) are never read. */
function decode(jwt: string): {
  header: Partial<WantedKey> & { readonly typ?: unknown }
  claims: Readonly<Record<string, unknown>>
} {
  const bad = (cause?: unknown): OAuthError => new OAuthError('invalid_client', 'Bad client_assertion', { cause })
  if (jwt.length > MAX_ASSERTION_LENGTH) throw bad()
  try {
    const { alg, kid, typ, crit } = decodeProtectedHeader(jwt)
    // RFC 7515 §4.1.11: a critical extension that is not understood.
    if (crit === undefined) return { header: { ...(alg !== undefined && { alg }), kid, typ }, claims: decodeJwt(jwt) }
  } catch (cause) {
    throw bad(cause)
  }
  throw bad()
}

/** Throws `invalid_client` for a JWT that says to be of another kind, such as a request object or a proof (RFC 8725 §3.11). */
export function checkType({ type }: ClientAssertion, accepted: ReadonlySet<unknown>): void {
  if (!accepted.has(type)) throw unauthorized('the typ of the assertion is that of another kind of JWT')
}

/** Throws `invalid_client` for an assertion that expired, is from the future, or expires after more than the time given. */
export function checkTimes(
  { expiresAt, notBefore }: ClientAssertion,
  now: number,
  maxLifetimeSeconds = Number.POSITIVE_INFINITY,
): void {
  if (now >= expiresAt + SKEW_SECONDS) throw unauthorized('the assertion has expired; check the clocks')
  if (notBefore.some(moment => moment > now + SKEW_SECONDS))
    throw unauthorized('the assertion is from the future; check the clocks')
  if (expiresAt > now + maxLifetimeSeconds + SKEW_SECONDS)
    throw unauthorized('the lifetime of the assertion is too long')
}

/** Row C3. UAA: a zone's own issuer followed by the path of the token endpoint counts as the token endpoint. */
export function isForThisServer(
  { audience }: ClientAssertion,
  { zone, endpoint }: Pick<AssertionContext, 'zone' | 'endpoint'>,
  { urls, behaviour }: Pick<ClientAuthDeps, 'urls' | 'behaviour'>,
): boolean {
  const bases = [...urls.addressesOf(zone), urls.certificateBaseOf(zone) ?? []].flat()
  const always = [...urls.issuersOf(zone), ...bases.map(base => `${base}/oauth/token`)]
  const ours = behaviour.assertionForIssuer ? [...always, ...bases.map(base => base + endpoint.path)] : always
  return audience.some(each => ours.includes(each))
}

/** Throws `invalid_client` for an algorithm that the client's record, or a profile, rules out. */
export function checkAlgorithm({ wanted }: ClientAssertion, client: Client, zone: AddressedZone): void {
  const { algorithms } = demandsOn(zone, client)
  const fits = (one: string): boolean => algorithmNamed(one) === algorithmNamed(wanted.alg)
  if (algorithms && !algorithms.some(fits))
    throw unauthorized(`the algorithm of the assertion is not one of ${algorithms.join(', ')}`)
  const { tokenEndpointAuthSigningAlg: own } = client
  if (own !== undefined && !fits(own)) throw unauthorized(`the algorithm of the assertion is not ${own}`)
}

const NO_KEY = 'no usable key matches alg and kid of the assertion; RSA keys need 2048 bits or more'

/** Throws `invalid_client` unless a key of the source has signed it. */
export async function checkSignature(
  { jwt, wanted }: ClientAssertion,
  source: Omit<KeySource, 'share'>,
  { client, zone, foreignKeys }: Pick<AssertionContext, 'client' | 'zone'> & Pick<ClientAuthDeps, 'foreignKeys'>,
): Promise<void> {
  const share = client ? { share: outboundShareOf(client, 'background') } : {}
  const key = await foreignKeys.find({ ...source, ...share }, wanted).catch((cause: unknown) => {
    if (cause instanceof UnusableDocument) throw refuse('Bad client_assertion', cause.message)
    throw cause
  })
  if (!key) throw refuse('Untrusted client_assertion', NO_KEY)
  try {
    if (!hasOneSpelling(jwt)) throw new Error('the signature is not base64url without padding')
    await foreignKeys.inTurn(zone.id, () => compactVerify(jwt, key, { algorithms: [wanted.alg] }))
  } catch (cause) {
    throw new OAuthError('invalid_client', 'Unauthorized client_assertion', {
      detail: 'the signature of the assertion is invalid',
      cause,
    })
  }
}

// A client signs who it is, for whom and until when (RFC 7523 §2.2, OpenID Connect Core §9).
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { decodeJwt } from 'jose/jwt/decode'
import { addSeconds } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import type { Client } from '../../model/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Zone } from '../../model/zone.ts'
import { FOREIGN_ALGORITHMS, UnusableKeys } from '../../token/foreign-keys.ts'
import type { ForeignKeys, KeySource, WantedKey } from '../../token/foreign-keys.ts'
import type { Params } from '../params.ts'
import type { AuthenticatingEndpoint, ClientAuthDeps, ClientAuthMethod } from './client-auth.ts'
import { speaksForItself } from './client-secret.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const LONGEST_ASSERTION = 16_384
const LONGEST_CLIENT_ID = 255
const LONGEST_JTI = 256
/** How far the clocks of client and server may differ. */
const SKEW_SECONDS = 60
/** Row C4: how long an assertion may be good, and so be remembered. */
const MOST_SECONDS = 3600

/** A signed assertion in the form. */
export const privateKeyJwt: ClientAuthMethod = {
  name: 'private_key_jwt',
  recognises: ({ authorization, params, endpoint }) =>
    endpoint.allowsAssertion &&
    speaksForItself(authorization) &&
    (params.get('client_assertion') ?? params.get('client_assertion_type')) !== undefined,
  read({ params, endpoint }) {
    const assertion = readAssertion(params)
    return {
      clientId: assertion.clientId,
      claim: 'private_key_jwt',
      verify: (client, { zone }, deps) => verifyAssertion(assertion, { client, zone, endpoint }, deps),
    }
  },
}

/** What an assertion says; nothing of it is proven yet. */
interface Assertion {
  readonly jwt: string
  readonly clientId: string
  readonly wanted: WantedKey
  readonly audience: readonly string[]
  readonly id: string
  readonly expiresAt: number
  /** The moments that must not lie in the future, `iat` and `nbf`, as far as they are told. */
  readonly since: readonly number[]
}

interface Circumstances {
  readonly client: Client | undefined
  readonly zone: Zone
  readonly endpoint: AuthenticatingEndpoint
}

const refuse = (description: string, detail?: string): OAuthError =>
  new OAuthError('invalid_client', description, { detail })

const unauthorized = (detail: string): OAuthError => refuse('Unauthorized client_assertion', detail)

function readAssertion(params: Params): Assertion {
  if (params.get('client_assertion_type') !== ASSERTION_TYPE) throw refuse('Bad client_assertion type')
  const jwt = params.get('client_assertion') ?? ''
  const { header, claims } = decode(jwt)
  const { iss, sub, aud, jti, exp, iat, nbf } = claims
  const audience = [aud].flat().filter(item => typeof item === 'string')
  const since = [iat, nbf].filter(moment => moment !== undefined)
  const isComplete =
    isTextUpTo(sub, LONGEST_CLIENT_ID) && isTextUpTo(jti, LONGEST_JTI) && audience.length > 0 && isMoment(exp)
  if (!isComplete || iss !== sub || !since.every(isMoment)) throw refuse('Bad credentials')
  if ((params.get('client_id') ?? sub) !== sub) throw refuse('Wrong client_assertion')
  const { alg, kid } = header
  if (alg === undefined || !FOREIGN_ALGORITHMS.includes(alg)) throw refuse('Bad client_assertion algorithm')
  return { jwt, clientId: sub, wanted: { alg, kid }, audience, id: jti, expiresAt: exp, since }
}

const isTextUpTo = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= length

const isMoment = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** Header and claims. Keys that the header brings along (`jwk`, `jku`, `x5u`, `x5c`) are not looked at by anybody. */
function decode(jwt: string): { header: Partial<WantedKey>; claims: Readonly<Record<string, unknown>> } {
  const bad = (cause?: unknown): OAuthError => new OAuthError('invalid_client', 'Bad client_assertion', { cause })
  if (jwt.length > LONGEST_ASSERTION) throw bad()
  try {
    const { alg, kid, crit } = decodeProtectedHeader(jwt)
    // RFC 7515 §4.1.11: what must be understood is not.
    if (crit === undefined) return { header: { ...(alg !== undefined && { alg }), kid }, claims: decodeJwt(jwt) }
  } catch (cause) {
    throw bad(cause)
  }
  throw bad()
}

/** The cheap checks first: nothing is fetched for an assertion that could not be accepted, and nothing told by it. */
async function verifyAssertion(
  assertion: Assertion,
  { client, zone, endpoint }: Circumstances,
  deps: ClientAuthDeps,
): Promise<boolean> {
  const { behaviour, clock, foreignKeys, store } = deps
  checkTimes(assertion, clock.now().getTime() / 1000, behaviour.assertionOnce)
  const ours = audiencesOf(zone, endpoint, deps)
  if (!assertion.audience.some(each => ours.includes(each))) throw unauthorized('it is meant for somebody else')

  await checkSignature(assertion, client, foreignKeys)
  if (!behaviour.assertionOnce) return true
  // Only now: an assertion that anybody could have made must not take the id from the client's own.
  const id = digest(JSON.stringify(['private_key_jwt', assertion.clientId, assertion.id]))
  const forgetAt = addSeconds(new Date(assertion.expiresAt * 1000), SKEW_SECONDS)
  if (!(await store.assertions.use(zone.id, id, forgetAt))) throw unauthorized('its jti was used before')
  return true
}

function checkTimes({ expiresAt, since }: Assertion, now: number, isLimited: boolean): void {
  if (now >= expiresAt + SKEW_SECONDS) throw unauthorized('it expired')
  if (since.some(moment => moment > now + SKEW_SECONDS)) throw unauthorized('it is from the future')
  if (isLimited && expiresAt > now + MOST_SECONDS + SKEW_SECONDS) throw unauthorized('it lives too long')
}

/** Row C3. UAA: a zone's own issuer followed by the path of the token endpoint counts as the token endpoint. */
function audiencesOf(
  zone: Zone,
  endpoint: AuthenticatingEndpoint,
  { urls, behaviour }: Pick<ClientAuthDeps, 'urls' | 'behaviour'>,
): readonly string[] {
  const bases = urls.addressesOf(zone)
  const always = [...urls.issuersOf(zone), ...bases.map(base => `${base}/oauth/token`)]
  return behaviour.assertionForIssuer ? [...always, ...bases.map(base => base + endpoint.path)] : always
}

/** An unknown client is told the same as one without keys. */
async function checkSignature(
  { jwt, wanted }: Assertion,
  client: Client | undefined,
  foreignKeys: ForeignKeys,
): Promise<void> {
  const key = await foreignKeys
    .find({ jwks: client?.jwks, jwksUri: client?.jwksUri, ...shareOf(client) }, wanted)
    .catch((cause: unknown) => {
      if (cause instanceof UnusableKeys) throw refuse('Bad client_assertion', cause.message)
      throw cause
    })
  if (!key) throw refuse('Untrusted client_assertion')
  try {
    await compactVerify(jwt, key, { algorithms: [wanted.alg] })
  } catch (cause) {
    throw new OAuthError('invalid_client', 'Unauthorized client_assertion', { detail: 'bad signature', cause })
  }
}

/** A request for the client's keys is its zone's. */
const shareOf = (client: Client | undefined): Pick<KeySource, 'share'> =>
  client ? { share: { zoneId: client.zoneId, purpose: 'background' } } : {}

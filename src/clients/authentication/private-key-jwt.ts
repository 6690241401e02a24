// Client authentication by a signed JWT assertion (RFC 7523 §2.2, OpenID Connect Core §9).
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { decodeJwt } from 'jose/jwt/decode'
import { addSeconds } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import { StoreUnreachable } from '../../store/store.ts'
import { FOREIGN_ALGORITHMS } from '../../token/foreign-keys.ts'
import type { ForeignKeys, KeySource, WantedKey } from '../../token/foreign-keys.ts'
import { UnusableDocument } from '../../token/published-documents.ts'
import { outboundShareOf } from '../outbound-share.ts'
import { allowsFormCredentials } from './client-secret.ts'
import type { AuthenticatingEndpoint, ClientAuthDeps, ClientAuthMethod, CredentialParams } from './method.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const MAX_ASSERTION_LENGTH = 16_384
const MAX_CLIENT_ID_LENGTH = 255
const MAX_JTI_LENGTH = 256
/** How far the clocks of client and server may differ. */
const SKEW_SECONDS = 60
/** Row C4: how far ahead an assertion may expire, and so how long its id is remembered. */
const MAX_LIFETIME_SECONDS = 3600

/** A signed assertion in the form. */
export const privateKeyJwt: ClientAuthMethod = {
  name: 'private_key_jwt',
  recognises: ({ authorization, params, endpoint }) =>
    endpoint.allowsAssertion &&
    allowsFormCredentials(authorization) &&
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

/** The content of an assertion, not verified yet. */
interface Assertion {
  readonly jwt: string
  readonly clientId: string
  readonly wanted: WantedKey
  readonly audience: readonly string[]
  /** Whether the audience is one string, not a list. */
  readonly hasOneAudience: boolean
  readonly id: string
  readonly expiresAt: number
  /** `iat` and `nbf`, if present; neither may lie in the future. */
  readonly notBefore: readonly number[]
}

interface Circumstances {
  readonly client: Client | undefined
  readonly zone: AddressedZone
  readonly endpoint: AuthenticatingEndpoint
}

const refuse = (description: string, detail?: string): OAuthError =>
  new OAuthError('invalid_client', description, { detail })

const unauthorized = (detail: string): OAuthError => refuse('Unauthorized client_assertion', detail)

function readAssertion(params: CredentialParams): Assertion {
  if (params.get('client_assertion_type') !== ASSERTION_TYPE) throw refuse('Bad client_assertion type')
  const jwt = params.get('client_assertion') ?? ''
  const { header, claims } = decode(jwt)
  const { iss, sub, aud, jti, exp, iat, nbf } = claims
  const audience = [aud].flat().filter(item => typeof item === 'string')
  const notBefore = [iat, nbf].filter(moment => moment !== undefined)
  const isComplete =
    isStringUpTo(sub, MAX_CLIENT_ID_LENGTH) && isStringUpTo(jti, MAX_JTI_LENGTH) && audience.length > 0 && isMoment(exp)
  if (!isComplete || iss !== sub || !notBefore.every(isMoment)) throw refuse('Bad credentials')
  if ((params.get('client_id') ?? sub) !== sub) throw refuse('Wrong client_assertion')
  const { alg, kid } = header
  if (alg === undefined || !FOREIGN_ALGORITHMS.includes(alg)) throw refuse('Bad client_assertion algorithm')
  return {
    jwt,
    clientId: sub,
    wanted: { alg, kid },
    audience,
    hasOneAudience: typeof aud === 'string',
    id: jti,
    expiresAt: exp,
    notBefore,
  }
}

const isStringUpTo = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= length

const isMoment = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** Header and claims. Keys in the header (`jwk`, `jku`, `x5u`, `x5c`) are never read. */
function decode(jwt: string): { header: Partial<WantedKey>; claims: Readonly<Record<string, unknown>> } {
  const bad = (cause?: unknown): OAuthError => new OAuthError('invalid_client', 'Bad client_assertion', { cause })
  if (jwt.length > MAX_ASSERTION_LENGTH) throw bad()
  try {
    const { alg, kid, crit } = decodeProtectedHeader(jwt)
    // RFC 7515 §4.1.11: a critical extension that is not understood.
    if (crit === undefined) return { header: { ...(alg !== undefined && { alg }), kid }, claims: decodeJwt(jwt) }
  } catch (cause) {
    throw bad(cause)
  }
  throw bad()
}

/** Cheap checks first: no key is fetched for an assertion that would be refused anyway. */
async function verifyAssertion(
  assertion: Assertion,
  { client, zone, endpoint }: Circumstances,
  deps: ClientAuthDeps,
): Promise<boolean> {
  const { behaviour, clock, foreignKeys, store } = deps
  checkTimes(assertion, clock.now().getTime() / 1000, behaviour.assertionOnce)
  const ours = audiencesOf(zone, endpoint, deps)
  if (!assertion.audience.some(each => ours.includes(each))) throw unauthorized('its audience is not this server')
  if (client) checkDemands(assertion, client, zone, deps)

  // Its id could not be remembered, and to fetch the keys may take long.
  if (behaviour.assertionOnce && store.isUnreachable()) throw new StoreUnreachable('the database is unreachable')
  await checkSignature(assertion, { client, zone }, foreignKeys)
  if (!behaviour.assertionOnce) return true
  // After the signature: a forged assertion must not use up the id of a genuine one.
  const id = digest(JSON.stringify(['private_key_jwt', assertion.clientId, assertion.id]))
  const forgetAt = addSeconds(new Date(assertion.expiresAt * 1000), SKEW_SECONDS)
  if (!(await store.assertions.use(zone.id, id, forgetAt))) throw unauthorized('its jti was used before')
  return true
}

/** What the client's record, or a profile, asks of its assertions beyond what all of them must be. */
function checkDemands(
  { audience, hasOneAudience, wanted }: Assertion,
  client: Client,
  zone: AddressedZone,
  { urls }: Pick<ClientAuthDeps, 'urls'>,
): void {
  const { algorithms, issuerAsAudience } = demandsOn(zone, client)
  const algorithm = wanted.alg === 'Ed25519' ? 'EdDSA' : wanted.alg // RFC 9864 §2.2: a newer name of the same
  const fits = (one: string): boolean => one === algorithm
  if (algorithms && !algorithms.some(fits)) throw unauthorized(`its algorithm is none of ${algorithms.join(', ')}`)
  const { tokenEndpointAuthSigningAlg: own } = client
  if (own !== undefined && !fits(own)) throw unauthorized(`its algorithm is not ${own}`)
  if (issuerAsAudience && !(hasOneAudience && urls.issuersOf(zone).includes(audience[0] ?? ''))) {
    throw unauthorized('its audience is not the issuer alone')
  }
}

function checkTimes({ expiresAt, notBefore }: Assertion, now: number, isLimited: boolean): void {
  if (now >= expiresAt + SKEW_SECONDS) throw unauthorized('it expired')
  if (notBefore.some(moment => moment > now + SKEW_SECONDS)) throw unauthorized('it is from the future')
  if (isLimited && expiresAt > now + MAX_LIFETIME_SECONDS + SKEW_SECONDS) throw unauthorized('it lives too long')
}

/** Row C3. UAA: a zone's own issuer followed by the path of the token endpoint counts as the token endpoint. */
function audiencesOf(
  zone: AddressedZone,
  endpoint: AuthenticatingEndpoint,
  { urls, behaviour }: Pick<ClientAuthDeps, 'urls' | 'behaviour'>,
): readonly string[] {
  const bases = [...urls.addressesOf(zone), urls.certificateBaseOf(zone) ?? []].flat()
  const always = [...urls.issuersOf(zone), ...bases.map(base => `${base}/oauth/token`)]
  return behaviour.assertionForIssuer ? [...always, ...bases.map(base => base + endpoint.path)] : always
}

/** An unknown client gets the same answer as one without keys. */
async function checkSignature(
  { jwt, wanted }: Assertion,
  { client, zone }: Pick<Circumstances, 'client' | 'zone'>,
  foreignKeys: ForeignKeys,
): Promise<void> {
  const key = await foreignKeys
    .find({ jwks: client?.jwks, jwksUri: client?.jwksUri, ...shareOf(client) }, wanted)
    .catch((cause: unknown) => {
      if (cause instanceof UnusableDocument) throw refuse('Bad client_assertion', cause.message)
      throw cause
    })
  if (!key) throw refuse('Untrusted client_assertion')
  try {
    await foreignKeys.inTurn(zone.id, () => compactVerify(jwt, key, { algorithms: [wanted.alg] }))
  } catch (cause) {
    throw new OAuthError('invalid_client', 'Unauthorized client_assertion', { detail: 'bad signature', cause })
  }
}

const shareOf = (client: Client | undefined): Pick<KeySource, 'share'> =>
  client ? { share: outboundShareOf(client, 'background') } : {}

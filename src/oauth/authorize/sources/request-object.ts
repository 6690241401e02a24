// Request objects (RFC 9101): the parameters of an authorization request in a JWT that the client signed. Loaded on first
// use. Encrypted ones are not supported.
import { isUtf8 } from 'node:buffer'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactVerify } from 'jose/jws/compact/verify'
import { addSeconds } from '../../../base/clock.ts'
import { isJsonRecord, parseJson } from '../../../base/json.ts'
import type { JsonRecord } from '../../../base/json.ts'
import { digest } from '../../../base/secrets.ts'
import { demandsOn } from '../../../model/clients/client-demands.ts'
import { outboundShareOf } from '../../../clients/outbound-share.ts'
import type { Client } from '../../../model/clients/client.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { hasOneSpelling, isNumericDate, jwtType } from '../../../model/tokens/jwt.ts'
import { algorithmNamed } from '../../../model/tokens/signing-key.ts'
import { BEGUN_SECONDS } from '../../../model/tokens/pushed-request.ts'
import type { AddressedZone } from '../../../model/request.ts'
import type { Urls } from '../../../model/urls.ts'
import { SECRETS } from '../context.ts'
import { FOREIGN_ALGORITHMS } from '../../../token/foreign-keys.ts'
import type { ForeignKeys } from '../../../token/foreign-keys.ts'
import { UnusableDocument } from '../../../token/published-documents.ts'

/** Characters: a sign-in keeps it with the URL to come back to, of 4,096. Longer requests can be pushed. */
export const MAX_REQUEST_OBJECT_LENGTH = 3500
/** Characters, for an object that is pushed. */
export const MAX_PUSHED_OBJECT_LENGTH = 32_768
/** How far the clocks of client and server may differ. */
const SKEW_SECONDS = 60
/** FAPI 2.0 Message Signing §5.3.1, FAPI 1.0 Advanced §5.2.2: how old `nbf` may be, and how long an object is valid from then. */
const MAX_SECONDS = 3600

/** How long a used object is remembered if it is valid for longer or has no expiry. */
const MAX_REMEMBERED_SECONDS = 30 * 86_400

interface ReceivedObject {
  readonly jwt: string
  readonly client: Client
  readonly zone: AddressedZone
  /** The time at which it must be valid: when it first arrived. */
  readonly at: Date
}

interface RequestObjectDeps {
  readonly foreignKeys: ForeignKeys
  readonly urls: Urls
}

const refuse = (description: string, cause?: unknown, detail?: string): OAuthError =>
  new OAuthError('invalid_request_object', description, { cause, detail })

/** The contents of a verified object. */
export interface VerifiedObject {
  /** Form-encoded. */
  readonly parameters: string
  /** Its name, if it has one (RFC 7519 §4.1.7), and until when it must be remembered, so that it is accepted once. */
  readonly once?: { readonly idDigest: string; readonly until: Date }
}

/** Verifies the object. Throws `invalid_request_object`. */
export async function readObject(received: ReceivedObject, deps: RequestObjectDeps): Promise<VerifiedObject> {
  const { jwt, client } = received
  const alg = algorithmOf(received)
  const { kid } = headerOf(jwt)
  const key = await deps.foreignKeys
    .find({ jwks: client.jwks, jwksUri: client.jwksUri, share: outboundShareOf(client, 'sign-in') }, { alg, kid })
    .catch((cause: unknown) => {
      if (!(cause instanceof UnusableDocument)) throw cause
      throw refuse('The client has no usable keys for its request object', cause, cause.message)
    })
  if (!key) throw refuse('No key of the client matches the request object')
  const claims = await deps.foreignKeys.inTurn(received.zone.id, () => verified(jwt, key, alg))
  checkClaims(claims, received, deps)
  const { jti, exp } = claims
  const parameters = encode(claims)
  if (typeof jti !== 'string') return { parameters }
  const end = addSeconds(received.at, MAX_REMEMBERED_SECONDS)
  const until = isNumericDate(exp) && exp * 1000 < end.getTime() ? new Date(exp * 1000) : end
  // A user who started in time may return later.
  const once = { idDigest: onceDigest(client, jti), until: addSeconds(until, SKEW_SECONDS + BEGUN_SECONDS) }
  return { parameters, once }
}

/** Apart from the ids of the client's assertions. */
const onceDigest = ({ clientId }: Client, id: string): string =>
  digest(JSON.stringify(['request object', clientId, id]))

/** RFC 9101 §10.8, RFC 8725 §3.11: neither an assertion nor a proof nor a token of another kind. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'oauth-authz-req+jwt', 'jwt'])

/** Header parameters, not verified. Keys in it (`jwk`, `jku`, `x5u`, `x5c`) are never read. */
function headerOf(jwt: string): { readonly alg?: string | undefined; readonly kid?: string | undefined } {
  try {
    const { alg, kid, typ, crit } = decodeProtectedHeader(jwt)
    const isOfKind = TYPES.has(jwtType(typ))
    if (crit === undefined && isOfKind && (kid === undefined || typeof kid === 'string')) return { alg, kid }
  } catch (cause) {
    throw refuse('The request object is not a JWT', cause)
  }
  throw refuse('The request object is a JWT of another type')
}

/** The algorithm, if the client may sign with it; `none` and shared secrets are not among the known ones. */
function algorithmOf({ jwt, client, zone }: ReceivedObject): string {
  if (jwt.split('.').length !== 3) throw refuse('The request object is not a signed JWT')
  const { alg = '' } = headerOf(jwt)
  if (!FOREIGN_ALGORITHMS.includes(alg)) throw refuse('The request object must be signed with a key of the client')
  const { algorithms } = demandsOn(zone, client)
  const { requestObjectSigningAlg: own } = client
  for (const allowed of [algorithms, own && [own]]) {
    const isAllowed = allowed?.some(one => algorithmNamed(one) === algorithmNamed(alg)) !== false
    if (!isAllowed) throw refuse(`The request object must be signed by ${allowed?.join(' or ')}`)
  }
  return alg
}

async function verified(jwt: string, key: Parameters<typeof compactVerify>[1], alg: string): Promise<JsonRecord> {
  const invalid = (cause?: unknown) => refuse('The signature of the request object is invalid', cause)
  if (!hasOneSpelling(jwt)) throw invalid()
  const { payload } = await compactVerify(jwt, key, { algorithms: [alg] }).catch((cause: unknown) => {
    throw invalid(cause)
  })
  const claims = isUtf8(payload) ? parseJson(Buffer.from(payload).toString()) : undefined
  if (!isJsonRecord(claims)) throw refuse('The request object is not a JSON object')
  return claims
}

function checkClaims(claims: JsonRecord, { client, zone, at }: ReceivedObject, { urls }: RequestObjectDeps): void {
  const { client_id: clientId, iss, sub, aud, exp, nbf, iat } = claims
  if (clientId !== client.clientId) throw refuse('The client_id of the request object is not that of the client')
  if (iss !== undefined && iss !== client.clientId) {
    throw refuse('The issuer of the request object is not the client')
  }
  // RFC 9101 §10.8: what names the client as its subject may be an assertion.
  if (sub === client.clientId) throw refuse('The request object must not have the client as its subject')
  for (const name of ['request', 'request_uri']) {
    if (claims[name] !== undefined) throw refuse(`A request object must not contain ${name}`) // RFC 9101 §4
  }
  const ours: ReadonlySet<unknown> = new Set([...urls.issuersOf(zone), ...urls.addressesOf(zone)])
  const isOurs = [aud].flat().some(one => ours.has(one))
  if (aud !== undefined && !isOurs) throw refuse('The audience of the request object is not this server')
  for (const moment of [exp, nbf, iat]) {
    if (moment !== undefined && !isNumericDate(moment)) throw refuse('A time in the request object is not a number')
  }
  const now = at.getTime() / 1000
  if (isNumericDate(exp) && now >= exp + SKEW_SECONDS) throw refuse('The request object has expired')
  if ([nbf, iat].some(moment => isNumericDate(moment) && moment > now + SKEW_SECONDS)) {
    throw refuse('The request object is not valid yet')
  }
  if (demandsOn(zone, client).profile === undefined) return
  if (aud === undefined) throw refuse('The request object must name this server as its audience')
  if (!isNumericDate(nbf) || !isNumericDate(exp)) throw refuse('The request object must have nbf and exp')
  if (nbf < now - MAX_SECONDS - SKEW_SECONDS || exp > nbf + MAX_SECONDS) {
    throw refuse('The request object must not be valid for longer than an hour')
  }
}

/** Claims of the JWT itself (RFC 7519 §4.1), and parameters of other requests. */
const NOT_PARAMETERS: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'client_assertion_type',
  ...SECRETS,
])

/** RFC 9101 §4: strings as they are, numbers as digits, everything else as JSON; lists of strings are repeated. */
function encode(claims: JsonRecord): string {
  const pairs = Object.entries(claims).flatMap(([name, value]): readonly [string, string][] => {
    if (NOT_PARAMETERS.has(name) || value === null || value === undefined) return []
    const isList = Array.isArray(value) && value.every(item => typeof item === 'string')
    return isList ? value.map(item => [name, item]) : [[name, textOf(value)]]
  })
  try {
    return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
  } catch (cause) {
    throw refuse('The request object has text that is not valid Unicode', cause) // half of a surrogate pair
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

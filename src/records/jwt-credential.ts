// The subjects of other issuers whose JWTs authenticate a client (`jwt_creds`), a member of the client record.
import * as v from 'valibot'
import { parseJson } from '../base/json.ts'
import { isLoopbackHost } from '../base/loopback.ts'
import { isKeepable, UNKEEPABLE } from './kinds.ts'

/** UAA: as many as there may be keys. */
const MAX_JWT_CREDENTIALS = 10
const MAX_LENGTH = 1000
const MUST = 'must be a list of objects with iss, sub and optionally aud'

const credential = v.strictObject({ sub: v.string(), iss: v.string(), aud: v.optional(v.string()) })

/** One entry: JWTs with this issuer and subject, for this audience or else for this server. */
export type JwtCredential = v.InferOutput<typeof credential>

/** What the kind cannot say of the list to JSON Schema. */
export const JWT_CREDENTIALS_SCHEMA = {
  maxItems: MAX_JWT_CREDENTIALS,
  items: {
    type: 'object',
    properties: {
      iss: { type: 'string', maxLength: MAX_LENGTH, pattern: '^[Hh][Tt][Tt][Pp][Ss]?:[^?#\\s\\\\\\u0000]+$' },
      sub: { type: 'string', minLength: 1, maxLength: MAX_LENGTH },
      aud: { type: 'string', minLength: 1, maxLength: MAX_LENGTH },
    },
    required: ['iss', 'sub'],
    additionalProperties: false,
  },
} as const

/** What responses show. */
export const shownJwtCredentials = v.array(credential)

/** Whether both are about the same subject of the same issuer; a client has one entry for it. */
export const isSameSubject = (
  one: Pick<JwtCredential, 'iss' | 'sub'>,
  other: Pick<JwtCredential, 'iss' | 'sub'>,
): boolean => one.iss === other.iss && one.sub === other.sub

const isDistinct = (list: readonly JwtCredential[]): boolean =>
  list.every((each, index) => list.findIndex(other => isSameSubject(other, each)) === index)

const isSized = ({ sub, iss, aud }: JwtCredential): boolean =>
  [sub, iss, aud].every(text => text === undefined || (text !== '' && text.length <= MAX_LENGTH))

/** An https URL, or http on loopback, without user, query and fragment (OpenID Connect Discovery §3). */
function isIssuer({ iss }: JwtCredential): boolean {
  if (/[?#\\\s]/.test(iss) || !URL.canParse(iss)) return false
  const { protocol, hostname, username, password } = new URL(iss)
  const isReached = protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))
  return isReached && username === '' && password === ''
}

const every = (holds: (each: JwtCredential) => boolean, problem: string) =>
  v.check<JwtCredential[], string>(list => list.every(holds), problem)

const credentials = v.pipe(
  v.array(credential, MUST),
  v.maxLength(MAX_JWT_CREDENTIALS, `has more than ${MAX_JWT_CREDENTIALS} entries`),
  every(isKeepable, UNKEEPABLE),
  every(isSized, `has an iss, sub or aud that is empty or has more than ${MAX_LENGTH} characters`),
  every(isIssuer, 'has an iss that is not an https URL without user, query and fragment'),
  // The client signs such a JWT with a key of its own.
  every(({ iss, sub }) => iss !== sub, 'has an entry whose sub is its iss'),
  v.check<JwtCredential[], string>(isDistinct, 'has two entries with the same iss and sub'),
)

/** A list, or JSON text of one. */
export const jwtCredentials = v.pipe(
  v.union([shownJwtCredentials, v.pipe(v.string(), v.regex(/^\s*\[/, MUST))], MUST),
  v.transform(value => (typeof value === 'string' ? parseJson(value) : value)),
  credentials,
  v.readonly(),
)

/** The predicate for a list that breaks a rule; undefined for a valid one. */
export const jwtCredentialsProblem = (list: readonly JwtCredential[]): string | undefined =>
  v.safeParse(credentials, list, { abortEarly: true, abortPipeEarly: true }).issues?.[0].message

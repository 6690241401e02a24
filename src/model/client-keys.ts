// The keys of private_key_jwt as a client registers them.
import { isLoopbackHost } from '../base/loopback.ts'

const MOST_KEYS = 10

/** Members of a JWK that must not be known to anybody but the client (RFC 7518 §6). */
const PRIVATE_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])

type Jwk = Readonly<Record<string, unknown>>

/** What is wrong with a JWK, a JWK set, or JSON text of either, in the words of the client API; undefined when nothing. */
export function keySetProblem(value: unknown): string | undefined {
  const keys = keysOf(value)
  if (keys === undefined) return 'Client jwt configuration cannot be parsed'
  if (keys.length === 0 || keys.length > MOST_KEYS) {
    return `Invalid private_key_jwt: jwk set is empty of exceeds to maximum of keys. max: + ${MOST_KEYS}`
  }
  // A single key needs no name: there is nothing to confuse it with.
  if (keys.length > 1 && keys.some(key => typeof key['kid'] !== 'string')) {
    return 'Invalid private_key_jwt: kid is required attribute'
  }
  if (new Set(keys.map(key => key['kid'])).size !== keys.length) {
    return 'Invalid private_key_jwt: duplicate kid in JWKSet not allowed'
  }
  // A symmetric key is a secret that the server would have to keep readable.
  if (keys.some(key => typeof key['kty'] !== 'string' || key['kty'] === 'oct')) {
    return 'Client jwt configuration cannot be parsed'
  }
  return undefined
}

/** JSON text of a JWK set that passed `keySetProblem`, without the private members that somebody may have sent along. */
export function publicKeySet(value: unknown): string {
  const keys = (keysOf(value) ?? []).map(key =>
    Object.fromEntries(Object.entries(key).filter(([member]) => !PRIVATE_MEMBERS.has(member))),
  )
  return JSON.stringify({ keys })
}

/** What is wrong with the address of a key set: it must be https, or http on this machine; undefined when nothing. */
export function keyUriProblem(uri: string): string | undefined {
  if (!URL.canParse(uri)) return 'Invalid private_key_jwt: jwks_uri must be an absolute URL'
  const { protocol, hostname } = new URL(uri)
  if (protocol === 'https:') return undefined
  if (protocol !== 'http:') return 'Invalid private_key_jwt: jwks_uri must be either using https or http'
  if (isLoopbackHost(hostname)) return undefined
  return 'Invalid private_key_jwt: jwks_uri with http is not on localhost'
}

function keysOf(value: unknown): readonly Jwk[] | undefined {
  const parsed = typeof value === 'string' ? parse(value) : value
  if (!isObject(parsed)) return undefined
  const keys = Object.hasOwn(parsed, 'keys') ? parsed['keys'] : [parsed]
  return Array.isArray(keys) && keys.every(isObject) ? keys : undefined
}

const isObject = (value: unknown): value is Jwk => typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // told as "cannot be parsed"
  }
}

// The registered keys of a client for private_key_jwt.
import { isJsonRecord, parseJson } from '../../base/json.ts'
import { isLoopbackHost } from '../../base/loopback.ts'

const MAX_KEYS = 10

/** Private members of a JWK (RFC 7518 §6). */
const PRIVATE_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])

type Jwk = Readonly<Record<string, unknown>>

/** A client's keys: a JWK set as a JSON string, or a URL; never both. */
export interface ClientKeys {
  readonly jwks?: string
  readonly jwksUri?: string
}

/** Whether one JWK has private members. */
export const isPrivateKey = (jwk: Jwk): boolean => Object.keys(jwk).some(member => PRIVATE_MEMBERS.has(member))

/** Whether a JWK, a JWK set, or a JSON string of either contains private members. */
export const holdsPrivateKey = (value: unknown): boolean => (keysOf(value) ?? []).some(isPrivateKey)

const isNamed = ({ kid }: Jwk): boolean => typeof kid === 'string' && kid.trim() !== ''

/**
 * The problem of a JWK, a JWK set, or a JSON string of either, with the message of the client API; undefined if valid.
 * `named`: every key needs a `kid`, because later changes refer to it.
 */
export function keySetProblem(value: unknown, { named = false } = {}): string | undefined {
  const keys = keysOf(value)
  if (keys === undefined) return 'Client jwt configuration cannot be parsed'
  if (keys.length === 0 || keys.length > MAX_KEYS) {
    return `Invalid private_key_jwt: jwk set is empty of exceeds to maximum of keys. max: + ${MAX_KEYS}`
  }
  // A single key needs no `kid`.
  if ((named || keys.length > 1) && !keys.every(isNamed)) {
    return 'Invalid private_key_jwt: kid is required attribute'
  }
  if (new Set(keys.map(key => key['kid'])).size !== keys.length) {
    return 'Invalid private_key_jwt: duplicate kid in JWKSet not allowed'
  }
  // A symmetric key would have to be stored in plain text.
  if (keys.some(key => typeof key['kty'] !== 'string' || key['kty'] === 'oct')) {
    return 'Client jwt configuration cannot be parsed'
  }
  return undefined
}

/** The JSON string of a valid JWK set, without private members. */
export function publicKeySet(value: unknown): string {
  const keys = (keysOf(value) ?? []).map(key =>
    Object.fromEntries(Object.entries(key).filter(([member]) => !PRIVATE_MEMBERS.has(member))),
  )
  return JSON.stringify({ keys })
}

/** The problem of a key set's URL, which must be https, or http on loopback; undefined if valid. */
export function keyUriProblem(uri: string): string | undefined {
  // RFC 3986 §2: characters that a URI cannot have, which a lenient parser would encode.
  const isUri = !/[^!#-;=?-[\]_a-z~]/.test(uri) && URL.canParse(uri, 'https://any.example')
  if (!isUri) return 'Client jwt configuration with invalid URI'
  if (!URL.canParse(uri)) return 'Invalid private_key_jwt: jwks_uri must be an absolute URL'
  const { protocol, hostname, username, password } = new URL(uri)
  if (username !== '' || password !== '') return 'Client jwt configuration with invalid URI' // they would not be used
  if (protocol === 'https:') return undefined
  if (protocol !== 'http:') return 'Invalid private_key_jwt: jwks_uri must be either using https or http'
  if (isLoopbackHost(hostname)) return undefined
  return 'Invalid private_key_jwt: jwks_uri with http is not on localhost'
}

/**
 * Adds keys, identified by `kid`. Existing keys are replaced only with `overwrite`, as are a URL by keys and keys by a
 * URL. The result may have too many keys: check it with `keySetProblem`.
 */
export function withKeys(existing: ClientKeys, given: ClientKeys, { overwrite }: { overwrite: boolean }): ClientKeys {
  if (existing.jwks === undefined && existing.jwksUri === undefined) return given
  if (given.jwks === undefined || existing.jwks === undefined) return overwrite ? given : existing
  const before = keysOf(existing.jwks) ?? []
  const added = keysOf(given.jwks) ?? []
  const named = (keys: readonly Jwk[], { kid }: Jwk): Jwk | undefined => keys.find(key => key['kid'] === kid)
  const kept = before.map(key => (overwrite ? (named(added, key) ?? key) : key))
  return { jwks: JSON.stringify({ keys: [...kept, ...added.filter(key => !named(before, key))] }) }
}

/** The keys to remove: the URL (`*` for any), or the keys with these ids. */
export type KeyRemoval = { readonly jwksUri: string } | { readonly kids: readonly string[] }

/** Removes keys; returns the same object if none matches, and an empty one if none is left. */
export function withoutKeys(existing: ClientKeys, removal: KeyRemoval): ClientKeys {
  if ('jwksUri' in removal) {
    const fits = existing.jwksUri !== undefined && ['*', existing.jwksUri].includes(removal.jwksUri)
    return fits ? {} : existing
  }
  const before = keysOf(existing.jwks) ?? []
  const kept = before.filter(({ kid }) => !removal.kids.some(gone => gone === kid))
  if (kept.length === before.length) return existing
  return kept.length === 0 ? {} : { jwks: JSON.stringify({ keys: kept }) }
}

/** The `kid`s of a JWK, a JWK set, or a JSON string of either. */
export const namesOfKeys = (value: unknown): readonly string[] =>
  (keysOf(value) ?? []).map(key => key['kid']).filter(kid => typeof kid === 'string')

/** More levels than any JWK has; limits the recursion. */
const MAX_DEPTH = 8

const isShallow = (value: unknown, depth = 0): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth < MAX_DEPTH && Object.values(value).every(each => isShallow(each, depth + 1)))

function keysOf(value: unknown): readonly Jwk[] | undefined {
  const parsed = typeof value === 'string' ? parseJson(value) : value
  if (!isJsonRecord(parsed) || !isShallow(parsed)) return undefined
  const keys = Object.hasOwn(parsed, 'keys') ? parsed['keys'] : [parsed]
  return Array.isArray(keys) && keys.every(isJsonRecord) ? keys : undefined
}

// The keys of private_key_jwt as a client registers them.
import { isJsonRecord, parseJson } from '../base/json.ts'
import { isLoopbackHost } from '../base/loopback.ts'

const MAX_KEYS = 10

/** Members of a JWK that must not be known to anybody but the client (RFC 7518 §6). */
const PRIVATE_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])

type Jwk = Readonly<Record<string, unknown>>

/** Where a client's keys are: in the record as JSON text of a JWK set, or published at an address; never both. */
export interface ClientKeys {
  readonly jwks?: string
  readonly jwksUri?: string
}

/** Whether a JWK, a JWK set, or JSON text of either holds what only the client may know. */
export const holdsPrivateKey = (value: unknown): boolean =>
  (keysOf(value) ?? []).some(key => Object.keys(key).some(member => PRIVATE_MEMBERS.has(member)))

/**
 * What is wrong with a JWK, a JWK set, or JSON text of either, in the words of the client API; undefined when nothing.
 * `named` where later changes refer to keys by their names.
 */
export function keySetProblem(value: unknown, { named = false } = {}): string | undefined {
  const keys = keysOf(value)
  if (keys === undefined) return 'Client jwt configuration cannot be parsed'
  if (keys.length === 0 || keys.length > MAX_KEYS) {
    return `Invalid private_key_jwt: jwk set is empty of exceeds to maximum of keys. max: + ${MAX_KEYS}`
  }
  // A single key needs no name: there is nothing to confuse it with.
  if ((named || keys.length > 1) && keys.some(key => typeof key['kid'] !== 'string')) {
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
  // RFC 3986 §2: characters that a URI cannot have, which a lenient parser would encode.
  const isUri = !/[^!#-;=?-[\]_a-z~]/.test(uri) && URL.canParse(uri, 'https://any.example')
  if (!isUri) return 'Client jwt configuration with invalid URI'
  if (!URL.canParse(uri)) return 'Invalid private_key_jwt: jwks_uri must be an absolute URL'
  const { protocol, hostname, username, password } = new URL(uri)
  if (username !== '' || password !== '') return 'Client jwt configuration with invalid URI' // nobody would use them
  if (protocol === 'https:') return undefined
  if (protocol !== 'http:') return 'Invalid private_key_jwt: jwks_uri must be either using https or http'
  if (isLoopbackHost(hostname)) return undefined
  return 'Invalid private_key_jwt: jwks_uri with http is not on localhost'
}

/**
 * The keys with others added. Keys are told apart by name; one that is there already is replaced only if `overwrite`
 * says so, and so is an address by keys and the other way round. The result may be too much: see `keySetProblem`.
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

/** What is to be removed: the address, whichever it is for `*`, or the keys with these names. */
export type KeyRemoval = { readonly jwksUri: string } | { readonly kids: readonly string[] }

/** The keys without those; the very same object when nothing fits, and an empty one when nothing is left. */
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

/** The names of the keys in a JWK, a JWK set, or JSON text of either. */
export const namesOfKeys = (value: unknown): readonly string[] =>
  (keysOf(value) ?? []).map(key => key['kid']).filter(kid => typeof kid === 'string')

/** More levels than any JWK has; what is deeper could not even be written again. */
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

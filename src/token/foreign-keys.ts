// Public keys of clients that sign assertions and providers that sign tokens. Owns the choice of the key for a signature;
// does not know who signed what.
import { createPublicKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createCache } from '../base/cache.ts'
import { approximateBytes } from '../base/size.ts'
import type { Clock } from '../base/clock.ts'
import { isJsonRecord, memberOf } from '../base/json.ts'
import type { Outbound, OutboundShare } from '../base/outbound.ts'
import { isWithinRsaLimits } from '../base/certificates/rsa-limits.ts'
import { isPrivateKey } from '../model/clients/client-keys.ts'
import { algorithmNamed } from '../model/tokens/signing-key.ts'
import { createPublishedDocuments, UnusableDocument } from './published-documents.ts'
import type { Verifications } from './verifications.ts'

/** The source of a party's keys: its discovery document, a URL, or else inline JSON. */
export interface KeySource {
  /** An issuer, whose discovery document names the URL; takes precedence over the others. */
  readonly issuer?: string | undefined
  /** JSON string of a JWK set or a single JWK. */
  readonly jwks?: string | undefined
  /** URL of such a document; takes precedence over `jwks`. */
  readonly jwksUri?: string | undefined
  /** Whether the document is fetched again before each use, as often as is allowed. */
  readonly refetch?: boolean | undefined
  /** The share that fetching documents counts against. */
  readonly share?: OutboundShare
}

/** The parameters of the protected header that select the key. */
export interface WantedKey {
  readonly alg: string
  /** Without it exactly one key must match (RFC 7515 §4.1.4). */
  readonly kid: string | undefined
}

/** Finds keys to verify with. */
export interface ForeignKeys extends Verifications {
  /** The one matching key, or undefined. Throws `UnusableDocument` when no key document is available. */
  find(source: KeySource, wanted: WantedKey): Promise<KeyObject | undefined>
  /** Whether one of the keys has the certificate with this SHA-256 (base64url) as its own, in `x5c`. Throws like `find`. */
  hasCertificate(source: KeySource, thumbprint: string): Promise<boolean>
}

interface Kind {
  readonly kty: string
  readonly crv?: string
}

const RSA: Kind = { kty: 'RSA' }
const ED25519: Kind = { kty: 'OKP', crv: 'Ed25519' }

/** The key type of each algorithm (RFC 7518 §3.1, RFC 8037, RFC 9864); none is symmetric. */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['RS256', RSA],
  ['RS384', RSA],
  ['RS512', RSA],
  ['PS256', RSA],
  ['PS384', RSA],
  ['PS512', RSA],
  ['ES256', { kty: 'EC', crv: 'P-256' }],
  ['ES384', { kty: 'EC', crv: 'P-384' }],
  ['ES512', { kty: 'EC', crv: 'P-521' }],
  ['EdDSA', ED25519],
  ['Ed25519', ED25519],
])

/** The accepted algorithms, RS256 first; also published in the metadata. */
export const FOREIGN_ALGORITHMS: readonly string[] = [...KINDS.keys()]

/** The algorithms among those allowed, by either name of EdDSA; all if none are given. */
export const foreignAlgorithmsAmong = (allowed: readonly string[] | undefined): readonly string[] =>
  FOREIGN_ALGORITHMS.filter(each => allowed?.some(one => algorithmNamed(one) === algorithmNamed(each)) !== false)

const MAX_TEXTS = 500
/** More than any realistic key set; both are cached in memory. */
const MAX_KEYS = 500
/** Opened keys of one party; each takes `OPENED_BYTES` outside of the heap. */
const MAX_OPENED = 50
const OPENED_BYTES = 3 * 1024
const MAX_TEXT_LENGTH = 64 * 1024 // as of published ones
const MAX_URL_LENGTH = 2000

type Jwk = Readonly<Record<string, unknown>>

/** A parsed document; keys are imported on first use. */
interface KeySet {
  find(wanted: WantedKey): KeyObject | undefined
  readonly jwks: readonly Jwk[]
  /** SHA-256 of their certificates. */
  readonly thumbprints: ReadonlySet<string>
}

/** One instance serves all zones. */
export function createForeignKeys({
  outbound,
  clock,
  verifications,
}: {
  outbound: Outbound
  clock: Clock
  verifications: Verifications
}): ForeignKeys {
  const texts = createCache<KeySet>({ capacity: MAX_TEXTS, sizeOf: bytesOf })
  const published = createPublishedDocuments({ outbound, clock, read: keySetOf, sizeOf: bytesOf })
  const discovered = createPublishedDocuments({ outbound, clock, read: readDiscovery, sizeOf: approximateBytes })

  /** Another issuer must not name the keys: two that differ in a slash have one document (Discovery §4.3). */
  async function keysUriOf(issuer: string, share: OutboundShare | undefined): Promise<string> {
    const uri = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const found = await discovered.find({ uri, share }, document => document)
    if (found?.issuer === issuer) return found.keysUri
    throw new UnusableDocument('the discovery document has another issuer')
  }

  async function findIn<T>(
    { issuer, jwks, jwksUri, refetch, share }: KeySource,
    find: (keys: KeySet) => T | undefined,
  ): Promise<T | undefined> {
    const uri = issuer === undefined ? jwksUri : await keysUriOf(issuer, share)
    if (uri !== undefined) return published.find({ uri, share, refetch }, find)
    if (jwks === undefined) throw new UnusableDocument('there are no keys')
    if (jwks.length > MAX_TEXT_LENGTH) throw new UnusableDocument('the document is too long')
    const keys = await texts.get(jwks, () => Promise.resolve(keySetOf(parse(jwks))))
    return keys && find(keys)
  }

  return {
    ...verifications,
    find: (source, wanted) =>
      KINDS.has(wanted.alg) ? findIn(source, keys => keys.find(wanted)) : Promise.resolve(undefined),
    hasCertificate: async (source, thumbprint) =>
      (await findIn(source, keys => keys.thumbprints.has(thumbprint) || undefined)) ?? false,
  }
}

/** The members that are used (Discovery §3). */
function readDiscovery(document: unknown): { readonly issuer: string; readonly keysUri: string } {
  const [issuer, keysUri] = [memberOf(document, 'issuer'), memberOf(document, 'jwks_uri')]
  const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_URL_LENGTH
  if (isText(issuer) && isText(keysUri)) return { issuer, keysUri }
  throw new UnusableDocument('the document is not a discovery document')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnusableDocument('the document is not JSON')
  }
}

/** RFC 7517 §5: ignores keys that cannot be used. */
function keySetOf(document: unknown): KeySet {
  if (!isJsonRecord(document)) throw new UnusableDocument('the document is not a JWK set')
  const list = document['kty'] === undefined ? document['keys'] : [document]
  if (!Array.isArray(list)) throw new UnusableDocument('the document is not a JWK set')
  if (list.length > MAX_KEYS) throw new UnusableDocument('the document has too many keys')
  const published = list.filter(isJsonRecord).filter(isPublic)
  const jwks: readonly Jwk[] = published.map(essence)
  const opened = new Map<Jwk, KeyObject>()
  const unusable = new Set<Jwk>()

  function openOnce(jwk: Jwk): KeyObject | undefined {
    if (unusable.has(jwk)) return undefined
    const key = opened.get(jwk) ?? open(jwk)
    if (!key) {
      unusable.add(jwk)
      return undefined
    }
    if (!opened.has(jwk) && opened.size >= MAX_OPENED) opened.clear()
    opened.set(jwk, key)
    return key
  }

  return {
    jwks,
    thumbprints: new Set(published.flatMap(jwk => thumbprintIn(jwk) ?? [])),
    find(wanted) {
      let found: KeyObject | undefined
      for (const jwk of jwks) {
        const key = fits(jwk, wanted) ? openOnce(jwk) : undefined
        if (key && found) return undefined // without opening the others, which would be kept
        found ??= key
      }
      return found
    },
  }
}

const bytesOf = ({ jwks, thumbprints }: KeySet): number =>
  approximateBytes([jwks, thumbprints]) + OPENED_BYTES * Math.min(jwks.length, MAX_OPENED)

/** Refuses a published private key: it is compromised. */
const isPublic = (jwk: Jwk): boolean => !Object.hasOwn(jwk, 'd')

const MEMBERS = ['kty', 'kid', 'alg', 'use', 'key_ops', 'crv', 'x', 'y', 'n', 'e'] as const

/** Thumbprint of the key's own certificate, which is the first (RFC 7517 §4.7). */
function thumbprintIn({ x5c }: Jwk): string | undefined {
  const own: unknown = Array.isArray(x5c) ? x5c[0] : undefined
  return typeof own === 'string' && own !== '' ? hash('sha256', Buffer.from(own, 'base64'), 'base64url') : undefined
}

/** Only the members of the public key: unused certificates would take most of the memory. */
const essence = (jwk: Jwk): Jwk =>
  Object.fromEntries(MEMBERS.filter(name => Object.hasOwn(jwk, name)).map(name => [name, jwk[name]]))

/** The public key of a JWK; undefined if it is not public, malformed, too weak, or not for the algorithm. */
export function openPublicKey(jwk: Jwk, alg: string): KeyObject | undefined {
  const isUsable = !isPrivateKey(jwk) && fits(jwk, { alg, kid: undefined })
  return isUsable ? open(essence(jwk)) : undefined
}

/** Whether a key of a JWK set, as a JSON string, can verify signatures by one of the algorithms. */
export function verifiesWith(jwks: string, algorithms: readonly string[]): boolean {
  const keys = memberOf(parse(jwks), 'keys')
  const isUsable = (jwk: Jwk): boolean => algorithms.some(alg => openPublicKey(jwk, alg) !== undefined)
  return Array.isArray(keys) && keys.filter(isJsonRecord).some(isUsable)
}

function fits(jwk: Jwk, { alg, kid }: WantedKey): boolean {
  const kind = KINDS.get(alg)
  const { use, alg: own, key_ops: operations } = jwk
  return (
    kind !== undefined &&
    (kid === undefined || jwk['kid'] === kid) &&
    jwk['kty'] === kind.kty &&
    (kind.crv === undefined || jwk['crv'] === kind.crv) &&
    (own === undefined || (typeof own === 'string' && algorithmNamed(own) === algorithmNamed(alg))) &&
    (use === undefined || use === 'sig') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  )
}

/** Imports the key; undefined if it is malformed or too weak. */
function open(jwk: Jwk): KeyObject | undefined {
  let key: KeyObject
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' }) // it checks the members itself
  } catch {
    return undefined
  }
  return isWithinRsaLimits(key) ? key : undefined
}

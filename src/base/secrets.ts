// Digests, keyed digests, constant-time comparison, and encryption of secrets that must be readable again. Does not know
// what a secret is for. Slow password hashes are in passwords.ts.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Random } from './random.ts'

/** SHA-256 of a value with at least 128 random bits, base64url: how codes, tokens and session ids are stored. */
export const digest = (value: string): string => hash('sha256', value, 'base64url')

/** HMAC-SHA-256 under a secret with at least 128 random bits, base64url. */
export const keyedBy = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url')

/** HMAC-SHA-256 under a shared key, base64, for protocols that say so. */
export const signedBy = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64')

/** Compares two strings in constant time. */
export function sameSecret(left: string, right: string): boolean {
  const a = hash('sha256', left, 'buffer')
  const b = hash('sha256', right, 'buffer')
  return timingSafeEqual(a, b)
}

/** Encrypts under the master key, and makes keyed digests. */
export interface Vault {
  /** AES-256-GCM; `context` (such as zone and key id) is the associated data and must be the same to open. */
  seal(plain: string, context: string): string
  /** Throws when the value was altered or sealed with another context, and `MissingMasterKey` when its key is missing. */
  open(sealed: string, context: string): string
  /** HMAC-SHA-256, base64url: equal strings give equal digests. Independent of changes of the master keys. */
  keyedDigest(text: string): string
}

/** A vault whose master keys can be exchanged. */
export interface MasterVault extends Vault {
  /** Ids of the master keys; the first one seals. */
  readonly keyIds: readonly string[]
  /** Switches to other master keys; digests do not change. */
  useKeys(masterKeys: readonly Buffer[]): void
  /** The id of the key that opens the value; undefined if none does. Tries to open it. */
  keyOf(sealed: string, context: string): string | undefined
  /** The key of the digests, sealed. */
  sealedDigestKey(): string
  /** Whether the value of `sealedDigestKey` has the key of these digests. */
  hasDigestKey(sealed: string): boolean
}

/** Thrown for a value sealed with a missing master key. */
export class MissingMasterKey extends Error {
  override name = 'MissingMasterKey'
  readonly keyId: string
  constructor(keyId: string) {
    super(`a value is encrypted with the master key ${keyId}, which this server does not have`)
    this.keyId = keyId
  }
}

interface MasterKey {
  readonly id: string
  readonly encryption: KeyObject
}

const MASTER_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const DIGEST_KEY = 'server-key digests'

const derived = (masterKey: Buffer, purpose: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), `latchkey ${purpose}`, bytes))

/** An identifier of the master key that reveals nothing about it. */
export const masterKeyId = (masterKey: Buffer): string => derived(masterKey, 'key id', 4).toString('hex')

/** The key of digests in a database that was made with this master key. */
export const digestKeyOf = (masterKey: Buffer): Buffer => derived(masterKey, 'digests', 32)

/** Whether the text has the form of a sealed value. */
export const isSealed = (text: string): boolean => /^v(?:1|2\.[0-9a-f]{8})\.[\w-]+$/.test(text)

function openedKey(masterKey: Buffer): MasterKey {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new Error('the master key must have 32 bytes')
  return { id: masterKeyId(masterKey), encryption: createSecretKey(derived(masterKey, 'encryption', 32)) }
}

/** The key's id, undefined in the first format, and the bytes. */
function parsed(sealed: string): { readonly keyId: string | undefined; readonly bytes: Buffer } {
  const [, keyId, text = ''] = /^v(?:1|2\.([0-9a-f]{8}))\.([\w-]+)$/.exec(sealed) ?? []
  const bytes = Buffer.from(text, 'base64url')
  // Decoding ignores spare bits, which the tag does not cover.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== text) {
    throw new Error('not an encrypted value')
  }
  return { keyId, bytes }
}

function decrypted(bytes: Buffer, encryption: KeyObject, context: string): string {
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', encryption, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
}

/**
 * Opens a vault on 32-byte master keys, of which the first seals and all open; throws on any other length. The digests have
 * a key of their own, which a new database derives from its master key.
 */
export function createVault(given: Buffer | readonly Buffer[], random: Random, digestKey?: Buffer): MasterVault {
  let keys = openAll(Buffer.isBuffer(given) ? [given] : given)
  const [first] = Buffer.isBuffer(given) ? [given] : given
  const digestBytes = digestKey ?? digestKeyOf(first ?? Buffer.alloc(0))
  const digests = createSecretKey(digestBytes)

  function openAll(masterKeys: readonly Buffer[]): readonly [MasterKey, ...MasterKey[]] {
    const [active, ...others] = masterKeys.map(openedKey)
    if (!active) throw new Error('there is no master key')
    return [active, ...others]
  }

  /** Values of the first format do not name their key, so every key is tried. */
  function opened(sealed: string, context: string): { readonly plain: string; readonly keyId: string } {
    const { keyId, bytes } = parsed(sealed)
    const candidates = keyId === undefined ? keys : keys.filter(({ id }) => id === keyId)
    if (keyId !== undefined && candidates.length === 0) throw new MissingMasterKey(keyId)
    let failure: unknown
    for (const { id, encryption } of candidates) {
      try {
        return { plain: decrypted(bytes, encryption, context), keyId: id }
      } catch (error) {
        failure = error
      }
    }
    throw new Error('an encrypted value was altered, or its master key is missing', { cause: failure })
  }

  const vault: MasterVault = {
    seal(plain, context) {
      const [{ id, encryption }] = keys
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', encryption, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `v2.${id}.${Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')}`
    },
    open: (sealed, context) => opened(sealed, context).plain,
    keyedDigest: text => createHmac('sha256', digests).update(text).digest('base64url'),
    get keyIds() {
      return keys.map(({ id }) => id)
    },
    useKeys(masterKeys) {
      keys = openAll(masterKeys)
    },
    keyOf(sealed, context) {
      try {
        return opened(sealed, context).keyId
      } catch {
        return undefined
      }
    },
    sealedDigestKey: () => vault.seal(digestBytes.toString('base64url'), DIGEST_KEY),
    hasDigestKey: sealed => sameSecret(vault.open(sealed, DIGEST_KEY), digestBytes.toString('base64url')),
  }
  return vault
}

/** Opens the value of `sealedDigestKey` with one of the master keys; throws as `Vault.open`. */
export const openDigestKey = (sealed: string, masterKeys: readonly Buffer[], random: Random): Buffer =>
  Buffer.from(createVault(masterKeys, random).open(sealed, DIGEST_KEY), 'base64url')

/** Caches which secrets passed the slow check, for as long as the record is the same object. */
export interface SecretMemory {
  /** Whether this secret passed before. */
  knows(record: object, secret: string): boolean
  /** Whether a secret of this stored hash passed before: then a secret that is not known is not that of the hash. */
  hasPassed(record: object, hash: string): boolean
  /** Remembers the secret of a stored hash; at most two for each record, since a client has no more. */
  remember(record: object, hash: string, secret: string): void
}

/** Keeps digests salted for this process, so that memory holds nothing usable elsewhere. */
export function createSecretMemory(random: Random): SecretMemory {
  const salt = random.hex(32)
  const passed = new WeakMap<object, readonly { readonly hash: string; readonly digest: string }[]>()
  const digestOf = (secret: string): string => hash('sha256', `${salt}${secret}`, 'base64')
  return {
    knows(record, secret) {
      const known = passed.get(record)
      if (known === undefined) return false
      const digest = digestOf(secret)
      return known.some(each => each.digest === digest)
    },
    hasPassed: (record, hash) => passed.get(record)?.some(each => each.hash === hash) ?? false,
    remember(record, hash, secret) {
      const others = (passed.get(record) ?? []).filter(each => each.hash !== hash)
      passed.set(record, [{ hash, digest: digestOf(secret) }, ...others].slice(0, 2))
    },
  }
}

/** SHA-256 in hexadecimal, for wire formats that require it. */
export const hexDigest = (value: string): string => hash('sha256', value, 'hex')

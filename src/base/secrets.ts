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

/** Encrypts and makes keyed digests with keys derived from the master key, one per purpose. */
export interface Vault {
  /** AES-256-GCM; `context` (such as zone and key id) is the associated data and must be the same to open. */
  seal(plain: string, context: string): string
  /** Throws when the value was altered, or sealed with another master key or context. */
  open(sealed: string, context: string): string
  /** HMAC-SHA-256, base64url: equal strings give equal digests, computable only with the master key. */
  keyedDigest(text: string): string
}

/** Opens a vault on a 32-byte master key; throws on any other length. */
export function createVault(masterKey: Buffer, random: Random): Vault {
  if (masterKey.length !== 32) throw new Error('the master key must have 32 bytes')
  const derive = (purpose: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), `latchkey ${purpose}`, 32)))
  const encryption = derive('encryption')
  const digests = derive('digests')

  return {
    seal(plain, context) {
      const nonce = random.bytes(12)
      const cipher = createCipheriv('aes-256-gcm', encryption, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `v1.${Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')}`
    },
    open(sealed, context) {
      if (!sealed.startsWith('v1.')) throw new Error('not a sealed value')
      const text = sealed.slice(3)
      const bytes = Buffer.from(text, 'base64url')
      // Decoding ignores invalid characters and spare bits, which the tag does not cover.
      if (bytes.length < 28 || bytes.toString('base64url') !== text) throw new Error('not a sealed value')
      const decipher = createDecipheriv('aes-256-gcm', encryption, bytes.subarray(0, 12), { authTagLength: 16 })
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8')
    },
    keyedDigest: text => createHmac('sha256', digests).update(text).digest('base64url'),
  }
}

/** Caches which secrets passed the slow check, for as long as the record is the same object. */
export interface SecretMemory {
  /** Whether this secret passed before. */
  knows(record: object, secret: string): boolean
  /** Remembers the secret; at most two for each record, since a client has no more. */
  remember(record: object, secret: string): void
}

/** Keeps digests salted for this process, so that memory holds nothing usable elsewhere. */
export function createSecretMemory(random: Random): SecretMemory {
  const salt = random.hex(32)
  const passed = new WeakMap<object, readonly string[]>()
  const digestOf = (secret: string): string => hash('sha256', `${salt}${secret}`, 'base64')
  return {
    knows: (record, secret) => passed.get(record)?.includes(digestOf(secret)) ?? false,
    remember(record, secret) {
      const known = passed.get(record) ?? []
      passed.set(record, [digestOf(secret), ...known].slice(0, 2))
    },
  }
}

/** SHA-256 in hexadecimal, for wire formats that require it. */
export const hexDigest = (value: string): string => hash('sha256', value, 'hex')

// Compares a password with the value that a directory stores (RFC 2307 §5.3, RFC 3112).
import { hash, timingSafeEqual } from 'node:crypto'
import type { Passwords } from '../../base/passwords.ts'
import { sameSecret } from '../../base/secrets.ts'

/** Digests by scheme; a salt follows the digest. */
const DIGESTS: Readonly<
  Record<string, { readonly algorithm: string; readonly bytes: number; readonly isSalted: boolean }>
> = {
  MD5: { algorithm: 'md5', bytes: 16, isSalted: false },
  SMD5: { algorithm: 'md5', bytes: 16, isSalted: true },
  SHA: { algorithm: 'sha1', bytes: 20, isSalted: false },
  SSHA: { algorithm: 'sha1', bytes: 20, isSalted: true },
  SHA256: { algorithm: 'sha256', bytes: 32, isSalted: false },
  SSHA256: { algorithm: 'sha256', bytes: 32, isSalted: true },
  SHA384: { algorithm: 'sha384', bytes: 48, isSalted: false },
  SSHA384: { algorithm: 'sha384', bytes: 48, isSalted: true },
  SHA512: { algorithm: 'sha512', bytes: 64, isSalted: false },
  SSHA512: { algorithm: 'sha512', bytes: 64, isSalted: true },
}

/** The directory chooses the cost of bcrypt: 14 takes about a second, 31 would take a day. */
const MAX_BCRYPT_COST = 14
const BCRYPT = /^\{b?crypt\}\$2[abxy]\$(\d\d)\$/i

/** How much of the time of the costliest value the comparison takes. */
export function costOf(stored: string): number {
  const cost = BCRYPT.exec(stored)?.[1]
  return cost === undefined || Number(cost) > MAX_BCRYPT_COST ? 0 : 2 ** (Number(cost) - MAX_BCRYPT_COST)
}

/** Compares the password; false for an unknown scheme. Throws `TooManyHashes`. */
export async function isStoredPassword(
  stored: string,
  password: string,
  passwords: Pick<Passwords, 'verify'>,
): Promise<boolean> {
  if (stored === '') return false
  const [, scheme, value = ''] = /^\{([^{}]+)\}(.*)$/s.exec(stored) ?? []
  if (scheme === undefined) return sameSecret(stored, password)
  const name = scheme.toUpperCase()
  if (name === 'CLEAR' || name === 'CLEARTEXT') return value !== '' && sameSecret(value, password)
  if (name === 'CRYPT' || name === 'BCRYPT') {
    const cost = /^\$2[abxy]\$(\d\d)\$/.exec(value)?.[1]
    return cost !== undefined && Number(cost) <= MAX_BCRYPT_COST && passwords.verify(value, password)
  }
  const digest = Object.hasOwn(DIGESTS, name) ? DIGESTS[name] : undefined
  return digest !== undefined && isDigestOf(password, Buffer.from(value, 'base64'), digest)
}

function isDigestOf(
  password: string,
  stored: Buffer,
  { algorithm, bytes, isSalted }: { readonly algorithm: string; readonly bytes: number; readonly isSalted: boolean },
): boolean {
  if (isSalted ? stored.length <= bytes : stored.length !== bytes) return false
  const computed = hash(algorithm, Buffer.concat([Buffer.from(password), stored.subarray(bytes)]), 'buffer')
  return timingSafeEqual(computed, stored.subarray(0, bytes))
}

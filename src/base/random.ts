import { randomFillSync, randomUUID } from 'node:crypto'

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Crockford's alphabet: no I, L, O or U. */
const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** The alphabet of RFC 8628 §6.1: no vowels, so that no words appear, and nothing that looks like a digit. */
const CONSONANTS = 'BCDFGHJKLMNPQRSTVWXZ'
const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The only source of unguessable values, passed as an argument so that tests can control it. */
export interface Random {
  /** `count` cryptographically secure bytes. */
  bytes(count: number): Buffer
  /** A version 4 UUID (RFC 9562 §5.4), for ids that need not be secret. */
  uuid(): string
  /** `2 × count` lower-case hexadecimal characters carrying `8 × count` bits. */
  hex(count: number): string
  /** `length` characters of `[A-Za-z0-9_-]`, six bits each. */
  urlSafe(length: number): string
  /** `length` digits and capital letters without I, L, O and U, five bits each. */
  base32(length: number): string
  /** `length` capital letters that are no vowels, without modulo bias; 4.3 bits each. */
  consonants(length: number): string
  /** `length` characters of `[A-Za-z0-9]`, without modulo bias. */
  alphanumeric(length: number): string
}

/** The operating system's randomness, buffered in a small pool because each read costs a system call. */
export function createRandom(): Random {
  const pool = Buffer.alloc(4096)
  let used = pool.length

  function take(count: number): Buffer {
    if (count > pool.length) return randomFillSync(Buffer.alloc(count))
    if (used + count > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const taken = Buffer.from(pool.subarray(used, used + count))
    pool.fill(0, used, used + count) // do not keep values that were handed out
    used += count
    return taken
  }

  function characters(alphabet: string, length: number): string {
    const limit = 256 - (256 % alphabet.length)
    let text = ''
    while (text.length < length) {
      for (const byte of take(length - text.length)) {
        if (byte < limit) text += alphabet[byte % alphabet.length]
      }
    }
    return text
  }

  return {
    bytes: take,
    uuid: () => randomUUID(),
    hex: count => take(count).toString('hex'),
    urlSafe: length => characters(BASE64URL, length),
    base32: length => characters(BASE32, length),
    consonants: length => characters(CONSONANTS, length),
    alphanumeric: length => characters(ALPHANUMERIC, length),
  }
}

// Decrypts private keys protected by a passphrase. OpenSSL could, but it obeys the key file's parameters without limit:
// billions of PBKDF2 rounds, a KDF that exhausts memory, a key type whose public half takes minutes to compute, none of
// which can be cancelled. Decrypting here lets us check the parameters and the key before OpenSSL sees it. The rounds run
// in the thread pool; a caller that opens several keys adds up their rounds first.
import { createDecipheriv, hash, pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { DER, derSequence, oidOf, smallNumber } from './der.ts'
import type { DerElement } from './der.ts'

/** Keys with more PBKDF2 rounds are refused. */
const MAX_ROUNDS = 100_000

/** RFC 8018 appendix B.2. */
const CIPHERS: ReadonlyMap<string, readonly [name: string, keyBytes: number]> = new Map([
  ['608648016503040102', ['aes-128-cbc', 16]],
  ['608648016503040116', ['aes-192-cbc', 24]],
  ['60864801650304012a', ['aes-256-cbc', 32]],
  ['2a864886f70d0307', ['des-ede3-cbc', 24]],
])
/** RFC 8018 appendix B.1; the first is the default. */
const DIGESTS: ReadonlyMap<string | undefined, string> = new Map([
  [undefined, 'sha1'],
  ['2a864886f70d0207', 'sha1'],
  ['2a864886f70d0208', 'sha224'],
  ['2a864886f70d0209', 'sha256'],
  ['2a864886f70d020a', 'sha384'],
  ['2a864886f70d020b', 'sha512'],
])
const PBES2 = '2a864886f70d01050d'
const PBKDF2 = '2a864886f70d01050c'

/** How a key is encrypted: PBES2 with PBKDF2 and AES or 3DES. */
interface Protection {
  readonly rounds: number
  readonly digest: string
  readonly salt: Buffer
  readonly cipher: string
  readonly keyBytes: number
  readonly iv: Buffer
  readonly data: Buffer
}

const derive = promisify(pbkdf2)

/** The PBKDF2 rounds needed to open an EncryptedPrivateKeyInfo; 0 for one that is refused. */
export const roundsOf = (der: Buffer): number => protectionOf(der)?.rounds ?? 0

/** Decrypts an EncryptedPrivateKeyInfo (RFC 5958 §3); undefined for every scheme but PBES2 with PBKDF2. */
export async function openEncryptedKey(der: Buffer, passphrase: string): Promise<Buffer | undefined> {
  const protection = protectionOf(der)
  if (!protection) return undefined
  const { rounds, digest, salt, cipher: name, keyBytes, iv, data } = protection
  const key = await derive(passphrase, salt, rounds, keyBytes, digest)
  return decipher(data, { name, key, iv })
}

function protectionOf(der: Buffer): Protection | undefined {
  const [algorithm, data] = derSequence(der)
  const [scheme, parameters] = derSequence(algorithm?.whole)
  if (oidOf(scheme) !== PBES2 || data?.tag !== DER.octets) return undefined
  const [derivation, encryption] = derSequence(parameters?.whole)
  const [cipherOid, iv] = derSequence(encryption?.whole)
  const [cipher, keyBytes] = CIPHERS.get(oidOf(cipherOid) ?? '') ?? []
  if (cipher === undefined || keyBytes === undefined || iv?.tag !== DER.octets) return undefined
  const derived = derivationOf(derivation, keyBytes)
  return derived && { ...derived, cipher, keyBytes, iv: iv.content, data: data.content }
}

function derivationOf(
  derivation: DerElement | undefined,
  keyBytes: number,
): Pick<Protection, 'rounds' | 'digest' | 'salt'> | undefined {
  const [method, parameters] = derSequence(derivation?.whole)
  const [salt, count, ...rest] = derSequence(parameters?.whole)
  const rounds = smallNumber(count)
  if (oidOf(method) !== PBKDF2 || salt?.tag !== DER.octets) return undefined
  if (rounds === undefined || rounds < 1 || rounds > MAX_ROUNDS) return undefined
  const [length, prf] = rest[0]?.tag === DER.integer ? rest : [undefined, rest[0]]
  if (length && smallNumber(length) !== keyBytes) return undefined
  const digest = DIGESTS.get(prf && oidOf(derSequence(prf.whole)[0]))
  return digest === undefined ? undefined : { rounds, digest, salt: salt.content }
}

/** Decrypts a key in OpenSSL's traditional format (RFC 1421 §4.6.1.1), whose key derivation is one round of MD5. */
export function openTraditionalKey(der: Buffer, information: string, passphrase: string): Buffer | undefined {
  const [, algorithm = '', hex = ''] = /^([A-Z0-9-]+),([0-9A-F]{16,32})$/i.exec(information) ?? []
  const [name, keyBytes] = [...CIPHERS.values()].find(([each]) => each === algorithm.toLowerCase()) ?? []
  if (name === undefined || keyBytes === undefined) return undefined
  const iv = Buffer.from(hex, 'hex')
  const secret = Buffer.concat([Buffer.from(passphrase), iv.subarray(0, 8)])
  let key = Buffer.alloc(0)
  let block = Buffer.alloc(0)
  while (key.length < keyBytes) {
    block = Buffer.from(hash('md5', Buffer.concat([block, secret]), 'hex'), 'hex')
    key = Buffer.concat([key, block])
  }
  return decipher(der, { name, key: key.subarray(0, keyBytes), iv })
}

function decipher(
  data: Buffer,
  { name, key, iv }: { readonly name: string; readonly key: Buffer; readonly iv: Buffer },
): Buffer | undefined {
  try {
    const opened = createDecipheriv(name, key, iv)
    return Buffer.concat([opened.update(data), opened.final()])
  } catch {
    return undefined // wrong passphrase or corrupt data
  }
}

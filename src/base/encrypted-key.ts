// Opens private keys that a passphrase protects. OpenSSL would do so as well, but it also does what the key's own text asks
// for: rounds by the thousand million, a derivation that fills the memory, a kind of key whose other half takes minutes to
// compute. Everything else waits meanwhile, so what is inside comes out here, to be looked at before OpenSSL sees it.
import { createDecipheriv, hash, pbkdf2Sync } from 'node:crypto'
import { DER, derSequence, oidOf, smallNumber } from './der.ts'
import type { DerElement } from './der.ts'

/** Who wants more rounds opens the key elsewhere. */
const MOST_ROUNDS = 100_000

/** RFC 8018 appendix B.2. */
const CIPHERS: ReadonlyMap<string, readonly [name: string, keyBytes: number]> = new Map([
  ['608648016503040102', ['aes-128-cbc', 16]],
  ['608648016503040116', ['aes-192-cbc', 24]],
  ['60864801650304012a', ['aes-256-cbc', 32]],
  ['2a864886f70d0307', ['des-ede3-cbc', 24]],
])
/** RFC 8018 appendix B.1; where none is named it is the first. */
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

/** The key inside an EncryptedPrivateKeyInfo (RFC 5958 §3): PBES2 with PBKDF2 and AES or 3DES; undefined for all others. */
export function openEncryptedKey(der: Buffer, passphrase: string): Buffer | undefined {
  const [algorithm, data] = derSequence(der)
  const [scheme, parameters] = derSequence(algorithm?.whole)
  if (oidOf(scheme) !== PBES2 || data?.tag !== DER.octets) return undefined
  const [derivation, encryption] = derSequence(parameters?.whole)
  const [cipherOid, iv] = derSequence(encryption?.whole)
  const cipher = CIPHERS.get(oidOf(cipherOid) ?? '')
  const key = cipher && derivedKey(derivation, passphrase, cipher[1])
  if (!cipher || !key || iv?.tag !== DER.octets) return undefined
  return decipher(data.content, { name: cipher[0], key, iv: iv.content })
}

function derivedKey(derivation: DerElement | undefined, passphrase: string, keyBytes: number): Buffer | undefined {
  const [method, parameters] = derSequence(derivation?.whole)
  const [salt, rounds, ...rest] = derSequence(parameters?.whole)
  const count = smallNumber(rounds)
  if (oidOf(method) !== PBKDF2 || salt?.tag !== DER.octets) return undefined
  if (count === undefined || count < 1 || count > MOST_ROUNDS) return undefined
  const [length, prf] = rest[0]?.tag === DER.integer ? rest : [undefined, rest[0]]
  if (length && smallNumber(length) !== keyBytes) return undefined
  const digest = DIGESTS.get(prf && oidOf(derSequence(prf.whole)[0]))
  return digest === undefined ? undefined : pbkdf2Sync(passphrase, salt.content, count, keyBytes, digest)
}

/** A key in the form before PKCS #8 (RFC 1421 §4.6.1.1 as OpenSSL reads it): one round of MD5. */
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
    return undefined // another passphrase, or no such text
  }
}

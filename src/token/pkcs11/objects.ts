// Objects of a token: finding keys, and reading their attributes (PKCS#11 v2.40 §4 and §5.7).
import type { Cryptoki } from './cryptoki.ts'
import type { NativeMemory } from './native-memory.ts'
import { ULONG_BYTES, ulongIn } from './native-memory.ts'
import type { PublicAttributes } from './public-key.ts'
import { publicKeyOf } from './public-key.ts'
import { TokenFailure } from './token-failure.ts'

/** A session with a token: what its functions are called with. */
export interface OpenSession {
  readonly cryptoki: Cryptoki
  readonly memory: NativeMemory
  /** CK_SESSION_HANDLE. */
  readonly session: bigint
}

/** A key pair of the token. */
interface KeyPair {
  /** CK_OBJECT_HANDLE of the private key. */
  readonly privateKey: bigint
  /** SPKI PEM. */
  readonly publicKey: string
}

const ATTRIBUTE_BYTES = 3 * ULONG_BYTES
/** A longer value, in bytes, counts as absent. */
const MAX_ATTRIBUTE_BYTES = 4096
const CKO_PUBLIC_KEY = 2
const CKO_PRIVATE_KEY = 3
const CKA = {
  class: 0x0,
  label: 0x3,
  keyType: 0x100,
  id: 0x102,
  modulus: 0x120,
  exponent: 0x122,
  curve: 0x180,
  point: 0x181,
} as const

/** The one private key with the label, and its public half; throws `TokenFailure`. */
export function keyPairOf(open: OpenSession, { token, label }: { token: string; label: string }): KeyPair {
  const name = Buffer.from(label, 'utf8')
  const privateKeys = find(open, [CKA.class, number(CKO_PRIVATE_KEY)], [CKA.label, name])
  const [key] = privateKeys
  if (key === undefined) throw new TokenFailure(`the token ${token} has no private key ${label}`)
  if (privateKeys.length > 1) throw new TokenFailure(`the token ${token} has several private keys ${label}`)
  const id = attribute(open, key, CKA.id)
  const [publicHalf] = find(open, [CKA.class, number(CKO_PUBLIC_KEY)], id ? [CKA.id, id] : [CKA.label, name])
  // An RSA private key has the public attributes as well.
  const publicKey = publicKeyOf(publicAttributes(open, key, publicHalf ?? key))
  if (publicKey === undefined) throw new TokenFailure(`the token ${token} has no usable public key of ${label}`)
  return { privateKey: key, publicKey }
}

const publicAttributes = (open: OpenSession, key: bigint, half: bigint): PublicAttributes => ({
  keyType: Number(attribute(open, key, CKA.keyType)?.readBigUInt64LE() ?? -1n),
  modulus: attribute(open, half, CKA.modulus),
  exponent: attribute(open, half, CKA.exponent),
  curve: attribute(open, half, CKA.curve),
  point: attribute(open, half, CKA.point),
})

/** Two at most: enough to detect a duplicate. */
function find(
  { cryptoki, memory, session }: OpenSession,
  ...attributes: readonly (readonly [type: number, value: Buffer])[]
): readonly bigint[] {
  const values = attributes.map(([type, value]) => ({ type, value: memory.copied(value) }))
  const template = memory.ulongs(...values.flatMap(({ type, value }) => [type, value.at, value.bytes.length]))
  const found = memory.allocate(2 * ULONG_BYTES)
  const count = memory.ulongs(0)
  cryptoki.findObjectsInit([session, template.at, attributes.length])
  cryptoki.findObjects([session, found.at, 2, count.at])
  cryptoki.findObjectsFinal([session])
  return Array.from({ length: Number(ulongIn(count)) }, (_, index) => ulongIn(found, index))
}

/** Undefined where the object does not have it. */
function attribute({ cryptoki, memory, session }: OpenSession, object: bigint, type: number): Buffer | undefined {
  const before = memory.mark()
  const value = memory.allocate(MAX_ATTRIBUTE_BYTES)
  const template = memory.ulongs(type, value.at, MAX_ATTRIBUTE_BYTES)
  try {
    cryptoki.getAttributeValue([session, object, template.at, template.bytes.length / ATTRIBUTE_BYTES])
    const length = Number(ulongIn(template, 2))
    return length > 0 && length <= MAX_ATTRIBUTE_BYTES ? Buffer.from(value.bytes.subarray(0, length)) : undefined
  } catch (error) {
    if (error instanceof TokenFailure) return undefined
    throw error
  } finally {
    memory.release(before)
  }
}

const number = (value: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)

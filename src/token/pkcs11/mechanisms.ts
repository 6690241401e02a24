// How a token makes the signatures of JWS (RFC 7518 §3) by the mechanisms of PKCS#11 v3.0. Hashes are made here: what goes to
// the token is short, and many tokens cannot hash.
import { createHash } from 'node:crypto'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'

/** A signature requested from a token. */
interface Mechanism {
  /** CK_MECHANISM_TYPE. */
  readonly type: number
  /** Its parameter: numbers of the size of CK_ULONG. */
  readonly parameter: readonly number[]
  /** The bytes to sign. */
  readonly input: (data: string) => Buffer
  /** Length of the signature; undefined: that of the modulus. */
  readonly bytes?: number
}

const CKM_RSA_PKCS = 0x1
const CKM_RSA_PKCS_PSS = 0xd
const CKM_ECDSA = 0x1041
const CKM_EDDSA = 0x1057

const HASHES = {
  // The DER of DigestInfo before the digest (RFC 8017 §9.2), CKM_SHA… and CKG_MGF1_SHA….
  256: { info: '3031300d060960864801650304020105000420', type: 0x250, mask: 2 },
  384: { info: '3041300d060960864801650304020205000430', type: 0x260, mask: 3 },
  512: { info: '3051300d060960864801650304020305000440', type: 0x270, mask: 4 },
} as const

type Bits = keyof typeof HASHES

const digestOf = (bits: Bits, data: string): Buffer => createHash(`sha${bits}`).update(data, 'latin1').digest()

function pkcs1(bits: Bits): Mechanism {
  const info = Buffer.from(HASHES[bits].info, 'hex')
  return { type: CKM_RSA_PKCS, parameter: [], input: data => Buffer.concat([info, digestOf(bits, data)]) }
}

const pss = (bits: Bits): Mechanism => ({
  type: CKM_RSA_PKCS_PSS,
  parameter: [HASHES[bits].type, HASHES[bits].mask, bits / 8], // RFC 7518 §3.5: salt of the digest's length
  input: data => digestOf(bits, data),
})

/** The signature is R and S side by side, as RFC 7518 §3.4 requires. */
const ecdsa = (bits: Bits, bytes: number): Mechanism => ({
  type: CKM_ECDSA,
  parameter: [],
  input: data => digestOf(bits, data),
  bytes,
})

const MECHANISMS: Readonly<Partial<Record<SigningAlgorithm, Mechanism>>> = {
  RS256: pkcs1(256),
  RS384: pkcs1(384),
  RS512: pkcs1(512),
  PS256: pss(256),
  PS384: pss(384),
  PS512: pss(512),
  ES256: ecdsa(256, 64),
  ES384: ecdsa(384, 96),
  ES512: ecdsa(512, 132),
  EdDSA: { type: CKM_EDDSA, parameter: [], input: data => Buffer.from(data, 'latin1'), bytes: 64 },
}

/** Throws for a shared secret. */
export function mechanismOf(algorithm: SigningAlgorithm): Mechanism {
  const mechanism = MECHANISMS[algorithm]
  if (!mechanism) throw new Error(`tokens do not support ${algorithm}`)
  return mechanism
}

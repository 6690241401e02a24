// How `node:crypto` signs and verifies with each JWS algorithm (RFC 7518 §3.1, RFC 8037), and where it does so.
import { constants, sign, verify } from 'node:crypto'
import type { KeyObject, SignKeyObjectInput, VerifyKeyObjectInput } from 'node:crypto'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'

interface Algorithm {
  readonly hash: string | null
  readonly options: Omit<SignKeyObjectInput, 'key'>
  readonly isQuick?: true
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const rawSignature = { dsaEncoding: 'ieee-p1363' } as const // RFC 7518 §3.4: R and S side by side, not DER

const ALGORITHMS: Readonly<Record<SigningAlgorithm, Algorithm>> = {
  RS256: { hash: 'sha256', options: {} },
  RS384: { hash: 'sha384', options: {} },
  RS512: { hash: 'sha512', options: {} },
  PS256: { hash: 'sha256', options: pss },
  PS384: { hash: 'sha384', options: pss },
  PS512: { hash: 'sha512', options: pss },
  ES256: { hash: 'sha256', options: rawSignature, isQuick: true },
  ES384: { hash: 'sha384', options: rawSignature },
  ES512: { hash: 'sha512', options: rawSignature },
  EdDSA: { hash: null, options: {}, isQuick: true },
  HS256: { hash: 'sha256', options: {} },
  HS384: { hash: 'sha384', options: {} },
  HS512: { hash: 'sha512', options: {} },
}

/** The hash of a JWS algorithm, also for at_hash and c_hash (OpenID Connect Core §3.1.3.6). */
export const hashOf = (algorithm: SigningAlgorithm): string => ALGORITHMS[algorithm].hash ?? 'sha512'

/** A key with its only algorithm, which matches its type; never a shared secret. */
export interface AlgorithmKey {
  readonly algorithm: SigningAlgorithm
  readonly key: KeyObject
}

/** Whether a signature takes little more time than sending it to another thread (decision 0006). */
export const isQuick = (algorithm: SigningAlgorithm): boolean => ALGORITHMS[algorithm].isQuick === true

/** Signs the signing input of a JWS, which is ASCII (RFC 7515 §5.1), on the thread that calls. */
export function signNow(text: string, { algorithm, key }: AlgorithmKey): Buffer {
  const { hash, options } = ALGORITHMS[algorithm]
  return sign(hash, Buffer.from(text, 'latin1'), { key, ...options })
}

/** Signs the same way in the thread pool. */
export const signInPool = (text: string, { algorithm, key }: AlgorithmKey): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { hash, options } = ALGORITHMS[algorithm]
    sign(hash, Buffer.from(text, 'latin1'), { key, ...options }, (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })

/**
 * Whether the signature over this signing input was made with the private half of the key (RFC 7515 §5.2); false for malformed
 * signatures. Does not read the header: the caller has chosen algorithm and key.
 */
export async function verifyText(text: string, signature: Buffer, { algorithm, key }: AlgorithmKey): Promise<boolean> {
  const { hash, options, isQuick } = ALGORITHMS[algorithm]
  // RFC 8017 §8.1.2, step 1: OpenSSL accepts a PSS signature without its leading zeros.
  const { modulusLength } = key.asymmetricKeyDetails ?? {}
  if (modulusLength !== undefined && signature.length !== Math.ceil(modulusLength / 8)) return false
  const input: VerifyKeyObjectInput = { key, ...options }
  const data = Buffer.from(text, 'latin1')
  if (isQuick) return verify(hash, data, input, signature)
  return new Promise((resolve, reject) => {
    verify(hash, data, input, signature, (error, isValid) => {
      if (error) reject(error)
      else resolve(isValid)
    })
  })
}

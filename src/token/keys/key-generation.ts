import { generateKeyPair } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import type { KeyMaterial } from '../../model/tokens/key-material.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import { hashBytesOfSymmetric } from '../../model/tokens/signing-key.ts'

/** Generates a key for the algorithm: RSA with 2048 bits, the algorithm's curve, or a secret as long as its hash. */
export async function generateKey(algorithm: SigningAlgorithm, random: Random): Promise<KeyMaterial> {
  const bytes = hashBytesOfSymmetric(algorithm)
  // In base64url, so that the secret can be copied; each character carries six bits.
  if (bytes !== undefined) return { algorithm, privateKey: random.urlSafe(Math.ceil((bytes * 8) / 6)) }
  return { algorithm, ...(await generatePair(algorithm)) }
}

const ENCODING = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

function generatePair(algorithm: SigningAlgorithm): Promise<{ privateKey: string; publicKey: string }> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, publicKey: string, privateKey: string): void => {
      if (error) reject(error)
      else resolve({ privateKey, publicKey })
    }
    const namedCurve = CURVES[algorithm]
    if (algorithm === 'EdDSA') generateKeyPair('ed25519', ENCODING, done)
    else if (namedCurve !== undefined) generateKeyPair('ec', { namedCurve, ...ENCODING }, done)
    else generateKeyPair('rsa', { modulusLength: 2048, ...ENCODING }, done)
  })
}

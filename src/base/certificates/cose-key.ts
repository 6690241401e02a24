import { createPublicKey } from 'node:crypto'
import type { JsonWebKey } from 'node:crypto'
import { hasShortExponent } from './rsa-limits.ts'

/** Bytes of an RSA modulus. */
const RSA_BYTES = { min: 256, max: 512 }
const P256 = 1
const ED25519 = 6

/**
 * Whether a COSE key (RFC 9053) can verify signatures of its algorithm, ES256, EdDSA or RS256, as quickly as usual keys do,
 * and whether only its owner can make them: the point is on the curve, the modulus neither short nor very long.
 */
export function isValidCoseKey(cose: ReadonlyMap<number, unknown>): boolean {
  const jwk = jwkOf(cose)
  if (!jwk) return false
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const { publicExponent } = key.asymmetricKeyDetails ?? {}
    return (
      hasShortExponent(key) && (publicExponent === undefined || (publicExponent > 1n && publicExponent % 2n === 1n))
    )
  } catch {
    return false // no such key exists
  }
}

function jwkOf(cose: ReadonlyMap<number, unknown>): JsonWebKey | undefined {
  const bytes = (label: number): Buffer => {
    const part = cose.get(label)
    return Buffer.from(part instanceof Uint8Array ? part : [])
  }
  const part = (label: number): string => bytes(label).toString('base64url')
  const [type, curve] = [cose.get(1), cose.get(-1)]
  switch (cose.get(3)) {
    case -7:
      return type === 2 && curve === P256 ? { kty: 'EC', crv: 'P-256', x: part(-2), y: part(-3) } : undefined
    case -8:
      return type === 1 && curve === ED25519 ? { kty: 'OKP', crv: 'Ed25519', x: part(-2) } : undefined
    case -257: {
      const { length } = bytes(-1)
      const isAcceptable = type === 3 && length >= RSA_BYTES.min && length <= RSA_BYTES.max
      return isAcceptable ? { kty: 'RSA', n: part(-1), e: part(-2) } : undefined
    }
    default:
      return undefined
  }
}

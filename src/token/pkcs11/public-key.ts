// The public key of a token's attributes (PKCS#11 v3.0 §2.1 and §2.3).
import { createPublicKey } from 'node:crypto'
import type { JsonWebKey } from 'node:crypto'

/** Attributes that are needed of a public key, by name. */
export interface PublicAttributes {
  /** CKA_KEY_TYPE. */
  readonly keyType: number
  readonly modulus: Buffer | undefined
  readonly exponent: Buffer | undefined
  /** CKA_EC_PARAMS: the curve, in DER. */
  readonly curve: Buffer | undefined
  /** CKA_EC_POINT. */
  readonly point: Buffer | undefined
}

const CKK_RSA = 0x0
const CKK_EC = 0x3
const CKK_EC_EDWARDS = 0x40

const CURVES: Readonly<Record<string, { readonly crv: string; readonly bytes: number }>> = {
  '06082a8648ce3d030107': { crv: 'P-256', bytes: 32 },
  '06052b81040022': { crv: 'P-384', bytes: 48 },
  '06052b81040023': { crv: 'P-521', bytes: 66 },
}
/** By its object identifier (RFC 8410), or by its name as a printable string. */
const ED25519 = new Set(['06032b6570', '130c656477617264733235353139'])

/** SPKI PEM; undefined for a key of another kind. */
export function publicKeyOf(attributes: PublicAttributes): string | undefined {
  const jwk = jwkOf(attributes)
  return jwk && createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()
}

function jwkOf({ keyType, modulus, exponent, curve, point }: PublicAttributes): JsonWebKey | undefined {
  const text = (bytes: Buffer): string => bytes.toString('base64url')
  if (keyType === CKK_RSA && modulus && exponent) return { kty: 'RSA', n: text(modulus), e: text(exponent) }
  const name = curve?.toString('hex') ?? ''
  if (keyType === CKK_EC_EDWARDS && point && ED25519.has(name)) {
    const x = point.length === 32 ? point : octets(point)
    return x?.length === 32 ? { kty: 'OKP', crv: 'Ed25519', x: text(x) } : undefined
  }
  const parameters = CURVES[name]
  if (keyType !== CKK_EC || !point || !parameters) return undefined
  const { crv, bytes } = parameters
  const isPlain = point.length === 2 * bytes + 1 && point[0] === 4
  const pair = isPlain ? point : octets(point)
  if (pair?.length !== 2 * bytes + 1 || pair[0] !== 4) return undefined // uncompressed (SEC 1 §2.3.3)
  return { kty: 'EC', crv, x: text(pair.subarray(1, bytes + 1)), y: text(pair.subarray(bytes + 1)) }
}

/** The content of the DER OCTET STRING that the standard requires for the point; some tokens omit the header. */
function octets(der: Buffer): Buffer | undefined {
  const [tag, first = 0] = der
  const start = first === 0x81 ? 3 : 2
  const length = first === 0x81 ? der[2] : first
  return tag === 4 && der.length === start + (length ?? 0) ? der.subarray(start) : undefined
}

import { CLIENT_ALGORITHMS } from '../../records/client-metadata.ts'

/**
 * The JWS algorithms that a zone's keys may have (RFC 7518 §3.1, RFC 8037). The first that fits a key is its default.
 */
export const SIGNING_ALGORITHMS = [...CLIENT_ALGORITHMS, 'HS256', 'HS384', 'HS512'] as const

/** One of `SIGNING_ALGORITHMS`. */
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** The algorithm under the name that keys and profiles have: clients may use a newer one (RFC 9864 §2.2). */
export const algorithmNamed = (name: string): string => (name === 'Ed25519' ? 'EdDSA' : name)

/** Hash length of a symmetric algorithm in bytes; undefined for an asymmetric one. */
export function hashBytesOfSymmetric(algorithm: SigningAlgorithm): number | undefined {
  return algorithm.startsWith('HS') ? Number(algorithm.slice(2)) / 8 : undefined
}

/** A stored key of a zone; the private key is encrypted with the master key. */
export interface SigningKeyRecord {
  readonly zoneId: string
  readonly keyId: string
  readonly algorithm: SigningAlgorithm
  /** Sealed: PKCS#8 PEM, or the text of a shared secret. Undefined for a key that only verifies. */
  readonly sealedPrivateKey?: string
  /** SPKI PEM; undefined for a shared secret, which has no public half. */
  readonly publicKey?: string
  /** X.509 certificates of the public key in PEM, its own first. */
  readonly certificate?: string
  readonly active: boolean
  readonly createdAt: Date
  /** When a retired key is deleted: all tokens that it signed have expired. */
  readonly expiresAt?: Date
}

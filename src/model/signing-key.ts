/** The JWS algorithms that a zone's keys may have (RFC 7518 §3.1, RFC 8037). */
export const SIGNING_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

/** One of `SIGNING_ALGORITHMS`. */
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** A key of a zone at rest; the private half is readable only with the master key. */
export interface SigningKeyRecord {
  readonly zoneId: string
  readonly keyId: string
  readonly algorithm: SigningAlgorithm
  /** Sealed PKCS#8 PEM, or undefined for a key that only verifies. */
  readonly sealedPrivateKey?: string
  /** SPKI PEM. */
  readonly publicKey: string
  readonly active: boolean
  readonly createdAt: Date
  /** When a retired key is forgotten: no token that it signed is good any longer. */
  readonly expiresAt?: Date
}

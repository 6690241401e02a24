import type { KeyObject } from 'node:crypto'

/** What the cryptography of Windows takes at most; nearly every key has 65537. */
const MAX_EXPONENT = 2n ** 32n - 1n

/**
 * False for an RSA key whose public exponent is a long number. Each signature that it verifies takes as long as signing: with
 * 3,072 bits six milliseconds instead of a twenty-fifth of one.
 */
export const hasShortExponent = ({ asymmetricKeyDetails }: KeyObject): boolean =>
  (asymmetricKeyDetails?.publicExponent ?? 0n) <= MAX_EXPONENT

const MIN_BITS = 2048 // RFC 7518 §3.3
/** The time of verifying grows with the square of it, and who publishes a key decides for all. */
const MAX_BITS = 8192

/** Whether signatures of a key of others prove something and take little time to verify; true for any key but RSA. */
export function isWithinRsaLimits(key: KeyObject): boolean {
  const { modulusLength: bits } = key.asymmetricKeyDetails ?? {}
  return bits === undefined || (bits >= MIN_BITS && bits <= MAX_BITS && hasShortExponent(key))
}

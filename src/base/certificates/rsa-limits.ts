import type { KeyObject } from 'node:crypto'

/** The maximum of Windows' cryptography; nearly every key has 65537. */
const MAX_EXPONENT = 2n ** 32n - 1n

/**
 * False for an RSA key whose public exponent is a long number. Each signature that it verifies takes as long as signing: with
 * 3,072 bits six milliseconds instead of a twenty-fifth of one.
 */
export const hasShortExponent = ({ asymmetricKeyDetails }: KeyObject): boolean =>
  (asymmetricKeyDetails?.publicExponent ?? 0n) <= MAX_EXPONENT

const MIN_BITS = 2048 // RFC 7518 §3.3
/** Verification time grows with its square, and the publisher of a key imposes that cost on the server. */
const MAX_BITS = 8192

/** Whether a third party's key is long enough to be secure and short enough to verify quickly; true for any key but RSA. */
export function isWithinRsaLimits(key: KeyObject): boolean {
  const { modulusLength: bits } = key.asymmetricKeyDetails ?? {}
  return bits === undefined || (bits >= MIN_BITS && bits <= MAX_BITS && hasShortExponent(key))
}

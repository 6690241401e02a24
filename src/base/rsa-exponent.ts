import type { KeyObject } from 'node:crypto'

/** What the cryptography of Windows takes at most; nearly every key has 65537. */
const MAX_EXPONENT = 2n ** 32n - 1n

/**
 * False for an RSA key whose public exponent is a long number. Each signature that it verifies takes as long as signing: with
 * 3,072 bits six milliseconds instead of a twenty-fifth of one.
 */
export const hasShortExponent = ({ asymmetricKeyDetails }: KeyObject): boolean =>
  (asymmetricKeyDetails?.publicExponent ?? 0n) <= MAX_EXPONENT

// An unusual RSA key: its public exponent is as long as its modulus, so that verifying takes as long as signing.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

const numberIn = (text = ''): bigint => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`)

function textOf(number: bigint): string {
  const hex = number.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url')
}

/** The modular inverse of `value`; undefined if there is none. */
function inverseOf(value: bigint, modulus: bigint): bigint | undefined {
  let [rest, next, factor, nextFactor] = [modulus, value, 0n, 1n]
  while (next !== 0n) {
    const times = rest / next
    ;[rest, next, factor, nextFactor] = [next, rest - times * next, nextFactor, factor - times * nextFactor]
  }
  return rest === 1n ? ((factor % modulus) + modulus) % modulus : undefined
}

/** A private key with such an exponent. */
export function keyOfLongExponent(modulusLength = 2048): KeyObject {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength })
  const jwk = privateKey.export({ format: 'jwk' })
  const [p, q] = [numberIn(jwk.p) - 1n, numberIn(jwk.q) - 1n]
  for (let e = 2n ** BigInt(modulusLength - 2) + 1n; ; e += 2n) {
    const d = inverseOf(e, p * q)
    if (d === undefined) continue
    const numbers = { e: textOf(e), d: textOf(d), dp: textOf(d % p), dq: textOf(d % q) }
    return createPrivateKey({ key: { ...jwk, ...numbers }, format: 'jwk' })
  }
}

import type { JsonWebKey } from 'node:crypto'
import type { ZoneKey } from './keys.ts'

/**
 * One member of the key document (RFC 7517 §4) with UAA's `value`, the PEM. Built from the public key object alone, so
 * that no private member can slip in.
 */
export function keyDocument(key: ZoneKey): Readonly<Record<string, unknown>> {
  const { kty, n, e, crv, x, y }: JsonWebKey = key.publicKey.export({ format: 'jwk' })
  return { kty, kid: key.keyId, use: 'sig', alg: key.algorithm, value: key.publicKeyPem, n, e, crv, x, y }
}

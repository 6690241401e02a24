import type { JsonWebKey } from 'node:crypto'
import type { PublicZoneKey, ZoneKey } from './zone-key.ts'

/**
 * One JWK of the key document (RFC 7517 §4) with UAA's `value`, the PEM. Built from the public key object only, so that it
 * cannot contain private members. Certificates are included while all of them are valid.
 */
export function keyDocument(key: PublicZoneKey, now: Date): Readonly<Record<string, unknown>> {
  const { kty, n, e, crv, x, y }: JsonWebKey = key.verifyKey.export({ format: 'jwk' })
  const document = {
    kty,
    kid: key.keyId,
    use: 'sig',
    alg: key.algorithm,
    value: key.publicKeyPem.trimEnd(),
    n,
    e,
    crv,
    x,
    y,
  }
  const [own] = key.certificates
  if (!own || key.certificates.some(({ validFrom, validTo }) => now < validFrom || now > validTo)) return document
  return {
    ...document,
    x5c: key.certificates.map(({ raw }) => raw.toString('base64')), // RFC 7517 §4.7: base64, not base64url
    x5t: own.thumbprints.sha1,
    'x5t#S256': own.thumbprints.sha256,
  }
}

/** UAA: a shared secret in the clear, for authorized callers only. See docs/compatibility.md, M6. */
export function sharedKeyDocument(key: ZoneKey): Readonly<Record<string, unknown>> {
  const value = key.verifyKey.export().toString('utf8')
  return { kty: 'MAC', kid: key.keyId, use: 'sig', alg: key.algorithm, value }
}

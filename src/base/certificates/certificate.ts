import { X509Certificate, hash } from 'node:crypto'
import { validityOf } from './certificate-validity.ts'
import type { Validity } from './certificate-validity.ts'

/** An X.509 certificate with the values that a JWK publishes about it (RFC 7517 §4.7 to §4.9). */
export interface Certificate extends Validity {
  /** DER. */
  readonly raw: Buffer
  /** SHA-1 and SHA-256 of the DER, base64url. */
  readonly thumbprints: { readonly sha1: string; readonly sha256: string }
  /** The certified key, SPKI PEM. */
  readonly publicPem: string
}

/** Reads every certificate of a PEM string, in order; undefined when one is malformed or there is none. */
export function readCertificates(pem: string): readonly Certificate[] | undefined {
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  // Refuse blocks of other kinds: one may be a private key.
  if (texts.length === 0 || texts.length !== pem.match(/-----BEGIN /g)?.length) return undefined
  try {
    return texts.map(readCertificate)
  } catch {
    return undefined // OpenSSL's reasons differ by version
  }
}

function readCertificate(pem: string): Certificate {
  const certificate = new X509Certificate(pem)
  const { raw, publicKey } = certificate
  return {
    raw,
    thumbprints: { sha1: hash('sha1', raw, 'base64url'), sha256: hash('sha256', raw, 'base64url') },
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    ...validityOf(certificate),
  }
}

import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/** A private key as it was read from a file, with what decides how it may be used. */
export interface PrivateKey {
  /** Node's name of the kind of key: `rsa`, `ec`, `ed25519`, … */
  readonly type: string
  /** Length of the modulus of an RSA key. */
  readonly bits?: number
  /** OpenSSL's name of the curve of an EC key, such as `prime256v1`. */
  readonly curve?: string
  /** PKCS#8 PEM. */
  readonly privatePem: string
  /** SPKI PEM. */
  readonly publicPem: string
}

/** Reads an unencrypted private key in PEM (PKCS#8, PKCS#1 or SEC1); undefined when the text is none. */
export function readPrivateKey(pem: string): PrivateKey | undefined {
  let key: KeyObject
  try {
    key = createPrivateKey({ key: pem, format: 'pem' })
  } catch {
    return undefined // OpenSSL's reasons differ by version and help nobody
  }
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
  return {
    type: key.asymmetricKeyType ?? 'unknown',
    ...(modulusLength === undefined ? {} : { bits: modulusLength }),
    ...(namedCurve === undefined ? {} : { curve: namedCurve }),
    privatePem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
  }
}

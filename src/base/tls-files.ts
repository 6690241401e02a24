// The certificate and key of a TLS server, from files that are replaced while it runs. Loaded only where TLS is configured.
import { createSecureContext } from 'node:tls'
import { readSmallFile } from './small-file.ts'

/** More than a certificate with its chain has. */
const MAX_BYTES = 1024 * 1024

/** Absolute paths of PEM files. */
export interface TlsFiles {
  readonly certificate: string
  readonly privateKey: string
}

/** The certificate and the key for `node:tls`. */
interface TlsContext {
  readonly cert: string
  readonly key: string
  readonly minVersion: 'TLSv1.2'
  readonly ciphers: string
}

/** A context, or what is wrong with which file. */
type TlsReading =
  | { readonly context: TlsContext; readonly problem?: undefined }
  | { readonly problem: string; readonly of: keyof TlsFiles }

/** BCP 195 (RFC 9325 §4.2), which FAPI 2.0 demands: forward secrecy and authenticated encryption. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_AES_128_GCM_SHA256',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
].join(':')

/** Reads both files; the key must be that of the certificate. */
export function readTls(files: TlsFiles): TlsReading {
  const texts: Partial<Record<keyof TlsFiles, string>> = {}
  for (const part of ['certificate', 'privateKey'] as const) {
    try {
      texts[part] = readSmallFile(files[part], MAX_BYTES)
    } catch (cause) {
      return { of: part, problem: `cannot be read: ${reasonOf(cause)}` }
    }
  }
  const { certificate: cert = '', privateKey: key = '' } = texts
  try {
    createSecureContext({ cert })
  } catch (cause) {
    return { of: 'certificate', problem: `is no certificate in PEM: ${reasonOf(cause)}` }
  }
  const context: TlsContext = { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS }
  try {
    createSecureContext({ ...context })
  } catch (cause) {
    return { of: 'privateKey', problem: `is not the key of the certificate: ${reasonOf(cause)}` }
  }
  return { context }
}

/** OpenSSL's messages name no content of the file. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return 'unknown'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}

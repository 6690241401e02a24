// The certificate and key of a TLS server, from files that are replaced while it runs. Loaded only where TLS is configured.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { validityOf } from './certificate-validity.ts'
import { reasonOf } from '../files/file-error.ts'
import { readSmallFile } from '../files/small-file.ts'

/** Larger than a certificate with its chain. */
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

/** A context, or the problem and its file. */
type TlsReading =
  | { readonly context: TlsContext; readonly problem?: undefined }
  | { readonly problem: string; readonly of: keyof TlsFiles }

/** BCP 195 (RFC 9325 §4.2), required by FAPI 2.0: forward secrecy and authenticated encryption. */
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
  const certificateProblem = problemOf(() => createSecureContext({ cert }))
  if (certificateProblem !== undefined) return { of: 'certificate', problem: 'is not a certificate in PEM' }
  const keyProblem = problemOfKey(key, cert)
  if (keyProblem !== undefined) return { of: 'privateKey', problem: keyProblem }
  const context: TlsContext = { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS }
  const problem = problemOf(() => createSecureContext({ ...context }))
  if (problem !== undefined) return { of: 'certificate', problem: `cannot be used: ${problem}` }
  return { context }
}

/** OpenSSL itself accepts an RSA key for the certificate of an EC key, and the other way round. */
function problemOfKey(pem: string, certificate: string): string | undefined {
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(pem)) return 'is encrypted: it must have no passphrase'
  let isOfCertificate = false
  const problem = problemOf(() => {
    isOfCertificate = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(pem))
  })
  if (problem !== undefined) return 'is not a private key in PEM'
  return isOfCertificate ? undefined : 'is not the key of the certificate'
}

/** The code of the error: OpenSSL's codes name no content of the file. */
function problemOf(attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (cause) {
    return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
  }
}

/** Why callers will refuse the certificate: its time, or, if a host is given, that it is for another one. */
export function certificateWarning(pem: string, { now, host }: { now: Date; host?: string }): string | undefined {
  const certificate = new X509Certificate(pem)
  const { validFrom, validTo } = validityOf(certificate)
  if (now >= validTo) return `has expired: it was valid until ${validTo.toISOString()}`
  if (now < validFrom) return `is not valid before ${validFrom.toISOString()}`
  if (host === undefined) return undefined
  const name = host.replace(/^\[|\]$/g, '')
  const isNamed = isIP(name) > 0 ? certificate.checkIP(name) : certificate.checkHost(name, { subject: 'never' })
  return isNamed === undefined ? `is not valid for ${name}` : undefined
}

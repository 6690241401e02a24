// Client certificates as TLS proxies forward them, and the names in them. Reads names from the DER itself: the
// text that OpenSSL makes of them can be forged by a name with a line break.
import { X509Certificate, hash } from 'node:crypto'
import { validityOf } from './certificate-validity.ts'
import type { Validity } from './certificate-validity.ts'
import { derSequence } from './der.ts'
import type { DerElement } from './der.ts'
import { nameFromDer } from './distinguished-name.ts'
import { EXTENSION, extensionsIn } from './extensions.ts'
import { canonicalAddress } from '../network-address.ts'

/** A certificate that a client proved to have the key of. */
export interface ClientCertificate extends Validity {
  readonly raw: Buffer
  /** SHA-256 of the DER, base64url: `x5t#S256` (RFC 8705 §3.1). */
  readonly thumbprint: string
  /** Whether its extended key usage allows to authenticate a client (RFC 5280 §4.2.1.12). */
  readonly isForClients: boolean
  /** Whether its key is long enough, and its signature does not use a broken hash. */
  readonly isStrong: boolean
}

/** Which names of a subject are compared (RFC 8705 §2.1.2). */
export interface CertificateNames {
  /** In the form of `nameFromString`; undefined if it has none. */
  readonly subject: string | undefined
  readonly dns: readonly string[]
  readonly uri: readonly string[]
  readonly email: readonly string[]
  /** In canonical form. */
  readonly ip: readonly string[]
}

/** Larger than any client certificate; Node limits all headers together to 16 KiB. */
const MAX_LENGTH = 14_000
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const PEM = /^\s*-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const ANY_USAGE = '2.5.29.37.0'

/**
 * Reads the value of a header: a byte sequence (`Client-Cert`, RFC 9440), PEM that is percent-encoded (nginx) or has spaces for
 * line breaks (Apache), or DER in plain base64 (HAProxy, Traefik, Gorouter). Undefined for anything else, and for two of them.
 */
export function readForwardedCertificate(value: string): ClientCertificate | undefined {
  const raw = value.length > MAX_LENGTH ? undefined : derOf(value.trim())
  if (!raw) return undefined
  try {
    const certificate = new X509Certificate(raw)
    if (!certificate.raw.equals(raw)) return undefined // something follows it
    const usages = certificate.keyUsage as readonly string[] | undefined // by its type never absent
    return {
      raw,
      thumbprint: hash('sha256', raw, 'base64url'),
      ...validityOf(certificate),
      isForClients: usages === undefined || usages.includes(CLIENT_AUTH) || usages.includes(ANY_USAGE),
      isStrong: isStrong(certificate),
    }
  } catch {
    return undefined // OpenSSL's reasons differ by version
  }
}

const MIN_RSA_BITS = 2048
/** With MD5 and SHA-1 an attacker can have one certificate signed and present another. */
const BROKEN_HASH = /md[245]|sha-?1(?!\d)/i

function isStrong({ publicKey, signatureAlgorithm = '' }: X509Certificate): boolean {
  const { modulusLength = MIN_RSA_BITS } = publicKey.asymmetricKeyDetails ?? {}
  return modulusLength >= MIN_RSA_BITS && !BROKEN_HASH.test(signatureAlgorithm)
}

function derOf(value: string): Buffer | undefined {
  const text = /^:([^:]*):$/.exec(value)?.[1] ?? pemContent(value) ?? value
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}

function pemContent(value: string): string | undefined {
  if (!value.startsWith('-----BEGIN')) return undefined
  try {
    return PEM.exec(decodeURIComponent(value))?.[1]?.replace(/\s+/g, '')
  } catch {
    return undefined
  }
}

const TAG = { version: 0xa0, email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const
/** Elements before the subject: serial number, signature, issuer, validity. */
const BEFORE_SUBJECT = 4

/** The names in a certificate; malformed parts count as absent. */
export function namesIn(raw: Buffer): CertificateNames {
  const [content] = derSequence(raw)
  const fields = derSequence(content?.whole)
  const subject = fields[fields[0]?.tag === TAG.version ? BEFORE_SUBJECT + 1 : BEFORE_SUBJECT]
  const names = alternativeNames(raw)
  const textsOf = (wanted: number): readonly string[] =>
    names.filter(({ tag }) => tag === wanted).map(({ content: bytes }) => bytes.toString('latin1'))
  return {
    subject: subject && nameFromDer(subject.whole),
    dns: textsOf(TAG.dns),
    uri: textsOf(TAG.uri),
    email: textsOf(TAG.email),
    ip: names.filter(({ tag }) => tag === TAG.ip).flatMap(({ content: bytes }) => addressOf(bytes) ?? []),
  }
}

function alternativeNames(raw: Buffer): readonly DerElement[] {
  const extension = extensionsIn(raw)?.find(({ id }) => id === EXTENSION.alternativeName)
  return derSequence(extension?.value)
}

function addressOf(bytes: Buffer): string | undefined {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return undefined
  return canonicalAddress((bytes.toString('hex').match(/.{4}/g) ?? []).join(':'))
}

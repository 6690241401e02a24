// Certificates of clients and authorities, which Node cannot create (RFC 5280).
import { generateKeyPairSync, hash, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

const tagged = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const digits = body.length.toString(16)
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 + length.length]), length, body])
}
const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts)
const identifier = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, 'hex'))
const TRUE = Buffer.from('0101ff', 'hex')
const time = (moment: Date): Buffer =>
  tagged(0x18, Buffer.from(`${moment.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))

const WITH_EC = { sha256: sequence(identifier('2a8648ce3d040302')), sha1: sequence(identifier('2a8648ce3d0401')) }
const TYPES = {
  C: '550406',
  O: '55040a',
  OU: '55040b',
  CN: '550403',
  DC: '0992268993f22c640119',
  E: '2a864886f70d010901',
}
const USAGES = { client: '2b06010505070302', server: '2b06010505070301', any: '551d2500' }

/** One attribute of a name: its type and text; in PrintableString or BMPString if it says so. */
export type NamePart = readonly [type: keyof typeof TYPES, text: string, tag?: 'printable' | 'bmp']

const textOf = (text: string, tag: NamePart[2]): Buffer => {
  if (tag === 'bmp') return tagged(0x1e, Buffer.from(text, 'utf16le').swap16())
  return tagged(tag === 'printable' ? 0x13 : 0x0c, Buffer.from(text))
}

/** A name; each list is one relative name, the least specific first. */
export const nameOf = (...names: readonly (readonly NamePart[])[]): Buffer =>
  sequence(
    ...names.map(parts =>
      tagged(0x31, ...parts.map(([type, text, tag]) => sequence(identifier(TYPES[type]), textOf(text, tag)))),
    ),
  )

/** A certificate with its key. */
export interface TestCertificate {
  readonly name: Buffer
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** DER. */
  readonly raw: Buffer
  readonly pem: string
  /** `x5t#S256`. */
  readonly thumbprint: string
  /** A key of a JWK set, with the certificate. */
  readonly jwk: Readonly<Record<string, unknown>>
}

interface CertificateRequestOptions {
  readonly name?: Buffer
  readonly issuer?: TestCertificate
  readonly isAuthority?: boolean
  /** Path length constraint of an authority. */
  readonly pathLength?: number
  /** Further extensions: the content of the identifier in hexadecimal, and the value in DER. */
  readonly extensions?: readonly { readonly id: string; readonly isCritical: boolean; readonly value: Buffer }[]
  readonly usages?: readonly (keyof typeof USAGES)[]
  readonly dns?: readonly string[]
  readonly uri?: readonly string[]
  readonly email?: readonly string[]
  readonly ip?: readonly (readonly number[])[]
  readonly hash?: 'sha256' | 'sha1'
  /** Of an RSA key; EC without. */
  readonly rsaBits?: number
  readonly from?: Date
  readonly to?: Date
}

/** An issued or self-signed certificate. */
export function issue({ issuer, ...certificate }: CertificateRequestOptions = {}): TestCertificate {
  const { publicKey, privateKey } = certificate.rsaBits
    ? generateKeyPairSync('rsa', { modulusLength: certificate.rsaBits })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = WITH_EC[certificate.hash ?? 'sha256']
  const name = certificate.name ?? nameOf([['CN', 'a client']])
  const names = [
    ...(certificate.email ?? []).map(text => tagged(0x81, Buffer.from(text))),
    ...(certificate.dns ?? []).map(text => tagged(0x82, Buffer.from(text))),
    ...(certificate.uri ?? []).map(text => tagged(0x86, Buffer.from(text))),
    ...(certificate.ip ?? []).map(bytes => tagged(0x87, Buffer.from(bytes))),
  ]
  const { pathLength } = certificate
  const constraints = sequence(
    ...(certificate.isAuthority ? [TRUE] : []),
    ...(pathLength === undefined ? [] : [tagged(0x02, Buffer.from([pathLength]))]),
  )
  const extensions = [
    sequence(identifier('551d13'), TRUE, tagged(0x04, constraints)),
    ...(certificate.usages
      ? [
          sequence(
            identifier('551d25'),
            tagged(0x04, sequence(...certificate.usages.map(each => identifier(USAGES[each])))),
          ),
        ]
      : []),
    ...(names.length > 0 ? [sequence(identifier('551d11'), tagged(0x04, sequence(...names)))] : []),
    ...(certificate.extensions ?? []).map(({ id, isCritical, value }) =>
      sequence(identifier(id), ...(isCritical ? [TRUE] : []), tagged(0x04, value)),
    ),
  ]
  const content = sequence(
    tagged(0xa0, Buffer.from('020102', 'hex')), // version 3
    Buffer.from('020101', 'hex'),
    algorithm,
    issuer?.name ?? name,
    sequence(time(certificate.from ?? new Date(0)), time(certificate.to ?? new Date(Date.UTC(2090, 0)))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = tagged(
    0x03,
    Buffer.from([0]),
    sign(certificate.hash ?? 'sha256', content, issuer?.privateKey ?? privateKey),
  )
  const raw = sequence(content, algorithm, signature)
  const pem = `-----BEGIN CERTIFICATE-----\n${raw.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
  const thumbprint = hash('sha256', raw, 'base64url')
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: thumbprint, x5c: [raw.toString('base64')] }
  return { name, privateKey, publicKey, raw, pem, thumbprint, jwk }
}

/** Name constraints of an authority (RFC 5280 §4.2.1.10): it may issue certificates for hosts of this domain only. */
export const onlyHostsOf = (domain: string) => ({
  id: '551d1e',
  isCritical: true,
  value: sequence(tagged(0xa0, sequence(tagged(0x82, Buffer.from(domain))))),
})

/** Certificate headers of proxies: RFC 9440, nginx, Apache, and plain base64. */
export const FORWARDED = {
  'RFC 9440': ({ raw }: TestCertificate) => `:${raw.toString('base64')}:`,
  nginx: ({ pem }: TestCertificate) => encodeURIComponent(pem),
  Apache: ({ pem }: TestCertificate) => pem.replaceAll('\n', ' '),
  'plain base64': ({ raw }: TestCertificate) => raw.toString('base64'),
} as const

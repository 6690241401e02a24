// Writes self-signed certificates (RFC 5280), which Node only reads: just the DER that one of an RSA key needs.
import { createPublicKey, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { DER } from './der.ts'

/** The properties of a certificate to create. */
interface CertificateRequest {
  /** RSA. */
  readonly privateKey: KeyObject
  /** The subject and the issuer; cut to 64 characters (RFC 5280 appendix A.1, ub-common-name). */
  readonly commonName: string
  readonly from: Date
  readonly to: Date
  /** Random bytes, 16 or fewer. */
  readonly serial: Buffer
}

const TAG = {
  boolean: 0x01,
  bits: 0x03,
  none: 0x05,
  utf8: 0x0c,
  utcTime: 0x17,
  time: 0x18,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
} as const

const OID = {
  commonName: '550403',
  sha256WithRsa: '2a864886f70d01010b',
  keyUsage: '551d0f',
  basicConstraints: '551d13',
} as const

/** In PEM, signed with RSA and SHA-256: for signatures and encryption, and not for an authority. */
export function selfSignedCertificate({ privateKey, commonName, from, to, serial }: CertificateRequest): string {
  const algorithm = sequence(oid(OID.sha256WithRsa), element(TAG.none))
  const name = sequence(
    element(
      TAG.set,
      sequence(oid(OID.commonName), element(TAG.utf8, Buffer.from(Array.from(commonName).slice(0, 64).join('')))),
    ),
  )
  const content = sequence(
    element(TAG.version, element(DER.integer, Buffer.from([2]))), // version 3
    // Positive and not zero (RFC 5280 §4.1.2.2), in the fewest bytes.
    element(DER.integer, Buffer.concat([Buffer.from([0x40]), serial])),
    algorithm,
    name,
    sequence(timeOf(from), timeOf(to)),
    name,
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    element(
      TAG.extensions,
      sequence(
        critical(OID.basicConstraints, sequence()), // no authority
        critical(OID.keyUsage, element(TAG.bits, Buffer.from([5, 0b1010_0000]))), // digitalSignature, keyEncipherment
      ),
    ),
  )
  const signature = element(TAG.bits, Buffer.from([0]), sign('sha256', content, privateKey))
  const lines = sequence(content, algorithm, signature)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

/** X.690 §8.1.3 and §10.1: the fewest bytes. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const digits = length.toString(16)
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes])
}

const sequence = (...parts: readonly Buffer[]): Buffer => element(DER.sequence, ...parts)
const oid = (hex: string): Buffer => element(DER.oid, Buffer.from(hex, 'hex'))
const critical = (id: string, value: Buffer): Buffer =>
  sequence(oid(id), element(TAG.boolean, Buffer.from([0xff])), element(DER.octets, value))

/** RFC 5280 §4.1.2.5: two digits of the year before 2050, four digits since. */
function timeOf(moment: Date): Buffer {
  const digits = `${moment.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  const isShort = moment.getUTCFullYear() < 2050
  return element(isShort ? TAG.utcTime : TAG.time, Buffer.from(isShort ? digits.slice(2) : digits))
}

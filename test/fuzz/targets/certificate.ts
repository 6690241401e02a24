import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { readCertificates } from '../../../src/base/certificates/certificate.ts'
import { namesIn, readForwardedCertificate } from '../../../src/base/certificates/client-certificate.ts'
import { derElements } from '../../../src/base/certificates/der.ts'
import { nameFromString } from '../../../src/base/certificates/distinguished-name.ts'
import { changed, changedBytes } from '../changes.ts'
import { target } from '../target.ts'

/** A certificate with every kind of name; its key was thrown away. */
const DER = Buffer.from(
  [
    'MIIBtzCCAV6gAwIBAgIBATAKBggqhkjOPQQDAjAgMQ0wCwYDVQQKDARCYW5rMQ8wDQYDVQQDDAZjbGllbnQwIhgPMTk3MDAxMDEw',
    'MDAwMDBaGA8yMDkwMDEwMTAwMDAwMFowIDENMAsGA1UECgwEQmFuazEPMA0GA1UEAwwGY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZI',
    'zj0DAQcDQgAEEMmafimr4rDXKT/OBQXD82B2OFHcfNSfznAC+207hWeg3F2o8H8spDLeNnkuy8Y66HgHEsUqv52NygCP5H5WVKOB',
    'hDCBgTAMBgNVHRMBAf8EAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMCMFwGA1UdEQRVMFOBE2NsaWVudEBiYW5rLmV4YW1wbGWCDmNs',
    'aWVudC5leGFtcGxlhhRzcGlmZmU6Ly9iYW5rL2NsaWVudIcECgAAAYcQIAENuAAAAAAAAAAAAAAAATAKBggqhkjOPQQDAgNHADBE',
    'AiBfyjPVB2vC9fpxi0MEw8NLtu5w7EcmeSkswE0fno0qDwIgFqJLmdoL5zMoLKULCcj2OnTLKsgSzgkBrmDYzGsSxdA=',
  ].join(''),
  'base64',
)

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64')
const pem = (content: string): string =>
  `-----BEGIN CERTIFICATE-----\n${content.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
/** As sent by proxies: RFC 9440, nginx, Apache and others. */
const FORMS: readonly ((hex: string) => string)[] = [
  hex => `:${base64(hex)}:`,
  hex => encodeURIComponent(pem(base64(hex))),
  hex => pem(base64(hex)).replaceAll('\n', ' '),
  base64,
]
const written = fc
  .tuple(fc.oneof(changedBytes(fc.constant(DER)), fc.constant(DER.toString('hex'))), fc.constantFrom(...FORMS))
  .map(([hex, write]) => write(hex))

/** One type of the certificate's alternative names, as printed by OpenSSL. */
const named = (text: string, kind: string): readonly string[] =>
  text.split(', ').flatMap(each => (each.startsWith(`${kind}:`) ? [each.slice(kind.length + 1)] : []))

/** Undefined as well where OpenSSL reads the names but cannot print one, for which newer versions of Node.js throw. */
function namesOf(certificate: X509Certificate): string | undefined {
  try {
    return certificate.subjectAltName
  } catch (error) {
    assert.match(String(error), /Failed to format subject alternative name/)
    return undefined
  }
}

/** Certificates in headers of proxies: what OpenSSL reads, whole, with the names that OpenSSL finds. */
export const certificate = target({
  name: 'certificate',
  inputs: fc.oneof(
    { weight: 3, arbitrary: written },
    { weight: 2, arbitrary: changed(written, [':', ', ', ';', '%0A', '=', '-----BEGIN CERTIFICATE-----', '%', ' ']) },
    {
      weight: 1,
      arbitrary: changed(fc.constantFrom('CN=client,O=Bank', 'OU=a+CN=\\2cb,DC=x', 'cn=#0c0178'), [
        '\\',
        ',',
        '+',
        '=',
        '#',
        '"',
        ';',
        '\\c3',
        '2.5.4.3=',
      ]),
    },
  ),
  check(header) {
    for (const list of readCertificates(header) ?? []) assert.ok(list.raw.length > 0)
    const name = nameFromString(header)
    if (name !== undefined) assert.ok(Array.isArray(JSON.parse(name)))
    const read = readForwardedCertificate(header)
    if (!read) return name === undefined ? 'refused' : 'read'
    const theirs = new X509Certificate(read.raw)
    assert.ok(theirs.raw.equals(read.raw))
    assert.equal(read.validTo.getTime(), theirs.validToDate.getTime())
    assert.ok(Number.isFinite(read.validFrom.getTime() + read.validTo.getTime()), 'no date')
    const names = namesIn(read.raw)
    const texts = namesOf(theirs)
    // OpenSSL leaves out all names if it does not know the kind of one, and quotes those with odd characters.
    if (texts === undefined || texts.includes('"') || derElements(read.raw).length !== 1) return 'read'
    const isOdd = (each: string): boolean => /[^\x20-\x7e]|[,:/]/.test(each)
    for (const dns of names.dns) if (!isOdd(dns)) assert.ok(named(texts, 'DNS').includes(dns), dns)
    for (const email of names.email) if (!isOdd(email)) assert.ok(named(texts, 'email').includes(email), email)
    for (const ip of names.ip) if (ip.includes('.')) assert.ok(named(texts, 'IP Address').includes(ip), ip)
    return 'read'
  },
})

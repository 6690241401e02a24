// Signs and encrypts with Debian's xmlsec1, a program over libxml2 and OpenSSL that has nothing in common with the code that
// reads here.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SamlTestKey } from './saml-signing.ts'
import { SAML } from './saml-xml.ts'

/** How it signs; RSA and SHA-256 unless it says otherwise. */
export interface XmlsecSigning {
  readonly algorithm?: string
  readonly digest?: string
  /** The whole canonicalization of the reference, with its parameters. */
  readonly canonicalization?: string
}

/** `PrefixList`, as OpenSAML has it for the types of attribute values. */
export const inclusive = (prefixes: string): string =>
  `<ds:Transform Algorithm="${SAML.exclusive}"><ec:InclusiveNamespaces xmlns:ec="${SAML.exclusive}" PrefixList="${prefixes}"/></ds:Transform>`

/** The assertion with a signature after its issuer. */
export function signedByXmlsec(xml: string, key: SamlTestKey, parts: XmlsecSigning = {}): string {
  const {
    algorithm = SAML.rsaSha256,
    digest = SAML.sha256,
    canonicalization = `<ds:Transform Algorithm="${SAML.exclusive}"/>`,
  } = parts
  const id = /\bID="([^"]+)"/.exec(xml)?.[1] ?? ''
  const template = `<ds:Signature xmlns:ds="${SAML.signature}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="${SAML.exclusive}"/><ds:SignatureMethod Algorithm="${algorithm}"/><ds:Reference URI="#${id}"><ds:Transforms><ds:Transform Algorithm="${SAML.enveloped}"/>${canonicalization}</ds:Transforms><ds:DigestMethod Algorithm="${digest}"/><ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/><ds:KeyInfo><ds:X509Data/></ds:KeyInfo></ds:Signature>`
  const isOfIssuer = /<\/(?:\w+:)?Issuer>/
  return run(
    xml.replace(isOfIssuer, end => end + template),
    key,
    (folder, input) => [
      '--sign',
      '--privkey-pem',
      `${join(folder, 'key.pem')},${join(folder, 'certificate.pem')}`,
      '--id-attr:ID',
      `${SAML.assertion}:Assertion`,
      input,
    ],
  )
}

/** The XML as an `EncryptedAssertion` for the certificate. */
export function encryptedByXmlsec(xml: string, { privateKey, certificate }: SamlTestKey): string {
  const template = `<xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" Type="http://www.w3.org/2001/04/xmlenc#Element"><xenc:EncryptionMethod Algorithm="${SAML.gcm}"/><ds:KeyInfo xmlns:ds="${SAML.signature}"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="${SAML.oaep}"/><xenc:CipherData><xenc:CipherValue/></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo><xenc:CipherData><xenc:CipherValue/></xenc:CipherData></xenc:EncryptedData>`
  const data = run(template, { privateKey, certificate }, (folder, input) => {
    writeFileSync(join(folder, 'plain.xml'), xml)
    return [
      '--encrypt',
      '--pubkey-cert-pem',
      join(folder, 'certificate.pem'),
      '--session-key',
      'aes-256',
      '--xml-data',
      join(folder, 'plain.xml'),
      input,
    ]
  })
  const element = data.replace(/^<\?xml[^>]*>\s*/, '')
  return `<saml:EncryptedAssertion xmlns:saml="${SAML.assertion}">${element}</saml:EncryptedAssertion>`
}

function run(
  input: string,
  { privateKey, certificate }: SamlTestKey,
  argumentsOf: (folder: string, input: string) => readonly string[],
): string {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-xmlsec-'))
  try {
    writeFileSync(join(folder, 'key.pem'), privateKey)
    writeFileSync(join(folder, 'certificate.pem'), certificate)
    writeFileSync(join(folder, 'input.xml'), input)
    const [command = '', ...more] = argumentsOf(folder, join(folder, 'input.xml'))
    execFileSync('xmlsec1', [command, '--output', join(folder, 'output.xml'), ...more], { stdio: 'pipe' })
    return readFileSync(join(folder, 'output.xml'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

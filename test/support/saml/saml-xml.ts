// Names of SAML and pieces of its messages, for tests.
import { randomBytes } from 'node:crypto'
import type { AssertionParts, SamlTestAttribute } from './saml-parts.ts'

/** The base64 of a PEM, as XML contains it. */
export const pemBody = (pem: string): string => pem.replace(/-----[^-]+-----|\s/g, '')

/** Text as XML content or attribute value. */
export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, char => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char)

/** Names of the protocol. */
export const SAML = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
  bearer: 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
  success: 'urn:oasis:names:tc:SAML:2.0:status:Success',
  emailName: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  persistentName: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  transientName: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  password: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
  exclusive: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  enveloped: 'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  rsaSha256: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  rsaPssSha256: 'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  ecdsaSha256: 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  sha384: 'http://www.w3.org/2001/04/xmldsig-more#sha384',
  sha512: 'http://www.w3.org/2001/04/xmlenc#sha512',
  gcm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  cbc: 'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
  oaep: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  oaep11: 'http://www.w3.org/2009/xmlenc11#rsa-oaep',
} as const

/** As a form field of the POST binding. */
export const base64Of = (xml: string): string => Buffer.from(xml).toString('base64')
/** As the parameter `assertion` of the bearer grant. */
export const base64UrlOf = (xml: string): string => Buffer.from(xml).toString('base64url')

const PROCESS = randomBytes(8).toString('hex')

let count = 0
/** An id that no other message has, of this process or another one that is run against the same server. */
export const nextId = (): string => `_${PROCESS}${(count += 1).toString(16).padStart(16, '0')}`

/** An attribute with a blank before it; empty without a value. */
export const attribute = (name: string, value: string | null | undefined): string =>
  value === null || value === undefined ? '' : ` ${name}="${escapeXml(value)}"`
/** As XML writes it. */
export const instant = (time: Date | null | undefined): string | null | undefined => time && time.toISOString()

/** The `NameID` of a subject. */
export const nameIdElement = ({ nameId, format, nameQualifier, spNameQualifier }: AssertionParts): string =>
  `<saml:NameID${attribute('Format', format)}${attribute('NameQualifier', nameQualifier)}${attribute('SPNameQualifier', spNameQualifier)}>${escapeXml(nameId ?? '')}</saml:NameID>`

/** Empty without attributes. */
export const attributeStatement = (attributes: readonly SamlTestAttribute[]): string =>
  attributes.length === 0
    ? ''
    : `<saml:AttributeStatement>${attributes
        .map(
          ({ name, friendlyName, values }) =>
            `<saml:Attribute Name="${escapeXml(name)}"${attribute('FriendlyName', friendlyName)}>${values
              .map(value => `<saml:AttributeValue>${escapeXml(value)}</saml:AttributeValue>`)
              .join('')}</saml:Attribute>`,
        )
        .join('')}</saml:AttributeStatement>`

// Tools to take signed messages apart and to put them together in another way. They work on the text that saml-idp.ts makes,
// with its prefixes `samlp`, `saml` and `ds`; a signature made here may have anything in it.
import { createHash, createHmac, createPublicKey, sign } from 'node:crypto'
import { DOMParser } from '@xmldom/xmldom'
import { ExclusiveCanonicalization, ExclusiveCanonicalizationWithComments } from 'xml-crypto'
import type { ResponseParts, SigningParts } from '../support/saml/saml-parts.ts'
import type { SamlTestKey } from '../support/saml/saml-signing.ts'
import { nextId, pemBody, SAML } from '../support/saml/saml-xml.ts'
import type { Means } from './attack.ts'
import { MALLORY, VICTIM } from './attack.ts'

/** A signed assertion about the attacker. */
export const signedAssertion = ({ idp, parts }: Means, more: ResponseParts = {}, signing?: SigningParts): string =>
  idp.signedAssertion({ ...parts, ...more }, signing)

/** What is sent to the endpoint: at the consumer a response around the content, which is not signed, else the content alone. */
export const messageOf = ({ endpoint, idp, parts }: Means, content: string, more: ResponseParts = {}): string =>
  endpoint === 'acs' ? idp.responseAround(content, { ...parts, signs: [], ...more }) : content

/** A genuine message about the attacker. */
export const genuine = (means: Means, more: ResponseParts = {}, signing?: SigningParts): string =>
  messageOf(means, signedAssertion(means, more, signing), more)

/** A response whose signature is that of the response. */
export const signedResponse = ({ idp, parts }: Means, more: ResponseParts = {}): string =>
  idp.responseAround(idp.assertion({ ...parts, ...more }), { ...parts, ...more, signs: ['response'] })

/** The signature, which must be there. */
export function signatureOf(xml: string): string {
  const [signature] = /<ds:Signature[ >].*?<\/ds:Signature>/s.exec(xml) ?? []
  if (signature === undefined) throw new Error('the message has no signature')
  return signature
}

/** The message without its signature. */
export const unsigned = (xml: string): string => xml.replace(signatureOf(xml), '')
/** The `ID` of the root element. */
export const idOf = (xml: string): string => / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
/** With another `ID` at the root element. */
export const renamed = (xml: string, id = nextId()): string => xml.replace(/ ID="[^"]*"/, ` ID="${id}"`)
/** About the victim instead. */
export const aboutVictim = (xml: string): string => xml.replaceAll(MALLORY, VICTIM)
/** A copy about the victim, with ids of its own and without signature. */
export const forgedCopy = (xml: string): string =>
  aboutVictim(unsigned(xml)).replace(/ ID="[^"]*"/g, () => ` ID="${nextId()}"`)
/** With the piece after the first issuer, where the schema has the signature. */
export const afterIssuer = (xml: string, piece: string): string =>
  xml.replace('</saml:Issuer>', () => `</saml:Issuer>${piece}`)
/** With the piece as the last child of the root element. */
export function appended(xml: string, piece: string): string {
  const end = xml.lastIndexOf('</')
  return xml.slice(0, end) + piece + xml.slice(end)
}
/** With the piece in the place of what is there; it must be there. */
export function replaced(xml: string, what: string | RegExp, piece: string): string {
  if (typeof what === 'string' ? !xml.includes(what) : xml.search(what) < 0) {
    throw new Error(`the message has no ${String(what)}`)
  }
  return xml.replace(what, () => piece)
}

/** The bytes that exclusive canonicalization makes of the root element (without or with comments). */
export function canonical(xml: string, { comments = false } = {}): string {
  const root = new DOMParser().parseFromString(xml, 'text/xml').documentElement
  if (!root) throw new Error('the message has no root element')
  const algorithm = comments ? new ExclusiveCanonicalizationWithComments() : new ExclusiveCanonicalization()
  return algorithm.process(root, {})
}

/** A `Transform` element. */
export const transform = (algorithm: string, content = ''): string =>
  `<ds:Transform Algorithm="${algorithm}">${content}</ds:Transform>`
/** The two that are allowed. */
export const USUAL_TRANSFORMS = transform(SAML.enveloped) + transform(SAML.exclusive)

/** A base64 digest. */
export const digestOf = (text: string, algorithm = 'sha256'): string =>
  createHash(algorithm).update(text).digest('base64')

/** What differs from the usual reference. */
interface ReferenceParts {
  readonly transforms?: string
  readonly method?: string
  readonly digest?: string
}

/** A `Reference` to the canonical text. */
export const referenceTo = (
  uri: string | undefined,
  text: string,
  { transforms = USUAL_TRANSFORMS, method = SAML.sha256, digest = digestOf(text) }: ReferenceParts = {},
): string =>
  `<ds:Reference${uri === undefined ? '' : ` URI="${uri}"`}><ds:Transforms>${transforms}</ds:Transforms><ds:DigestMethod Algorithm="${method}"></ds:DigestMethod><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>`

/** What a signature made by hand consists of. */
export interface HandSigned {
  readonly key: SamlTestKey
  /** `Reference` elements in canonical form. */
  readonly references: string
  readonly method?: string
  readonly methodContent?: string
  readonly canonicalization?: string
  /** Instead of an RSA signature with SHA-256 over the text of `SignedInfo`. */
  readonly value?: (signedInfo: string) => string
  /** Further children of the signature. */
  readonly more?: string
}

/** The `SignedInfo` element in canonical form. */
export const signedInfoOf = ({
  references,
  method = SAML.rsaSha256,
  methodContent = '',
  canonicalization = SAML.exclusive,
}: Omit<HandSigned, 'key'>): string =>
  `<ds:SignedInfo xmlns:ds="${SAML.signature}"><ds:CanonicalizationMethod Algorithm="${canonicalization}"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="${method}">${methodContent}</ds:SignatureMethod>${references}</ds:SignedInfo>`

/** A signature with anything in it. */
export function handSignature(parts: HandSigned): string {
  const signedInfo = signedInfoOf(parts)
  const { key, value = text => sign('sha256', Buffer.from(text), key.privateKey).toString('base64'), more = '' } = parts
  return `<ds:Signature xmlns:ds="${SAML.signature}">${signedInfo}<ds:SignatureValue>${value(signedInfo)}</ds:SignatureValue>${more}</ds:Signature>`
}

/** The message signed by hand, with the usual reference to its root element unless told otherwise. */
export const handSigned = (
  xml: string,
  key: SamlTestKey,
  parts: Partial<HandSigned> = {},
  references = referenceTo(`#${idOf(xml)}`, canonical(xml)),
): string => afterIssuer(xml, handSignature({ key, references, ...parts }))

/** HMAC with the provider's public key as the secret. */
export const publicKeyHmac =
  ({ certificate }: SamlTestKey, form: 'certificate' | 'key') =>
  (signedInfo: string): string => {
    const secret =
      form === 'certificate' ? certificate : createPublicKey(certificate).export({ type: 'spki', format: 'pem' })
    return createHmac('sha256', secret).update(signedInfo).digest('base64')
  }

/** `KeyInfo` with certificates in it. */
export const keyInfo = (...keys: readonly SamlTestKey[]): string =>
  `<ds:KeyInfo><ds:X509Data>${keys.map(key => `<ds:X509Certificate>${pemBody(key.certificate)}</ds:X509Certificate>`).join('')}</ds:X509Data></ds:KeyInfo>`

/** An unsigned assertion about the victim. */
export const victimAssertion = ({ idp, parts }: Means, more: ResponseParts = {}): string =>
  idp.assertion({ ...parts, nameId: VICTIM, ...more })

/** An ECDSA signature in the form of XML signatures: both numbers side by side (XML Signature 6.4.3). */
export const ecdsaBy =
  ({ privateKey }: SamlTestKey) =>
  (signedInfo: string): string =>
    sign('sha256', Buffer.from(signedInfo), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64')

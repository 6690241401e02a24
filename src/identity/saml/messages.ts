// The XML that a service provider sends, as templates: every value is escaped by construction. Signed in signing.ts.
import { bearerPath } from '../../model/zones/saml-paths.ts'
import type { ServiceProvider, SpKey } from './service-provider.ts'

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol'
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion'
const BINDING = 'urn:oasis:names:tc:SAML:2.0:bindings'

/** The format of a name that has none (SAML Core §8.3.1). */
export const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'
const EMAIL_ADDRESS = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
const X509_SUBJECT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName'
/**
 * Formats of names that the metadata offers. Providers take the first one by default, so that it should be
 * a name that stays the same; a transient one is refused.
 */
const STABLE_FIRST = [PERSISTENT, UNSPECIFIED, EMAIL_ADDRESS, X509_SUBJECT]
/** UAA's. */
const EMAIL_FIRST = [EMAIL_ADDRESS, TRANSIENT, PERSISTENT, UNSPECIFIED, X509_SUBJECT]

/** The attributes of every message (SAML Core §3.2). */
interface Message {
  /** An NCName. */
  readonly id: string
  readonly issuedAt: Date
  /** URL of the provider's endpoint. */
  readonly destination: string
  /** Our entity id. */
  readonly issuer: string
}

/** A request for a sign-in. */
interface AuthnRequest extends Message {
  /** URL to which the provider posts its response. */
  readonly assertionConsumer: string
  /** The format of names that the provider should use; unspecified unless given. */
  readonly nameIdFormat?: string | undefined
  /** Whether the provider may create a name for a user who has none yet. */
  readonly allowsNewName?: boolean | undefined
  /** Authentication context classes, of which the provider must use one. */
  readonly authnContext?: readonly string[] | undefined
  /** Whether the provider must reauthenticate the user. */
  readonly forceAuthn?: boolean | undefined
}

/** The user of a logout, as the provider named them. */
export interface LogoutName {
  readonly value: string
  readonly format?: string | undefined
  readonly nameQualifier?: string | undefined
  readonly spNameQualifier?: string | undefined
}

/** A request to end a user's session at the provider. */
interface LogoutRequest extends Message {
  readonly name: LogoutName
  readonly sessionIndex?: string | undefined
  readonly notOnOrAfter: Date
}

/** The answer to a provider's logout request. */
interface LogoutResponse extends Message {
  /** Id of the request. */
  readonly inResponseTo: string
  /** The last part of the status code (SAML Core §3.2.2.2); a refusal says `RequestDenied` too (SAML Bindings §3.4.6). */
  readonly status: 'Success' | 'Requester'
  /** Why it is no success, for the provider's log. */
  readonly message?: string | undefined
}

/** SAML Core §3.4.1. `IsPassive` is false always, as in UAA. */
export function authnRequest(request: AuthnRequest): string {
  const { assertionConsumer, nameIdFormat = UNSPECIFIED, authnContext = [], forceAuthn = false } = request
  const classes = authnContext.map(
    each => xml`<saml2:AuthnContextClassRef xmlns:saml2="${ASSERTION}">${each}</saml2:AuthnContextClassRef>`,
  )
  const context =
    classes.length > 0 &&
    xml`<saml2p:RequestedAuthnContext Comparison="exact">${classes}</saml2p:RequestedAuthnContext>`
  // It has no meaning for transient names (SAML Core §3.4.1.1).
  const mayBeNew = request.allowsNewName === true && nameIdFormat !== TRANSIENT && xml` AllowCreate="true"`
  return document(
    xml`<saml2p:AuthnRequest AssertionConsumerServiceURL="${assertionConsumer}" Destination="${request.destination}" ForceAuthn="${String(forceAuthn)}" ID="${request.id}" IsPassive="false" IssueInstant="${timeOf(request.issuedAt)}" ProtocolBinding="${BINDING}:HTTP-POST" Version="2.0" xmlns:saml2p="${PROTOCOL}">${issuerOf(request)}<saml2p:NameIDPolicy${mayBeNew} Format="${nameIdFormat}"/>${context}</saml2p:AuthnRequest>`,
  )
}

/** SAML Core §3.7.1. */
export function logoutRequest(request: LogoutRequest): string {
  const { value, format, nameQualifier, spNameQualifier } = request.name
  const attributes = [
    format !== undefined && xml` Format="${format}"`,
    nameQualifier !== undefined && xml` NameQualifier="${nameQualifier}"`,
    spNameQualifier !== undefined && xml` SPNameQualifier="${spNameQualifier}"`,
  ]
  const name = xml`<saml2:NameID${attributes} xmlns:saml2="${ASSERTION}">${value}</saml2:NameID>`
  const session =
    request.sessionIndex !== undefined && xml`<saml2p:SessionIndex>${request.sessionIndex}</saml2p:SessionIndex>`
  return document(
    xml`<saml2p:LogoutRequest Destination="${request.destination}" ID="${request.id}" IssueInstant="${timeOf(request.issuedAt)}" NotOnOrAfter="${timeOf(request.notOnOrAfter)}" Version="2.0" xmlns:saml2p="${PROTOCOL}">${issuerOf(request)}${name}${session}</saml2p:LogoutRequest>`,
  )
}

const STATUS = 'urn:oasis:names:tc:SAML:2.0:status'

/** SAML Core §3.7.2. */
export function logoutResponse(response: LogoutResponse): string {
  const { message, status } = response
  const denied = status !== 'Success' && xml`<saml2p:StatusCode Value="${STATUS}:RequestDenied"/>`
  const reason = message !== undefined && xml`<saml2p:StatusMessage>${message}</saml2p:StatusMessage>`
  return document(
    xml`<saml2p:LogoutResponse Destination="${response.destination}" ID="${response.id}" InResponseTo="${response.inResponseTo}" IssueInstant="${timeOf(response.issuedAt)}" Version="2.0" xmlns:saml2p="${PROTOCOL}">${issuerOf(response)}<saml2p:Status><saml2p:StatusCode Value="${STATUS}:${status}">${denied}</saml2p:StatusCode>${reason}</saml2p:Status></saml2p:LogoutResponse>`,
  )
}

/** The service provider's metadata, not signed yet (SAML Metadata §2.3.2). */
export function metadataOf(provider: ServiceProvider, { stableNamesFirst = true } = {}): string {
  const { entityId, base, alias, active, others, signsRequests, wantsAssertionsSigned } = provider
  const isRsa = ({ privateKey }: SpKey): boolean => privateKey.asymmetricKeyType === 'rsa'
  // Nothing is encrypted to an EC key.
  const encryption = [active, ...others].find(isRsa)
  const keys = [
    descriptorOf('signing', active),
    encryption && descriptorOf('encryption', encryption),
    ...others.map(key => descriptorOf('signing', key)),
  ]
  const logout = ['HTTP-POST', 'HTTP-Redirect'].map(
    binding =>
      xml`<md:SingleLogoutService Binding="${BINDING}:${binding}" Location="${base}/saml/SingleLogout/alias/${alias}"/>`,
  )
  const formats = (stableNamesFirst ? STABLE_FIRST : EMAIL_FIRST).map(
    format => xml`<md:NameIDFormat>${format}</md:NameIDFormat>`,
  )
  return document(
    xml`<md:EntityDescriptor ID="${ncNameOf(entityId)}" entityID="${entityId}" xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"><md:SPSSODescriptor AuthnRequestsSigned="${String(signsRequests)}" WantAssertionsSigned="${String(wantsAssertionsSigned)}" protocolSupportEnumeration="${PROTOCOL}">${keys}${logout}${formats}<md:AssertionConsumerService Binding="${BINDING}:HTTP-POST" Location="${base}/saml/SSO/alias/${alias}" index="0" isDefault="true"/><md:AssertionConsumerService Binding="${BINDING}:URI" Location="${base}${bearerPath(entityId)}" index="1"/></md:SPSSODescriptor></md:EntityDescriptor>`,
  )
}

const descriptorOf = (use: string, { certificates: [certificate = ''] }: SpKey): Xml =>
  xml`<md:KeyDescriptor use="${use}"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`

const issuerOf = ({ issuer }: Message): Xml => xml`<saml2:Issuer xmlns:saml2="${ASSERTION}">${issuer}</saml2:Issuer>`

/** In UTC, with milliseconds (SAML Core §1.3.3). */
const timeOf = (moment: Date): string => moment.toISOString()

/** UAA's form of the id: other characters become underscores. A name begins with a letter or an underscore (xs:ID). */
function ncNameOf(text: string): string {
  const name = text.replace(/[^A-Za-z0-9_.-]/g, '_')
  if (/^[A-Za-z_]/.test(name)) return name
  return name.startsWith('-') ? `_${name.slice(1)}` : `_${name}`
}

/** Markup made by `xml`. */
interface Xml {
  readonly markup: string
}

type XmlValue = string | Xml | false | undefined | readonly XmlValue[]

/** A template literal for XML; strings are escaped, for text and for attribute values in double quotes. */
function xml(strings: TemplateStringsArray, ...values: readonly XmlValue[]): Xml {
  return { markup: strings.reduce((all, string, index) => `${all}${render(values[index - 1])}${string}`) }
}

function render(value: XmlValue): string {
  if (value === undefined || value === false) return ''
  if (typeof value === 'string') return escape(value)
  return 'markup' in value ? value.markup : value.map(render).join('')
}

/** Characters that XML 1.0 has no way to write (§2.2). */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu

/** White space other than a space is escaped too, because a parser would change it (XML 1.0 §2.11, §3.3.3). */
const escape = (text: string): string =>
  text.replace(UNWRITABLE, '\u{FFFD}').replace(/[&<>"\t\n\r]/g, character => `&#${character.charCodeAt(0)};`)

const document = ({ markup }: Xml): string => `<?xml version="1.0" encoding="UTF-8"?>\n${markup}`

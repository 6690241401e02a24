// A SAML identity provider for tests: metadata, assertions, responses and logout messages of which every part can be changed,
// signed with xml-crypto's signing half and encrypted with xml-encryption. Messages are plain strings, so that a test can
// break them; names are those of the protocol.
import { sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import type { Clock } from '../../../src/base/clock.ts'
import { attribute, attributeStatement, escapeXml, instant, nameIdElement, nextId, pemBody, SAML } from './saml-xml.ts'
import type { AssertionParts, LogoutParts, ResponseParts, SigningParts } from './saml-parts.ts'
import { encrypted, nextKey, signed } from './saml-signing.ts'
import type { SamlTestKey } from './saml-signing.ts'

/** The service provider, as this identity provider knows it. */
export interface KnownServiceProvider {
  readonly entityId: string
  /** Its assertion consumer, or the token endpoint that takes bearer assertions. */
  readonly recipient: string
}

/** A provider for tests. */
export interface SamlIdp {
  readonly entityId: string
  readonly key: SamlTestKey
  /** Its metadata; `keys`: further signing keys, `sso` and `slo`: where its endpoints are. */
  metadata(parts?: {
    readonly keys?: readonly SamlTestKey[]
    readonly sso?: string
    readonly slo?: string
    readonly bindings?: readonly string[]
    readonly attributes?: string
  }): string
  /** An assertion without a signature. */
  assertion(parts?: AssertionParts): string
  signedAssertion(parts?: AssertionParts, signing?: SigningParts): string
  /** A response, signed and encrypted as its parts say. */
  response(parts?: ResponseParts): Promise<string>
  /** A response in which this text stands for the assertion. */
  responseAround(assertion: string, parts?: ResponseParts): string
  /** A signature on the root element, after its issuer. */
  sign(xml: string, signing?: SigningParts): string
  logoutRequest(parts?: LogoutParts): string
  logoutResponse(parts?: LogoutParts): string
  /** The query of the redirect binding, signed unless `key` is null. */
  redirectQuery(
    kind: 'SAMLRequest' | 'SAMLResponse',
    xml: string,
    options?: { readonly relayState?: string; readonly key?: SamlTestKey | null },
  ): string
}

const FIVE_MINUTES = 300_000

/** Makes a provider; its users come to `to`. */
export function createSamlIdp({
  clock,
  to,
  entityId = 'https://idp.example/saml',
  key = nextKey(),
}: {
  readonly clock: Clock
  readonly to: KnownServiceProvider
  readonly entityId?: string
  readonly key?: SamlTestKey
}): SamlIdp {
  const now = (): Date => clock.now()
  const soon = (): Date => new Date(now().getTime() + FIVE_MINUTES)

  function assertion(parts: AssertionParts = {}): string {
    const {
      id = nextId(),
      issuer = entityId,
      issueInstant = now(),
      format = SAML.persistentName,
      nameId = 'person-1',
      method = SAML.bearer,
      recipient = to.recipient,
      notOnOrAfter = soon(),
      conditions = {},
      audiences = [to.entityId],
      authnInstant = now(),
      authnContext = SAML.password,
      sessionIndex = 'session-1',
      attributes = [],
    } = parts
    const confirmation = [
      attribute('Recipient', recipient),
      attribute('InResponseTo', parts.inResponseTo),
      attribute('NotBefore', instant(parts.confirmationNotBefore)),
      attribute('NotOnOrAfter', instant(notOnOrAfter)),
    ].join('')
    const subject =
      nameId === null
        ? ''
        : `<saml:Subject>${nameIdElement({ ...parts, nameId, format })}<saml:SubjectConfirmation Method="${escapeXml(method)}"><saml:SubjectConfirmationData${confirmation}/></saml:SubjectConfirmation></saml:Subject>`
    const restriction =
      audiences === null
        ? ''
        : `<saml:AudienceRestriction>${audiences.map(audience => `<saml:Audience>${escapeXml(audience)}</saml:Audience>`).join('')}</saml:AudienceRestriction>`
    const limits =
      conditions === null
        ? ''
        : `<saml:Conditions${attribute('NotBefore', instant(conditions.notBefore === undefined ? now() : conditions.notBefore))}${attribute('NotOnOrAfter', instant(conditions.notOnOrAfter === undefined ? soon() : conditions.notOnOrAfter))}>${restriction}${parts.moreConditions ?? ''}</saml:Conditions>`
    const statement =
      authnInstant === null
        ? ''
        : `<saml:AuthnStatement AuthnInstant="${authnInstant.toISOString()}"${attribute('SessionIndex', sessionIndex)}${attribute('SessionNotOnOrAfter', instant(parts.sessionNotOnOrAfter))}><saml:AuthnContext><saml:AuthnContextClassRef>${escapeXml(authnContext)}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`
    return `<saml:Assertion xmlns:saml="${SAML.assertion}" ID="${id}" Version="2.0" IssueInstant="${issueInstant.toISOString()}"><saml:Issuer>${escapeXml(issuer)}</saml:Issuer>${subject}${limits}${statement}${attributeStatement(attributes)}</saml:Assertion>`
  }

  function responseAround(content: string, parts: ResponseParts = {}): string {
    const {
      responseId = nextId(),
      issueInstant = now(),
      destination = to.recipient,
      responseIssuer = parts.issuer ?? entityId,
      responseInResponseTo = parts.inResponseTo,
      status = SAML.success,
      statusWithin,
      statusMessage,
      signs = ['assertion'],
    } = parts
    const issuer = responseIssuer === null ? '' : `<saml:Issuer>${escapeXml(responseIssuer)}</saml:Issuer>`
    const codeAround = (value: string, within?: string): string =>
      `<samlp:StatusCode Value="${escapeXml(value)}"${within === undefined ? '/>' : `>${within}</samlp:StatusCode>`}`
    const code = codeAround(status, statusWithin === undefined ? undefined : codeAround(statusWithin))
    const said =
      statusMessage === undefined ? '' : `<samlp:StatusMessage>${escapeXml(statusMessage)}</samlp:StatusMessage>`
    const xml = `<samlp:Response xmlns:samlp="${SAML.protocol}" xmlns:saml="${SAML.assertion}" ID="${responseId}" Version="2.0" IssueInstant="${issueInstant.toISOString()}"${attribute('Destination', destination)}${attribute('InResponseTo', responseInResponseTo)}>${issuer}<samlp:Status>${code}${said}</samlp:Status>${content}</samlp:Response>`
    return signs.includes('response') ? signed(xml, key, parts.signing) : xml
  }

  const logout = (
    name: 'LogoutRequest' | 'LogoutResponse',
    parts: LogoutParts,
    { attributes, content }: { readonly attributes: string; readonly content: string },
  ): string =>
    `<samlp:${name} xmlns:samlp="${SAML.protocol}" xmlns:saml="${SAML.assertion}" ID="${parts.id ?? nextId()}" Version="2.0" IssueInstant="${(parts.issueInstant ?? now()).toISOString()}"${attribute('Destination', parts.destination)}${attributes}><saml:Issuer>${escapeXml(parts.issuer ?? entityId)}</saml:Issuer>${content}</samlp:${name}>`

  return {
    entityId,
    key,
    metadata({
      keys = [],
      sso = 'https://idp.example/sso',
      slo,
      bindings = [SAML.redirect, SAML.post],
      attributes = '',
    } = {}) {
      const descriptors = [key, ...keys].map(
        ({ certificate }) =>
          `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${SAML.signature}"><ds:X509Data><ds:X509Certificate>${pemBody(certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
      )
      const at = (name: string, location: string): string =>
        bindings.map(binding => `<md:${name} Binding="${binding}" Location="${escapeXml(location)}"/>`).join('')
      return `<md:EntityDescriptor xmlns:md="${SAML.metadata}" entityID="${escapeXml(entityId)}"><md:IDPSSODescriptor protocolSupportEnumeration="${SAML.protocol}"${attributes}>${descriptors.join('')}${slo === undefined ? '' : at('SingleLogoutService', slo)}${at('SingleSignOnService', sso)}</md:IDPSSODescriptor></md:EntityDescriptor>`
    },
    assertion,
    signedAssertion: (parts, signing) => signed(assertion(parts), key, signing),
    async response(parts = {}) {
      const { signs = ['assertion'], signing, encrypts } = parts
      const plain = signs.includes('assertion') ? signed(assertion(parts), key, signing) : assertion(parts)
      const content = encrypts
        ? `<saml:EncryptedAssertion>${await encrypted(plain, encrypts)}</saml:EncryptedAssertion>`
        : plain
      return responseAround(content, parts)
    },
    responseAround,
    sign: (xml, signing) => signed(xml, key, signing),
    logoutRequest(parts = {}) {
      const { nameId = 'person-1', format = SAML.persistentName, sessionIndexes = ['session-1'] } = parts
      const until = parts.notOnOrAfter === undefined ? soon() : parts.notOnOrAfter
      return logout('LogoutRequest', parts, {
        attributes: attribute('NotOnOrAfter', instant(until)),
        content:
          nameIdElement({ ...parts, nameId, format }) +
          sessionIndexes.map(index => `<samlp:SessionIndex>${escapeXml(index)}</samlp:SessionIndex>`).join(''),
      })
    },
    logoutResponse: (parts = {}) =>
      logout('LogoutResponse', parts, {
        attributes: attribute('InResponseTo', parts.inResponseTo),
        content: `<samlp:Status><samlp:StatusCode Value="${escapeXml(parts.status ?? SAML.success)}"/></samlp:Status>`,
      }),
    redirectQuery(kind, xml, { relayState, key: own = key } = {}) {
      const message = deflateRawSync(xml).toString('base64')
      const parts = [`${kind}=${encodeURIComponent(message)}`]
      if (relayState !== undefined) parts.push(`RelayState=${encodeURIComponent(relayState)}`)
      if (own === null) return parts.join('&')
      parts.push(`SigAlg=${encodeURIComponent(SAML.rsaSha256)}`)
      const query = parts.join('&')
      const signature = sign('sha256', Buffer.from(query), own.privateKey).toString('base64')
      return `${query}&Signature=${encodeURIComponent(signature)}`
    },
  }
}

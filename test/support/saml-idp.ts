// A SAML identity provider for tests: metadata, assertions, responses and logout messages of which every part can be changed,
// signed with xml-crypto's signing half and encrypted with xml-encryption. Messages are plain strings, so that a test can
// break them; names are those of the protocol.
import type { BinaryLike, KeyLike } from 'node:crypto'
import { createHash, createPrivateKey, createPublicKey, createSign, randomBytes, sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import { encrypt } from 'xml-encryption'
import type { EncryptionAlgorithm, KeyEncryptionAlgorithm } from 'xml-encryption'
import type { Clock } from '../../src/base/clock.ts'
import { certificateOf } from './certificate.ts'
import { privatePem } from './config.ts'
import { inTurn } from './rsa-keys.ts'

/** A key pair of a provider. */
export interface SamlTestKey {
  /** PKCS#8 PEM. */
  readonly privateKey: string
  /** X.509 in PEM. */
  readonly certificate: string
}

/** A key pair with its self-signed certificate. */
export function samlTestKey(kind: 'rsa' | 'ec' = 'rsa'): SamlTestKey {
  const privateKey = kind === 'rsa' ? privatePem('rsa', 2048) : privatePem('ec', 'P-256')
  return { privateKey, certificate: certificateOf(privateKey, { name: 'provider' }) }
}

const nextKey = inTurn(8, () => samlTestKey())

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
  ecdsaSha256: 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  sha384: 'http://www.w3.org/2001/04/xmldsig-more#sha384',
  sha512: 'http://www.w3.org/2001/04/xmlenc#sha512',
  gcm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  cbc: 'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
  oaep: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
} as const

/** An attribute of a user; several values give several `AttributeValue` elements. */
export interface SamlTestAttribute {
  readonly name: string
  readonly friendlyName?: string
  readonly values: readonly string[]
}

/** What an assertion says; whatever is left out has a usual value, and `null` leaves the element or attribute out. */
export interface AssertionParts {
  readonly id?: string
  readonly issuer?: string
  readonly issueInstant?: Date
  readonly nameId?: string | null
  readonly format?: string | null
  readonly nameQualifier?: string
  readonly spNameQualifier?: string
  readonly method?: string
  /** Of the subject confirmation. */
  readonly recipient?: string | null
  readonly inResponseTo?: string | null
  readonly notOnOrAfter?: Date | null
  readonly confirmationNotBefore?: Date
  /** Of the conditions; `null`: none at all. */
  readonly conditions?: { readonly notBefore?: Date | null; readonly notOnOrAfter?: Date | null } | null
  /** One `AudienceRestriction` with all of them. */
  readonly audiences?: readonly string[] | null
  /** Further elements within the conditions. */
  readonly moreConditions?: string
  /** `null`: no authentication statement. */
  readonly authnInstant?: Date | null
  readonly authnContext?: string
  readonly sessionIndex?: string | null
  readonly sessionNotOnOrAfter?: Date
  readonly attributes?: readonly SamlTestAttribute[]
}

/** How something is signed; the provider's own key, RSA with SHA-256 and exclusive canonicalization unless it says otherwise. */
export interface SigningParts {
  readonly key?: SamlTestKey
  readonly algorithm?: string
  readonly digest?: string
  readonly canonicalization?: string
  readonly transforms?: readonly string[]
  /** `PrefixList` of the exclusive canonicalization, as OpenSAML has it. */
  readonly inclusivePrefixes?: readonly string[]
}

/** How an assertion is encrypted, to the service provider's certificate in PEM. */
export interface EncryptionParts {
  readonly certificate: string
  readonly algorithm?: EncryptionAlgorithm
  readonly keyAlgorithm?: KeyEncryptionAlgorithm
}

/** A response around one assertion. */
export interface ResponseParts extends AssertionParts {
  readonly responseId?: string
  readonly destination?: string | null
  readonly responseIssuer?: string | null
  readonly responseInResponseTo?: string | null
  readonly status?: string
  /** The code within that code, and the message beside it. */
  readonly statusWithin?: string
  readonly statusMessage?: string
  /** What is signed; the assertion unless it says otherwise. */
  readonly signs?: readonly ('assertion' | 'response')[]
  readonly signing?: SigningParts
  readonly encrypts?: EncryptionParts
}

/** A logout message. */
export interface LogoutParts {
  readonly id?: string
  readonly issuer?: string
  readonly issueInstant?: Date
  readonly destination?: string | null
  readonly notOnOrAfter?: Date | null
  readonly nameId?: string
  readonly format?: string | null
  readonly nameQualifier?: string
  readonly spNameQualifier?: string
  readonly sessionIndexes?: readonly string[]
  readonly inResponseTo?: string
  readonly status?: string
}

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
  /** A signed assertion. */
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

/** In the shape that xml-crypto takes, which has RSA only. */
class EcdsaSha256 {
  getAlgorithmName = (): string => SAML.ecdsaSha256
  getSignature = (signedInfo: BinaryLike, key: KeyLike): string =>
    createSign('sha256')
      .update(signedInfo)
      .sign({ key: key as string, dsaEncoding: 'ieee-p1363' }, 'base64') // the PEM of the signer
  verifySignature = (): never => {
    throw new Error('nothing is verified here')
  }
}

/** As a form field of the POST binding. */
export const base64Of = (xml: string): string => Buffer.from(xml).toString('base64')
/** As the parameter `assertion` of the bearer grant. */
export const base64UrlOf = (xml: string): string => Buffer.from(xml).toString('base64url')

const PROCESS = randomBytes(8).toString('hex')

/** In the shape that xml-crypto takes, which has SHA-1, 256 and 512. */
class Sha384 {
  getAlgorithmName = (): string => SAML.sha384
  getHash = (xml: string): string => createHash('sha384').update(xml).digest('base64')
}

let count = 0
/** An id that no other message has, of this process or another one that is run against the same server. */
export const nextId = (): string => `_${PROCESS}${(count += 1).toString(16).padStart(16, '0')}`

const attribute = (name: string, value: string | null | undefined): string =>
  value === null || value === undefined ? '' : ` ${name}="${escapeXml(value)}"`
const instant = (time: Date | null | undefined): string | null | undefined => time && time.toISOString()

const nameIdElement = ({ nameId, format, nameQualifier, spNameQualifier }: AssertionParts): string =>
  `<saml:NameID${attribute('Format', format)}${attribute('NameQualifier', nameQualifier)}${attribute('SPNameQualifier', spNameQualifier)}>${escapeXml(nameId ?? '')}</saml:NameID>`

const attributeStatement = (attributes: readonly SamlTestAttribute[]): string =>
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

  function signed(xml: string, signing: SigningParts = {}): string {
    const { key: own = key, digest = SAML.sha256, canonicalization = SAML.exclusive } = signing
    const isRsa = createPrivateKey(own.privateKey).asymmetricKeyType === 'rsa'
    const signer = new SignedXml({
      privateKey: own.privateKey,
      publicCert: own.certificate,
      idAttribute: 'ID',
      signatureAlgorithm: signing.algorithm ?? (isRsa ? SAML.rsaSha256 : SAML.ecdsaSha256),
      canonicalizationAlgorithm: canonicalization,
    })
    signer.SignatureAlgorithms[SAML.ecdsaSha256] = EcdsaSha256
    signer.HashAlgorithms[SAML.sha384] = Sha384
    signer.addReference({
      xpath: '/*',
      transforms: [...(signing.transforms ?? [SAML.enveloped, SAML.exclusive])],
      digestAlgorithm: digest,
      inclusiveNamespacesPrefixList: [...(signing.inclusivePrefixes ?? [])],
    })
    signer.computeSignature(xml, {
      prefix: 'ds',
      location: { reference: "/*/*[local-name(.)='Issuer']", action: 'after' },
    })
    return signer.getSignedXml()
  }

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
    return signs.includes('response') ? signed(xml, parts.signing) : xml
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
    signedAssertion: (parts, signing) => signed(assertion(parts), signing),
    async response(parts = {}) {
      const { signs = ['assertion'], signing, encrypts } = parts
      const plain = signs.includes('assertion') ? signed(assertion(parts), signing) : assertion(parts)
      const content = encrypts
        ? `<saml:EncryptedAssertion>${await encrypted(plain, encrypts)}</saml:EncryptedAssertion>`
        : plain
      return responseAround(content, parts)
    },
    responseAround,
    sign: signed,
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

/** Encrypts text to the certificate; the result is an `EncryptedData` element. */
export const encrypted = (
  xml: string,
  { certificate, algorithm = SAML.gcm, keyAlgorithm = SAML.oaep }: EncryptionParts,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      rsa_pub: createPublicKey(certificate).export({ type: 'spki', format: 'pem' }),
      pem: certificate,
      encryptionAlgorithm: algorithm,
      keyEncryptionAlgorithm: keyAlgorithm,
      disallowEncryptionWithInsecureAlgorithm: false,
      warnInsecureAlgorithm: false,
    }
    encrypt(xml, options, (error: Error | null, result) => {
      if (error) reject(error)
      else resolve(result)
    })
  })

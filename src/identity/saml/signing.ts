// Signs what a service provider sends: RSA or ECDSA with SHA-256, exclusive canonicalization (RFC 9231, SAML Core §5).
import { createSign, createVerify, sign } from 'node:crypto'
import type { KeyLike } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import type { PostedForm } from '../../model/sessions/destination.ts'
import type { SpKey } from './service-provider.ts'

/** A message to a provider by way of the browser. */
export interface OutgoingMessage {
  readonly kind: 'SAMLRequest' | 'SAMLResponse'
  /** Unsigned. */
  readonly xml: string
  readonly relayState?: string | undefined
  /** Signs it; unsigned without. */
  readonly key?: SpKey | undefined
}

const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'
const SHA256 = 'http://www.w3.org/2001/04/xmlenc#sha256'
const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
const ECDSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256'

/** Both numbers side by side, not DER (XML Signature §6.4.3). */
const RAW = 'ieee-p1363'

const algorithmOf = ({ privateKey }: SpKey): string =>
  privateKey.asymmetricKeyType === 'ec' ? ECDSA_SHA256 : RSA_SHA256

/**
 * Adds the signature of the root element, which has an `ID`: after its issuer, or as the first child of one without
 * (SAML Core §3.2.1, SAML Metadata §2.3.1). Only for XML of messages.ts.
 */
export function signEnveloped(xml: string, key: SpKey): string {
  const signer = new SignedXml({
    privateKey: key.privateKey,
    publicCert: pemOf(key),
    signatureAlgorithm: algorithmOf(key),
    canonicalizationAlgorithm: EXCLUSIVE,
    idAttribute: 'ID',
  })
  signer.SignatureAlgorithms[ECDSA_SHA256] = EcdsaSha256
  signer.addReference({ xpath: '/*', transforms: [ENVELOPED, EXCLUSIVE], digestAlgorithm: SHA256 })
  const issuer = "/*/*[local-name(.)='Issuer']"
  signer.computeSignature(xml, {
    prefix: 'ds',
    location: xml.includes('</saml2:Issuer>')
      ? { reference: issuer, action: 'after' }
      : { reference: '/*', action: 'prepend' },
  })
  return signer.getSignedXml()
}

/** The own certificate only: what else belongs to it, the provider has or does not need. */
const pemOf = ({ certificates: [own = ''] }: SpKey): string =>
  `-----BEGIN CERTIFICATE-----\n${own.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----`

/** The cast: Node's types lack `KeyLike` together with options. */
const inRawForm = (key: KeyLike) => ({ key: key as string, dsaEncoding: RAW }) as const

/** In the shape that xml-crypto takes; it has RSA only. */
class EcdsaSha256 {
  getAlgorithmName = (): string => ECDSA_SHA256

  getSignature(signedInfo: Buffer | string, key: KeyLike): string {
    return createSign('sha256').update(signedInfo).sign(inRawForm(key), 'base64')
  }

  verifySignature(material: string, key: KeyLike, signature: string): boolean {
    return createVerify('sha256').update(material).verify(inRawForm(key), signature, 'base64')
  }
}

/** The URL of the HTTP-Redirect binding, signed over the query as it is sent (SAML Bindings §3.4.4.1). */
export function redirectTo(destination: string, { kind, xml, relayState, key }: OutgoingMessage): string {
  const parts: [string, string][] = [[kind, deflateRawSync(xml).toString('base64')]]
  if (relayState !== undefined) parts.push(['RelayState', relayState])
  if (key) parts.push(['SigAlg', algorithmOf(key)])
  const query = parts.map(part => part.map(encodeURIComponent).join('=')).join('&')
  const signature =
    key && sign('sha256', Buffer.from(query), { key: key.privateKey, dsaEncoding: RAW }).toString('base64')
  const [address = ''] = destination.split('#', 1)
  const signed = signature === undefined ? query : `${query}&Signature=${encodeURIComponent(signature)}`
  return `${address}${address.includes('?') ? '&' : '?'}${signed}`
}

/** The form of the HTTP-POST binding, with the signature inside the message (SAML Bindings §3.5.4). */
export function postTo(destination: string, { kind, xml, relayState, key }: OutgoingMessage): PostedForm {
  const message = key ? signEnveloped(xml, key) : xml
  return {
    action: destination,
    fields: {
      [kind]: Buffer.from(message).toString('base64'),
      ...(relayState !== undefined && { RelayState: relayState }),
    },
  }
}

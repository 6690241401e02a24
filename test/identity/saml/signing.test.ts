import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, createVerify, hash, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import { authnRequest, logoutRequest, metadataOf } from '../../../src/identity/saml/messages.ts'
import type { SpKey } from '../../../src/identity/saml/service-provider.ts'
import { postTo, redirectTo, signEnveloped } from '../../../src/identity/saml/signing.ts'
import { certificateOf } from '../../support/certificate.ts'
import { KEYS, textOf } from '../../support/keys.ts'

const keyOf = (id: string, pem: string): SpKey => ({
  id,
  privateKey: createPrivateKey(pem),
  certificates: [certificateOf(pem).replace(/-----[^-]+-----|\s/g, '')],
})
const rsa = keyOf('rsa', textOf(KEYS.RS256))
const ec = keyOf('ec', textOf(KEYS.ES256))

const request = authnRequest({
  id: '_42',
  issuedAt: new Date('2026-11-22T13:22:55.835Z'),
  destination: 'https://idp.example/sso?a=1&b=2',
  issuer: 'https://sp.example/ "é" <\t\r\n>',
  assertionConsumer: 'https://sp.example/saml/SSO/alias/x',
  nameIdFormat: 'urn:\r',
})
const metadata = metadataOf({
  entityId: 'http://my-own-entity',
  base: 'https://sp.example',
  alias: 'x',
  active: rsa,
  others: [],
  signsRequests: true,
  wantsAssertionsSigned: true,
})

/** The signed bytes, verified by xml-crypto with the key. */
function signedBytes(xml: string, key: SpKey): string {
  const [signature = ''] = /<ds:Signature .*<\/ds:Signature>/s.exec(xml) ?? []
  const publicCert = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString()
  const verifier = new SignedXml({ publicCert, getCertFromKeyInfo: () => null })
  verifier.loadSignature(signature)
  assert.ok(verifier.checkSignature(xml))
  const [bytes = '', ...others] = verifier.getSignedReferences()
  assert.deepEqual(others, [])
  return bytes
}

const RSA = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
const ECDSA = 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256'

describe('signEnveloped', () => {
  it('places the signature of a message after its issuer', () => {
    const signed = signEnveloped(request, rsa)
    assert.match(signed, /^<\?xml version="1\.0" encoding="UTF-8"\?>\s*<saml2p:AuthnRequest /)
    assert.match(signed, /<\/saml2:Issuer><ds:Signature [^>]*>.*<\/ds:Signature><saml2p:NameIDPolicy /s)
    const bytes = signedBytes(signed, rsa)
    assert.match(bytes, /^<saml2p:AuthnRequest [^>]*ID="_42"/)
    assert.doesNotMatch(bytes, /Signature/)
    assert.match(signed, /&#xD;/)
    assert.doesNotMatch(signed, /\r/, 'a parser would read it as a line feed')
  })

  it('places the signature of metadata first, in the form of UAA', () => {
    const signed = signEnveloped(metadata, rsa)
    signedBytes(signed, rsa)
    const shape = signed.replace(/(?<=DigestValue>|SignatureValue>|X509Certificate>)[A-Za-z0-9+/=\s]+(?=<)/g, '…')
    const [, signature] =
      /<md:EntityDescriptor [^>]*>(<ds:Signature.*?<\/ds:Signature>)<md:SPSSODescriptor/s.exec(shape) ?? []
    assert.equal(
      signature,
      '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>' +
        '<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>' +
        `<ds:SignatureMethod Algorithm="${RSA}"/><ds:Reference URI="#http___my-own-entity"><ds:Transforms>` +
        '<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>' +
        '<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>' +
        '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>…</ds:DigestValue>' +
        '</ds:Reference></ds:SignedInfo><ds:SignatureValue>…</ds:SignatureValue><ds:KeyInfo><ds:X509Data>' +
        '<ds:X509Certificate>…</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>',
    )
  })

  it('writes a digest and signature that Node verifies without xml-crypto', () => {
    const signed = signEnveloped(metadata, rsa)
    const valueOf = (name: string): string => new RegExp(`<ds:${name}>([^<]*)`).exec(signed)?.[1] ?? ''
    // The template is canonical except for the order of attributes and empty elements.
    const canonical = metadata
      .replace(/^<\?xml[^>]*>\n/, '')
      .replace(
        /<md:EntityDescriptor (ID="[^"]*") (entityID="[^"]*") (xmlns:md="[^"]*")>/,
        '<md:EntityDescriptor $3 $1 $2>',
      )
      .replace(/<([^\s<>]+)([^<>]*)\/>/g, '<$1$2></$1>')
    assert.equal(hash('sha256', canonical, 'base64'), valueOf('DigestValue'))
    const [info = ''] = /<ds:SignedInfo>.*<\/ds:SignedInfo>/s.exec(signed) ?? []
    const canonicalInfo = info
      .replace('<ds:SignedInfo>', '<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">')
      .replace(/<([^\s<>]+)([^<>]*)\/>/g, '<$1$2></$1>')
    const key = createPublicKey(rsa.privateKey)
    assert.ok(createVerify('sha256').update(canonicalInfo).verify(key, valueOf('SignatureValue'), 'base64'))
  })

  it('signs with ECDSA for an EC key', () => {
    const signed = signEnveloped(request, ec)
    assert.ok(signed.includes(`<ds:SignatureMethod Algorithm="${ECDSA}"/>`))
    const [, value = ''] = /<ds:SignatureValue>([^<]*)/.exec(signed) ?? []
    assert.equal(Buffer.from(value, 'base64').length, 64, 'r and s concatenated')
    const [info = ''] = /<ds:SignedInfo>.*<\/ds:SignedInfo>/s.exec(signed) ?? []
    const canonicalInfo = info
      .replace('<ds:SignedInfo>', '<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">')
      .replace(/<([^\s<>]+)([^<>]*)\/>/g, '<$1$2></$1>')
    const key = { key: createPublicKey(ec.privateKey), dsaEncoding: 'ieee-p1363' } as const
    assert.ok(verify('sha256', Buffer.from(canonicalInfo), key, Buffer.from(value, 'base64')))
  })

  it('includes the certificate of the key', () => {
    const [, shown] = /<ds:X509Certificate>([^<]*)/.exec(signEnveloped(request, rsa)) ?? []
    assert.equal(shown?.replace(/\s/g, ''), rsa.certificates[0])
  })

  it('signs a name with every kind of white space', () => {
    const name = { value: 'a\r\n\tb', spNameQualifier: 'c\r\n\td' }
    const message = { id: '_1', issuedAt: new Date(0), destination: 'https://idp.example', issuer: 'x' }
    const signed = signEnveloped(logoutRequest({ ...message, name, notOnOrAfter: new Date(1) }), rsa)
    assert.match(signedBytes(signed, rsa), />a&#xD;\n\tb<\/saml2:NameID>/)
  })
})

describe('redirectTo', () => {
  const message = { kind: 'SAMLRequest', xml: request, relayState: "a b&c=d+é%~'()*" } as const

  for (const [key, algorithm] of [
    [rsa, RSA],
    [ec, ECDSA],
  ] as const) {
    it(`signs the encoded query with ${key.id}`, () => {
      const url = redirectTo('https://idp.example/sso', { ...message, key })
      const [, query = '', signature = ''] = /^https:\/\/idp\.example\/sso\?(.*)&Signature=([^&]*)$/.exec(url) ?? []
      assert.match(query, /^SAMLRequest=[^&]+&RelayState=[^&]+&SigAlg=[^&]+$/)
      const parameters = new URLSearchParams(query)
      assert.equal(parameters.get('SigAlg'), algorithm)
      assert.equal(parameters.get('RelayState'), message.relayState)
      const inflated = inflateRawSync(Buffer.from(parameters.get('SAMLRequest') ?? '', 'base64')).toString()
      assert.equal(inflated, request)
      const options = { key: createPublicKey(key.privateKey), dsaEncoding: 'ieee-p1363' } as const
      const value = Buffer.from(decodeURIComponent(signature), 'base64')
      assert.ok(verify('sha256', Buffer.from(query), options, value))
      assert.ok(!verify('sha256', Buffer.from(query.replace('a%20b', 'a%20c')), options, value))
    })
  }

  it('keeps the query of the destination unsigned, and drops its fragment', () => {
    const url = redirectTo('https://idp.example/sso?tenant=1#top', { kind: 'SAMLResponse', xml: request, key: rsa })
    const [, query = '', signature = ''] = /\?tenant=1&(SAMLResponse=.*)&Signature=(.*)$/.exec(url) ?? []
    assert.doesNotMatch(url, /RelayState|#/)
    assert.ok(
      verify(
        'sha256',
        Buffer.from(query),
        createPublicKey(rsa.privateKey),
        Buffer.from(decodeURIComponent(signature), 'base64'),
      ),
    )
  })

  it('does not sign without a key', () => {
    assert.match(redirectTo('https://idp.example/sso', message), /\?SAMLRequest=[^&]+&RelayState=[^&]+$/)
  })
})

describe('postTo', () => {
  it('returns the signed message and the relay state', () => {
    const { action, fields } = postTo('https://idp.example/sso', {
      kind: 'SAMLRequest',
      xml: request,
      relayState: 's',
      key: rsa,
    })
    assert.equal(action, 'https://idp.example/sso')
    assert.deepEqual(Object.keys(fields), ['SAMLRequest', 'RelayState'])
    signedBytes(Buffer.from(fields['SAMLRequest'] ?? '', 'base64').toString(), rsa)
  })

  it('returns the message unsigned without a key', () => {
    const { fields } = postTo('https://idp.example/sso', { kind: 'SAMLResponse', xml: request })
    assert.deepEqual(fields, { SAMLResponse: Buffer.from(request).toString('base64') })
  })
})

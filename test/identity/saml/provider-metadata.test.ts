import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { readProviderMetadata } from '../../../src/identity/saml/provider-metadata.ts'
import { certificateOf } from '../../support/certificate.ts'
import { issue, nameOf } from '../../support/client-certificates.ts'
import type { TestCertificate } from '../../support/client-certificates.ts'
import { createTestClock } from '../../support/clock.ts'
import { keyOfLongExponent } from '../../support/long-exponent.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { pemBody, SAML } from '../../support/saml/saml-xml.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import type { SamlTestKey } from '../../support/saml/saml-signing.ts'
import { metadataSamples } from '../../support/saml/saml-metadata-samples.ts'

const clock = createTestClock()
const now = clock.now()
const keys = [samlTestKey(), samlTestKey('ec'), samlTestKey('ec')] as const
const idp = createSamlIdp({ clock, to: { entityId: 'us', recipient: 'https://us.example/' }, key: keys[0] })
const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'der' }).toString('base64')
const publicOf = ({ certificate }: SamlTestKey): string => spki(createPublicKey(certificate))

/** A key pair of any kind, with its certificate. */
function keyOf(privateKey: KeyObject): SamlTestKey {
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { privateKey: pem, certificate: certificateOf(pem) }
}

const problemOf = (text: string): string => {
  try {
    readProviderMetadata(text, now)
  } catch (error) {
    assert.ok(error instanceof SamlProblem)
    assert.equal(error.reason, 'metadata')
    return error.message
  }
  return assert.fail('it was read')
}

describe('readProviderMetadata', () => {
  for (const sample of metadataSamples(keys)) {
    // Covers saml provider config: metaDataLocation
    it(`reads the metadata of ${sample.product}`, () => {
      const provider = readProviderMetadata(sample.text, now)
      assert.equal(provider.entityId, sample.entityId)
      assert.deepEqual(provider.signingKeys.map(spki), sample.keys.map(publicOf))
      assert.deepEqual(provider.signOn, sample.signOn)
      const { redirect, post } = provider.logout ?? {}
      assert.deepEqual({ ...(redirect && { redirect }), ...(post && { post }) }, sample.logout ?? {})
      assert.equal(provider.wantsSignedRequests, sample.wantsSignedRequests ?? false)
    })
  }

  it('reads ResponseLocation for logout responses', () => {
    const sample = metadataSamples(keys).find(({ product }) => product === 'Shibboleth')
    const { logout } = readProviderMetadata(sample?.text ?? '', now)
    const at = 'https://idp.university.example/idp/profile/SAML2'
    assert.deepEqual(logout?.responses, { redirect: `${at}/Redirect/SLO/return`, post: `${at}/POST/SLO` })
  })

  it('refuses an EntitiesDescriptor of old versions of Keycloak', () => {
    const text = `<?xml version="1.0"?><EntitiesDescriptor Name="urn:keycloak" xmlns="${SAML.metadata}">${idp.metadata()}</EntitiesDescriptor>`
    assert.match(problemOf(text), /not a SAML EntityDescriptor/)
  })

  describe('keys', () => {
    const withCertificates = (...certificates: readonly string[]): string =>
      idp
        .metadata()
        .replace(
          /<ds:X509Certificate>.*<\/ds:X509Certificate>/,
          certificates.map(text => `<ds:X509Certificate>${text}</ds:X509Certificate>`).join(''),
        )
    const body = ({ certificate }: SamlTestKey): string => pemBody(certificate)
    const rsa = (modulusLength: number): SamlTestKey => keyOf(generateKeyPairSync('rsa', { modulusLength }).privateKey)
    const ec = (namedCurve: string): SamlTestKey => keyOf(generateKeyPairSync('ec', { namedCurve }).privateKey)

    for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
      it(`are read on the curve ${namedCurve}`, () => {
        const key = ec(namedCurve)
        assert.deepEqual(readProviderMetadata(withCertificates(body(key)), now).signingKeys.map(spki), [publicOf(key)])
      })
    }

    it('are read from an expired certificate, because metadata alone decides about validity', () => {
      const certificate = certificateOf(keys[0].privateKey, { from: new Date(0), to: new Date(1000) })
      assert.equal(readProviderMetadata(withCertificates(pemBody(certificate)), now).signingKeys.length, 1)
    })

    it('are read from a CDATA section, but not from another namespace', () => {
      const [own, other] = [body(keys[0]), body(keys[1])]
      const foreign = `<X509Certificate xmlns="urn:other">${other}</X509Certificate>`
      const text = withCertificates(`<![CDATA[${own}]]>`).replace('<ds:X509Certificate>', found => foreign + found)
      assert.deepEqual(readProviderMetadata(text, now).signingKeys.map(spki), [publicOf(keys[0])])
    })

    it('in an extension are ignored', () => {
      const [foreign = ''] =
        /<md:IDPSSODescriptor.*<\/md:IDPSSODescriptor>/s.exec(idp.metadata({ keys: [keys[1]] })) ?? []
      const text = idp.metadata().replace(/<md:IDPSSODescriptor/, `<md:Extensions>${foreign}</md:Extensions>$&`)
      assert.notEqual(foreign, '')
      assert.deepEqual(readProviderMetadata(text, now).signingKeys.map(spki), [publicOf(keys[0])])
    })

    it('of issuing authorities in the same descriptor are ignored', () => {
      const root = issue({ name: nameOf([['CN', 'Root']]), isAuthority: true })
      const between = issue({ name: nameOf([['CN', 'Between']]), isAuthority: true, issuer: root })
      const own = issue({ name: nameOf([['CN', 'Provider']]), issuer: between })
      const base64Of = ({ raw }: TestCertificate): string => raw.toString('base64')
      for (const chain of [
        [own, between, root],
        [root, between, own],
        [own, between],
      ]) {
        const { signingKeys } = readProviderMetadata(withCertificates(...chain.map(base64Of)), now)
        assert.deepEqual(signingKeys.map(spki), [spki(own.publicKey)])
      }
      // Issued by another authority than the one beside it; self-signed with the name of another.
      const other = issue({ name: nameOf([['CN', 'Other']]), issuer: root })
      const renewed = issue({ name: nameOf([['CN', 'Root']]), isAuthority: true })
      for (const pair of [
        [own, other],
        [root, renewed],
      ]) {
        const { signingKeys } = readProviderMetadata(withCertificates(...pair.map(base64Of)), now)
        assert.deepEqual(
          signingKeys.map(spki),
          pair.map(({ publicKey }) => spki(publicKey)),
        )
      }
    })

    it('are read once each', () => {
      const text = idp.metadata({ keys: [keys[0], keys[1], keys[1]] })
      assert.deepEqual(readProviderMetadata(text, now).signingKeys.map(spki), [publicOf(keys[0]), publicOf(keys[1])])
    })

    for (const { name, text } of [
      { name: 'an RSA key that is too short', text: withCertificates(body(rsa(1024))) },
      { name: 'an RSA key with a large exponent', text: withCertificates(body(keyOf(keyOfLongExponent()))) },
      { name: 'a key on an unsupported curve', text: withCertificates(body(ec('secp256k1'))) },
      { name: 'an invalid certificate', text: withCertificates('AAAA') },
      { name: 'invalid base64', text: withCertificates('!') },
      { name: 'an empty certificate', text: withCertificates('') },
      { name: 'keys for encryption', text: idp.metadata().replace('use="signing"', 'use="encryption"') },
      { name: 'keys for an empty use', text: idp.metadata().replace('use="signing"', 'use=""') },
    ]) {
      it(`are required: ${name} is not enough`, () => assert.match(problemOf(text), /no certificate with a key/))
      it(`are read without ${name}`, () => {
        const both = text.replace('</md:IDPSSODescriptor>', `${descriptorOf(keys[1])}</md:IDPSSODescriptor>`)
        assert.deepEqual(readProviderMetadata(both, now).signingKeys.map(spki), [publicOf(keys[1])])
      })
    }

    const descriptorOf = (key: SamlTestKey): string =>
      `<md:KeyDescriptor><ds:KeyInfo xmlns:ds="${SAML.signature}"><ds:X509Data><ds:X509Certificate>${body(key)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`

    it('in another descriptor, extension or signature are ignored', () => {
      const foreign = `<ds:KeyInfo xmlns:ds="${SAML.signature}"><ds:X509Data><ds:X509Certificate>${body(keys[1])}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`
      const text = idp
        .metadata()
        .replace(
          /<md:IDPSSODescriptor[^>]*>/,
          found =>
            `<md:Extensions>${foreign}${descriptorOf(keys[1])}</md:Extensions>${found}<md:Extensions>${descriptorOf(keys[1])}</md:Extensions>${foreign}`,
        )
        .replace(
          '</md:EntityDescriptor>',
          `<md:IDPSSODescriptor protocolSupportEnumeration="${SAML.protocol}">${descriptorOf(keys[1])}</md:IDPSSODescriptor></md:EntityDescriptor>`,
        )
      assert.deepEqual(readProviderMetadata(text, now).signingKeys.map(spki), [publicOf(keys[0])])
    })

    it('are refused beyond ten, and certificates beyond a limit without parsing', () => {
      const many = Array.from({ length: 11 }, () => ec('P-256'))
      assert.match(problemOf(withCertificates(...many.map(body))), /more than 10 signing keys/)
      assert.match(problemOf(withCertificates(...Array.from({ length: 2000 }, () => 'AAAA'))), /too many certificates/)
    })
  })

  describe('endpoints', () => {
    for (const location of [
      'javascript:alert(1)',
      'data:text/html,x',
      'ftp://idp.example/sso',
      '/sso',
      'idp.example/sso',
      'https://user:password@idp.example/sso',
      'https://user@idp.example/sso',
      'https://idp.example/sso#fragment',
      'https://idp.example/s so',
      'https://idp.example/sso\u0085',
      'https://idp.example/"onload="x',
      ' https://idp.example/sso',
      `https://idp.example/${'x'.repeat(2000)}`,
      'https://',
      '',
    ]) {
      it(`are ignored with the location ${JSON.stringify(location).slice(0, 50)}`, () => {
        const { signOn, logout } = readProviderMetadata(idp.metadata({ sso: location, slo: location }), now)
        assert.deepEqual([signOn, logout], [{}, undefined])
      })
    }

    it('are not normalized, because the provider compares them', () => {
      const sso = 'HTTPS://IDP.example:443/a/../sso?idp=1&b=%2f'
      assert.equal(readProviderMetadata(idp.metadata({ sso }), now).signOn.redirect, sso)
    })

    it('may be in a private network, since only the browser connects', () => {
      const sso = 'http://10.0.0.1/sso'
      assert.equal(readProviderMetadata(idp.metadata({ sso }), now).signOn.post, sso)
    })

    it('are refused beyond a limit', () => {
      const bindings = Array.from({ length: 51 }, () => SAML.post)
      assert.match(problemOf(idp.metadata({ bindings })), /too many endpoints/)
    })
  })

  describe('validity', () => {
    const until = (value: string): string =>
      idp.metadata().replace('<md:EntityDescriptor ', `<md:EntityDescriptor validUntil="${value}" `)
    for (const value of ['2026-01-15T12:00:00Z', '2026-01-15T13:59:59+02:00', '2020-01-01T00:00:00', 'tomorrow', '']) {
      it(`is refused with validUntil ${JSON.stringify(value)}`, () =>
        assert.match(problemOf(until(value)), /validUntil/))
    }
    for (const value of ['2026-01-15T12:00:00.001Z', '2026-01-15T12:00:01', '2026-01-15T14:00:01+02:00']) {
      it(`is accepted with validUntil ${value}`, () => assert.ok(readProviderMetadata(until(value), now).validUntil))
    }
    it('applies to the IDPSSODescriptor, too', () => {
      const text = until('2030-01-01T00:00:00Z').replace(
        '<md:IDPSSODescriptor ',
        '<md:IDPSSODescriptor validUntil="2025-01-01T00:00:00Z" ',
      )
      assert.match(problemOf(text), /validUntil/)
    })
    for (const [duration, seconds] of [
      ['PT5M', 300],
      ['PT1H30.5S', 3630],
      ['P1DT1S', 86_401],
      ['P', undefined],
      ['PT', undefined],
      ['P1M', undefined],
      ['-PT5M', undefined],
      ['soon', undefined],
    ] as const) {
      it(`reads the cacheDuration ${duration}`, () => {
        const text = idp
          .metadata()
          .replace('<md:EntityDescriptor ', `<md:EntityDescriptor cacheDuration="${duration}" `)
        assert.equal(readProviderMetadata(text, now).cacheSeconds, seconds)
      })
    }
  })

  it('refuses an entity that is not a SAML 2.0 identity provider', () => {
    assert.match(
      problemOf(idp.metadata().replaceAll('IDPSSODescriptor', 'SPSSODescriptor')),
      /no SAML 2.0 identity provider/,
    )
    assert.match(
      problemOf(idp.metadata().replaceAll(SAML.protocol, 'urn:oasis:names:tc:SAML:1.1:protocol')),
      /no SAML 2.0 identity provider/,
    )
    assert.match(
      problemOf(`<EntityDescriptor xmlns="${SAML.metadata}" entityID="x"/>`),
      /no SAML 2.0 identity provider/,
    )
  })
})

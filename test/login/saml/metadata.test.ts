import assert from 'node:assert/strict'
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { SignedXml } from 'xml-crypto'
import { certificateOf } from '../../support/certificate.ts'
import { KEYS, textOf } from '../../support/keys.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'

const ENTITY_ID = 'cloudfoundry-saml-login'

/** The document of UAA 77.18, with a line for each element. */
const recorded = (base: string, id: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor ID="${id}" entityID="${id}" xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">
<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
<ds:SignedInfo>
<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>
<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>
<ds:Reference URI="#${id}">
<ds:Transforms>
<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>
<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>
</ds:Transforms>
<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>
<ds:DigestValue>…</ds:DigestValue>
</ds:Reference>
</ds:SignedInfo>
<ds:SignatureValue>…</ds:SignatureValue>
<ds:KeyInfo>
<ds:X509Data>
<ds:X509Certificate>…</ds:X509Certificate>
</ds:X509Data>
</ds:KeyInfo>
</ds:Signature>
<md:SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<md:KeyDescriptor use="signing">
<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
<ds:X509Data>
<ds:X509Certificate>…</ds:X509Certificate>
</ds:X509Data>
</ds:KeyInfo>
</md:KeyDescriptor>
<md:KeyDescriptor use="encryption">
<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
<ds:X509Data>
<ds:X509Certificate>…</ds:X509Certificate>
</ds:X509Data>
</ds:KeyInfo>
</md:KeyDescriptor>
<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${base}/saml/SingleLogout/alias/${id}"/>
<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${base}/saml/SingleLogout/alias/${id}"/>
<md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress</md:NameIDFormat>
<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:transient</md:NameIDFormat>
<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:persistent</md:NameIDFormat>
<md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified</md:NameIDFormat>
<md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName</md:NameIDFormat>
<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${base}/saml/SSO/alias/${id}" index="0" isDefault="true"/>
<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:URI" Location="${base}/oauth/token/alias/${id}" index="1"/>
</md:SPSSODescriptor>
</md:EntityDescriptor>`

/** The same in `standard`: the persistent NameID format first, and no transient one. */
const withStableNames = (document: string): string => {
  const format = (name: string): string => `<md:NameIDFormat>urn:oasis:names:tc:SAML:${name}</md:NameIDFormat>\n`
  const persistent = format('2.0:nameid-format:persistent')
  const email = format('1.1:nameid-format:emailAddress')
  const unspecified = format('1.1:nameid-format:unspecified')
  return document.replace(
    email + format('2.0:nameid-format:transient') + persistent + unspecified,
    persistent + unspecified + email,
  )
}

/** A line for each element, without the values of signatures and certificates. */
const shapeOf = (xml: string): string =>
  xml
    .replace(/(?<=(?:DigestValue|SignatureValue|X509Certificate)>)[A-Za-z0-9+/=\s]+(?=<)/g, '…')
    .replace(/>\s*(?=<)/g, '>\n')

/** The certificates of the document by use. */
const keysOf = ({ text }: TestAnswer): readonly string[] =>
  Array.from(text.matchAll(/use="(\w+)".*?X509Certificate>([^<]*)</gs)).map(
    ([, use, certificate = '']) => `${use} ${nameOf(certificate)}`,
  )
const nameOf = (certificate: string): string => new X509Certificate(Buffer.from(certificate, 'base64')).subject

/** Whether the document is signed with its first key. */
function isSigned({ text }: TestAnswer): boolean {
  const [, certificate = ''] = /use="signing".*?X509Certificate>([^<]*)</s.exec(text) ?? []
  const publicCert = `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----`
  const verifier = new SignedXml({ publicCert, getCertFromKeyInfo: () => null })
  if (text.includes('ecdsa-sha256')) return true // xml-crypto has no ECDSA; test/identity/saml/signing.test.ts does
  verifier.loadSignature(/<ds:Signature .*?<\/ds:Signature>/s.exec(text)?.[0] ?? '')
  return verifier.checkSignature(text)
}

for (const mode of MODES) {
  describe(`GET /saml/metadata in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startZoneServer({ mode, config: { saml: { entity_id: ENTITY_ID } } })
      bearer = await tokenOf(server, 'writer')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const wanted = mode === 'uaa' ? recorded : (base: string, id: string) => withStableNames(recorded(base, id))
    const metadata = (path = '', host?: string): Promise<TestAnswer> =>
      server.send(`/saml/metadata${path}`, host === undefined ? {} : { host })
    const configure = async (id: string, config: unknown): Promise<void> => {
      const zone = { subdomain: id === 'z1' ? 'one' : id, name: id, config }
      const answer = await sendJson(server, 'PUT', `/identity-zones/${id}`, zone, { bearer })
      assert.equal(answer.status, 200, answer.text)
    }
    const createZone = async (id: string, samlConfig: unknown): Promise<void> => {
      const zone = { id, subdomain: id, name: id, config: { samlConfig } }
      const answer = await sendJson(server, 'POST', '/identity-zones', zone, { bearer })
      assert.equal(answer.status, 201, answer.text)
    }

    // Covers configuration file: saml.entity_id
    // Partly covers saml service provider: signMetaData; signatureAlgorithm
    // Covers GET /saml/metadata: EntityDescriptor; KeyDescriptors; NameIDFormats; SingleLogoutService
    // Covers GET /saml/metadata: AssertionConsumerService; signature; header: Content-Disposition
    it('returns the signed document of UAA', async () => {
      const answer = await metadata()
      assert.equal(answer.status, 200)
      assert.equal(shapeOf(answer.text), wanted(server.baseUrl, ENTITY_ID))
      assert.equal(answer.headers['content-type'], 'application/samlmetadata+xml;charset=UTF-8')
      assert.equal(answer.headers['content-disposition'], 'attachment; filename="saml-sp.xml"')
      assert.equal(answer.headers['cache-control'], 'no-cache, no-store, max-age=0, must-revalidate')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      assert.deepEqual(answer.cookies, {})
      assert.ok(isSigned(answer))
      assert.doesNotMatch(answer.text, /PRIVATE/)
    })

    // Covers GET /saml/metadata/alias/{alias}: same document
    it('returns the same document at the alias, and only headers for HEAD', async () => {
      const answer = await metadata()
      assert.equal((await metadata(`/alias/${ENTITY_ID}`)).text, answer.text)
      const head = await server.send('/saml/metadata', { method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(head.text, '')
      for (const name of ['content-type', 'content-disposition', 'cache-control']) {
        assert.equal(head.headers[name], answer.headers[name])
      }
    })

    it(`${mode === 'uaa' ? 'ignores' : 'refuses'} a trailing slash`, async () => {
      assert.equal((await metadata('/')).status, mode === 'uaa' ? 200 : 404)
    })

    // Covers saml service provider: alias
    it('refuses other aliases', async () => {
      for (const alias of ['unknown', `one.${ENTITY_ID}`, ENTITY_ID.toUpperCase(), '%00', '..%2f']) {
        const answer = await metadata(`/alias/${alias}`)
        assert.ok([400, 404].includes(answer.status), `${alias}: ${answer.status}`)
        assert.doesNotMatch(answer.text, /EntityDescriptor/)
      }
    })

    it('returns metadata of the zone by host and by path', async () => {
      const atHost = await metadata('', 'one.localhost:8080')
      const id = `one.${ENTITY_ID}`
      assert.equal(shapeOf(atHost.text), wanted('http://one.localhost:8080', id))
      assert.equal(atHost.headers['content-disposition'], 'attachment; filename="saml-one-sp.xml"')
      const atPath = await server.send('/z/one/saml/metadata')
      assert.equal(shapeOf(atPath.text), wanted(`${server.baseUrl}/z/one`, id))
      assert.ok(isSigned(atHost) && isSigned(atPath))
      assert.equal((await server.send('/z/unknown/saml/metadata')).status, 404)
    })

    // Covers saml service provider: entity id per zone; wantAssertionSigned
    // Covers GET /saml/metadata: AuthnRequestsSigned; WantAssertionsSigned
    // Covers Zone config in effect: samlConfig.wantAssertionSigned
    it('applies the settings of the zone, with a URL as entity id', async () => {
      await createZone('sz2', {
        entityID: 'http://my-own-entity?a&b',
        requestSigned: false,
        wantAssertionSigned: false,
      })
      const answer = await metadata('', 'sz2.localhost:8080')
      assert.match(answer.text, /ID="http___my-own-entity_a_b" entityID="http:\/\/my-own-entity\?a&amp;b"/)
      assert.match(answer.text, /AuthnRequestsSigned="false" WantAssertionsSigned="false"/)
      const alias = `sz2.${ENTITY_ID}`
      assert.ok(answer.text.includes(`Location="http://sz2.localhost:8080/saml/SSO/alias/${alias}"`))
      const bearer = encodeURIComponent('http://my-own-entity?a&b')
      assert.ok(answer.text.includes(`Location="http://sz2.localhost:8080/oauth/token/alias/${bearer}"`))
      assert.ok(isSigned(answer))
      assert.equal((await metadata(`/alias/${alias}`, 'sz2.localhost:8080')).text, answer.text)
      assert.equal((await metadata(`/alias/${bearer}`, 'sz2.localhost:8080')).status, 404)
      const info = await server.send('/info', { host: 'sz2.localhost:8080' })
      if (mode === 'uaa') assert.equal(info.json()['entityID'], 'http://my-own-entity?a&b')
    })

    // Covers saml service provider: activeKeyId
    // Covers Zone config in effect: samlConfig.activeKeyId; samlConfig.keys.<id>.key; samlConfig.keys.<id>.certificate
    it('applies key rotation immediately', async () => {
      const pair = (key: string, name: string) => ({ key, certificate: certificateOf(key, { name }) })
      const one = pair(textOf(KEYS.RS256), 'one')
      const two = pair(textOf(KEYS.RS256), 'two')
      const host = 'one.localhost:8080'
      const byDefault = keysOf(await metadata('', host))
      assert.deepEqual(byDefault, [`signing CN=${ENTITY_ID}`, `encryption CN=${ENTITY_ID}`])

      await configure('z1', { samlConfig: { activeKeyId: 'one', keys: { one } } })
      assert.deepEqual(keysOf(await metadata('', host)), ['signing CN=one', 'encryption CN=one'])
      await configure('z1', { samlConfig: { activeKeyId: 'one', keys: { one, two } } })
      const both = await metadata('', host)
      assert.deepEqual(keysOf(both), ['signing CN=one', 'encryption CN=one', 'signing CN=two'])
      await configure('z1', { samlConfig: { activeKeyId: 'two', keys: { one, two } } })
      const switched = await metadata('', host)
      assert.deepEqual(keysOf(switched), ['signing CN=two', 'encryption CN=two', 'signing CN=one'])
      assert.ok(isSigned(both) && isSigned(switched))
      await configure('z1', { samlConfig: { activeKeyId: 'two', keys: { two } } })
      assert.deepEqual(keysOf(await metadata('', host)), ['signing CN=two', 'encryption CN=two'])
      await configure('z1', {})
      assert.deepEqual(keysOf(await metadata('', host)), byDefault)
    })

    // Covers Zone config in effect: samlConfig.keys.<id>.passphrase; samlConfig.certificate; samlConfig.privateKey
    // Covers Zone config in effect: samlConfig.privateKeyPassword
    it('supports the legacy key settings, and keys with a passphrase', async () => {
      const rsa = textOf(KEYS.RS256)
      const passphrase = 'correct horse'
      const encrypted = createPrivateKey(rsa)
        .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
        .toString()
      const certificate = certificateOf(rsa, { name: 'legacy' })
      await createZone('legacy', { privateKey: encrypted, privateKeyPassword: passphrase, certificate })
      const legacy = await metadata('', 'legacy.localhost:8080')
      assert.deepEqual(keysOf(legacy), ['signing CN=legacy', 'encryption CN=legacy'])
      await createZone('sealed', { activeKeyId: 'a', keys: { a: { key: encrypted, passphrase, certificate } } })
      const sealed = await metadata('', 'sealed.localhost:8080')
      assert.deepEqual(keysOf(sealed), keysOf(legacy))
      assert.ok(isSigned(legacy) && isSigned(sealed))
    })

    it('caches the signed document', async () => {
      const ec = textOf(KEYS.ES256)
      const key = { key: ec, certificate: certificateOf(ec) }
      await createZone('ec', { activeKeyId: 'ec', keys: { ec: key } })
      const [first, second] = await Promise.all([metadata('', 'ec.localhost:8080'), metadata('', 'ec.localhost:8080')])
      assert.match(first.text, /ecdsa-sha256/)
      assert.equal(second.text, first.text, 'two ECDSA signatures would differ')
      assert.equal((await metadata('', 'ec.localhost:8080')).text, first.text)
    })

    it('caches only the current document', async () => {
      const ec = textOf(KEYS.ES256)
      const own = (name: string) => {
        const key = { key: ec, certificate: certificateOf(ec, { name }) }
        return { samlConfig: { activeKeyId: 'ec', keys: { ec: key } } }
      }
      const [one, other] = [own('one'), own('other')]
      const texts: string[] = []
      for (const config of [one, other, one]) {
        await configure('z1', config)
        texts.push((await metadata('', 'one.localhost:8080')).text)
      }
      const [before, between, after] = texts.map(text => /SignatureValue>([^<]+)</.exec(text)?.[1])
      assert.ok(before !== between && after !== before, 'a cached signature would be the same')
      await configure('z1', {})
    })

    it('does not expose the generated key in the settings of the zone', async () => {
      const zones = await server.send('/identity-zones', { bearer: await tokenOf(server, 'root') })
      const [zone, ...others] = zones.json<{ subdomain: string }[]>().filter(({ subdomain }) => subdomain === '')
      assert.ok(zone && others.length === 0)
      assert.doesNotMatch(JSON.stringify(zone), /CERTIFICATE|PRIVATE|sealed/)
    })
  })
}

// The SAML bearer grant with assertions signed by xmlsec1, and in the form of OpenSAML as in
// UAA's samples.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { MODES, refused, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { present, RECIPIENT, samlWorld } from '../support/saml/saml-bearer.ts'
import { nextId, SAML } from '../support/saml/saml-xml.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import { encryptedByXmlsec, inclusive, signedByXmlsec } from '../support/saml/xmlsec1.ts'

const { clock, bootstrap, corp, curve, mapped, next } = samlWorld()

/** In the form of OpenSAML: prefix `saml2`, typed attribute values, and `xs` declared at the root. */
const openSaml = (nameId: string): string => {
  const [now, soon] = [0, 300].map(seconds => new Date(clock.now().getTime() + seconds * 1000).toISOString())
  const value = (text: string): string =>
    `<saml2:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">${text}</saml2:AttributeValue>`
  return `<?xml version="1.0" encoding="UTF-8"?><saml2:Assertion xmlns:saml2="${SAML.assertion}" xmlns:xs="http://www.w3.org/2001/XMLSchema" ID="${nextId()}" IssueInstant="${now}" Version="2.0">
  <saml2:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity">${mapped.entityId}</saml2:Issuer>
  <saml2:Subject>
    <saml2:NameID Format="${SAML.emailName}" SPNameQualifier="latchkey">${nameId}</saml2:NameID>
    <saml2:SubjectConfirmation Method="${SAML.bearer}">
      <saml2:SubjectConfirmationData NotOnOrAfter="${soon}" Recipient="${RECIPIENT}"/>
    </saml2:SubjectConfirmation>
  </saml2:Subject>
  <saml2:Conditions NotBefore="${now}" NotOnOrAfter="${soon}">
    <saml2:AudienceRestriction><saml2:Audience>latchkey</saml2:Audience></saml2:AudienceRestriction>
  </saml2:Conditions>
  <saml2:AttributeStatement>
    <saml2:Attribute Name="first">${value('Ada')}</saml2:Attribute>
    <saml2:Attribute FriendlyName="groups" Name="groups">${value('cloud.read')}${value('team.lead')}</saml2:Attribute>
  </saml2:AttributeStatement>
  <saml2:AuthnStatement AuthnInstant="${now}" SessionIndex="1"><saml2:AuthnContext><saml2:AuthnContextClassRef>${SAML.password}</saml2:AuthnContextClassRef></saml2:AuthnContext></saml2:AuthnStatement>
</saml2:Assertion>`
}

for (const mode of MODES) {
  describe(`Assertions signed by xmlsec1 in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, clock, config: { bootstrap } })))
    after(() => server.stop())

    const accepted = [
      { name: 'exclusive canonicalization', xml: () => signedByXmlsec(corp.assertion(), corp.key) },
      {
        name: 'inclusive namespace prefixes',
        xml: () => signedByXmlsec(corp.assertion(), corp.key, { canonicalization: inclusive('xs') }),
      },
      {
        name: 'SHA-512',
        xml: () =>
          signedByXmlsec(corp.assertion(), corp.key, {
            algorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
            digest: 'http://www.w3.org/2001/04/xmlenc#sha512',
          }),
      },
      { name: 'the second key of the metadata', xml: () => signedByXmlsec(corp.assertion(), next) },
    ]
    for (const { name, xml } of accepted) {
      it(`are accepted with ${name}`, async () => {
        const { access_token: token } = tokensOf(await present(server, xml()))
        assert.equal(decodeJwt(token)['origin'], 'corp')
      })
    }

    it('are accepted with an elliptic curve key', async () => {
      const xml = signedByXmlsec(curve.assertion(), curve.key, { algorithm: SAML.ecdsaSha256 })
      assert.equal(decodeJwt(tokensOf(await present(server, xml)).access_token)['origin'], 'curve')
    })

    it('are accepted in the form of OpenSAML', async () => {
      const xml = signedByXmlsec(openSaml('ada@mapped.example'), mapped.key, { canonicalization: inclusive('xs') })
      const { scope } = tokensOf(await present(server, xml))
      assert.ok(scope.includes('cloud.read'), scope)
      const user = await server.store.users.findByName('svc', 'mapped', 'ada@mapped.example')
      assert.deepEqual([user?.givenName, user?.email], ['Ada', 'ada@mapped.example'])
    })

    const changes = [
      { name: 'a character of the name', change: (xml: string) => xml.replace('>person-1<', '>person-2<') },
      { name: 'the recipient', change: (xml: string) => xml.replace('Recipient="http', 'Recipient=" http') },
      { name: 'a space within an element', change: (xml: string) => xml.replace('</saml:NameID>', ' </saml:NameID>') },
      { name: 'a bit of the signature', change: flip('SignatureValue') },
      { name: 'a bit of the digest', change: flip('DigestValue') },
      { name: 'the algorithm', change: (xml: string) => xml.replace('#rsa-sha256', '#rsa-sha512') },
      {
        name: 'an additional condition',
        change: (xml: string) => xml.replace('</saml:Conditions>', '<saml:OneTimeUse/></saml:Conditions>'),
      },
    ]
    for (const { name, change } of changes) {
      it(`are refused if modified: ${name}`, async () => {
        const xml = signedByXmlsec(corp.assertion(), corp.key)
        assert.notEqual(change(xml), xml)
        await refused(server, mode, () => present(server, change(xml)), {
          want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
          description: 'Error validating SAML message',
        })
        tokensOf(await present(server, xml))
      })
    }

    it('are refused with SHA-1 and with an unknown key', async () => {
      const sha1 = { algorithm: `${SAML.signature}rsa-sha1`, digest: `${SAML.signature}sha1` }
      for (const xml of [
        signedByXmlsec(corp.assertion(), corp.key, sha1),
        signedByXmlsec(corp.assertion(), samlTestKey()),
      ]) {
        await refused(server, mode, () => present(server, xml), {
          want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
        })
      }
    })

    it('are refused if encrypted, because the issuer cannot be read', async () => {
      const metadata = (await server.send('/saml/metadata')).text
      const base64 = /use="encryption".*?<ds:X509Certificate>([^<]+)/s.exec(metadata)?.[1] ?? ''
      const certificate = `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
      const xml = encryptedByXmlsec(signedByXmlsec(corp.assertion(), corp.key), { ...corp.key, certificate })
      await refused(server, mode, () => present(server, xml), {
        want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
        description: 'Error decoding incoming SAML message',
      })
      assert.equal(server.events.at(-1)?.data, 'decryption')
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

function flip(element: string): (xml: string) => string {
  return xml =>
    xml.replace(
      new RegExp(`(<ds:${element}>)(.)`),
      (_, tag: string, first: string) => tag + (first === 'A' ? 'B' : 'A'),
    )
}

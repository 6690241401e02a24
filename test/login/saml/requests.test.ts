import assert from 'node:assert/strict'
import { X509Certificate, verify } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { SignedXml } from 'xml-crypto'
import { createTestClock } from '../../support/clock.ts'
import { hiddenFields } from '../../support/forms.ts'
import { MODES } from '../../support/oauth.ts'
import { requestIn, samlBootstrap } from '../../support/saml/saml-sign-in.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

/** The signing certificate in the metadata. */
async function certificateOf(server: TestServer): Promise<X509Certificate> {
  const { text } = await server.send('/saml/metadata')
  return new X509Certificate(Buffer.from(/X509Certificate>([^<]*)</.exec(text)?.[1] ?? '', 'base64'))
}

for (const mode of MODES) {
  for (const requestSigned of [undefined, false]) {
    describe(`AuthnRequests in ${mode} with requestSigned ${String(requestSigned)}`, () => {
      const clock = createTestClock()
      let server: TestServer
      before(async () => {
        const zone_config = requestSigned === undefined ? {} : { samlConfig: { requestSigned } }
        server = await startServer({ mode, clock, config: { zone_config, bootstrap: samlBootstrap(clock) } })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      // Covers saml service provider: requestSigned
      // Covers Zone config in effect: samlConfig.requestSigned
      it(`are ${requestSigned === false ? 'not ' : ''}signed with the key in the metadata by redirect`, async () => {
        const { url } = requestIn(await server.browser().send('/saml2/authenticate/corp'))
        const [, query = '', signature] = /\?(SAMLRequest=.*?&SigAlg=[^&]*)&Signature=([^&]*)$/.exec(url.href) ?? []
        if (requestSigned === false) return assert.doesNotMatch(url.href, /SigAlg|Signature/)
        const value = Buffer.from(decodeURIComponent(signature ?? ''), 'base64')
        assert.ok(verify('sha256', Buffer.from(query), (await certificateOf(server)).publicKey, value))
      })

      it(`are ${requestSigned === false ? 'not ' : ''}signed with it by POST`, async () => {
        const page = await server.browser().send('/saml2/authenticate/posts', { headers: { accept: 'text/html' } })
        assert.equal(page.status, 200, page.text)
        const { SAMLRequest = '' } = hiddenFields(page.text)
        const xml = Buffer.from(SAMLRequest, 'base64').toString()
        const [signature] = /<ds:Signature .*<\/ds:Signature>/s.exec(xml) ?? []
        assert.match(xml, /<saml2p:AuthnRequest /)
        if (requestSigned === false) return assert.equal(signature, undefined)
        const publicCert = (await certificateOf(server)).toString()
        const verifier = new SignedXml({ publicCert, getCertFromKeyInfo: () => null })
        verifier.loadSignature(signature ?? '')
        assert.ok(verifier.checkSignature(xml))
      })
    })
  }
}

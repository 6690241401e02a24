// AuthnRequests to SAML providers (SAML Core §3.4.1, Bindings §3.4 and §3.5).
import assert from 'node:assert/strict'
import { createPublicKey, verify, X509Certificate } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { authorizeBootstrap, AUTO_REQUEST } from '../../support/authorize.ts'
import { createTestClock } from '../../support/clock.ts'
import { MODES } from '../../support/oauth.ts'
import { SAML } from '../../support/saml/saml-xml.ts'
import { BASE, CONSUMER, idpOf, postedTo, requestIn, samlRecord } from '../../support/saml/saml-sign-in.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'
const signed = { attributes: ' WantAuthnRequestsSigned="true"' }

for (const mode of MODES) {
  describe(`AuthnRequest to a SAML provider in ${mode}`, () => {
    const clock = createTestClock()
    let server: TestServer
    let publicKey: ReturnType<typeof createPublicKey>
    const withMetadata = (originKey: string, metaDataLocation: string, config = {}) =>
      samlRecord(clock, originKey, { metaDataLocation, ...config })
    before(async () => {
      const demanding = idpOf(clock, 'demands').metadata({ sso: 'https://demands.example/sso?idpid=7', ...signed })
      const providers = [
        samlRecord(clock, 'corp'),
        samlRecord(clock, 'posts', {}, [SAML.post, SAML.redirect]),
        samlRecord(clock, 'context', { authnContext: ['urn:a', 'urn:b'], nameID: SAML.persistentName }),
        samlRecord(clock, 'indexed', { assertionConsumerIndex: 1 }),
        withMetadata('demands', demanding),
        withMetadata(
          'silent',
          idpOf(clock, 'silent').metadata({ bindings: ['urn:oasis:names:tc:SAML:2.0:bindings:SOAP'] }),
        ),
        withMetadata('script', idpOf(clock, 'script').metadata({ sso: 'javascript:alert(1)' })),
        withMetadata('broken', '<EntityDescriptor/>'),
        withMetadata('gone', 'http://127.0.0.1:1/metadata'),
      ]
      const zones = [
        {
          id: 'unsigned',
          subdomain: 'unsigned',
          name: 'Unsigned',
          config: { samlConfig: { requestSigned: false } },
          bootstrap: { identity_providers: [samlRecord(clock, 'corp'), withMetadata('demands', demanding)] },
        },
      ]
      const bootstrap = { ...authorizeBootstrap, identity_providers: providers, identity_zones: zones }
      server = await startServer({ mode, clock, config: { bootstrap } })
      const certificate = /<ds:X509Certificate>([^<]+)/.exec((await server.send('/saml/metadata')).text)?.[1] ?? ''
      publicKey = new X509Certificate(Buffer.from(certificate, 'base64')).publicKey
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const start = (origin: string, host?: string) => server.browser(host).send(`/login/external/${origin}`)

    // Covers GET /login/external/{origin}: origin
    it('has issuer, assertion consumer, destination and a random id', async () => {
      const { url, id, xml, relayState } = requestIn(await start('corp'))
      assert.equal(url.origin + url.pathname, 'https://corp.example/sso')
      assert.match(id, /^_[\w-]{43}$/)
      assert.match(relayState, /^[\w-]{43}$/)
      assert.notEqual(id.slice(1), relayState)
      assert.deepEqual(
        [
          / AssertionConsumerServiceURL="([^"]+)"/.exec(xml)?.[1],
          / Destination="([^"]+)"/.exec(xml)?.[1],
          / ForceAuthn="([^"]+)"/.exec(xml)?.[1],
          / IsPassive="([^"]+)"/.exec(xml)?.[1],
          / ProtocolBinding="([^"]+)"/.exec(xml)?.[1],
          /<saml2:Issuer[^>]*>([^<]+)/.exec(xml)?.[1],
          / Format="([^"]+)"/.exec(xml)?.[1],
        ],
        [BASE + CONSUMER, 'https://corp.example/sso', 'false', 'false', SAML.post, 'latchkey', UNSPECIFIED],
      )
      assert.doesNotMatch(xml, /RequestedAuthnContext|AssertionConsumerServiceIndex/)
    })

    it('has a new id and RelayState each time', async () => {
      const [one, two] = [requestIn(await start('corp')), requestIn(await start('corp'))]
      assert.notEqual(one.id, two.id)
      assert.notEqual(one.relayState, two.relayState)
    })

    it('is signed in the query for the redirect binding', async () => {
      const { url } = requestIn(await start('corp'))
      const [query = '', signature = ''] = url.search.slice(1).split('&Signature=')
      assert.equal(url.searchParams.get('SigAlg'), SAML.rsaSha256)
      assert.ok(verify('sha256', Buffer.from(query), publicKey, Buffer.from(decodeURIComponent(signature), 'base64')))
    })

    it('is not signed if the zone disables it and the provider does not require it', async () => {
      const { url } = requestIn(await start('corp', 'unsigned.localhost:8080'))
      assert.deepEqual([...url.searchParams.keys()], ['SAMLRequest', 'RelayState'])
    })

    it('is signed if the provider requires it, even if the zone disables it', async () => {
      const { url } = requestIn(await start('demands', 'unsigned.localhost:8080'))
      assert.deepEqual([...url.searchParams.keys()], ['idpid', 'SAMLRequest', 'RelayState', 'SigAlg', 'Signature'])
      assert.equal(url.searchParams.get('idpid'), '7')
    })

    it('is posted with an enveloped signature if the metadata list POST first', async () => {
      const { action, xml, relayState } = postedTo(await start('posts'))
      assert.equal(action, 'https://posts.example/sso')
      assert.match(xml, /<\/saml2:Issuer><ds:Signature /)
      assert.match(relayState, /^[\w-]{43}$/)
    })

    // Covers saml provider config: nameID
    it('requests the NameID format and the contexts of the record', async () => {
      const { xml } = requestIn(await start('context'))
      const [, mayBeNew, format] = /<saml2p:NameIDPolicy( AllowCreate="true")? Format="([^"]+)"/.exec(xml) ?? []
      assert.deepEqual([mayBeNew !== undefined, format], [mode === 'standard', SAML.persistentName])
      assert.match(xml, /Comparison="exact"/)
      assert.deepEqual(
        [...xml.matchAll(/ClassRef[^>]*>([^<]+)</g)].map(([, text]) => text),
        ['urn:a', 'urn:b'],
      )
    })

    // Covers saml provider config: assertionConsumerIndex
    it('has the URL of the assertion consumer instead of assertionConsumerIndex', async () => {
      const { xml } = requestIn(await start('indexed'))
      assert.match(xml, / AssertionConsumerServiceURL="/)
      assert.doesNotMatch(xml, /Index/)
    })

    for (const demand of [{ prompt: 'login' }, { max_age: '60' }] as const) {
      it(`sets ForceAuthn for ${JSON.stringify(demand)} in standard`, async () => {
        const browser = server.browser()
        await browser.send('/oauth/authorize', { query: { ...AUTO_REQUEST, ...demand } })
        const { xml } = requestIn(await browser.send('/login/external/corp'))
        // UAA: does not know these parameters.
        assert.equal(/ForceAuthn="([^"]+)"/.exec(xml)?.[1], String(mode === 'standard'))
      })
    }

    for (const origin of ['silent', 'script', 'broken', 'gone']) {
      // Covers GET /saml/discovery: error: no binding
      it(`is not sent to the unusable provider "${origin}"`, async () => {
        const answer = await start(origin)
        assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/login?error=idp_not_found`])
      })
    }
  })
}

// SAML single logout in both directions (Profiles §4.4), with a provider of the test's own.
import assert from 'node:assert/strict'
import { createPublicKey, createVerify } from 'node:crypto'
import { createServer, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it, mock } from 'node:test'
import { verifiedText } from '../../../src/identity/saml/signed-xml.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import { AUTO_REQUEST, Z1_HOST, authorize, authorizeBootstrap, responseOf, signedIn } from '../../support/authorize.ts'
import { createTestClock } from '../../support/clock.ts'
import { MODES } from '../../support/oauth.ts'
import { SAML, base64Of } from '../../support/saml/saml-xml.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { encrypted, samlTestKey, withBitTurned } from '../../support/saml/saml-signing.ts'
import type { LogoutParts, ResponseParts } from '../../support/saml/saml-parts.ts'
import type { SamlIdp } from '../../support/saml/saml-idp.ts'
import { attributeIn, messageIn, samlRecord, signInSaml } from '../../support/saml/saml-logout.ts'
import type { CarriedMessage } from '../../support/saml/saml-logout.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const BASE = 'http://localhost:8080'
const BYE = 'https://auto.example/bye'
const PATH = '/saml/SingleLogout/alias/latchkey'
const HERE = `${BASE}${PATH}`
const Z1_PATH = '/saml/SingleLogout/alias/z1.latchkey'
const SLO = 'https://idp.example/slo'

const [key, otherKey] = [samlTestKey(), samlTestKey()]

interface Scene {
  readonly idp: SamlIdp
  readonly other: SamlIdp
}

const bootstrapWith = ({ idp, other }: Scene) => ({
  ...authorizeBootstrap,
  clients: authorizeBootstrap.clients.map(client =>
    client.client_id === 'auto' ? { ...client, post_logout_redirect_uris: [BYE] } : client,
  ),
  identity_providers: [
    samlRecord(idp.metadata({ slo: SLO }), 'corp'),
    samlRecord(other.metadata({ slo: `${other.entityId}/slo?a=1`, bindings: [SAML.post] }), 'posting'),
  ],
  identity_zones: authorizeBootstrap.identity_zones.map(zone =>
    zone.id === 'z1'
      ? {
          ...zone,
          bootstrap: { ...zone.bootstrap, identity_providers: [samlRecord(idp.metadata({ slo: SLO }), 'corp')] },
        }
      : zone,
  ),
})

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`SAML single logout in ${mode}`, () => {
    const clock = createTestClock()
    const to = { entityId: 'latchkey', recipient: `${BASE}/saml/SSO/alias/latchkey` }
    const idp = createSamlIdp({ clock, to, key })
    const other = createSamlIdp({ clock, to, key: otherKey, entityId: 'https://other.example/idp' })
    let server: TestServer
    let certificate: string
    before(async () => {
      server = await startServer({ mode, clock, config: { bootstrap: bootstrapWith({ idp, other }) } })
      const metadata = (await server.send('/saml/metadata')).text
      const der = /<ds:X509Certificate>([^<]*)</.exec(metadata)?.[1] ?? assert.fail(metadata)
      certificate = `-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----`
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

    async function signIn(
      parts: ResponseParts = {},
      { origin = 'corp', by = idp, browser = server.browser() } = {},
    ): Promise<Browser> {
      const answer = await signInSaml(browser, by, { origin, parts })
      assert.equal(answer.status, 302, answer.text)
      assert.equal(await isSignedIn(browser), true)
      return browser
    }

    const certified = () => createPublicKey(certificate)

    /** Asserts that this server signed the message. */
    function assertSigned({ binding, xml, query }: CarriedMessage): void {
      if (binding === 'post') return void verifiedText(xml, [certified()])
      const [signed = '', signature = ''] = query.split('&Signature=')
      const verifier = createVerify('sha256').update(signed)
      assert.ok(verifier.verify(certified(), decodeURIComponent(signature), 'base64'), query)
    }

    describe('SP-initiated logout', () => {
      /** Signs out on the home page. */
      const signOut = (browser: Browser): Promise<TestAnswer> =>
        browser.send('/logout.do', { method: 'POST', form: { 'X-Svc-Csrf': browser.csrf, 'X-Uaa-Csrf': browser.csrf } })

      /** Signs out with a redirect URI of the client, depending on the mode. */
      async function signOutTo(browser: Browser): Promise<TestAnswer> {
        if (!isStandard) {
          return browser.send('/logout.do', { query: { redirect: AUTO_REQUEST.redirect_uri, client_id: 'auto' } })
        }
        const { code = '' } = responseOf(await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })).query
        const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
        const tokens = (await server.token(form, { basic: ['auto', 'auto-secret'] })).json<{ id_token: string }>()
        const query = { id_token_hint: tokens.id_token, post_logout_redirect_uri: BYE }
        return browser.send('/logout.do', { query })
      }
      const target = isStandard ? BYE : AUTO_REQUEST.redirect_uri

      /** Follows redirects within the server. */
      async function followed(browser: Browser, answer: TestAnswer): Promise<TestAnswer> {
        const location = String(answer.headers['location'] ?? '')
        if (!location.startsWith(`${BASE}/logout.do`)) return answer
        const { pathname, search } = new URL(location)
        return followed(browser, await browser.send(pathname + search))
      }

      const answerBy = {
        redirect: (browser: Browser, xml: string, relayState?: string) =>
          browser.send(
            `${PATH}?${idp.redirectQuery('SAMLResponse', xml, { key: null, ...(relayState && { relayState }) })}`,
          ),
        // A cross-site form has no cookies.
        post: (_: Browser, xml: string, relayState?: string) =>
          server.send(PATH, { form: { SAMLResponse: base64Of(xml), ...(relayState && { RelayState: relayState }) } }),
      }

      // Covers GET /logout.do: rule: SAML single logout
      // Covers any /saml/SingleLogout/alias/{alias}: LogoutRequest out
      it('ends the session, then sends a signed request to the provider', async () => {
        const names = { nameQualifier: idp.entityId, spNameQualifier: 'latchkey' }
        const browser = await signIn({ nameId: 'pat & <co>', sessionIndex: 's-out', ...names })
        const answer = await signOut(browser)
        assert.equal(await isSignedIn(browser), false)
        const message = messageIn(answer, 'SAMLRequest')
        assert.deepEqual([message.binding, message.to, message.relayState], ['redirect', SLO, undefined])
        assertSigned(message)
        const { xml } = message
        assert.match(xml, /<saml2p:LogoutRequest /)
        assert.equal(attributeIn(xml, 'Destination'), SLO)
        assert.match(xml, /<saml2:Issuer[^>]*>latchkey<\/saml2:Issuer>/)
        assert.match(xml, />pat &#38; &#60;co&#62;<\/saml2:NameID>/)
        assert.match(xml, /<saml2p:SessionIndex>s-out<\/saml2p:SessionIndex>/)
        assert.equal(attributeIn(xml, 'Format'), SAML.persistentName)
        assert.equal(attributeIn(xml, 'NameQualifier'), names.nameQualifier)
        assert.equal(attributeIn(xml, 'SPNameQualifier'), names.spNameQualifier)
        assert.equal(attributeIn(xml, 'IssueInstant'), clock.now().toISOString())
        assert.equal(Date.parse(attributeIn(xml, 'NotOnOrAfter') ?? ''), clock.now().getTime() + 300_000)
      })

      it('posts the request to a provider that has only the POST binding', async () => {
        const browser = await signIn({}, { origin: 'posting', by: other })
        const message = messageIn(await signOut(browser), 'SAMLRequest')
        assert.deepEqual([message.binding, message.to], ['post', `${other.entityId}/slo?a=1`])
        assertSigned(message)
        assert.equal(await isSignedIn(browser), false)
      })

      for (const binding of ['redirect', 'post'] as const) {
        it(`continues to the redirect URI after a response with any status (${binding})`, async () => {
          const browser = await signIn()
          const { xml, relayState } = messageIn(await signOutTo(browser), 'SAMLRequest')
          const given = { redirect: AUTO_REQUEST.redirect_uri, client_id: 'auto' }
          assert.deepEqual(relayState && JSON.parse(relayState), isStandard ? undefined : given)
          const inResponseTo = attributeIn(xml, 'ID') ?? ''
          const status = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
          const response = idp.logoutResponse({ inResponseTo, status })
          const answer = await answerBy[binding](browser, response, relayState)
          assert.equal(answer.status, 303, answer.text)
          const end = await followed(browser, answer)
          assert.equal(end.headers['location'], target)
        })
      }

      if (isStandard) {
        it('shows a page without a redirect URI', async () => {
          const browser = await signIn()
          const { csrf } = browser
          const query = { post_logout_redirect_uri: BYE }
          assert.equal((await browser.send('/logout.do', { query })).status, 200)
          const form = { ...query, confirmed: 'true', 'X-Svc-Csrf': browser.csrf || csrf }
          const { xml } = messageIn(await browser.send('/logout.do', { form }), 'SAMLRequest')
          const response = idp.logoutResponse({ inResponseTo: attributeIn(xml, 'ID') ?? '' })
          const end = await followed(browser, await answerBy.redirect(browser, response))
          assert.equal(end.status, 200)
          assert.match(end.text, /signed out/i)
        })

        it('ignores the redirect URI for a response in another browser or zone, repeated or too late', async () => {
          const browser = await signIn()
          const { xml } = messageIn(await signOutTo(browser), 'SAMLRequest')
          const response = idp.logoutResponse({ inResponseTo: attributeIn(xml, 'ID') ?? '' })
          const cookie = browser.cookies.get('svc-sign-out') ?? ''
          assert.notEqual(cookie, '')
          const endOf = async (who: Browser) => followed(who, await answerBy.redirect(who, response))
          assert.equal((await endOf(server.browser())).status, 200)
          const abroad = server.browser(Z1_HOST)
          abroad.cookies.set('svc-sign-out', cookie)
          const { location = '' } = (await answerBy.redirect(abroad, response)).headers
          const { pathname, search, host } = new URL(String(location))
          assert.equal(host, Z1_HOST)
          assert.equal((await abroad.send(pathname + search)).status, 200)
          assert.equal((await endOf(browser)).headers['location'], BYE)
          assert.equal((await endOf(browser)).status, 200)
          browser.cookies.set('svc-sign-out', cookie)
          clock.advance(600)
          assert.equal((await endOf(browser)).status, 200)
        })
      }

      it('ends nothing for an unsolicited response, and ignores its RelayState', async () => {
        const browser = await signIn()
        for (const inResponseTo of ['_nothing', '', 'a'.repeat(5000), 'x&redirect=https://evil.example']) {
          for (const relayState of ['https://evil.example/', '{"redirect":"https://evil.example/"}']) {
            const response = idp.logoutResponse({ inResponseTo })
            const end = await followed(browser, await answerBy.redirect(browser, response, relayState))
            assert.equal(end.headers['location'], isStandard ? `${BASE}/` : `${BASE}/login`)
            assert.equal(await isSignedIn(browser), true)
          }
        }
      })

      it('passes on the id that a response names, of up to 1024 characters', async () => {
        for (const binding of ['redirect', 'post'] as const) {
          for (const [length, state] of [
            [1024, 'a'.repeat(1023)],
            [1025, ''],
          ] as const) {
            const response = idp.logoutResponse({ inResponseTo: 'a'.repeat(length) })
            const answer = await answerBy[binding](server.browser(), response)
            assert.deepEqual(
              [...answer.location().searchParams],
              [
                ['state', state],
                ['answered', 'true'],
              ],
            )
          }
        }
      })

      it('passes on the strings of a RelayState in JSON, of up to 2048 characters', async () => {
        const kept = 'x'.repeat(2048 - JSON.stringify({ redirect: '' }).length)
        for (const [relayState, want] of [
          [JSON.stringify({ redirect: BYE, number: 1, object: {}, nothing: null }), [['redirect', BYE]]],
          [JSON.stringify({ redirect: kept }), [['redirect', kept]]],
          [JSON.stringify({ redirect: `${kept}x` }), []],
          ['["redirect"]', []],
        ] as const) {
          const answer = await answerBy.post(server.browser(), idp.logoutResponse({ inResponseTo: '_a' }), relayState)
          const { searchParams } = answer.location()
          assert.deepEqual([...searchParams], [...want, ['state', 'a'], ['answered', 'true']])
        }
      })

      describe('sends no request', () => {
        const stays = async (browser: Browser): Promise<void> => {
          const answer = await signOut(browser)
          assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/login`])
          assert.equal(await isSignedIn(browser), false)
        }

        async function withMetadata(metadata: string, play: () => Promise<void>): Promise<void> {
          const record = (await server.store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
          const config = { ...record.config, metaDataLocation: metadata }
          await server.store.providers.update('svc', { ...record, config })
          await play()
          const changed = (await server.store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
          await server.store.providers.update('svc', { ...changed, config: record.config })
        }

        it('to a provider without a logout endpoint', async () => {
          const browser = await signIn()
          await withMetadata(idp.metadata(), () => stays(browser))
        })

        it('to a provider with unknown metadata', async () => {
          const browser = await signIn()
          await withMetadata('http://127.0.0.1:1/metadata', () => stays(browser))
        })

        it('to a javascript: endpoint', async () => {
          const browser = await signIn()
          await withMetadata(idp.metadata({ slo: 'javascript:alert(1)' }), () => stays(browser))
        })

        it('for a user with a password', async () => stays(await signedIn(server)))
      })

      it('has the issuer of the zone', async () => {
        const browser = server.browser(Z1_HOST)
        await signIn({ audiences: ['z1.latchkey'] }, { browser })
        const { xml } = messageIn(await signOut(browser), 'SAMLRequest')
        assert.match(xml, /<saml2:Issuer[^>]*>z1\.latchkey<\/saml2:Issuer>/)
      })
    })

    describe('IdP-initiated logout', () => {
      const soon = (): Date => new Date(clock.now().getTime() + 60_000)

      const byRedirect = (
        xml: string,
        { relayState, host = 'localhost:8080', path = PATH, browser }: Delivery = {},
      ): Promise<TestAnswer> => {
        const query = idp.redirectQuery('SAMLRequest', xml, relayState === undefined ? {} : { relayState })
        return (browser ?? server).send(`${path}?${query}`, { host })
      }
      const byPost = (
        xml: string,
        { relayState, host = 'localhost:8080', path = PATH }: Delivery = {},
      ): Promise<TestAnswer> => {
        const form = { SAMLRequest: base64Of(xml), ...(relayState !== undefined && { RelayState: relayState }) }
        return server.send(path, { form, host })
      }
      interface Delivery {
        readonly relayState?: string
        readonly host?: string
        readonly path?: string
        readonly browser?: Browser
      }

      const requestOf = (parts: LogoutParts = {}): string =>
        idp.logoutRequest({ destination: HERE, nameId: 'pat', sessionIndexes: [], ...parts })

      /** The status in the signed LogoutResponse. */
      const statusOf = (answer: TestAnswer): string | undefined => {
        const message = messageIn(answer, 'SAMLResponse')
        assertSigned(message)
        return /StatusCode Value="urn:oasis:names:tc:SAML:2\.0:status:(\w+)"/.exec(message.xml)?.[1]
      }

      // Covers any /saml/SingleLogout/alias/{alias}: LogoutRequest in
      it('ends only the session of the SessionIndex', async () => {
        const [one, two] = [
          await signIn({ nameId: 'pat', sessionIndex: 's-1' }),
          await signIn({ nameId: 'pat', sessionIndex: 's-2' }),
        ]
        const { code = '' } = responseOf(await authorize(one, { ...AUTO_REQUEST, scope: 'openid' })).query
        assert.equal(statusOf(await byRedirect(requestOf({ sessionIndexes: ['s-1'] }))), 'Success')
        assert.deepEqual([await isSignedIn(one), await isSignedIn(two)], [false, true])
        const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
        assert.equal((await server.token(form, { basic: ['auto', 'auto-secret'] })).status, 400)
        const event = server.events.findLast(({ type }) => type === 'SessionsEndedEvent')
        assert.deepEqual([event?.origin, event?.byOther], ['corp', true])
      })

      it('supports a SessionIndex of up to 1024 characters', async () => {
        for (const sessionIndex of ['i'.repeat(256), 'i'.repeat(1024), 'odd\u007f']) {
          const browser = await signIn({ nameId: 'pat', sessionIndex })
          assert.equal(statusOf(await byPost(idp.sign(requestOf({ sessionIndexes: [sessionIndex] })))), 'Success')
          assert.equal(await isSignedIn(browser), false)
        }
        const sessionIndex = 'i'.repeat(1025)
        await signIn({ nameId: 'pat', sessionIndex })
        assert.equal(statusOf(await byPost(idp.sign(requestOf({ sessionIndexes: [sessionIndex] })))), 'Requester')
      })

      it('ends several sessions, or all of the user without a SessionIndex', async () => {
        const of = (nameId: string, sessionIndex: string) => signIn({ nameId, sessionIndex })
        const all = [await of('pat', 'm-1'), await of('pat', 'm-2'), await of('pat', 'm-3'), await of('kim', 'm-4')]
        const mine = await signedIn(server)
        assert.equal(statusOf(await byRedirect(requestOf({ sessionIndexes: ['m-1', 'm-2', 'm-4'] }))), 'Success')
        assert.deepEqual(await Promise.all(all.map(isSignedIn)), [false, false, true, true])
        assert.equal(statusOf(await byPost(idp.sign(requestOf()))), 'Success')
        assert.deepEqual(await Promise.all([...all, mine].map(isSignedIn)), [false, false, false, true, true])
      })

      // SAML Core §3.7.3.1: an assertion may arrive after the logout.
      it('refuses assertions issued before it that arrive later', async () => {
        const isTaken = async (parts: ResponseParts): Promise<boolean> => {
          const browser = server.browser()
          await signInSaml(browser, idp, { origin: 'corp', parts })
          return isSignedIn(browser)
        }
        const issueInstant = clock.now()
        clock.advance(1)
        const early = { nameId: 'lee', issueInstant }
        await byRedirect(requestOf({ nameId: 'lee', sessionIndexes: ['l-1', 'l-2'] }))
        assert.deepEqual(
          [
            await isTaken({ ...early, sessionIndex: 'l-1' }),
            await isTaken({ ...early, sessionIndex: 'l-2' }),
            await isTaken({ ...early, sessionIndex: 'l-3' }),
            await isTaken({ ...early, sessionIndex: null }),
            await isTaken({ nameId: 'lee', sessionIndex: 'l-1' }),
          ],
          [false, false, true, true, true],
        )
        assert.match(
          server.refusals.at(-1) ?? '',
          /^sign-in at "corp": .* expired: the provider signed the user out at /,
        )
        await byPost(idp.sign(requestOf({ nameId: 'lee' })))
        assert.deepEqual(
          [
            await isTaken({ ...early, sessionIndex: 'l-4' }),
            await isTaken({ ...early, sessionIndex: null }),
            await isTaken({ ...early, nameId: 'max', sessionIndex: 'l-4' }),
            await isTaken({ nameId: 'lee', sessionIndex: 'l-4' }),
          ],
          [false, false, true, true],
        )
      })

      it('ends a session that begins meanwhile with an assertion issued before it', async () => {
        const issueInstant = clock.now()
        clock.advance(1)
        const { sessions } = server.store
        const replaceAtLogon = sessions.replaceAtLogon.bind(sessions)
        mock.method(sessions, 'replaceAtLogon', async (...args: Parameters<typeof replaceAtLogon>) => {
          assert.equal(statusOf(await byRedirect(requestOf({ nameId: 'moe', sessionIndexes: ['w-1'] }))), 'Success')
          return replaceAtLogon(...args)
        })
        const browser = server.browser()
        await signInSaml(browser, idp, { origin: 'corp', parts: { nameId: 'moe', sessionIndex: 'w-1', issueInstant } })
        mock.restoreAll()
        assert.equal(await isSignedIn(browser), false)
        assert.match(server.refusals.at(-1) ?? '', /^sign-in at "corp": .* the provider signed the user out at /)
        await signIn({ nameId: 'moe', sessionIndex: 'w-1' })
      })

      it('ends nothing of a user whose name is the same in another format', async () => {
        const browser = await signIn({ nameId: 'pat', sessionIndex: 'f-1', format: SAML.persistentName })
        for (const sessionIndexes of [[], ['f-1']]) {
          for (const [format, isIn] of [
            [SAML.emailName, true],
            [SAML.persistentName, false],
          ] as const) {
            assert.equal(statusOf(await byRedirect(requestOf({ sessionIndexes, format }))), 'Success')
            assert.equal(await isSignedIn(browser), isIn)
          }
          await signIn({ nameId: 'pat', sessionIndex: 'f-1', format: SAML.persistentName }, { browser })
        }
      })

      it('answers Success to an unknown session or user, and ends nothing', async () => {
        const browser = await signIn({ nameId: 'pat', sessionIndex: 'k-1' })
        for (const parts of [{ sessionIndexes: ['K-1'] }, { nameId: 'nobody' }, { nameId: 'PAT' }]) {
          assert.equal(statusOf(await byRedirect(requestOf(parts))), 'Success')
        }
        assert.equal(await isSignedIn(browser), true)
      })

      // Covers any /saml/SingleLogout/alias/{alias}: LogoutResponse out; Redirect binding; POST binding
      it('returns a signed response by redirect and POST', async () => {
        const id = '_request-1'
        const redirected = await byRedirect(requestOf({ id }), { relayState: 'a b&c' })
        const posted = await byPost(idp.sign(requestOf({ id: '_request-2' })), { relayState: '"><script>' })
        const messages = [redirected, posted].map(answer => messageIn(answer, 'SAMLResponse'))
        const facts = messages.map(({ binding, to: at, relayState, xml }) => {
          return [binding, at, relayState, attributeIn(xml, 'InResponseTo'), attributeIn(xml, 'Destination')]
        })
        assert.deepEqual(facts, [
          ['redirect', SLO, 'a b&c', id, SLO],
          ['post', SLO, '"><script>', '_request-2', SLO],
        ])
        for (const message of messages) {
          assertSigned(message)
          assert.match(message.xml, /<saml2:Issuer[^>]*>latchkey<\/saml2:Issuer>/)
        }
        const long = await byRedirect(requestOf(), { relayState: 'x'.repeat(2049) })
        assert.equal(messageIn(long, 'SAMLResponse').relayState, undefined)
      })

      it('responds at ResponseLocation, or with a page without an endpoint', async () => {
        const record = (await server.store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
        const set = async (metadata: string) => {
          const known = (await server.store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
          await server.store.providers.update('svc', {
            ...known,
            config: { ...record.config, metaDataLocation: metadata },
          })
        }
        const at = 'https://idp.example/answers'
        await set(
          idp.metadata({ slo: SLO }).replaceAll(`Location="${SLO}"`, `Location="${SLO}" ResponseLocation="${at}"`),
        )
        assert.equal(messageIn(await byRedirect(requestOf()), 'SAMLResponse').to, at)
        await set(idp.metadata())
        const browser = await signIn({ nameId: 'pat' })
        const answer = await byRedirect(requestOf())
        assert.equal(answer.status, 200)
        assert.match(answer.text, /signed out|sign in/i)
        assert.equal(await isSignedIn(browser), false)
        const still = await signIn({ nameId: 'pat' })
        const refused = await byRedirect(requestOf({ destination: null }))
        assert.equal(refused.status, 400)
        assert.match(refused.text, /You may still be signed in/)
        assert.equal(await isSignedIn(still), true)
        await set(String(record.config['metaDataLocation']))
      })

      it('clears the cookies of the browser only if its session ended', async () => {
        const browser = await signIn({ nameId: 'pat', sessionIndex: 'c-1' })
        const bystander = await signedIn(server)
        await byRedirect(requestOf({ sessionIndexes: ['c-1'] }), { browser: bystander })
        assert.equal(await isSignedIn(bystander), true)
        const again = await signIn({ nameId: 'pat', sessionIndex: 'c-2' }, { browser })
        await byRedirect(requestOf({ sessionIndexes: ['c-2'] }), { browser: again })
        assert.deepEqual(
          ['Current-User', isStandard ? 'svc-session' : 'JSESSIONID'].map(name => again.cookies.has(name)),
          [false, false],
        )
      })

      it('ends no session in another zone', async () => {
        const browser = server.browser(Z1_HOST)
        await signIn({ nameId: 'pat', audiences: ['z1.latchkey'] }, { browser })
        await byRedirect(requestOf())
        assert.equal(await isSignedIn(browser), true)
        const there = `http://${Z1_HOST}${Z1_PATH}`
        assert.equal(statusOf(await byRedirect(requestOf({ destination: there }))), 'Requester')
        const own = await byRedirect(requestOf({ destination: there }), { host: Z1_HOST, path: Z1_PATH })
        assert.equal(own.status, 302)
        assert.equal(await isSignedIn(browser), false)
      })

      it('may name any address of the zone', async () => {
        for (const destination of [`http://${Z1_HOST}${Z1_PATH}`, `${BASE}/z/z1${Z1_PATH}`]) {
          const browser = server.browser(Z1_HOST)
          await signIn({ nameId: 'pat', audiences: ['z1.latchkey'] }, { browser })
          const answer = await byRedirect(requestOf({ destination }), { host: Z1_HOST, path: Z1_PATH })
          assert.equal(answer.status, 302, answer.text)
          assert.equal(await isSignedIn(browser), false)
        }
      })

      it('answers Success for a deleted account', async () => {
        await signIn({ nameId: 'gone' })
        const user = (await server.store.users.findByExternalId('svc', 'corp', 'gone')) ?? assert.fail()
        await server.store.users.delete('svc', user.id)
        assert.equal(statusOf(await byRedirect(requestOf({ nameId: 'gone' }))), 'Success')
      })

      it('accepts an EncryptedID', async () => {
        for (const declared of [` xmlns:saml="${SAML.assertion}"`, '']) {
          const browser = await signIn({ nameId: 'pat' })
          const data = await encrypted(`<saml:NameID${declared}>pat</saml:NameID>`, { certificate })
          const xml = requestOf().replace(
            /<saml:NameID.*<\/saml:NameID>/,
            () => `<saml:EncryptedID>${data}</saml:EncryptedID>`,
          )
          assert.equal(statusOf(await byPost(idp.sign(xml))), 'Success')
          assert.equal(await isSignedIn(browser), false)
        }
      })

      it('returns the same delayed error for every invalid EncryptedID', async () => {
        const browser = await signIn({ nameId: 'pat' })
        const name = `<saml:NameID xmlns:saml="${SAML.assertion}">pat</saml:NameID>`
        const sealed = (xml: string, to = certificate): Promise<string> =>
          encrypted(xml, { certificate: to, algorithm: SAML.cbc })
        const genuine = await sealed(name)
        const contents = [
          await sealed(name, samlTestKey().certificate),
          ...[0, -17, -1].map(place => withBitTurned(genuine, place)),
          ...(await Promise.all(
            [
              name.replaceAll('NameID', 'BaseID'),
              name.replace('pat', '<!-- -->pat'),
              `<!DOCTYPE a>${name}`,
              name + name,
              `<saml:EncryptedID xmlns:saml="${SAML.assertion}">${genuine}</saml:EncryptedID>`,
              name.replace(SAML.assertion, SAML.protocol),
              'pat',
            ].map(text => sealed(text)),
          )),
        ]
        for (const content of contents) {
          assert.notEqual(content, genuine)
          const xml = requestOf().replace(
            /<saml:NameID.*<\/saml:NameID>/,
            () => `<saml:EncryptedID>${content}</saml:EncryptedID>`,
          )
          const began = performance.now()
          const answer = await byRedirect(xml)
          assert.ok(performance.now() - began > 95)
          assert.match(messageIn(answer, 'SAMLResponse').xml, /StatusMessage>decryption</)
          assert.equal(server.refusals.at(-1), 'logout from "corp": decryption: it does not decrypt to one NameID')
        }
        assert.equal(await isSignedIn(browser), true)
      })

      it('is refused if the record of the provider changes during it', async () => {
        const browser = await signIn({ nameId: 'pat' })
        const { providers } = server.store
        const find = providers.findStored.bind(providers)
        const changing = mock.method(providers, 'findStored', async (...of: Parameters<typeof find>) => {
          const found = await find(...of)
          return found && { ...found, version: found.version + 1 }
        })
        assert.equal((await byRedirect(requestOf())).status, 400)
        changing.mock.restore()
        assert.equal(await isSignedIn(browser), true)
        assert.equal(statusOf(await byRedirect(requestOf())), 'Success')
      })

      it('refetches metadata for new keys at most every 30 seconds', async () => {
        const asked: string[] = []
        let document = other.metadata({ slo: SLO, keys: [] })
        const publisher = createServer((request, response) => {
          asked.push(request.url ?? '')
          response.end(document)
        })
        await new Promise<void>(resolve => publisher.listen(0, '127.0.0.1', resolve))
        const { port } = publisher.address() as AddressInfo
        const record = (await server.store.providers.findByOrigin('svc', 'posting')) ?? assert.fail()
        const config = { ...record.config, metaDataLocation: `http://127.0.0.1:${port}/metadata` }
        await server.store.providers.update('svc', { ...record, config })
        const browser = await signIn({ nameId: 'pat' }, { origin: 'posting', by: other })
        const before = asked.length
        const send = (): Promise<TestAnswer> => byPost(other.sign(requestOf({ issuer: other.entityId }), { key }))
        for (let round = 0; round < 5; round += 1) assert.equal((await send()).status, 400)
        assert.ok(asked.length - before <= 1, `asked ${asked.length - before} times`)
        document = other.metadata({ slo: SLO, keys: [key] })
        clock.advance(31)
        const unsigned = asked.length
        assert.equal((await byPost(requestOf({ issuer: other.entityId }))).status, 400)
        assert.equal(asked.length, unsigned, 'no request for an unsigned message')
        assert.equal(statusOf(await send()), 'Success')
        assert.equal(await isSignedIn(browser), false)
        const now = (await server.store.providers.findByOrigin('svc', 'posting')) ?? assert.fail()
        await server.store.providers.update('svc', { ...now, config: record.config })
        await new Promise(resolve => publisher.close(resolve))
      })

      it('belongs to the provider with the signing key if several have the entity id', async () => {
        const documents = [samlTestKey(), otherKey].map(each => other.metadata({ slo: SLO, keys: [each] }))
        const publisher = createServer((request, response) => response.end(documents[Number(request.url?.slice(1))]))
        await new Promise<void>(resolve => publisher.listen(0, '127.0.0.1', resolve))
        const { port } = publisher.address() as AddressInfo
        const { externalKey: _, ...record } =
          (await server.store.providers.findByOrigin('svc', 'posting')) ?? assert.fail()
        for (const [index, originKey] of ['claiming-0', 'claiming-1'].entries()) {
          const config = { ...record.config, metaDataLocation: `http://127.0.0.1:${port}/${index}` }
          await server.store.providers.insert('svc', { ...record, id: originKey, originKey, config })
        }
        const original = (await server.store.providers.findByOrigin('svc', 'posting')) ?? assert.fail()
        await server.store.providers.update('svc', { ...original, active: false })
        assert.equal(statusOf(await byPost(other.sign(requestOf({ issuer: other.entityId })))), 'Success')
        for (const originKey of ['posting', 'claiming-0', 'claiming-1']) {
          const found = (await server.store.providers.findByOrigin('svc', originKey)) ?? assert.fail()
          await server.store.providers.update('svc', { ...found, active: originKey === 'posting' })
        }
        await new Promise(resolve => publisher.close(resolve))
      })

      describe('responds with an error to a request', () => {
        const encryptedId = (xml: string): string =>
          xml.replace(/<saml:NameID.*<\/saml:NameID>/, '<saml:EncryptedID><x xmlns="urn:x"/></saml:EncryptedID>')
        const cases: readonly { readonly name: string; readonly xml: () => string; readonly reason: string }[] = [
          {
            name: 'for another endpoint',
            xml: () => requestOf({ destination: `${BASE}/saml/SSO/alias/latchkey` }),
            reason: 'destination',
          },
          {
            name: 'for another server',
            xml: () => requestOf({ destination: `https://other.example${PATH}` }),
            reason: 'destination',
          },
          { name: 'without a destination', xml: () => requestOf({ destination: null }), reason: 'destination' },
          {
            name: 'issued too long ago',
            xml: () => requestOf({ issueInstant: new Date(clock.now().getTime() - 61_000) }),
            reason: 'expired',
          },
          {
            name: 'without IssueInstant',
            xml: () => requestOf().replace(/ IssueInstant="[^"]*"/, ''),
            reason: 'expired',
          },
          {
            name: 'issued in the future',
            xml: () => requestOf({ issueInstant: new Date(clock.now().getTime() + 61_000) }),
            reason: 'not-yet-valid',
          },
          {
            name: 'that has expired',
            xml: () => requestOf({ notOnOrAfter: new Date(clock.now().getTime() - 60_000) }),
            reason: 'expired',
          },
          { name: 'without a user', xml: () => requestOf({ nameId: '' }), reason: 'name-id' },
          {
            name: 'about two users',
            xml: () => requestOf().replace('<saml:NameID', '<saml:NameID>kim</saml:NameID><saml:NameID'),
            reason: 'name-id',
          },
          {
            name: 'about a user encrypted for another recipient',
            xml: () => encryptedId(requestOf()),
            reason: 'decryption',
          },
          {
            name: 'about a user of another provider',
            xml: () => requestOf({ nameQualifier: other.entityId }),
            reason: 'name-id',
          },
          {
            name: 'about a user of another service',
            xml: () => requestOf({ spNameQualifier: 'other' }),
            reason: 'name-id',
          },
          { name: 'about an empty session', xml: () => requestOf({ sessionIndexes: [''] }), reason: 'subject' },
          {
            name: 'about more than a hundred sessions',
            xml: () => requestOf({ sessionIndexes: Array.from({ length: 101 }, (_, index) => `s-${index}`) }),
            reason: 'subject',
          },
        ]
        for (const { name, xml, reason } of cases) {
          it(name, async () => {
            const browser = await signIn({ nameId: 'pat' })
            for (const answer of [await byRedirect(xml()), await byPost(idp.sign(xml()))]) {
              assert.equal(statusOf(answer), 'Requester')
              assert.match(messageIn(answer, 'SAMLResponse').xml, new RegExp(`StatusMessage>${reason}<`))
            }
            assert.match(server.refusals.at(-1) ?? '', new RegExp(`^logout from "corp": ${reason}: `))
            assert.equal(await isSignedIn(browser), true)
          })
        }

        it('that was repeated successfully after a failure', async () => {
          const browser = await signIn({ nameId: 'pat' })
          const query = idp.redirectQuery('SAMLRequest', requestOf())
          const gone = () => Promise.reject(new OAuthError('invalid_request', 'gone'))
          const broken = mock.method(server.store.users, 'findByExternalId', gone)
          assert.equal((await server.send(`${PATH}?${query}`)).status, 400)
          broken.mock.restore()
          assert.equal(statusOf(await server.send(`${PATH}?${query}`)), 'Success')
          assert.equal(await isSignedIn(browser), false)
          assert.equal(statusOf(await server.send(`${PATH}?${query}`)), 'Requester')
        })

        it('that was used before', async () => {
          const query = idp.redirectQuery('SAMLRequest', requestOf({ notOnOrAfter: null }))
          assert.equal(statusOf(await server.send(`${PATH}?${query}`)), 'Success')
          const browser = await signIn({ nameId: 'pat' })
          for (const seconds of [0, 59, 1, 1]) {
            clock.advance(seconds)
            assert.equal(statusOf(await server.send(`${PATH}?${query}`)), 'Requester')
          }
          assert.equal(await isSignedIn(browser), true)
        })
      })

      it('is accepted although another provider sent one with the same id', async () => {
        for (const by of [idp, other]) {
          const xml = by.sign(by.logoutRequest({ destination: HERE, nameId: 'pat', id: '_of-both' }))
          assert.equal(statusOf(await byPost(xml)), 'Success')
        }
      })

      it('may have 128 kB', async () => {
        const form = { SAMLRequest: base64Of(idp.sign(requestOf())), more: 'x'.repeat(120_000) }
        assert.equal(statusOf(await server.send(PATH, { form })), 'Success')
      })

      it('is accepted once from a provider with a clock ahead', async () => {
        const issueInstant = new Date(clock.now().getTime() + 60_000)
        const query = idp.redirectQuery('SAMLRequest', requestOf({ issueInstant, notOnOrAfter: null }))
        assert.equal(statusOf(await server.send(`${PATH}?${query}`)), 'Success')
        clock.advance(61)
        const browser = await signIn({ nameId: 'pat' })
        clock.advance(59)
        await server.store.purge(clock.now())
        assert.match(messageIn(await server.send(`${PATH}?${query}`), 'SAMLResponse').xml, /StatusMessage>replay</)
        assert.equal(await isSignedIn(browser), true)
      })

      describe('answers 4xx without a LogoutResponse to a request', () => {
        const redirect = (query: string, path = PATH) => server.send(`${path}?${query}`)
        const post = (xml: string) => server.send(PATH, { form: { SAMLRequest: base64Of(xml) } })
        const signedQuery = (xml = requestOf()) => idp.redirectQuery('SAMLRequest', xml)
        const cases: readonly {
          readonly name: string
          readonly send: () => Promise<TestAnswer>
          readonly status?: number
        }[] = [
          { name: 'without a SAML message', send: () => server.send(PATH) },
          { name: 'without a message in the form', send: () => server.send(PATH, { form: {} }) },
          { name: 'without a form', send: () => server.send(PATH, { method: 'POST' }) },
          { name: 'with invalid base64', send: () => redirect('SAMLRequest=%25%25') },
          { name: 'with malformed XML', send: () => post('x') },
          { name: 'with a malformed SAMLResponse', send: () => redirect(idp.redirectQuery('SAMLResponse', '<x')) },
          { name: 'sent as SAMLResponse', send: () => redirect(idp.redirectQuery('SAMLResponse', requestOf())) },
          { name: 'sent with a SAMLResponse', send: () => redirect(`${signedQuery()}&SAMLResponse=x`) },
          { name: 'sent twice in the query', send: () => redirect(`${signedQuery()}&${signedQuery()}`) },
          ...(['SAMLResponse=x', 'SAMLRequest=x', 'RelayState=a&RelayState=b'] as const).map(more => ({
            name: `in a form with an additional ${more}`,
            send: () =>
              server.send(PATH, {
                form: `SAMLRequest=${encodeURIComponent(base64Of(idp.sign(requestOf())))}&${more}`,
              }),
          })),
          // Covers any /saml/SingleLogout/alias/{alias}: signature required
          { name: 'without a signature', send: () => post(requestOf()) },
          {
            name: 'without a signature in the query',
            send: () => redirect(idp.redirectQuery('SAMLRequest', requestOf(), { key: null })),
          },
          ...['', ' ID=""', ` ID="_${'x'.repeat(1024)}"`].map(id => ({
            name: `with ${id === '' ? 'no id' : `the id ${id.slice(0, 8)}`}`,
            send: () => redirect(signedQuery(requestOf().replace(/ ID="[^"]*"/, id))),
          })),
          {
            name: 'with a signature inside a message by redirect',
            send: () => redirect(idp.redirectQuery('SAMLRequest', idp.sign(requestOf()), { key: null })),
          },
          { name: 'with the signature of another key', send: () => post(idp.sign(requestOf(), { key: otherKey })) },
          {
            name: 'with the signature of another key in the query',
            send: () => redirect(idp.redirectQuery('SAMLRequest', requestOf(), { key: otherKey })),
          },
          {
            name: 'from an unknown provider',
            send: () => post(idp.sign(requestOf({ issuer: 'https://nobody.example' }))),
          },
          { name: 'from another provider', send: () => post(idp.sign(requestOf({ issuer: other.entityId }))) },
          {
            name: 'from two providers',
            send: () => {
              const second = `<saml:Issuer>${other.entityId}</saml:Issuer>`
              return redirect(signedQuery(requestOf().replace('</saml:Issuer>', end => end + second)))
            },
          },
          {
            name: 'with another format of Issuer',
            send: () => redirect(signedQuery(requestOf().replace('<saml:Issuer', '$& Format="urn:other"'))),
          },
          {
            name: 'changed after the signature',
            send: () => post(idp.sign(requestOf({ nameId: 'kim' })).replace('>kim<', '>pat<')),
          },
          {
            name: 'with a second copy of its signature',
            send: () => {
              const signed = idp.sign(requestOf())
              const [signature = ''] = /<ds:Signature .*<\/ds:Signature>/s.exec(signed) ?? []
              return post(signed.replace('</saml:NameID>', end => signature + end))
            },
          },
          {
            name: 'of another type',
            send: () => post(idp.sign(requestOf().replaceAll('LogoutRequest', 'ManageNameIDRequest'))),
          },
          {
            name: 'of another version',
            send: () => post(idp.sign(requestOf().replace('Version="2.0"', 'Version="1.1"'))),
          },
          { name: 'with an unsigned RelayState', send: () => redirect(`${signedQuery()}&RelayState=x`) },
          { name: 'that is too long', send: () => post(`${requestOf()}${' '.repeat(200_000)}`), status: 413 },
        ]
        for (const { name, send, status = 400 } of cases) {
          it(name, async () => {
            const browser = await signIn({ nameId: 'pat' })
            const answer = await send()
            assert.equal(answer.status, status, answer.text)
            assert.equal(answer.headers['location'], undefined)
            assert.doesNotMatch(answer.text, /form_post/)
            assert.equal(await isSignedIn(browser), true)
          })
        }

        it('and logs the provider that it names, and why', async () => {
          await post(idp.sign(requestOf(), { key: otherKey }))
          assert.match(server.refusals.at(-1) ?? '', /^logout from "corp": bad-signature: /)
        })

        it('with a valid query after the one that the router reads', async () => {
          const browser = await signIn({ nameId: 'pat' })
          const forged = idp.redirectQuery('SAMLRequest', requestOf(), { key: null })
          const genuine = signedQuery(requestOf({ nameId: 'another-user' }))
          const { http } = server.app
          await http.listen({ host: '127.0.0.1', port: 0 })
          const { port } = http.server.address() as AddressInfo // of a port
          const path = `${PATH}#${forged}&x=?${genuine}`
          const answer = await new Promise<IncomingMessage>((resolve, reject) => {
            const headers = { host: 'localhost:8080', connection: 'close' }
            get({ host: '127.0.0.1', port, path, headers }, resolve).on('error', reject)
          })
          answer.resume()
          assert.equal(answer.statusCode, 400)
          assert.equal(await isSignedIn(browser), true)
        })

        it('without a SAML message, with the error of UAA', async () => {
          const answer = await server.send(PATH)
          assert.match(answer.text, /Unsupported request/)
        })

        it('from an inactive provider', async () => {
          const record = (await server.store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
          await server.store.providers.update('svc', { ...record, active: false })
          assert.equal((await byRedirect(requestOf({ notOnOrAfter: soon() }))).status, 400)
          assert.match(server.refusals.at(-1) ?? '', /^logout from an unknown provider: issuer: /)
          const off = (await server.store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
          await server.store.providers.update('svc', { ...off, active: true })
        })

        it('by HEAD, PUT or DELETE', async () => {
          const browser = await signIn({ nameId: 'pat' })
          const signedWithin = idp.redirectQuery('SAMLRequest', idp.sign(requestOf()), { key: null })
          for (const method of ['HEAD', 'PUT', 'DELETE']) {
            for (const query of [signedQuery(), signedWithin]) {
              assert.ok((await server.send(`${PATH}?${query}`, { method })).status >= 400)
            }
          }
          assert.equal(await isSignedIn(browser), true)
        })
      })
    })
  })
}

describe('SAML single logout with an entity id that is a URN', () => {
  it('takes requests to the address in the metadata', async () => {
    const clock = createTestClock()
    const to = { entityId: 'urn:example:sp', recipient: `${BASE}/saml/SSO/alias/urn%3Aexample%3Asp` }
    const idp = createSamlIdp({ clock, to, key })
    const identity_providers = [samlRecord(idp.metadata({ slo: SLO }), 'corp')]
    const config = { bootstrap: { ...authorizeBootstrap, identity_providers }, saml: { entity_id: to.entityId } }
    const server = await startServer({ clock, config })
    try {
      const [, destination = ''] =
        /<md:SingleLogoutService Binding="[^"]*" Location="([^"]*)"/.exec((await server.send('/saml/metadata')).text) ??
        []
      assert.match(destination, /%3A/)
      const form = { SAMLRequest: base64Of(idp.sign(idp.logoutRequest({ destination, nameId: 'pat' }))) }
      const { xml } = messageIn(await server.send(new URL(destination).pathname, { form }), 'SAMLResponse')
      assert.match(xml, /StatusCode Value="urn:oasis:names:tc:SAML:2\.0:status:Success"/)
    } finally {
      await server.stop()
    }
  })
})

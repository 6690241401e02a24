// Sign-in at SAML providers through the browser: the assertion consumer and its errors. The validation of responses is tested
// in test/identity/saml/response.test.ts.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { digest } from '../../../src/base/secrets.ts'
import { AUTO_REQUEST, authorize, requestOf, signedIn, Z1_HOST } from '../../support/authorize.ts'
import { createTestClock } from '../../support/clock.ts'
import { setCookies, unescaped } from '../../support/forms.ts'
import { MODES } from '../../support/oauth.ts'
import { base64Of, SAML } from '../../support/saml/saml-xml.ts'
import type { ResponseParts } from '../../support/saml/saml-parts.ts'
import {
  answerForm,
  BASE,
  comeBack,
  CONSUMER,
  idpOf,
  postedOn,
  requestIn,
  samlBootstrap,
  signInAt,
} from '../../support/saml/saml-sign-in.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const LOST = /was started in another browser, has expired or is already complete/
const UNREADABLE = /The response of your identity provider could not be read/
const NOT_HERE = /That sign-in method is not available here/
const UNVERIFIED = /could not be verified/

for (const mode of MODES) {
  describe(`SAML sign-in in ${mode}`, () => {
    const clock = createTestClock()
    const isUaa = mode === 'uaa'
    const HOME = `${BASE}${isUaa ? '/home' : '/'}`
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, clock, config: { bootstrap: samlBootstrap(clock) } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200
    const userAt = (origin: string, nameId: string) => server.store.users.findByExternalId('svc', origin, nameId)

    /** Asserts an error page with the words; in uaa at /saml_error. */
    async function assertRefused(answer: TestAnswer, status: number, words: RegExp, browser?: Browser): Promise<void> {
      if (!isUaa) {
        assert.equal(answer.status, status, answer.text)
        assert.match(unescaped(answer.text), words)
      } else {
        assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/saml_error`])
        const page = await server.send('/saml_error', {
          cookies: { 'Saml-Failure': answer.cookies['Saml-Failure'] ?? '' },
        })
        assert.equal(page.status, 200)
        assert.match(unescaped(page.text), words)
      }
      if (browser) assert.equal(await isSignedIn(browser), false)
    }

    /** Asserts the reason of the last refusal in the audit trail and in the log. */
    function assertAudited(origin: string | undefined, why: string): void {
      const event = server.events.findLast(({ type }) => type === 'IdentityProviderAuthenticationFailure')
      assert.deepEqual([event?.authenticationType, event?.origin, event?.data], ['saml', origin, why])
      assert.match(server.refusals.at(-1) ?? '', new RegExp(`(?:^a SAML response|^sign-in at ".*): .*${why}: `))
    }

    describe('Assertion consumer', () => {
      // Covers POST /saml/SSO/alias/{alias}: SAMLResponse
      it('posts the response again from its own page to sign the user in', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
        const attributes = [
          { name: 'mail', values: ['ann@corp.example'] },
          { name: 'verified', values: ['true'] },
        ]
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: 'ann', attributes })
        const page = await server.send(CONSUMER, { form: answerForm(xml, relayState) })
        assert.equal(page.status, 200)
        assert.deepEqual(page.cookies, {})
        assert.match(page.text, /<button class="button" type="submit">/)
        assert.match(page.text, isUaa ? /<strong><bdi>Cloud Foundry</ : /<strong><bdi>Latchkey</)
        const { path, form } = postedOn(page)
        assert.deepEqual([path, Object.keys(form)], [CONSUMER, ['SAMLResponse', 'RelayState', 'posted_again']])
        assert.equal(form['SAMLResponse'], base64Of(xml))
        const answer = await browser.send(path, { form })
        assert.equal(answer.location().pathname, '/oauth/authorize')
        const { origin, searchParams } = (
          await browser.send(answer.location().pathname + answer.location().search)
        ).location()
        assert.deepEqual([origin, searchParams.has('code')], ['https://auto.example', true])
        const user = await userAt('corp', 'ann')
        assert.deepEqual([user?.userName, user?.email, user?.verified], ['ann', 'ann@corp.example', true])
        const { type, data } =
          server.events.findLast(event => event.type.startsWith('UserAuthentication')) ?? assert.fail()
        assert.deepEqual([type, data], ['UserAuthenticationSuccess', undefined])
      })

      it('signs in immediately if the request has cookies', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/saml2/authenticate/corp'))
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: 'at-once' })
        const answer = await browser.send(CONSUMER, { form: answerForm(xml, relayState) })
        assert.deepEqual([answer.status, answer.headers['location']], [302, HOME])
        assert.equal(await isSignedIn(browser), true)
      })

      it('continues in another tab for the same user, and asks before switching to another user', async () => {
        const browser = server.browser()
        const leave = async (tab: string) =>
          requestIn(await browser.send('/login/external/corp', { query: { form_redirect_uri: `${BASE}/home?${tab}` } }))
        const [first, same, other] = [await leave('first'), await leave('same'), await leave('other')]
        const named = await leave('named')
        const back = async ({ id, relayState }: typeof first, nameId: string, parts: ResponseParts = {}) => {
          const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId, ...parts })
          return comeBack(server, browser, answerForm(xml, relayState), CONSUMER)
        }
        assert.equal(
          (await back(first, 'first-tab', { format: SAML.emailName })).headers['location'],
          `${BASE}/home?first`,
        )
        assert.equal(
          (await back(same, 'first-tab', { format: SAML.emailName })).headers['location'],
          `${BASE}/home?same`,
        )
        const page = await back(other, 'other-tab')
        assert.equal(page.status, 200)
        assert.match(page.text, /You are signed in as <strong><bdi>first-tab<\/bdi>/)
        assert.match(page.text, /id="this_account" href="[^"]+\/home\?other"/)
        assert.equal(await userAt('corp', 'other-tab'), undefined, 'no account is created')
        const otherFormat = await back(named, 'first-tab', { format: SAML.persistentName })
        assert.match(otherFormat.text, /id="this_account" href="[^"]+\/home\?named"/)
        assert.match((await browser.send('/home')).text, /first-tab/)
      })

      // Covers POST /saml/SSO/alias/{alias}: check: `SessionNotOnOrAfter`
      it('ends the session at SessionNotOnOrAfter plus clock skew', async () => {
        const browser = server.browser()
        const sessionNotOnOrAfter = new Date(clock.now().getTime() + 300_000)
        await signInAt(server, browser, { nameId: 'brief', sessionNotOnOrAfter })
        clock.advance(359)
        assert.equal(await isSignedIn(browser), true)
        clock.advance(1)
        assert.equal(await isSignedIn(browser), false)
        const late = server.browser()
        await signInAt(server, late, { nameId: 'brief', sessionNotOnOrAfter: new Date(clock.now().getTime() - 59_000) })
        assert.equal(await isSignedIn(late), true)
      })

      it('refuses unknown providers immediately, and posts a response again only once', async () => {
        const { id, relayState } = requestIn(await server.browser().send('/login/external/corp'))
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id })
        const again = await server.send(CONSUMER, { form: { ...answerForm(xml, relayState), posted_again: 'true' } })
        await assertRefused(again, 400, LOST)
        assertAudited('corp', 'in-response-to')
        const stranger = await idpOf(clock, 'stranger').response({ inResponseTo: id })
        const words = isUaa ? /No SAML identity provider found in zone/ : NOT_HERE
        await assertRefused(await server.send(CONSUMER, { form: answerForm(stranger, relayState) }), 404, words)
        assertAudited(undefined, 'issuer')
        assert.match(server.refusals.at(-1) ?? '', /it is from "https:\/\/stranger.example\/saml"/)
        const unknown = await idpOf(clock, 'x'.repeat(1000)).response()
        await server.send(CONSUMER, { form: answerForm(unknown) })
        assert.match(server.refusals.at(-1) ?? '', /it is from "https:\/\/x{192}"/)
        await server.send(CONSUMER, { form: { SAMLResponse: base64Of('no XML') } })
        assertAudited(undefined, 'not-xml')
      })

      it('audits a refused response by its hash, with the address that it came from', async () => {
        const headers = { 'user-agent': 'Browser/1' }
        for (const origin of ['stranger', 'waits']) {
          const form = answerForm(await idpOf(clock, origin).response(), '')
          await server.send(CONSUMER, { form, headers })
          const event = server.events.findLast(({ type }) => type === 'IdentityProviderAuthenticationFailure')
          assert.deepEqual(
            [event?.principal, event?.remoteAddress, event?.userAgent],
            [digest(form['SAMLResponse'] ?? ''), '127.0.0.1', 'Browser/1'],
          )
        }
      })

      for (const path of ['/saml/SSO', '/saml/SSO/alias/corp', CONSUMER]) {
        // Covers POST /saml/SSO: SAMLResponse
        it(`accepts ${path} as recipient`, async () => {
          const browser = server.browser()
          const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
          const to = { recipient: BASE + path, destination: BASE + path }
          const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: `at ${path}`, ...to })
          const again = postedOn(await server.send(path, { form: answerForm(xml, relayState) }))
          // The cookie of the attempt is sent to paths with an alias only.
          assert.equal(again.path, path === '/saml/SSO' ? CONSUMER : path)
          const answer = await browser.send(again.path, { form: again.form })
          assert.equal(answer.headers['location'], HOME)
          assert.equal(await isSignedIn(browser), true)
        })
      }

      it('refuses a response at the alias of another provider', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
        const path = '/saml/SSO/alias/other'
        const to = { recipient: BASE + path, destination: BASE + path }
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, ...to })
        const words = isUaa ? /No SAML identity provider found in zone for alias:other/ : NOT_HERE
        await assertRefused(await browser.send(path, { form: answerForm(xml, relayState) }), 404, words, browser)
        for (const alias of ['none', 'svc', 'latchkey2', 'z1.latchkey', 'LATCHKEY']) {
          const answer = await browser.send(`/saml/SSO/alias/${alias}`, { form: answerForm(xml, relayState) })
          await assertRefused(answer, 404, isUaa ? /No SAML identity provider found in zone\./ : NOT_HERE, browser)
        }
      })

      it('refuses a response of another provider than requested', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
        const xml = await idpOf(clock, 'other').response({ inResponseTo: id })
        await assertRefused(await comeBack(server, browser, answerForm(xml, relayState)), 400, LOST, browser)
      })

      it('refuses a response if the client no longer allows the provider', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
        const client = (await server.store.clients.find('svc', 'auto')) ?? assert.fail()
        await server.store.clients.update('svc', { ...client, allowedProviders: ['other'] })
        try {
          const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: 'late' })
          const words = isUaa ? /No SAML identity provider found in zone for alias:corp/ : NOT_HERE
          await assertRefused(await comeBack(server, browser, answerForm(xml, relayState)), 404, words, browser)
          assert.equal(await userAt('corp', 'late'), undefined)
        } finally {
          await server.store.clients.update('svc', client)
        }
      })

      it('accepts a response once, in the same browser and zone, within ten minutes', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, nameId: 'once' })
        const form = answerForm(xml, relayState)
        const other = server.browser()
        await other.send('/login/external/corp')
        await assertRefused(await comeBack(server, other, form), 400, LOST, other)
        const { z1 } = { z1: await server.send(CONSUMER, { form, host: Z1_HOST }) }
        assert.ok(z1.status !== 200 && z1.cookies['latchkey-session'] === undefined)
        const before = new Map(browser.cookies)
        assert.equal((await comeBack(server, browser, form)).headers['location'], HOME)
        const replay = server.browser()
        for (const [name, value] of before) replay.cookies.set(name, value)
        await assertRefused(await comeBack(server, replay, form), 400, LOST)
        const late = server.browser()
        const sent = requestIn(await late.send('/login/external/corp'))
        clock.advance(601)
        const fresh = await idpOf(clock, 'corp').response({ inResponseTo: sent.id })
        await assertRefused(await comeBack(server, late, answerForm(fresh, sent.relayState)), 400, LOST, late)
      })

      // Covers POST /saml/SSO/alias/{alias}: RelayState
      it('refuses the response to another request', async () => {
        const browser = server.browser()
        const first = requestIn(await browser.send('/login/external/corp'))
        const second = requestIn(await browser.send('/login/external/corp'))
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: first.id })
        const answer = await comeBack(server, browser, answerForm(xml, second.relayState))
        await assertRefused(answer, 502, UNVERIFIED, browser)
        assertAudited('corp', 'in-response-to')
      })

      const addresses = [
        { name: 'host', base: `http://${Z1_HOST}`, prefix: '', host: Z1_HOST },
        { name: 'path', base: `${BASE}/z/z1`, prefix: '/z/z1', host: undefined },
      ]
      for (const { name, base, prefix, host } of addresses) {
        it(`accepts only responses for the zone by ${name}`, async () => {
          const path = `${prefix}/saml/SSO/alias/z1.latchkey`
          const browser = server.browser(host)
          const answerTo = async (parts: ResponseParts): Promise<TestAnswer> => {
            const { id, relayState, xml: request } = requestIn(await browser.send(`${prefix}/login/external/corp`))
            assert.match(request, new RegExp(`AssertionConsumerServiceURL="${base}/saml/SSO/alias/z1.latchkey"`))
            const xml = await idpOf(clock, 'corp').response({ inResponseTo: id, ...parts })
            return browser.send(path, { form: answerForm(xml, relayState) })
          }
          const recipient = `${base}/saml/SSO/alias/z1.latchkey`
          const own = { recipient, destination: recipient, audiences: ['z1.latchkey'] }
          for (const parts of [{}, { ...own, audiences: ['latchkey'] }, { audiences: ['z1.latchkey'] }]) {
            assert.notEqual((await answerTo(parts)).headers['location'], `${base}${isUaa ? '/home' : '/'}`)
          }
          const answer = await answerTo({ ...own, nameId: `of the zone by ${name}` })
          assert.equal(answer.headers['location'], `${base}${isUaa ? '/home' : '/'}`)
          assert.ok(await server.store.users.findByExternalId('z1', 'corp', `of the zone by ${name}`))
          assert.equal(await userAt('corp', `of the zone by ${name}`), undefined)
        })
      }

      const unreadable: readonly {
        name: string
        form: Record<string, string> | string
        status?: number
        words?: RegExp
      }[] = [
        { name: 'a form without a response', form: { a: 'b' } },
        { name: 'an empty response', form: { SAMLResponse: '' } },
        {
          name: 'a document that is not a response',
          form: { SAMLResponse: 'PHgvPg==' },
          status: 404,
          words: isUaa ? /No SAML/ : NOT_HERE,
        },
        {
          name: 'a response without base64',
          form: { SAMLResponse: '<Response/>' },
          status: 404,
          words: isUaa ? /No SAML/ : NOT_HERE,
        },
        { name: 'two responses', form: `SAMLResponse=${encodeURIComponent(base64Of('<a/>'))}&SAMLResponse=b` },
      ]
      for (const { name, form, status = 400, words = UNREADABLE } of unreadable) {
        it(`refuses ${name}`, async () => {
          for (const path of [CONSUMER, '/saml/SSO']) {
            await assertRefused(await server.send(path, { form }), status, words)
          }
        })
      }

      it('refuses two relay states', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/login/external/corp'))
        const xml = await idpOf(clock, 'corp').response({ inResponseTo: id })
        const form = `${new URLSearchParams(answerForm(xml, relayState)).toString()}&RelayState=${relayState}`
        await assertRefused(await browser.send(CONSUMER, { form }), 400, UNREADABLE, browser)
      })

      // Covers GET /saml/SSO: error: refused
      // Covers GET /saml/SSO/alias/{alias}: error: refused
      it('refuses GET', async () => {
        for (const path of [CONSUMER, '/saml/SSO']) await assertRefused(await server.send(path), 400, UNREADABLE)
      })

      it('gets no response into a URL where it is posted to the path of another protocol', async () => {
        const page = await server.send('/login/callback/corp', { form: answerForm('<a/>', 'x') })
        assert.deepEqual([page.status, page.headers['location']], [200, undefined])
      })

      it('limits the body to half a megabyte', async () => {
        const form = { SAMLResponse: 'A'.repeat(600_000) }
        assert.equal((await server.send(CONSUMER, { form })).status, 413)
      })
    })

    describe('Errors', () => {
      // Covers POST /saml/SSO/alias/{alias}: error: shadow creation barred
      it('are returned to the client as access_denied for a user without an account', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const answer = await signInAt(server, browser, { origin: 'closed', nameId: 'nobody' })
        assert.equal(answer.status, 302)
        const url = answer.location()
        assert.equal(url.origin + url.pathname, 'https://auto.example/cb')
        assert.deepEqual(Object.fromEntries(url.searchParams), {
          error: 'access_denied',
          error_description:
            'SAML user does not exist. You can correct this by creating a shadow user for the SAML user.',
          state: 's1',
          ...(!isUaa && { iss: BASE }),
        })
        assert.match(url.search, /error_description=SAML\+user\+does\+not\+exist\.\+You/)
        assert.equal(await userAt('closed', 'nobody'), undefined)
        assert.equal(await isSignedIn(browser), false)
      })

      const elsewhere: readonly { name: string; change: (query: URLSearchParams) => void }[] = [
        {
          name: 'an unregistered redirect URI',
          change: query => query.set('redirect_uri', 'https://evil.example/cb'),
        },
        { name: 'an unknown client', change: query => query.set('client_id', 'none') },
        { name: 'no client', change: query => query.delete('client_id') },
        {
          name: 'a client without the grant',
          change: query => {
            query.set('client_id', 'password')
            query.set('redirect_uri', 'https://password.example/cb')
          },
        },
        { name: 'an empty redirect URI', change: query => query.set('redirect_uri', '') },
        { name: 'no redirect URI', change: query => query.delete('redirect_uri') },
        ...['client_id', 'redirect_uri', 'state'].map(each => ({
          name: `${each} twice`,
          change: (query: URLSearchParams) => query.append(each, query.get(each) ?? ''),
        })),
        { name: 'another response type', change: query => query.set('response_type', 'token') },
        ...(isUaa
          ? []
          : [
              {
                name: 'another response mode',
                change: (query: URLSearchParams) => query.set('response_mode', 'fragment'),
              },
              {
                name: 'a redirect URI below the registered one',
                change: (query: URLSearchParams) => query.set('redirect_uri', `${AUTO_REQUEST.redirect_uri}/below`),
              },
            ]),
      ]
      for (const { name, change } of elsewhere) {
        it(`are shown on a page with ${name}`, async () => {
          const query = new URLSearchParams(AUTO_REQUEST)
          change(query)
          const target = `${BASE}/oauth/authorize?${query.toString()}`
          const start = `/login/external/closed?${new URLSearchParams({ form_redirect_uri: target }).toString()}`
          const browser = server.browser()
          const answer = await signInAt(server, browser, { origin: 'closed', nameId: 'nobody', start })
          const words = isUaa ? /SAML user does not exist\. You can correct this/ : /must be pre-created/
          await assertRefused(answer, 403, words, browser)
        })
      }

      // RFC 9700 §4.11.2: without a sign-in, nothing leads to an address that no administrator has seen.
      it('are shown on a page for a client that registered itself', async () => {
        const { clients } = server.store
        const client = (await clients.find('svc', 'auto')) ?? assert.fail()
        await clients.update('svc', { ...client, registration: { tokenDigest: 'd', responseTypes: ['code'] } })
        try {
          const form_redirect_uri = `${BASE}/oauth/authorize?${new URLSearchParams(AUTO_REQUEST).toString()}`
          const start = `/login/external/closed?${new URLSearchParams({ form_redirect_uri }).toString()}`
          const browser = server.browser()
          const answer = await signInAt(server, browser, { origin: 'closed', nameId: 'nobody', start })
          const words = isUaa ? /SAML user does not exist\. You can correct this/ : /must be pre-created/
          await assertRefused(answer, 403, words, browser)
        } finally {
          await clients.update('svc', client)
        }
      })

      it('are returned without state if none was sent, and with any response_mode in uaa', async () => {
        const query = new URLSearchParams(AUTO_REQUEST)
        query.delete('state')
        if (isUaa) query.set('response_mode', 'fragment')
        const form_redirect_uri = `${BASE}/oauth/authorize?${query.toString()}`
        const start = `/login/external/closed?${new URLSearchParams({ form_redirect_uri }).toString()}`
        const answer = await signInAt(server, server.browser(), { origin: 'closed', nameId: 'nobody', start })
        const { searchParams } = answer.location()
        assert.deepEqual([searchParams.get('error'), searchParams.has('state')], ['access_denied', false])
      })

      it('are added to the query of a redirect URI', async () => {
        const { clients } = server.store
        const client = (await clients.find('svc', 'auto')) ?? assert.fail()
        const redirect_uri = `${AUTO_REQUEST.redirect_uri}?a=1`
        await clients.update('svc', { ...client, redirectUris: [redirect_uri] })
        try {
          const query = new URLSearchParams({ ...AUTO_REQUEST, redirect_uri }).toString()
          const start = `/login/external/closed?${new URLSearchParams({ form_redirect_uri: `${BASE}/oauth/authorize?${query}` }).toString()}`
          const answer = await signInAt(server, server.browser(), { origin: 'closed', nameId: 'nobody', start })
          assert.match(String(answer.headers['location']), /^https:\/\/auto\.example\/cb\?a=1&error=access_denied&/)
        } finally {
          await clients.update('svc', client)
        }
      })

      it('are not returned to a client of another zone', async () => {
        const { clients, providers } = server.store
        const [client, corp] = [await clients.find('svc', 'auto'), await providers.findByOrigin('z1', 'corp')]
        assert.ok(client && corp)
        await clients.insert('svc', { ...client, clientId: 'elsewhere' })
        await providers.update('z1', { ...corp, config: { ...corp.config, addShadowUserOnLogin: false } })
        try {
          const base = `http://${Z1_HOST}`
          const recipient = `${base}/saml/SSO/alias/z1.latchkey`
          for (const [client_id, status] of [
            ['auto', 302],
            ['elsewhere', 403],
          ] as const) {
            const query = new URLSearchParams({ ...AUTO_REQUEST, client_id }).toString()
            const browser = server.browser(Z1_HOST)
            const sent = requestIn(
              await browser.send('/login/external/corp', {
                query: { form_redirect_uri: `${base}/oauth/authorize?${query}` },
              }),
            )
            const to = { recipient, destination: recipient, audiences: ['z1.latchkey'] }
            const xml = await idpOf(clock, 'corp').response({ inResponseTo: sent.id, nameId: 'nobody', ...to })
            const answer = await browser.send('/saml/SSO/alias/z1.latchkey', { form: answerForm(xml, sent.relayState) })
            if (isUaa && status === 403) assert.equal(answer.headers['location'], `${base}/saml_error`)
            else assert.equal(answer.status, status)
            assert.equal(/error=access_denied/.test(String(answer.headers['location'])), status === 302)
          }
        } finally {
          await providers.update('z1', { ...corp, version: corp.version + 1 })
        }
      })

      it('are shown on a page without an authorization request', async () => {
        const browser = server.browser()
        const answer = await signInAt(server, browser, { origin: 'closed', nameId: 'nobody' })
        await assertRefused(answer, 403, isUaa ? /SAML user does not exist/ : /must be pre-created/, browser)
      })

      it('name a provider that was disabled during the sign-in', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/login/external/other'))
        const provider = (await server.store.providers.findByOrigin('svc', 'other')) ?? assert.fail()
        await server.store.providers.update('svc', { ...provider, active: false })
        try {
          const xml = await idpOf(clock, 'other').response({ inResponseTo: id })
          const answer = await comeBack(server, browser, answerForm(xml, relayState))
          const words = isUaa ? /Identity Provider has been disabled by administrator for alias:other/ : NOT_HERE
          await assertRefused(answer, 404, words, browser)
        } finally {
          await server.store.providers.update('svc', { ...provider, version: provider.version + 1 })
        }
      })

      it('name no provider if the response has no issuer', async () => {
        const provider = (await server.store.providers.findByOrigin('svc', 'other')) ?? assert.fail()
        const { externalKey, ...unnamed } = provider
        assert.ok(externalKey)
        await server.store.providers.update('svc', { ...unnamed, active: false })
        try {
          const answer = await server.send(CONSUMER, { form: { SAMLResponse: base64Of('<a/>') } })
          await assertRefused(answer, 404, isUaa ? /No SAML identity provider found in zone\./ : NOT_HERE)
        } finally {
          await server.store.providers.update('svc', { ...provider, version: provider.version + 1 })
        }
      })

      it('do not query the database for unknown and disabled providers', async () => {
        const { providers } = server.store
        const unchanged = { ...providers }
        let asked = 0
        Object.assign(providers, { list: (zoneId: string) => ((asked += 1), unchanged.list(zoneId)) })
        try {
          for (const origin of ['stranger', 'off']) {
            const form = answerForm(await idpOf(clock, origin).response())
            await assertRefused(await server.send(CONSUMER, { form }), 404, isUaa ? /provider/i : NOT_HERE)
          }
          assert.equal(asked, 0)
        } finally {
          Object.assign(providers, unchanged)
        }
      })

      const declined: readonly [code: string, status: number, words: RegExp][] = [
        ['AuthnFailed', 403, /The sign-in at corp was cancelled or refused/],
        ['RequestDenied', 403, /The sign-in at corp was cancelled or refused/],
        ['NoPassive', 403, /corp needs to ask you something first/],
        ['UnsupportedBinding', 502, /corp refused to sign you in/],
      ]
      for (const [code, status, words] of declined) {
        it(`explain the status ${code} of the provider`, async () => {
          const names = 'urn:oasis:names:tc:SAML:2.0:status:'
          const browser = server.browser()
          const parts = { status: `${names}Responder`, statusWithin: names + code, statusMessage: '<b>Pay</b>' }
          const answer = await signInAt(server, browser, parts)
          await assertRefused(answer, status, words, browser)
          assert.doesNotMatch(answer.text, /Pay/)
          assertAudited('corp', 'status')
        })
      }

      // Covers POST /saml/SSO/alias/{alias}: error: any validation failure
      it('hide the reason of a failed verification, and audit it', async () => {
        const browser = server.browser()
        const answer = await signInAt(server, browser, { audiences: ['https://elsewhere.example'] })
        await assertRefused(answer, 502, UNVERIFIED, browser)
        assertAudited('corp', 'audience')
      })

      it('ignore text in a forged cookie', async () => {
        for (const value of ['call+0800', Buffer.from('call 0800').toString('base64url'), 'x'.repeat(3000)]) {
          const page = await server.send('/saml_error', { cookies: { 'Saml-Failure': value } })
          assert.equal(page.status, 200)
          assert.match(unescaped(page.text), /Sign-in with your SAML identity provider failed/)
          assert.doesNotMatch(page.text, /0800/)
        }
      })

      if (isUaa) {
        // Covers error pages: /saml_error
        it('are shown once, in their zone only', async () => {
          const answer = await server.send(CONSUMER)
          const set = setCookies(answer)['Saml-Failure'] ?? ''
          assert.match(set, /; Max-Age=60; Path=\/saml_error; HttpOnly; SameSite=Lax/)
          const cookies = { 'Saml-Failure': answer.cookies['Saml-Failure'] ?? '' }
          const page = await server.send('/saml_error', { cookies })
          assert.match(page.text, UNREADABLE)
          assert.equal(page.cookies['Saml-Failure'], '')
          const elsewhere = await server.send('/saml_error', { cookies, host: Z1_HOST })
          assert.doesNotMatch(elsewhere.text, UNREADABLE)
        })
      }
    })

    describe('IdP-initiated sign-in', () => {
      const arrive = async (
        origin: string,
        relayState?: string,
        parts = {},
        browser?: Browser,
      ): Promise<TestAnswer> => {
        const xml = await idpOf(clock, origin).response(parts)
        return (browser ?? server).send(CONSUMER, { form: answerForm(xml, relayState) })
      }

      // Covers compatibility: token endpoint: C10 SAML
      it('requires allowIdpInitiated, which is the default in uaa', async () => {
        const allowed = await arrive('begins', undefined, { nameId: 'begun' })
        assert.deepEqual([allowed.status, allowed.headers['location']], [302, HOME])
        assert.ok(await userAt('begins', 'begun'))
        await assertRefused(await arrive('waits'), 400, LOST)
        assertAudited('waits', 'in-response-to')
        assert.match(server.refusals.at(-1) ?? '', /allowIdpInitiated/)
        const usual = await arrive('corp', '', { nameId: 'usual' })
        if (isUaa) assert.equal(usual.headers['location'], HOME)
        else await assertRefused(usual, 400, LOST)
        assert.equal((await userAt('corp', 'usual')) !== undefined, isUaa)
      })

      it('is accepted at the path without an alias, which must then be the recipient', async () => {
        const at = async (recipient: string): Promise<TestAnswer> => {
          const parts = { nameId: 'at the bare path', recipient, destination: recipient }
          const xml = await idpOf(clock, 'begins').response(parts)
          return server.send('/saml/SSO', { form: answerForm(xml) })
        }
        await assertRefused(await at(BASE + CONSUMER), 502, UNVERIFIED)
        assertAudited('begins', 'destination')
        assert.equal((await at(`${BASE}/saml/SSO`)).headers['location'], HOME)
      })

      // Covers Zone config in effect: samlConfig.disableInResponseToCheck
      it('is allowed by disableInResponseToCheck of the zone', async () => {
        const zone = (await server.store.zones.find('svc')) ?? assert.fail()
        await server.store.zones.update({
          ...zone,
          config: { ...zone.config, samlConfig: { ...zone.config.samlConfig, disableInResponseToCheck: true } },
        })
        try {
          assert.equal((await arrive('corp', '', { nameId: 'by-zone' })).headers['location'], HOME)
          const named = { nameId: 'by-zone', inResponseTo: '_unknown' }
          assert.equal((await arrive('corp', '', named)).headers['location'], HOME)
          await assertRefused(await arrive('waits'), 400, LOST)
        } finally {
          await server.store.zones.update({ ...zone, version: zone.version + 2 })
        }
      })

      // Covers POST /login.do: rule: target set by the SAML flow
      it('redirects only to URLs of the zone', async () => {
        const targets: readonly (readonly [string, string])[] = [
          [`${BASE}/profile?a=1`, `${BASE}/profile?a=1`],
          ['https://evil.example/', HOME],
          [`${BASE}.evil.example/`, HOME],
          [`${BASE}@evil.example/`, HOME],
          ['//evil.example/', HOME],
          ['/profile', HOME],
          [`${BASE}/z/z1/profile`, HOME],
          [`${BASE}//evil.example`, HOME],
          ['javascript:alert(1)', HOME],
          ['cloudfoundry-uaa-sp', HOME],
        ]
        for (const [relayState, want] of targets) {
          assert.equal((await arrive('begins', relayState, { nameId: 'leads' })).headers['location'], want, relayState)
        }
      })

      it('is recognized by the response if RelayState has the form of an own one', async () => {
        const relayState = 'x'.repeat(43)
        const browser = server.browser()
        const xml = await idpOf(clock, 'begins').response({ nameId: 'looks-alike' })
        const answer = await comeBack(server, browser, answerForm(xml, relayState))
        assert.deepEqual([answer.status, answer.headers['location']], [302, HOME])
        assert.equal(await isSignedIn(browser), true)
        const barred = await idpOf(clock, 'waits').response({ nameId: 'looks-alike' })
        await assertRefused(await comeBack(server, browser, answerForm(barred, relayState)), 400, LOST)
        assertAudited('waits', 'in-response-to')
        for (const parts of [{ inResponseTo: '_other' }, { inResponseTo: null, responseInResponseTo: '_other' }]) {
          const answering = await idpOf(clock, 'begins').response({ ...parts, nameId: 'answers' })
          await assertRefused(await comeBack(server, browser, answerForm(answering, relayState)), 400, LOST)
        }
        assert.equal(await userAt('begins', 'answers'), undefined)
      })

      it('is refused as the response to a pending request', async () => {
        const browser = server.browser()
        const { id, relayState } = requestIn(await browser.send('/login/external/begins'))
        await assertRefused(await arrive('begins', '', { inResponseTo: id }, browser), 502, UNVERIFIED)
        const xml = await idpOf(clock, 'begins').response({})
        const answer = await comeBack(server, browser, answerForm(xml, relayState))
        await assertRefused(answer, 502, UNVERIFIED, browser)
      })

      it('does not complete a pending authorization request', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const { id, relayState } = requestIn(await browser.send('/login/external/begins'))
        const before = new Map(browser.cookies)
        const answer = await arrive('begins', '', { nameId: 'mallory' }, browser)
        assert.equal(answer.headers['location'], HOME)
        for (const [name, value] of before) browser.cookies.set(name, value)
        const xml = await idpOf(clock, 'begins').response({ inResponseTo: id, nameId: 'alice' })
        const own = await comeBack(server, browser, answerForm(xml, relayState))
        assert.equal(own.location().pathname, '/oauth/authorize')
      })

      it('keeps the previous session valid', async () => {
        const browser = await signedIn(server)
        const before = new Map(browser.cookies)
        await arrive('begins', '', { nameId: 'mallory' }, browser)
        const old = server.browser()
        for (const [name, value] of before) old.cookies.set(name, value)
        assert.equal(await isSignedIn(old), true)
      })

      it('accepts an assertion once', async () => {
        const form = answerForm(await idpOf(clock, 'begins').response({ nameId: 'replayed' }))
        assert.equal((await server.send(CONSUMER, { form })).headers['location'], HOME)
        await assertRefused(await server.send(CONSUMER, { form }), 502, UNVERIFIED)
      })

      it('is refused if the client in RelayState does not allow the provider', async () => {
        const target = `${BASE}/oauth/authorize?${new URLSearchParams(requestOf('ldaponly')).toString()}`
        const answer = await arrive('begins', target, { nameId: 'barred' })
        await assertRefused(answer, 400, LOST)
        assert.equal(await userAt('begins', 'barred'), undefined)
      })
    })
  })
}

it('A user without an account leads to no address that only matches without allow_unsafe_matching: false', async () => {
  const clock = createTestClock()
  const uaa = { oauth: { redirect_uri: { allow_unsafe_matching: false } } }
  const server = await startServer({ mode: 'uaa', clock, config: { bootstrap: samlBootstrap(clock), uaa } })
  try {
    for (const [redirect_uri, location] of [
      [AUTO_REQUEST.redirect_uri, /^https:\/\/auto\.example\/cb\?error=access_denied&/],
      [`${AUTO_REQUEST.redirect_uri}/below`, /\/saml_error$/],
    ] as const) {
      const query = new URLSearchParams({ ...AUTO_REQUEST, redirect_uri }).toString()
      const start = `/login/external/closed?${new URLSearchParams({ form_redirect_uri: `${BASE}/oauth/authorize?${query}` }).toString()}`
      const answer = await signInAt(server, server.browser(), { origin: 'closed', nameId: 'nobody', start })
      assert.match(String(answer.headers['location']), location)
    }
  } finally {
    await server.stop()
  }
})

describe('saml.max_authentication_age', () => {
  const clock = createTestClock()
  const daysAgo = (days: number): Date => new Date(clock.now().getTime() - days * 86_400_000)
  for (const { days, config } of [
    { days: 10, config: {} },
    { days: 90, config: { saml: { max_authentication_age: 90 * 86_400 } } },
  ]) {
    it(`limits AuthnInstant to ${days} days ago: ${JSON.stringify(config)}`, async () => {
      const server = await startServer({ clock, config: { bootstrap: samlBootstrap(clock), ...config } })
      try {
        const old = await signInAt(server, server.browser(), { authnInstant: daysAgo(days) })
        assert.equal(old.status, 502)
        assert.match(server.refusals.at(-1) ?? '', /expired: the sign-in is too old/)
        const recent = await signInAt(server, server.browser(), { authnInstant: daysAgo(days - 1) })
        assert.equal(recent.headers['location'], `${BASE}/`)
      } finally {
        await server.stop()
      }
    })
  }
})

// auth_time and acr of a sign-in at an upstream provider, and max_age, prompt and acr_values of the client.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { epochSeconds } from '../../src/base/clock.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES, tokensOf } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { startUpstream, upstreamRecord } from '../support/upstream.ts'

type Strings = Readonly<Record<string, string>>
type Claims = Readonly<Record<string, unknown>>

const REDIRECT_URI = 'https://fresh.example/cb'
const REQUEST = { response_type: 'code', client_id: 'fresh', redirect_uri: REDIRECT_URI, scope: 'openid' }

for (const mode of MODES) {
  describe(`Sign-in at an upstream provider, auth_time and acr, in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const bootstrap = {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          {
            client_id: 'fresh',
            client_secret: 'x',
            authorized_grant_types: ['authorization_code', 'refresh_token'],
            scope: ['openid'],
            redirect_uri: [REDIRECT_URI],
            autoapprove: true,
            allowedproviders: ['corp'],
          },
          {
            client_id: 'tabs',
            client_secret: 'x',
            authorized_grant_types: ['authorization_code'],
            scope: ['openid'],
            redirect_uri: [REDIRECT_URI],
            autoapprove: true,
          },
          {
            client_id: 'minimal',
            client_secret: 'x',
            authorized_grant_types: ['password'],
            scope: ['openid'],
            id_token_minimal: true,
          },
        ],
        identity_providers: [
          upstreamRecord(upstream, 'corp', {
            emailDomain: ['corp.example'],
            additionalAuthzParameters: { prompt: 'select_account' },
            passwordGrantEnabled: true,
          }),
        ],
      }
      server = await startServer({ mode, clock, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    const now = (): number => epochSeconds(clock.now())

    /** Follows redirects within this server; returns the first other answer. */
    async function follow(browser: Browser, first: TestAnswer): Promise<TestAnswer> {
      let answer = first
      for (let hop = 0; hop < 6; hop += 1) {
        const location = answer.headers['location']
        if (typeof location !== 'string' || !location.startsWith('http://localhost:8080/')) return answer
        answer = await browser.send(location.slice('http://localhost:8080'.length))
      }
      assert.fail('too many redirects')
    }

    /** Requests authorization; returns the parameters that the provider gets. */
    async function ask(browser: Browser, query: Strings = {}): Promise<URLSearchParams> {
      const sent = await follow(browser, await browser.send('/oauth/authorize', { query: { ...REQUEST, ...query } }))
      const location = sent.location()
      assert.equal(location.origin, upstream.url, location.href)
      return location.searchParams
    }

    /** Returns from the provider; the first answer. */
    function returnFrom(browser: Browser, asked: URLSearchParams, claims: Claims): Promise<TestAnswer> {
      upstream.nonce = asked.get('nonce') ?? ''
      upstream.answer = () => upstream.usual(claims)
      const query = { code: 'c', state: asked.get('state') ?? '' }
      return browser.send('/login/callback/corp', { query })
    }

    /** Returns from the provider and follows redirects; the last answer. */
    async function comeBack(browser: Browser, asked: URLSearchParams, claims: Claims): Promise<TestAnswer> {
      return follow(browser, await returnFrom(browser, asked, claims))
    }

    async function redeem(answer: TestAnswer): Promise<{ idToken: Claims; accessToken: Claims; refreshToken: string }> {
      const code = answer.location().searchParams.get('code') ?? ''
      const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
      const answered = await server.token(form, { basic: ['fresh', 'x'] })
      const { id_token: idToken, access_token: accessToken, refresh_token: refreshToken } = tokensOf(answered)
      return {
        idToken: decodeJwt(idToken ?? ''),
        accessToken: decodeJwt(accessToken),
        refreshToken: refreshToken ?? '',
      }
    }

    // Covers ID token: acr
    // Covers refresh token: acr
    // Partly covers shadow users: amr and acr of the source
    // Covers compatibility: tokens and userinfo: T2 acr
    it('returns the acr of the provider in the ID token, also after a refresh', async () => {
      const browser = server.browser()
      const answer = await comeBack(browser, await ask(browser), { acr: 'urn:mfa', amr: ['otp'] })
      const { idToken, refreshToken } = await redeem(answer)
      const want = mode === 'standard' ? 'urn:mfa' : { values: ['urn:mfa'] }
      assert.deepEqual(idToken['acr'], want)
      assert.deepEqual(idToken['amr'], ['otp', 'ext', 'oauth'])
      const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
      const refreshed = (await server.token(form, { basic: ['fresh', 'x'] })).json<{ id_token: string }>()
      assert.deepEqual(decodeJwt<Claims>(refreshed.id_token)['acr'], want)
    })

    it('returns acr 1 if the provider sends none, and no acr in uaa', async () => {
      const browser = server.browser()
      const { idToken } = await redeem(await comeBack(browser, await ask(browser), {}))
      assert.equal(idToken['acr'], mode === 'standard' ? '1' : undefined)
    })

    it('uses auth_time of the provider in standard; the last logon is now', async () => {
      const browser = server.browser()
      const before = now() - 3600
      const { idToken } = await redeem(await comeBack(browser, await ask(browser), { auth_time: before }))
      assert.equal(idToken['auth_time'], mode === 'standard' ? before : now())
      const user = await server.store.users.findByExternalId('svc', 'corp', 'pat')
      assert.deepEqual(user?.lastLogonAt, clock.now())
    })

    it('omits auth_time if the provider does; in uaa it is the time of the return', async () => {
      const browser = server.browser()
      const { idToken, accessToken } = await redeem(await comeBack(browser, await ask(browser), {}))
      const want = mode === 'standard' ? undefined : now()
      assert.deepEqual([idToken['auth_time'], accessToken['auth_time']], [want, want])
    })

    it('passes acr_values, ui_locales, login_hint and max_age to the provider in standard', async () => {
      const query = { acr_values: 'urn:mfa', ui_locales: 'de', login_hint: 'pat@corp.example', max_age: '300' }
      const asked = await ask(server.browser(), query)
      const reported = ['acr_values', 'ui_locales', 'login_hint', 'max_age'].map(name => asked.get(name))
      const values = ['urn:mfa', 'de', 'pat@corp.example', '300']
      assert.deepEqual(reported, mode === 'standard' ? values : [null, null, null, null])
    })

    for (const hint of [JSON.stringify({ origin: 'corp' }), 'corp', 'corp.example']) {
      it(`does not pass the provider’s own login_hint ${hint}`, async () => {
        assert.equal((await ask(server.browser(), { login_hint: hint })).get('login_hint'), null)
      })
    }

    if (mode === 'standard') {
      it('requires re-authentication at the provider for prompt=login, even without a session', async () => {
        const browser = server.browser()
        const asked = await ask(browser, { prompt: 'login' })
        assert.equal(asked.get('prompt'), 'login')
        const refused = await comeBack(browser, asked, { auth_time: now() - 3600 })
        assert.equal(refused.status, 403)
        assert.match(refused.text, /did not ask you to sign in again/)
      })

      for (const [name, claims] of [
        ['5 seconds ago', () => ({ auth_time: now() - 5 })],
        ['unknown', () => ({})],
      ] as const) {
        it(`accepts prompt=login for auth_time ${name}`, async () => {
          const browser = server.browser()
          const { idToken } = await redeem(await comeBack(browser, await ask(browser, { prompt: 'login' }), claims()))
          assert.ok(now() - Number(idToken['auth_time']) <= 5)
        })
      }

      it('accepts a sign-in within max_age', async () => {
        const browser = server.browser()
        const at = now() - 200
        const { idToken } = await redeem(
          await comeBack(browser, await ask(browser, { max_age: '300' }), { auth_time: at }),
        )
        assert.equal(idToken['auth_time'], at)
      })

      for (const [name, claims] of [
        ['older than that', () => ({ auth_time: now() - 400 })],
        ['unknown', () => ({})],
      ] as const) {
        it(`refuses max_age for auth_time ${name}`, async () => {
          const browser = server.browser()
          const refused = await comeBack(browser, await ask(browser, { max_age: '300' }), claims())
          assert.equal(refused.status, 403)
          assert.match(refused.text, /did not ask you to sign in again/)
          const { headers } = await browser.send('/oauth/authorize', { query: { ...REQUEST, prompt: 'none' } })
          assert.match(String(headers['location']), /error=login_required/)
        })
      }

      it('requires a new sign-in for max_age if auth_time is unknown', async () => {
        const browser = server.browser()
        await comeBack(browser, await ask(browser), {})
        const silent = { ...REQUEST, prompt: 'none', max_age: '60' }
        const { headers } = await browser.send('/oauth/authorize', { query: silent })
        assert.match(String(headers['location']), /error=login_required/)
        const asked = await ask(browser, { max_age: '60' })
        assert.equal(asked.get('prompt'), 'login')
        const { idToken } = await redeem(await comeBack(browser, asked, {}))
        assert.equal(idToken['auth_time'], now())
        const again = await browser.send('/oauth/authorize', { query: silent })
        assert.ok(again.location().searchParams.get('code'))
      })

      for (const [demand, other] of [
        [{ prompt: 'login' }, { auth_time: 0 }],
        [{ max_age: '300' }, { auth_time: 0 }],
        [{ prompt: 'login' }, {}],
        [{ max_age: '300' }, {}],
      ] satisfies (readonly [Strings, Claims])[]) {
        const named = `${JSON.stringify(demand)} of an earlier pushed request: ${JSON.stringify(other)}`
        it(`asks the provider again if the session does not meet ${named}`, async () => {
          const browser = server.browser()
          const form = { ...REQUEST, ...demand }
          const { request_uri: uri = '' } = (
            await server.send('/oauth/par', { form, basic: ['fresh', 'x'] })
          ).json<Strings>()
          const query = { client_id: 'fresh', request_uri: uri }
          const first = (await follow(browser, await browser.send('/oauth/authorize', { query }))).location()
          const leads = (await returnFrom(browser, first.searchParams, { auth_time: now() })).location()
          await browser.send('/logout.do', { query: { redirect: 'http://localhost:8080/login' } })
          clock.advance(10)
          // Another tab requests less, and the provider does not re-authenticate the user.
          await comeBack(browser, await ask(browser), other)
          const asked = (await follow(browser, await browser.send(leads.pathname + leads.search))).location()
          assert.equal(asked.origin, upstream.url, asked.href)
          assert.equal(asked.searchParams.get('prompt'), 'login')
          const { idToken } = await redeem(await comeBack(browser, asked.searchParams, { auth_time: now() }))
          assert.equal(idToken['auth_time'], now())
        })
      }

      for (const demand of [{ prompt: 'login' }, { max_age: '60' }] satisfies Strings[]) {
        it(`asks the provider again if the page of an older tab was to meet ${JSON.stringify(demand)}`, async () => {
          const browser = server.browser()
          const query = { ...REQUEST, client_id: 'tabs' }
          const linkOn = (page: TestAnswer): string =>
            /href="([^"]*\/login\/external\/corp[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ??
            assert.fail(page.text)
          const older = await browser.send('/oauth/authorize', { query: { ...query, ...demand } })
          const link = linkOn(await follow(browser, older))
          await follow(browser, await browser.send('/oauth/authorize', { query }))
          const first = await follow(browser, await browser.send(link))
          const again = await comeBack(browser, first.location().searchParams, { auth_time: now() - 10_800 })
          const asked = (await follow(browser, await browser.send(linkOn(again)))).location().searchParams
          assert.equal(asked.get('prompt'), 'login')
          const refused = await comeBack(browser, asked, { auth_time: now() - 10_800 })
          assert.equal(refused.status, 403)
          const anew = (await follow(browser, await browser.send(linkOn(again)))).location().searchParams
          const answer = await comeBack(browser, anew, { auth_time: now() })
          assert.ok(answer.location().searchParams.get('code'))
        })
      }

      it('asks the provider again if the session is older than max_age, then continues', async () => {
        const browser = server.browser()
        await comeBack(browser, await ask(browser), { auth_time: now() - 3600 })
        const asked = await ask(browser, { max_age: '300' })
        assert.equal(asked.get('prompt'), 'login')
        const { idToken } = await redeem(await comeBack(browser, asked, { auth_time: now() }))
        assert.equal(idToken['auth_time'], now())
      })
    } else {
      it('counts max_age from the return, regardless of auth_time', async () => {
        for (const claims of [{}, { auth_time: now() - 3600 }]) {
          const browser = server.browser()
          await comeBack(browser, await ask(browser), claims)
          clock.advance(10)
          const answer = await browser.send('/oauth/authorize', { query: { ...REQUEST, max_age: '60' } })
          const { idToken } = await redeem(answer)
          assert.equal(idToken['auth_time'], now() - 10)
        }
      })

      it('accepts max_age and prompt=login, regardless of auth_time', async () => {
        for (const query of [{ prompt: 'login' }, { max_age: '0' }] satisfies Strings[]) {
          const browser = server.browser()
          await comeBack(browser, await ask(browser), { auth_time: now() - 3600 })
          const asked = await ask(browser, query)
          const { idToken } = await redeem(await comeBack(browser, asked, { auth_time: now() - 3600 }))
          assert.equal(idToken['auth_time'], now())
        }
      })
    }

    it('returns the acr of the provider for the password grant', async () => {
      upstream.answer = () => upstream.usual({ nonce: undefined, acr: 'urn:pwd' })
      const form = { grant_type: 'password', username: 'pat', password: 'p', login_hint: '{"origin":"corp"}' }
      const answer = await server.token({ ...form, scope: 'openid' }, { basic: ['app', 'app-secret'] })
      const minimal = await server.token({ ...form, scope: 'openid' }, { basic: ['minimal', 'x'] })
      for (const tokens of [answer, minimal]) {
        const { acr } = decodeJwt<Claims>(tokens.json<{ id_token: string }>().id_token)
        assert.deepEqual(acr, mode === 'standard' ? 'urn:pwd' : { values: ['urn:pwd'] })
      }
    })
  })
}

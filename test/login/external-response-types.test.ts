// Upstream responses with tokens on the front channel (OpenID Connect Core §3.2 and §3.3).
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { RELYING_PARTY, unsigned } from '../support/oidc-provider.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { startUpstream, upstreamRecord } from '../support/upstream.ts'

type Strings = Readonly<Record<string, string>>
type Claims = Readonly<Record<string, unknown>>

const half = (text: string): string => hash('sha256', text, 'buffer').subarray(0, 16).toString('base64url')
const POSTED_AGAIN = { posted_again: 'true' }

for (const mode of MODES) {
  describe(`Upstream implicit and hybrid flow in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      Object.assign(upstream.metadata, { response_modes_supported: ['query', 'form_post'] })
      const record = (originKey: string, responseType: string, config: Claims = {}) =>
        upstreamRecord(upstream, originKey, { responseType, showLinkText: false, ...config })
      const discovered = {
        authUrl: null,
        tokenUrl: null,
        tokenKeyUrl: null,
        issuer: null,
        discoveryUrl: `${upstream.url}/.well-known/openid-configuration`,
      }
      const identity_providers = [
        record('implicit', 'id_token'),
        record('both', 'id_token token'),
        record('hybrid', 'code id_token'),
        record('posting', 'id_token', discovered),
      ]
      server = await startServer({ mode, clock, config: { bootstrap: { ...defaultBootstrap, identity_providers } } })
    })
    beforeEach(() => {
      upstream.requests.length = 0
      upstream.answer = () => upstream.usual()
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    /** Starts a sign-in; returns the parameters that the provider gets. */
    async function begin(origin: string): Promise<{ browser: Browser; asked: URLSearchParams; state: string }> {
      const browser = server.browser()
      const { searchParams: asked } = (await browser.send(`/login/external/${origin}`)).location()
      upstream.nonce = asked.get('nonce') ?? ''
      return { browser, asked, state: asked.get('state') ?? '' }
    }
    const token = (claims: Claims = {}, header: Claims = {}): Promise<string> =>
      upstream.token({ iss: upstream.url, nonce: upstream.nonce, ...claims }, header)
    const post = (browser: Browser, origin: string, form: Strings): Promise<TestAnswer> =>
      browser.send(`/login/callback/${origin}`, { form: { ...POSTED_AGAIN, ...form } })
    const isSignedIn = async (browser: Browser): Promise<boolean> =>
      String((await browser.send('/profile')).headers['location'] ?? '') === ''

    // Covers redirect to the OIDC provider: response_type
    it('sends response_type, and code_challenge only if a code is requested', async () => {
      const { asked } = await begin('implicit')
      assert.deepEqual([asked.get('response_type'), asked.get('code_challenge')], ['id_token', null])
      assert.ok(asked.get('nonce'))
      assert.equal(asked.get('response_mode'), null)
      assert.ok((await begin('hybrid')).asked.get('code_challenge'))
    })

    it('requests form_post if the provider supports it', async () => {
      assert.equal((await begin('posting')).asked.get('response_mode'), 'form_post')
    })

    // Covers page login_implicit: reposts the fragment
    it('posts the fragment back by a script', async () => {
      const { browser, state } = await begin('implicit')
      const page = await browser.send('/login/callback/implicit')
      assert.equal(page.status, 200)
      assert.match(page.text, /data-fields="state code id_token access_token error iss"/)
      assert.match(page.text, /<script src="[^"]*fragment-post\.js[^"]*"><\/script>/)
      assert.doesNotMatch(page.text, /<script>/)
      assert.equal((await post(browser, 'implicit', { state, id_token: await token() })).status, 302)
      assert.ok(await isSignedIn(browser))
    })

    // Covers any /login/callback/{origin}: id_token
    it('accepts form_post, without a token in any URL', async () => {
      const { browser, state } = await begin('posting')
      // Its metadata announces `iss`, which is in the token already.
      const form = { state, id_token: await token() }
      // A cross-site POST carries no cookies.
      const page = await server.send('/login/callback/posting', { form })
      assert.equal(page.status, 200)
      assert.equal(page.headers['location'], undefined)
      assert.match(page.text, /name="posted_again" value="true"/)
      assert.equal((await post(browser, 'posting', form)).status, 302)
      assert.ok(await isSignedIn(browser))
    })

    // Covers any /login/callback/{origin}: access_token
    it('accepts an access token that matches at_hash', async () => {
      const { browser, state } = await begin('both')
      const form = { state, id_token: await token({ at_hash: half('at') }), access_token: 'at' }
      assert.equal((await post(browser, 'both', form)).status, 302)
      assert.ok(await isSignedIn(browser))
    })

    it('redeems a code that matches c_hash', async () => {
      const { browser, state } = await begin('hybrid')
      const form = { state, id_token: await token({ c_hash: half('c') }), code: 'c' }
      assert.equal((await post(browser, 'hybrid', form)).status, 302)
      assert.ok(await isSignedIn(browser))
      assert.equal(upstream.requests.length, 1)
    })

    const refusals: readonly { name: string; origin: string; form: () => Promise<Strings> }[] = [
      { name: 'no token', origin: 'implicit', form: async () => ({}) },
      { name: 'a code instead', origin: 'implicit', form: async () => ({ code: 'c' }) },
      { name: 'another nonce', origin: 'implicit', form: async () => ({ id_token: await token({ nonce: 'other' }) }) },
      { name: 'no nonce', origin: 'implicit', form: async () => ({ id_token: await token({ nonce: undefined }) }) },
      { name: 'another issuer', origin: 'implicit', form: async () => ({ id_token: await token({ iss: 'x' }) }) },
      { name: 'another audience', origin: 'implicit', form: async () => ({ id_token: await token({ aud: 'x' }) }) },
      { name: 'no sub', origin: 'implicit', form: async () => ({ id_token: await token({ sub: undefined }) }) },
      { name: 'an expired token', origin: 'implicit', form: async () => ({ id_token: await token({ exp: 1 }) }) },
      { name: 'an unknown key', origin: 'implicit', form: async () => ({ id_token: await token({}, { kid: 'x' }) }) },
      {
        name: 'no signature',
        origin: 'implicit',
        form: async () => ({
          id_token: unsigned(
            { alg: 'none' },
            { iss: upstream.url, aud: RELYING_PARTY, sub: 'pat', nonce: upstream.nonce, exp: 9e9 },
          ),
        }),
      },
      {
        name: 'an access token without at_hash',
        origin: 'both',
        form: async () => ({ id_token: await token(), access_token: 'at' }),
      },
      {
        name: 'an access token that does not match at_hash',
        origin: 'both',
        form: async () => ({ id_token: await token({ at_hash: half('other') }), access_token: 'at' }),
      },
      { name: 'a code without c_hash', origin: 'hybrid', form: async () => ({ id_token: await token(), code: 'c' }) },
      {
        name: 'a code that does not match c_hash',
        origin: 'hybrid',
        form: async () => ({ id_token: await token({ c_hash: half('d') }), code: 'c' }),
      },
      { name: 'a code without the requested ID token', origin: 'hybrid', form: async () => ({ code: 'c' }) },
      {
        name: 'an ID token without the requested code',
        origin: 'hybrid',
        form: async () => ({ id_token: await token({ c_hash: half('') }) }),
      },
      {
        name: 'two ID tokens of different users',
        origin: 'hybrid',
        form: async () => ({ id_token: await token({ sub: 'other', c_hash: half('c') }), code: 'c' }),
      },
      {
        name: 'iss of another issuer',
        origin: 'posting',
        form: async () => ({ id_token: await token(), iss: 'x' }),
      },
      { name: 'an error', origin: 'implicit', form: async () => ({ error: 'access_denied', id_token: await token() }) },
    ]
    for (const { name, origin, form } of refusals) {
      it(`refuses sign-in with ${name}`, async () => {
        const { browser, state } = await begin(origin)
        await post(browser, origin, { state, ...(await form()) })
        assert.ok(!(await isSignedIn(browser)))
      })
    }

    it('accepts a response once, bound to browser, provider and state', async () => {
      const { browser, state } = await begin('implicit')
      const form = { state, id_token: await token() }
      const stranger = server.browser()
      await stranger.send('/login')
      for (const [who, origin, given] of [
        [stranger, 'implicit', form],
        [browser, 'both', form],
        [browser, 'implicit', { ...form, state: 'x' }],
      ] as const) {
        await post(who, origin, given)
        assert.ok(!(await isSignedIn(who)))
      }
      assert.equal((await post(browser, 'implicit', form)).status, 302)
      assert.ok(await isSignedIn(browser))
      const again = await post(browser, 'implicit', form)
      assert.ok(again.status === 400 || String(again.headers['location']).endsWith('/oauth_error'))
    })
  })
}

// OpenID Connect Back-Channel Logout, requested by an upstream provider.
import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { digest } from '../../src/base/secrets.ts'
import { OAuthError } from '../../src/model/oauth-error.ts'
import { providerSessionOf } from '../../src/model/sessions/session.ts'
import { AUTO_REQUEST, Z1_HOST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { CORP, createOidcProvider, RELYING_PARTY } from '../support/oidc-provider.ts'
import type { OidcProvider } from '../support/oidc-provider.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

type Claims = Readonly<Record<string, unknown>>

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
const DISCOVERY = '/.well-known/openid-configuration'

const bootstrapWith = (upstream: Upstream, other: OidcProvider) => ({
  ...authorizeBootstrap,
  identity_providers: [
    upstreamRecord(upstream, 'corp'),
    upstreamRecord(upstream, 'twin'),
    upstreamRecord(upstream, 'other', { issuer: CORP, tokenKey: other.jwks, tokenKeyUrl: undefined }),
    { ...upstreamRecord(upstream, 'off'), active: false },
    upstreamRecord(upstream, 'lost', { issuer: undefined, discoveryUrl: `${upstream.url}/nowhere${DISCOVERY}` }),
    { ...upstreamRecord(upstream, 'plain'), type: 'oauth2.0' },
  ],
  identity_zones: authorizeBootstrap.identity_zones.map(zone =>
    zone.id === 'z1'
      ? { ...zone, bootstrap: { ...zone.bootstrap, identity_providers: [upstreamRecord(upstream, 'corp')] } }
      : zone,
  ),
})

for (const mode of MODES) {
  describe(`POST /login/backchannel_logout/:origin in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let other: OidcProvider
    let server: TestServer
    let count = 0
    before(async () => {
      upstream = await startUpstream(clock)
      other = await createOidcProvider(clock, { kid: 'other-1' })
      server = await startServer({ mode, clock, config: { bootstrap: bootstrapWith(upstream, other) } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    /** A logout token of `corp` about `pat`; an undefined claim is left out. */
    const logoutToken = (claims: Claims = {}, header: Claims = { typ: 'logout+jwt' }, by: OidcProvider = upstream) => {
      count += 1
      const usual = { iss: upstream.url, aud: RELYING_PARTY, jti: `jti-${count}`, events: EVENTS, email: undefined }
      return by.token({ ...usual, ...claims }, header)
    }

    const post = (token: string, { origin = 'corp', host = 'localhost:8080' } = {}): Promise<TestAnswer> =>
      server.send(`/login/backchannel_logout/${origin}`, { method: 'POST', form: { logout_token: token }, host })

    async function accepted(token: string, to = {}): Promise<void> {
      const { status, text, headers } = await post(token, to)
      assert.deepEqual([status, text, headers['cache-control']], [200, '', 'no-store'])
    }

    async function signIn(claims: Claims = {}, origin = 'corp', browser = server.browser()): Promise<Browser> {
      await signInUpstream(browser, upstream, { origin, claims })
      assert.equal(await isSignedIn(browser), true)
      return browser
    }

    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

    const codeOf = async (browser: Browser): Promise<string> =>
      responseOf(await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })).query['code'] ?? ''

    const redeem = (code: string): Promise<TestAnswer> =>
      server.token(
        { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
        { basic: ['auto', 'auto-secret'] },
      )

    interface Tokens {
      readonly access_token: string
      readonly refresh_token: string
    }
    const tokensOf = async (browser: Browser): Promise<Tokens> =>
      (await redeem(await codeOf(browser))).json<Tokens & Record<string, unknown>>()

    const refresh = async ({ refresh_token: value }: Tokens): Promise<number> => {
      const form = { grant_type: 'refresh_token', refresh_token: value }
      return (await server.token(form, { basic: ['auto', 'auto-secret'] })).status
    }
    const isGood = async ({ access_token: bearer }: Tokens): Promise<boolean> =>
      (await server.send('/userinfo', { bearer })).status === 200

    describe('with a sid', () => {
      // Covers POST /login/backchannel_logout/{origin}: `logout_token` with `sid`
      // Covers later standards: back-channel logout, from providers
      it('ends only the session of the sid, with its codes and tokens', async () => {
        const [one, two] = [await signIn({ sid: 's-1' }), await signIn({ sid: 's-2' })]
        const [ofOne, ofTwo] = [await tokensOf(one), await tokensOf(two)]
        const [codeOfOne, codeOfTwo] = [await codeOf(one), await codeOf(two)]
        await accepted(await logoutToken({ sub: undefined, sid: 's-1' }))
        assert.deepEqual([await isSignedIn(one), await isSignedIn(two)], [false, true])
        assert.deepEqual([(await redeem(codeOfOne)).status, (await redeem(codeOfTwo)).status], [400, 200])
        assert.equal(await isGood(ofTwo), true)
        // In uaa an access token does not name its grant, and stays valid until it expires.
        assert.equal(await isGood(ofOne), mode === 'uaa')
        assert.deepEqual([await refresh(ofOne), await refresh(ofTwo)], [mode === 'uaa' ? 401 : 400, 200])
        const event = server.events.findLast(({ type }) => type === 'SessionsEndedEvent')
        assert.equal(event?.origin, 'corp')
        assert.equal(event?.byOther, true)
      })

      it('ends the passcode of the user, which the session may have got', async () => {
        const [one, other] = [await signIn({ sid: 's-code' }), await signIn({ sub: 'kim', sid: 's-kim' })]
        const passcodeOf = async (browser: Browser): Promise<string> =>
          JSON.parse((await browser.send('/passcode', { headers: { accept: 'application/json' } })).text) as string
        const statusOf = async (passcode: string): Promise<number> =>
          (await server.token({ grant_type: 'password', passcode }, { basic: ['app', 'app-secret'] })).status
        const [ofOne, ofOther] = [await passcodeOf(one), await passcodeOf(other)]
        await accepted(await logoutToken({ sub: undefined, sid: 's-code' }))
        assert.notEqual(await statusOf(ofOne), 200)
        assert.equal(await statusOf(ofOther), 200)
      })

      it('revokes a token that is stored concurrently', async () => {
        const tokens = await tokensOf(await signIn({ sid: 'late' }))
        const idDigest = digest(tokens.refresh_token)
        const stored = await server.store.tokens.find('svc', idDigest)
        assert.ok(stored)
        await server.store.tokens.delete('svc', idDigest) // as before it is stored
        await accepted(await logoutToken({ sub: undefined, sid: 'late' }))
        await server.store.tokens.insert('svc', stored)
        assert.equal(await refresh(tokens), mode === 'uaa' ? 401 : 400)
      })

      it('accepts a repeated token if the first attempt failed', async () => {
        const browser = await signIn({ sid: 'halfway' })
        const tokens = await tokensOf(browser)
        const gone = () => Promise.reject(new OAuthError('invalid_request', 'gone'))
        const token = await logoutToken({ sub: undefined, sid: 'halfway' })
        const broken = mock.method(server.store.codes, 'deleteOfSessions', gone)
        assert.equal((await post(token)).status, 400)
        broken.mock.restore()
        await accepted(token)
        assert.equal((await post(token)).json()['error_description'], 'The logout token was already used.')
        assert.equal(await isSignedIn(browser), false)
        assert.equal(await refresh(tokens), mode === 'uaa' ? 401 : 400)
      })

      it('revokes a code that is issued during the logout', async () => {
        const browser = await signIn({ sid: 'meanwhile' })
        const { store } = server
        const codes: string[] = []
        await codeOf(browser)
        const find = store.tokens.listOfUser.bind(store.tokens)
        const slow = mock.method(store.tokens, 'listOfUser', async (...of: Parameters<typeof find>) => {
          const found = await find(...of)
          if (codes.length === 0) codes.push(await codeOf(browser))
          return found
        })
        await accepted(await logoutToken({ sub: undefined, sid: 'meanwhile' }))
        slow.mock.restore()
        assert.equal((await redeem(codes[0] ?? '')).status, 400)
      })

      it('revokes JWT refresh tokens', async () => {
        const set = async (refreshTokenFormat: 'jwt' | 'opaque') => {
          const zone = await server.store.zones.find('svc')
          assert.ok(zone)
          await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy: { refreshTokenFormat } } })
        }
        await set('jwt')
        const [one, two] = [await signIn({ sid: 'j-1' }), await signIn({ sid: 'j-2' })]
        const [ofOne, ofTwo] = [await tokensOf(one), await tokensOf(two)]
        assert.match(ofOne.refresh_token, /^ey/)
        await accepted(await logoutToken({ sub: undefined, sid: 'j-1' }))
        assert.deepEqual([await refresh(ofOne), await refresh(ofTwo)], [mode === 'uaa' ? 401 : 400, 200])
        await set('opaque')
      })

      it('ends the session only if sub matches, too', async () => {
        const browser = await signIn({ sid: 's-3' })
        await accepted(await logoutToken({ sub: 'kim', sid: 's-3' }))
        assert.equal(await isSignedIn(browser), true)
        await accepted(await logoutToken({ sub: 'pat', sid: 's-3' }))
        assert.equal(await isSignedIn(browser), false)
      })

      it('ends more than 200 sessions of one sid', async () => {
        const browser = await signIn({ sid: 's-many' })
        const many = { providerSession: providerSessionOf('corp', 's-many') }
        const { sessions, users } = server.store
        const pat = (await users.findByExternalId('svc', 'corp', 'pat')) ?? assert.fail()
        const [session] = await sessions.listOfProvider('svc', many, clock.now())
        assert.equal(session?.signIn?.userId, pat.id)
        for (let copy = 0; copy < 220; copy += 1) {
          await sessions.insert('svc', { ...session, idDigest: `${session.idDigest}-${copy}` })
        }
        await accepted(await logoutToken({ sub: undefined, sid: 's-many' }))
        assert.equal(await isSignedIn(browser), false)
        assert.deepEqual(await sessions.listOfProvider('svc', many, clock.now()), [])
      })

      it('finds the session of the sub among 100 others with the same sid', async () => {
        await signIn({ sub: 'kim', sid: '1' })
        const { sessions } = server.store
        const shared = { providerSession: providerSessionOf('corp', '1') }
        const ofKim = (await sessions.listOfProvider('svc', shared, clock.now()))[0] ?? assert.fail()
        for (let copy = 0; copy < 100; copy += 1) {
          await sessions.insert('svc', { ...ofKim, idDigest: `${ofKim.idDigest}-${copy}` })
        }
        const browser = await signIn({ sid: '1' })
        await accepted(await logoutToken({ sid: '1' }))
        assert.equal(await isSignedIn(browser), false)
        assert.equal((await sessions.listOfProvider('svc', shared, clock.now())).length, 100)
      })

      it('answers 200 to an unknown sid, and ends nothing', async () => {
        const browser = await signIn({ sid: 's-4' })
        await accepted(await logoutToken({ sid: 'S-4' }))
        assert.equal(await isSignedIn(browser), true)
      })
    })

    describe('with a sub', () => {
      // Covers POST /login/backchannel_logout/{origin}: `logout_token` with `sub`
      it('ends all sessions and tokens of this account only', async () => {
        const [one, two, kim] = [await signIn(), await signIn({ sid: 's-5' }), await signIn({ sub: 'kim' })]
        const [ofOne, ofKim] = [await tokensOf(one), await tokensOf(kim)]
        const mine = await signedIn(server)
        await accepted(await logoutToken({ sub: 'pat' }))
        const signedInNow = await Promise.all([one, two, kim, mine].map(isSignedIn))
        assert.deepEqual(signedInNow, [false, false, true, true])
        assert.deepEqual([await isGood(ofOne), await isGood(ofKim)], [false, true])
        assert.notEqual(await refresh(ofOne), 200)
        assert.equal(await isSignedIn(await signIn()), true)
      })

      it('keeps accounts with the same sub at another provider or in another zone', async () => {
        const twin = await signIn({ sid: 's-6' }, 'twin')
        const abroad = await signIn({ sid: 's-6' }, 'corp', server.browser(Z1_HOST))
        await accepted(await logoutToken({ sub: 'pat' }))
        await accepted(await logoutToken({ sub: undefined, sid: 's-6' }))
        assert.deepEqual([await isSignedIn(twin), await isSignedIn(abroad)], [true, true])
        await accepted(await logoutToken({ sub: 'pat' }), { host: Z1_HOST })
        assert.equal(await isSignedIn(abroad), false)
      })

      it('answers 200 for a user without an account', async () => {
        await accepted(await logoutToken({ sub: 'nobody' }))
      })
    })

    describe('accepts', () => {
      for (const [name, header] of [
        ['no typ', {}],
        ['typ JWT', { typ: 'JWT' }],
        ['typ application/logout+JWT', { typ: 'application/logout+JWT' }],
      ] as const) {
        it(`a token with ${name} in its header`, async () => {
          const browser = await signIn()
          await accepted(await logoutToken({ sub: 'pat' }, header))
          assert.equal(await isSignedIn(browser), false)
        })
      }
    })

    describe('refuses, without ending sessions,', () => {
      const seconds = (): number => Math.floor(clock.now().getTime() / 1000)
      const refused: readonly {
        readonly name: string
        readonly token: () => Promise<string> | string
        readonly to?: { readonly origin?: string; readonly host?: string }
      }[] = [
        { name: 'no token', token: () => '' },
        { name: 'a malformed JWT', token: () => 'a.b.c' },
        // Covers POST /login/backchannel_logout/{origin}: error: not a logout token
        { name: 'an ID token', token: () => upstream.token({ iss: upstream.url, nonce: 'n' }) },
        { name: 'no events', token: () => logoutToken({ events: undefined }) },
        { name: 'another event', token: () => logoutToken({ events: { 'https://other.example/event': {} } }) },
        {
          name: 'an event that is not an object',
          token: () => logoutToken({ events: { 'http://schemas.openid.net/event/backchannel-logout': true } }),
        },
        { name: 'a nonce', token: () => logoutToken({ nonce: 'n' }) },
        { name: 'a nonce that is null', token: () => logoutToken({ nonce: null }) },
        { name: 'neither sub nor sid', token: () => logoutToken({ sub: undefined }) },
        { name: 'a sub that is not a string', token: () => logoutToken({ sub: ['pat'] }) },
        { name: 'an empty sid', token: () => logoutToken({ sid: '' }) },
        { name: 'no jti', token: () => logoutToken({ jti: undefined }) },
        { name: 'a sub with a NUL character', token: () => logoutToken({ sub: 'a\0b' }) },
        { name: 'a sid with a lone surrogate', token: () => logoutToken({ sid: '\ud800' }) },
        { name: 'no iat', token: () => logoutToken({ iat: undefined }) },
        { name: 'no exp', token: () => logoutToken({ exp: undefined }) },
        { name: 'an expired token', token: () => logoutToken({ exp: seconds() }) },
        {
          name: 'an iat more than 5 minutes ago',
          token: () => logoutToken({ iat: seconds() - 301, exp: seconds() + 999 }),
        },
        { name: 'an iat in the future', token: () => logoutToken({ iat: seconds() + 61, exp: seconds() + 999 }) },
        { name: 'another audience', token: () => logoutToken({ aud: 'another' }) },
        { name: 'another issuer', token: () => logoutToken({ iss: CORP }) },
        { name: 'another type', token: () => logoutToken({}, { typ: 'at+jwt' }) },
        { name: 'the key of another provider', token: () => logoutToken({}, { typ: 'logout+jwt' }, other) },
        // Covers POST /login/backchannel_logout/{origin}: error: another provider
        { name: 'the token of another provider', token: () => logoutToken(), to: { origin: 'other' } },
        { name: 'an unknown provider', token: () => logoutToken(), to: { origin: 'nobody' } },
        { name: 'the internal provider', token: () => logoutToken(), to: { origin: 'svc' } },
        { name: 'an OAuth 2.0 provider', token: () => logoutToken(), to: { origin: 'plain' } },
        { name: 'an inactive provider', token: () => logoutToken(), to: { origin: 'off' } },
        { name: 'a provider without an issuer', token: () => logoutToken(), to: { origin: 'lost' } },
      ]
      for (const { name, token, to = {} } of refused) {
        it(name, async () => {
          const browser = await signIn()
          const answer = await post(await token(), to)
          assert.equal(answer.status, 400, answer.text)
          assert.equal(answer.json()['error'], 'invalid_request')
          assert.equal(answer.headers['cache-control'], 'no-store')
          assert.equal(await isSignedIn(browser), true)
        })
      }

      // Covers POST /login/backchannel_logout/{origin}: error: used before
      it('a token that was used before', async () => {
        const token = await logoutToken({ sub: 'kim', exp: seconds() + 3600 })
        await accepted(token)
        const browser = await signIn({ sub: 'kim' })
        for (const age of [0, 299, 300]) {
          clock.advance(age)
          assert.equal((await post(token)).status, 400)
        }
        assert.equal((await browser.send('/home')).status, 200)
      })

      it('a token of a provider whose record is changed or deleted meanwhile', async () => {
        const browser = await signIn()
        const { providers } = server.store
        const find = providers.findStored.bind(providers)
        const changing = mock.method(providers, 'findStored', async (...of: Parameters<typeof find>) => {
          const found = await find(...of)
          return found && { ...found, version: found.version + 1 }
        })
        assert.equal((await post(await logoutToken())).status, 400)
        changing.mock.restore()
        assert.equal(await isSignedIn(browser), true)
      })

      it('one of two concurrent uses of a token', async () => {
        const token = await logoutToken()
        const statuses = (await Promise.all([post(token), post(token)])).map(({ status }) => status)
        assert.deepEqual(new Set(statuses), new Set([200, 400]))
      })

      it('two tokens in one form, no form, or JSON', async () => {
        const path = '/login/backchannel_logout/corp'
        const form = `logout_token=${await logoutToken()}&logout_token=${await logoutToken()}`
        assert.equal((await server.send(path, { method: 'POST', form })).status, 400)
        assert.equal((await server.send(path, { method: 'POST' })).status, 400)
        const body = JSON.stringify({ logout_token: await logoutToken() })
        const headers = { 'content-type': 'application/json' }
        assert.ok([400, 415].includes((await server.send(path, { method: 'POST', body, headers })).status))
      })
    })
  })
}

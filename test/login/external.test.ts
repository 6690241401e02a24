import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { digest } from '../../src/base/secrets.ts'
import { StoreBusy } from '../../src/store/store.ts'
import { AUTO_REQUEST, authorize, authorizeBootstrap, requestOf } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { hiddenFields, setCookies, unescaped } from '../support/forms.ts'
import { MODES } from '../support/oauth.ts'
import { CORP, createOidcProvider, publicKeyAsSecret, RELYING_PARTY, unsigned } from '../support/oidc-provider.ts'
import { freePort } from '../support/free-port.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { TokenAnswer, Upstream } from '../support/upstream.ts'
import { startUpstream } from '../support/upstream.ts'

const SECRET = 'relying-party secret: 100% & more'

/** Settings of the provider record that a test changes. */
type Change = Readonly<Record<string, unknown>>

const record = (upstream: Upstream, originKey: string, config: Change = {}) => ({
  originKey,
  type: 'oidc1.0',
  name: 'Corp & Sons',
  config: {
    authUrl: `${upstream.url}/authorize?tenant=1`,
    tokenUrl: `${upstream.url}/token`,
    tokenKeyUrl: `${upstream.url}/keys`,
    issuer: upstream.url,
    relyingPartyId: RELYING_PARTY,
    relyingPartySecret: SECRET,
    linkText: 'Enter with Corp & Sons',
    ...config,
  },
})

const bootstrapWith = (upstream: Upstream) => ({
  ...authorizeBootstrap,
  clients: [
    ...authorizeBootstrap.clients,
    {
      client_id: 'ours',
      client_secret: 'x',
      authorized_grant_types: ['authorization_code'],
      scope: ['openid'],
      redirect_uri: ['https://ours.example/cb'],
      allowedproviders: ['svc'],
    },
  ],
  identity_providers: [
    record(upstream, 'corp', { emailDomain: ['corp.example'], userPropagationParameter: 'login_hint' }),
    record(upstream, 'found', {
      authUrl: undefined,
      tokenUrl: undefined,
      tokenKeyUrl: undefined,
      issuer: undefined,
      discoveryUrl: `${upstream.url}/.well-known/openid-configuration`,
      linkText: 'Found',
    }),
    record(upstream, 'body', {
      clientAuthInBody: true,
      linkText: 'Body',
      pkce: false,
      userPropagationParameter: 'username',
    }),
    record(upstream, 'bare', { relyingPartySecret: undefined, pkce: false, linkText: 'Bare' }),
    record(upstream, 'more', {
      scopes: ['openid', 'email'],
      linkText: 'More',
      additionalAuthzParameters: { acr_values: 'high' },
    }),
    record(upstream, 'closed', { addShadowUserOnLogin: false, linkText: 'Closed' }),
    record(upstream, 'hidden', { showLinkText: false, linkText: 'Hidden' }),
    record(upstream, 'lost', {
      authUrl: undefined,
      discoveryUrl: `${upstream.url}/nowhere`,
      linkText: 'Lost',
    }),
    record(upstream, 'script', { linkText: 'Script' }),
    record(upstream, 'tokens', { responseType: 'token', linkText: 'Tokens' }),
    { ...record(upstream, 'off', { linkText: 'Off' }), active: false },
    { originKey: 'old', type: 'oauth2.0', name: 'Old', config: { linkText: 'Old' } },
  ],
  identity_zones: authorizeBootstrap.identity_zones.map(zone =>
    zone.id === 'z1'
      ? { ...zone, bootstrap: { ...zone.bootstrap, identity_providers: [record(upstream, 'corp')] } }
      : zone,
  ),
})

/** Stores settings that validation would refuse: sign-in must ignore them, too. */
async function storeInvalidSettings(server: TestServer): Promise<void> {
  const additionalAuthzParameters = { acr_values: 'high', nonce: 'mine', client_id: 'mine', state: 'mine', odd: 7 }
  for (const [origin, config] of [
    ['script', { authUrl: 'javascript:alert(1)' }],
    ['more', { additionalAuthzParameters }],
  ] as const) {
    const provider = await server.store.providers.findByOrigin('svc', origin)
    assert.ok(provider)
    await server.store.providers.update('svc', { ...provider, config: { ...provider.config, ...config } })
  }
}

/** The query parameters of the redirect. */
const sentTo = (answer: TestAnswer): URLSearchParams => {
  assert.equal(answer.status, 302, answer.text)
  return answer.location().searchParams
}

for (const mode of MODES) {
  describe(`Sign-in at an OIDC provider in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      server = await startServer({ mode, clock, config: { bootstrap: bootstrapWith(upstream) } })
      await storeInvalidSettings(server)
    })
    beforeEach(() => {
      upstream.answer = () => upstream.usual()
      upstream.requests.length = 0
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    /** Starts a sign-in, and sets the nonce of the provider's next answer. */
    async function leave(browser: Browser, origin = 'corp'): Promise<URLSearchParams> {
      const sent = sentTo(await browser.send(`/login/external/${origin}`))
      upstream.nonce = sent.get('nonce') ?? ''
      return sent
    }

    const back = (
      browser: Pick<Browser, 'send'>,
      query: Readonly<Record<string, string>>,
      origin = 'corp',
    ): Promise<TestAnswer> => browser.send(`/login/callback/${origin}`, { query })

    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

    /** The status of a failure: in uaa always a redirect to the error page. */
    const failed = (status: number): number => (mode === 'uaa' ? 302 : status)
    const START = `http://localhost:8080${mode === 'uaa' ? '/home' : '/'}`

    /** Asserts an error page with the reason, and no session. */
    async function assertRefused(browser: Browser, answer: TestAnswer, status: number, words: RegExp): Promise<void> {
      if (mode === 'uaa') {
        // UAA: the same page for every failure, without a reason.
        assert.deepEqual([answer.status, answer.headers['location']], [302, 'http://localhost:8080/oauth_error'])
        const page = await browser.send('/oauth_error')
        assert.equal(page.status, 200)
        const heading = 'There was an error when authenticating against the external identity provider'
        assert.equal(/<h2[^>]*>([^<]*)</.exec(page.text)?.[1], heading)
        assert.equal(await isSignedIn(browser), false)
        return
      }
      assert.equal(answer.status, status, answer.text)
      assert.match(String(answer.headers['content-type']), /^text\/html/)
      assert.match(unescaped(answer.text), words)
      assert.match(answer.text, /You were not signed in/)
      assert.equal(answer.cookies['Current-User'] ?? '', '')
      assert.equal(await isSignedIn(browser), false)
    }

    describe('GET /login/external/{origin}', () => {
      // Covers configuration file: bootstrap.identity_providers[]: type oidc1.0
      // Partly covers GET /login: page: OAuth and OIDC links
      // Covers provider selection GET /login: unreachable discovery hides the link
      // Covers oidc and oauth provider config: linkText; showLinkText
      it('is linked on the sign-in page for each usable provider with showLinkText, in order', async () => {
        await server.send('/login/external/lost') // fails discovery
        const { text } = await server.send('/login')
        const links = [...text.matchAll(/<a class="saml-login-link[^"]*" href="([^"]*)">(?:<bdi>)?([^<]+)</g)]
        assert.deepEqual(
          links.map(([, url, name]) => [unescaped(name ?? ''), url]),
          [
            ['Bare', '/login/external/bare'],
            ['Body', '/login/external/body'],
            ['Closed', '/login/external/closed'],
            ['Enter with Corp & Sons', '/login/external/corp'],
            ['Found', '/login/external/found'],
            ['More', '/login/external/more'],
          ],
        )
        assert.equal(text.includes('<bdi>Bare'), mode === 'standard')
        assert.match(text, /login\.do/)
      })

      it('is not linked if the client does not allow the provider', async () => {
        const browser = server.browser()
        await authorize(browser, { ...AUTO_REQUEST, client_id: 'ours', redirect_uri: 'https://ours.example/cb' })
        const { text } = await browser.send('/login')
        assert.doesNotMatch(text, /saml-login-link/)
        assert.equal((await browser.send('/login/external/corp')).location().search, '?error=idp_not_found')
      })

      // Covers oidc and oauth provider config: authUrl
      // Covers redirect to the OIDC provider: client_id; redirect_uri
      it('requests a code with random state, nonce and code_challenge', async () => {
        const answer = await server.browser().send('/login/external/corp')
        const { origin, pathname, searchParams } = answer.location()
        assert.equal(origin + pathname, `${upstream.url}/authorize`)
        const { state, nonce, code_challenge: challenge, ...rest } = Object.fromEntries(searchParams)
        assert.deepEqual(rest, {
          tenant: '1',
          client_id: RELYING_PARTY,
          response_type: 'code',
          redirect_uri: 'http://localhost:8080/login/callback/corp',
          scope: 'openid',
          code_challenge_method: 'S256',
        })
        for (const value of [state, nonce, challenge]) assert.match(value ?? '', /^[\w-]{43}$/)
        assert.equal(new Set([state, nonce, challenge]).size, 3)
      })

      it('keeps its state in a sealed cookie for the callback path only', async () => {
        const cookies = setCookies(await server.browser().send('/login/external/corp'))
        const name = Object.keys(cookies).find(each => each.startsWith('svc-sign-in-')) ?? ''
        assert.match(
          cookies[name] ?? '',
          /^svc-sign-in-\d=v2\.[\w.-]+; Max-Age=600; Path=\/login\/callback; HttpOnly; SameSite=Lax$/,
        )
      })

      // Covers redirect to the OIDC provider: state; nonce
      it('creates new state, nonce and code_challenge each time', async () => {
        const browser = server.browser()
        const [first, second] = [await leave(browser), await leave(browser)]
        for (const name of ['state', 'nonce', 'code_challenge']) assert.notEqual(first.get(name), second.get(name))
      })

      // Covers oidc and oauth provider config: scopes
      // Partly covers oidc and oauth provider config: additionalAuthzParameters
      // Covers redirect to the OIDC provider: scope; additional parameters
      it('adds additionalAuthzParameters, but overrides no parameter of the protocol', async () => {
        const sent = await leave(server.browser(), 'more')
        assert.equal(sent.get('acr_values'), 'high')
        assert.equal(sent.get('client_id'), RELYING_PARTY)
        assert.notEqual(sent.get('state'), 'mine')
        assert.notEqual(sent.get('nonce'), 'mine')
        assert.equal(sent.has('odd'), false)
        assert.equal(sent.get('scope'), 'openid email')
      })

      // Covers provider selection GET /login: userPropagationParameter
      // Covers oidc and oauth provider config: userPropagationParameter
      it('sends the user name in userPropagationParameter', async () => {
        const query = { username: 'pat@corp.example' }
        const sent = async (origin: string, name: string) =>
          sentTo(await server.browser().send(`/login/external/${origin}`, { query })).get(name)
        assert.equal(await sent('corp', 'login_hint'), query.username)
        assert.equal(await sent('body', 'username'), query.username)
        assert.equal(await sent('found', 'login_hint'), null)
      })

      // Covers oidc and oauth provider config: pkce
      it('omits PKCE with pkce=false, but never without a client secret', async () => {
        assert.equal((await leave(server.browser(), 'body')).has('code_challenge'), false)
        assert.equal((await leave(server.browser(), 'bare')).has('code_challenge'), true)
      })

      it('passes prompt=login on in standard', async () => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        await authorize(browser, { ...AUTO_REQUEST, prompt: 'login' })
        assert.equal((await leave(browser)).get('prompt'), mode === 'standard' ? 'login' : null)
      })

      for (const origin of ['nowhere', 'svc', 'off', 'old', 'lost', 'script', 'tokens', '%00', '..%2F..%2Flogin']) {
        it(`answers idp_not_found for the origin ${origin}`, async () => {
          const answer = await server.browser().send(`/login/external/${origin}`)
          assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=idp_not_found')
        })
      }

      // Covers GET /oauth/authorize: login_hint; `login_hint` as an e-mail domain
      // Covers GET /login: login_hint
      it('is the redirect target of a login_hint', async () => {
        const browser = server.browser()
        await authorize(browser, { ...AUTO_REQUEST, login_hint: JSON.stringify({ origin: 'corp' }) })
        assert.match(String((await browser.send('/login')).headers['location']), /\/authorize\?tenant=1&client_id=/)
        const hinted = await server.browser().send('/login', { query: { login_hint: 'pat@corp.example' } })
        assert.equal(sentTo(hinted).get('login_hint'), mode === 'standard' ? 'pat@corp.example' : null)
      })

      it('redirects to the sign-in page if the provider of a login_hint is unusable', async () => {
        const answer = await server
          .browser()
          .send('/login', { query: { login_hint: JSON.stringify({ origin: 'lost' }) } })
        assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=idp_not_found')
      })
    })

    describe('GET /login/callback/{origin}', () => {
      // Covers any /login/callback/{origin}: code
      it('signs the user in with a new session id, and continues the request', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const earlier = browser.cookies.get(mode === 'standard' ? 'svc-session' : 'JSESSIONID')
        const sent = await leave(browser)
        upstream.answer = () => upstream.usual({ given_name: 'Pat', amr: ['otp'] })
        const answer = await back(browser, { code: 'a code', state: sent.get('state') ?? '' })
        assert.equal(answer.status, 302, answer.text)
        assert.match(
          String(answer.headers['location']),
          /^http:\/\/localhost:8080\/oauth\/authorize\?response_type=code&client_id=auto/,
        )
        assert.notEqual(browser.cookies.get(mode === 'standard' ? 'svc-session' : 'JSESSIONID'), earlier)
        assert.equal(
          [...browser.cookies.keys()].some(name => name.startsWith('svc-sign-in-')),
          false,
        )
        const user = await server.store.users.findByName('svc', 'corp', 'pat')
        assert.equal(user?.givenName, 'Pat')
        assert.equal(user.email, 'pat@corp.example')
        assert.ok(await isSignedIn(browser))
        const code = (await authorize(browser, AUTO_REQUEST)).location().searchParams.get('code') ?? ''
        const tokens = (
          await server.token(
            { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
            { basic: ['auto', 'auto-secret'] },
          )
        ).json<{ id_token: string }>()
        const claims = JSON.parse(Buffer.from(tokens.id_token.split('.')[1] ?? '', 'base64url').toString())
        assert.deepEqual(claims.amr, ['otp', 'ext', 'oauth'])
        assert.equal(claims.origin, 'corp')
        assert.deepEqual(
          server.events
            .slice(-4)
            .map(({ type }) => type)
            .filter(type => /Authentication/.test(type))
            .slice(0, 2),
          ['IdentityProviderAuthenticationSuccess', 'UserAuthenticationSuccess'],
        )
      })

      // Covers oidc and oauth provider config: tokenUrl; relyingPartyId
      // Covers redirect to the OIDC provider: code_challenge
      // Covers token exchange at the OIDC provider: Basic; code_verifier
      it('redeems the code at the token endpoint with PKCE and Basic authentication', async () => {
        const browser = server.browser()
        const sent = await leave(browser)
        await back(browser, { code: 'a +&code', state: sent.get('state') ?? '' })
        const [request, second] = upstream.requests
        assert.equal(second, undefined)
        const { code_verifier: verifier, ...form } = Object.fromEntries(request?.form ?? [])
        assert.deepEqual(form, {
          grant_type: 'authorization_code',
          code: 'a +&code',
          redirect_uri: 'http://localhost:8080/login/callback/corp',
          client_id: RELYING_PARTY,
        })
        assert.equal(digest(verifier ?? ''), sent.get('code_challenge'))
        const [id, secret] = atob((request?.headers.authorization ?? '').replace('Basic ', ''))
          .split(':')
          .map(decodeURIComponent)
        assert.deepEqual([id, secret], [RELYING_PARTY, SECRET])
        assert.equal(request?.headers.accept, 'application/json')
      })

      const authentications = [
        // Covers oidc and oauth provider config: clientAuthInBody
        // Covers token exchange at the OIDC provider: body
        { origin: 'body', wants: 'with the secret in the body', secret: SECRET, header: false, verifier: false },
        { origin: 'bare', wants: 'only with PKCE', secret: null, header: false, verifier: true },
        { origin: 'found', wants: 'with Basic', secret: null, header: true, verifier: true },
      ]
      for (const { origin, wants, secret, header, verifier } of authentications) {
        it(`authenticates at ${origin} ${wants}`, async () => {
          const browser = server.browser()
          const sent = await leave(browser, origin)
          const iss = origin === 'found' ? { iss: upstream.url } : undefined
          const answer = await back(browser, { code: 'c', state: sent.get('state') ?? '', ...iss }, origin)
          assert.equal(answer.headers['location'], START)
          const [request] = upstream.requests
          assert.equal(request?.form.get('client_secret') ?? null, secret)
          assert.equal(request?.headers.authorization !== undefined, header)
          assert.equal(request?.form.has('code_verifier'), verifier)
        })
      }

      for (const { area, name, call } of [
        { area: 'sessions', name: 'findWithUser', call: 0 },
        { area: 'assertions', name: 'use', call: 0 },
        { area: 'providers', name: 'findByOrigin', call: 2 }, // after those for the fields and the path of the answer
      ] as const) {
        it(`can be loaded again where the database was busy at ${area}.${name}, before the state was used`, async t => {
          const browser = server.browser()
          const query = { code: 'c', state: (await leave(browser)).get('state') ?? '' }
          const functions = server.store[area] as unknown as Record<string, () => Promise<never>> // of other types
          const { mock } = t.mock.method(functions, name)
          mock.mockImplementationOnce(() => Promise.reject(new StoreBusy('busy')), call)
          assert.equal((await back(browser, query)).status, 503)
          assert.equal((await back(browser, query)).headers['location'], START)
          assert.equal((await back(browser, query)).status, failed(400), 'once')
        })
      }

      it('continues up to eight tabs, each to its own target', async () => {
        const browser = server.browser()
        const away = async (tab: number) => {
          const query = { form_redirect_uri: `http://localhost:8080/home?tab=${tab}` }
          const sent = sentTo(await browser.send('/login/external/corp', { query }))
          return { tab, nonce: sent.get('nonce') ?? '', query: { code: 'c', state: sent.get('state') ?? '' } }
        }
        const tabs: Awaited<ReturnType<typeof away>>[] = []
        for (let tab = 1; tab <= 9; tab += 1) tabs.push(await away(tab))
        const [oldest, ...others] = tabs
        assert.equal((await back(browser, oldest?.query ?? {})).status, failed(400))
        for (const { tab, nonce, query } of others) {
          upstream.nonce = nonce
          const answer = await back(browser, query)
          assert.equal(answer.headers['location'], `http://localhost:8080/home?tab=${tab}`)
        }
      })

      it('refuses a deactivated account, and logs the reason', async () => {
        const browser = server.browser()
        await back(browser, { code: 'c', state: (await leave(browser)).get('state') ?? '' })
        const user = (await server.store.users.findByName('svc', 'corp', 'pat')) ?? assert.fail()
        await server.store.users.update('svc', { ...user, active: false })
        const start = server.refusals.length
        const other = server.browser()
        const answer = await back(other, { code: 'c', state: (await leave(other)).get('state') ?? '' })
        await assertRefused(other, answer, 403, /Your account cannot be used here\. Contact your administrator\./)
        assert.doesNotMatch(answer.text, /UAA|link or the application/)
        assert.match(server.refusals.slice(start).join('\n'), /sign-in at "corp": .*the account is not active/)
        await server.store.users.update('svc', { ...user, active: true })
      })

      it('keeps a long target in the session', async () => {
        const browser = server.browser()
        const place = `/home?x=${'y'.repeat(3000)}`
        const query = { form_redirect_uri: `http://localhost:8080${place}` }
        const sent = sentTo(await browser.send('/login/external/corp', { query }))
        upstream.nonce = sent.get('nonce') ?? ''
        for (const value of browser.cookies.values()) assert.ok(value.length < 1500)
        const answer = await back(browser, { code: 'c', state: sent.get('state') ?? '' })
        assert.equal(answer.headers['location'], `http://localhost:8080${place}`)
      })

      it('ignores a target on another host', async () => {
        const browser = server.browser()
        const query = { form_redirect_uri: 'https://evil.example/' }
        const sent = sentTo(await browser.send('/login/external/corp', { query }))
        upstream.nonce = sent.get('nonce') ?? ''
        const answer = await back(browser, { code: 'c', state: sent.get('state') ?? '' })
        assert.equal(answer.headers['location'], START)
      })

      it('redirects a posted response to itself', async () => {
        const browser = server.browser()
        const sent = await leave(browser)
        const state = sent.get('state') ?? ''
        const posted = await server.send('/login/callback/corp', { form: { code: 'c', state, magic: 'x' } })
        assert.equal(posted.status, 303)
        assert.equal(posted.headers['location'], `http://localhost:8080/login/callback/corp?state=${state}&code=c`)
        assert.equal((await browser.send(posted.location().pathname + posted.location().search)).status, 302)
        assert.ok(await isSignedIn(browser))
      })

      it('posts a response again from its own page if it is too long for a URL', async () => {
        const browser = server.browser()
        const state = (await leave(browser)).get('state') ?? ''
        const code = 'c'.repeat(9000)
        const posted = await server.send('/login/callback/corp', { form: { code, state, magic: 'x' } })
        assert.equal(posted.status, 200)
        assert.match(posted.text, /<form[^>]* action="http:\/\/localhost:8080\/login\/callback\/corp" method="post"/)
        const fields = [...posted.text.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)]
        const form = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]))
        assert.deepEqual(form, { state, code, posted_again: 'true' })
        const elsewhere = await server.send('/login/callback/corp', { form })
        assert.equal(elsewhere.status, mode === 'standard' ? 400 : 302)
        assert.equal((await browser.send('/login/callback/corp', { form })).headers['location'], START)
        assert.equal(upstream.requests.at(-1)?.form.get('code'), code)
        assert.ok(await isSignedIn(browser))
      })

      it('accepts a correct iss parameter', async () => {
        const browser = server.browser()
        const sent = await leave(browser)
        const answer = await back(browser, { code: 'c', state: sent.get('state') ?? '', iss: upstream.url })
        assert.equal(answer.status, 302, answer.text)
      })

      // Partly covers identity provider common config: addShadowUserOnLogin
      it('creates no account with addShadowUserOnLogin=false', async () => {
        const browser = server.browser()
        const sent = await leave(browser, 'closed')
        const answer = await back(browser, { code: 'c', state: sent.get('state') ?? '' }, 'closed')
        await assertRefused(browser, answer, 403, /The user account must be pre-created/)
      })
    })

    describe('state', () => {
      const lost = /started in another browser, has expired or is already complete/

      // Covers any /login/callback/{origin}: state
      it('can be used once', async () => {
        const browser = server.browser()
        const sent = await leave(browser)
        const query = { code: 'c', state: sent.get('state') ?? '' }
        const cookies = Object.fromEntries(browser.cookies)
        assert.equal((await back(browser, query)).status, 302)
        const again = server.browser()
        for (const [name, value] of Object.entries(cookies)) again.cookies.set(name, value)
        await assertRefused(again, await back(again, query), 400, lost)
        assert.equal(upstream.requests.length, 1)
      })

      it('can be used once after an error, and concurrently', async () => {
        const browser = server.browser()
        const state = (await leave(browser)).get('state') ?? ''
        const cookies = Object.fromEntries(browser.cookies)
        const answers = await Promise.all(
          [1, 2].map(() => server.send('/login/callback/corp', { query: { code: 'c', state }, cookies })),
        )
        const places = answers.map(({ headers }) => headers['location'])
        assert.equal(places.filter(place => place === START).length, 1)
        assert.deepEqual(
          answers.map(({ status }) => status).toSorted((a, b) => a - b),
          [302, failed(400)],
        )
        const other = server.browser()
        const declined = (await leave(other)).get('state') ?? ''
        const kept = Object.fromEntries(other.cookies)
        assert.equal((await back(other, { error: 'access_denied', state: declined })).status, failed(403))
        const replayed = await server.send('/login/callback/corp', {
          query: { code: 'c', state: declined },
          cookies: kept,
        })
        assert.equal(replayed.status, failed(400))
      })

      it('offers to continue after a repeated response', async () => {
        const browser = server.browser()
        const query = { code: 'c', state: (await leave(browser)).get('state') ?? '' }
        await back(browser, query)
        const answer = await back(browser, query)
        assert.equal(answer.status, failed(400))
        if (mode === 'standard') assert.match(answer.text, /Go to the start page/)
      })

      it('is valid for ten minutes', async () => {
        const browser = server.browser()
        const early = (await leave(browser)).get('state') ?? ''
        clock.advance(599)
        upstream.nonce = 'other'
        assert.equal(
          (await back(browser, { code: 'c', state: early })).status,
          failed(502),
          'the state is accepted, but the nonce is wrong',
        )
        const late = (await leave(browser)).get('state') ?? ''
        clock.advance(600)
        await assertRefused(browser, await back(browser, { code: 'c', state: late }), 400, lost)
      })

      it('is bound to the session', async () => {
        const browser = server.browser()
        const state = (await leave(browser)).get('state') ?? ''
        browser.cookies.delete(mode === 'standard' ? 'svc-session' : 'JSESSIONID')
        await assertRefused(browser, await back(browser, { code: 'c', state }), 400, lost)
      })

      describe('of another tab after a sign-in', () => {
        const cookie = mode === 'standard' ? 'svc-session' : 'JSESSIONID'

        /** Starts a sign-in for an authorization request of the client. */
        const leaving = async (browser: Browser, client: string, more = {}) => {
          const asked = await authorize(browser, { ...requestOf(client), ...more })
          const page = await browser.send(asked.location().pathname)
          const link = unescaped(/href="(\/login\/external\/corp[^"]*)"/.exec(page.text)?.[1] ?? '')
          const sent = sentTo(await browser.send(link))
          return { nonce: sent.get('nonce') ?? '', query: { code: 'c', state: sent.get('state') ?? '' } }
        }

        /** Returns from the provider as this user. */
        const comeBack = (browser: Browser, { nonce, query }: Awaited<ReturnType<typeof leaving>>, sub = 'up-1') => {
          upstream.nonce = nonce
          upstream.answer = () => upstream.usual({ sub })
          return back(browser, query)
        }

        it('continues for the same user, unless prompt=login was requested', async () => {
          const browser = server.browser()
          const [first, second] = [await leaving(browser, 'auto'), await leaving(browser, 'partly')]
          const forced = await leaving(browser, 'wild', { prompt: 'login' })
          assert.match(String((await comeBack(browser, first)).headers['location']), /client_id=auto&/)
          const session = browser.cookies.get(cookie)
          const events = server.events.length
          assert.match(String((await comeBack(browser, second)).headers['location']), /client_id=partly&/)
          const answer = await comeBack(browser, forced)
          // UAA: without a session, prompt=login requires no more than a sign-in.
          if (mode === 'uaa') assert.match(String(answer.headers['location']), /client_id=wild&/)
          else assert.equal(answer.status, 400)
          assert.equal(browser.cookies.get(cookie), session)
          assert.equal(server.events.length, events)
        })

        it('continues long requests, each in its own tab', async () => {
          const browser = server.browser()
          const state = 's'.repeat(1600)
          const tabs = [
            await leaving(browser, 'auto', { state }),
            await leaving(browser, 'partly', { state }),
            await leaving(browser, 'wild', { state }),
          ]
          const targets: string[] = []
          for (const tab of tabs) targets.push(String((await comeBack(browser, tab)).headers['location']))
          for (const [place, client] of ['auto', 'partly', 'wild'].entries()) {
            assert.match(targets[place] ?? '', new RegExp(`/oauth/authorize\\?.*client_id=${client}&.*state=s{1600}`))
          }
        })

        it('is not evicted by long requests from the same network', async () => {
          const browser = server.browser()
          const tab = await leaving(browser, 'auto')
          const other = server.browser()
          const form_redirect_uri = `http://localhost:8080/home?${'x'.repeat(1000)}`
          for (let count = 0; count < 500; count += 1) {
            await other.send('/login/external/corp', { query: { form_redirect_uri } })
          }
          assert.match(String((await comeBack(browser, tab)).headers['location']), /client_id=auto&/)
        })

        const others: readonly {
          name: string
          comeSecond: (browser: Browser, second: Awaited<ReturnType<typeof leaving>>) => Promise<TestAnswer>
        }[] = [
          { name: 'another user', comeSecond: (browser, second) => comeBack(browser, second, 'up-2') },
          { name: 'a wrong nonce', comeSecond: (browser, second) => comeBack(browser, { ...second, nonce: 'other' }) },
          {
            name: 'an error',
            comeSecond: (browser, { query: { state } }) => back(browser, { error: 'access_denied', state }),
          },
        ]
        for (const { name, comeSecond } of others) {
          it(`asks which account to use, for ${name}`, async () => {
            const browser = server.browser()
            const [first, second] = [await leaving(browser, 'auto'), await leaving(browser, 'partly')]
            await comeBack(browser, first)
            const session = browser.cookies.get(cookie)
            const page = await comeSecond(browser, second)
            assert.equal(page.status, 200)
            assert.match(page.text, /You are signed in as <strong><bdi>up-1<\/bdi>/)
            assert.equal(browser.cookies.get(cookie), session)
            const target = unescaped(/id="this_account" href="([^"]+)"/.exec(page.text)?.[1] ?? '')
            assert.match(target, /^http:\/\/localhost:8080\/oauth\/authorize\?.*client_id=partly&/)
            assert.match(page.text, /id="other_account" href="\/login"/)
            const signIn = await browser.send('/login')
            assert.equal(hiddenFields(signIn.text)['form_redirect_uri'] ?? target, target)
            const again = sentTo(await browser.send('/login/external/corp'))
            assert.equal(again.get('prompt'), 'login')
            const switched = await comeBack(
              browser,
              { nonce: again.get('nonce') ?? '', query: { code: 'c', state: again.get('state') ?? '' } },
              'up-2',
            )
            assert.match(String(switched.headers['location']), /client_id=partly&/)
            assert.notEqual(browser.cookies.get(cookie), session)
          })
        }

        it('sends no code if the provider record has changed', async () => {
          const browser = server.browser()
          const [first, second] = [await leaving(browser, 'auto'), await leaving(browser, 'partly')]
          await comeBack(browser, first)
          const asked = upstream.requests.length
          const provider = await server.store.providers.findByOrigin('svc', 'corp')
          assert.ok(provider)
          const config = { ...provider.config, relyingPartyId: 'other' }
          await server.store.providers.update('svc', { ...provider, config })
          const page = await comeBack(browser, second)
          await server.store.providers.update('svc', provider)
          assert.match(page.text, /You are signed in as <strong><bdi>up-1<\/bdi>/)
          assert.equal(upstream.requests.length, asked)
        })

        it('is refused in an older session', async () => {
          const [browser, other] = [server.browser(), server.browser()]
          await browser.signIn('marissa', 'koala')
          clock.advance(1)
          const state = (await leave(other)).get('state') ?? ''
          for (const [name, value] of other.cookies) if (name.includes('sign-in')) browser.cookies.set(name, value)
          assert.equal((await back(browser, { code: 'c', state })).status, failed(400))
        })

        it('asks which account to use after a sign-in with another account', async () => {
          const browser = server.browser()
          const state = (await leave(browser)).get('state') ?? ''
          await browser.signIn('marissa', 'koala')
          const answer = await back(browser, { code: 'c', state })
          assert.equal(answer.status, 200)
          assert.match(answer.text, /You are signed in as <strong><bdi>marissa<\/bdi>/)
          assert.equal(upstream.requests.length, 0)
        })
      })

      const mismatches: readonly {
        name: string
        come: (state: string, cookies: Record<string, string>) => Promise<TestAnswer>
      }[] = [
        { name: 'another browser', come: state => back(server.browser(), { code: 'c', state }) },
        {
          name: 'another browser that has its own state',
          come: async state => {
            const other = server.browser()
            await leave(other)
            return back(other, { code: 'c', state })
          },
        },
        {
          name: 'another zone',
          come: (state, cookies) =>
            server.send('/login/callback/corp', { query: { code: 'c', state }, cookies, host: 'z1.localhost:8080' }),
        },
        {
          name: 'another provider',
          come: (state, cookies) => server.send('/login/callback/found', { query: { code: 'c', state }, cookies }),
        },
        // Covers any /login/callback/{origin}: error: unknown origin
        {
          name: 'a provider that does not exist',
          come: (state, cookies) => server.send('/login/callback/nowhere', { query: { code: 'c', state }, cookies }),
        },
        {
          name: 'a response without a state',
          come: (_, cookies) => server.send('/login/callback/corp', { query: { code: 'c' }, cookies }),
        },
        {
          name: 'an empty state',
          come: (_, cookies) => server.send('/login/callback/corp', { query: { code: 'c', state: '' }, cookies }),
        },
        {
          name: 'a repeated state',
          come: (state, cookies) =>
            server.send(`/login/callback/corp?code=c&state=${state}&state=${state}`, { cookies }),
        },
        {
          name: 'a repeated code',
          come: (state, cookies) => server.send(`/login/callback/corp?code=c&code=d&state=${state}`, { cookies }),
        },
        {
          name: 'a state with an extra character',
          come: (state, cookies) =>
            server.send('/login/callback/corp', { query: { code: 'c', state: `${state}x` }, cookies }),
        },
        {
          name: 'a state that is too long',
          come: (state, cookies) =>
            server.send('/login/callback/corp', { query: { code: 'c', state: state.repeat(200) }, cookies }),
        },
        {
          name: 'an altered cookie',
          come: (state, cookies) =>
            server.send('/login/callback/corp', {
              query: { code: 'c', state },
              cookies: Object.fromEntries(
                Object.entries(cookies).map(([name, value]) => [
                  name,
                  name.includes('sign-in') ? `${value.slice(0, -1)}${value.endsWith('A') ? 'B' : 'A'}` : value,
                ]),
              ),
            }),
        },
        {
          name: 'a cookie that is not a sealed value',
          come: (state, cookies) =>
            server.send('/login/callback/corp', {
              query: { code: 'c', state },
              cookies: Object.fromEntries(
                Object.entries(cookies).map(([name, value]) => [name, name.includes('sign-in') ? '{}' : value]),
              ),
            }),
        },
      ]
      for (const { name, come } of mismatches) {
        // Covers any /login/callback/{origin}: error: wrong state
        it(`is refused for ${name}, and stays valid`, async () => {
          const browser = server.browser()
          const sent = await leave(browser)
          const state = sent.get('state') ?? ''
          const answer = await come(state, Object.fromEntries(browser.cookies))
          assert.equal(answer.status, failed(400), answer.text)
          if (mode === 'uaa') assert.match(String(answer.headers['location']), /\/oauth_error$/)
          else assert.match(String(answer.headers['content-type']), /^text\/html/)
          assert.equal(answer.cookies['svc-session'] ?? answer.cookies['JSESSIONID'], undefined)
          assert.equal(upstream.requests.length, 0, 'no request to the provider')
          upstream.nonce = sent.get('nonce') ?? ''
          assert.equal((await back(browser, { code: 'c', state })).status, 302)
        })
      }
    })

    describe('Response of the provider', () => {
      const declined: readonly [error: string, status: number, words: RegExp, code?: string][] = [
        ['access_denied', 403, /The sign-in at Corp & Sons was cancelled or refused/, 'access_denied'],
        ['temporarily_unavailable', 502, /has a problem at the moment/, 'temporarily_unavailable'],
        ['login_required', 403, /needs to ask you something first/, 'login_required'],
        ['invalid_scope', 502, /refused to sign you in\. Please contact your administrator/, 'invalid_scope'],
        ['', 502, /refused to sign you in/],
        ['<script>alert(1)</script>', 502, /refused to sign you in/],
        ['Call 555-1234', 502, /refused to sign you in/],
      ]
      for (const [error, status, words, code] of declined) {
        // Covers any /login/callback/{origin}: error
        it(`shows a message for the error ${error || '(empty)'}`, async () => {
          const browser = server.browser()
          const state = (await leave(browser)).get('state') ?? ''
          const answer = await back(browser, { error, error_description: '<b>evil</b> text', state })
          await assertRefused(browser, answer, status, words)
          assert.doesNotMatch(answer.text, /evil|<script>|555/)
          if (code !== undefined && mode === 'standard') assert.ok(answer.text.includes(code))
          assert.equal(upstream.requests.length, 0)
        })
      }

      it('is refused with both an error and a code', async () => {
        const browser = server.browser()
        const state = (await leave(browser)).get('state') ?? ''
        await assertRefused(
          browser,
          await back(browser, { code: 'c', error: 'access_denied', state }),
          403,
          /cancelled/,
        )
      })

      const untrusted = /The sign-in data from Corp & Sons could not be verified/
      const answers: readonly { name: string; query: Record<string, string> }[] = [
        { name: 'no code', query: {} },
        { name: 'another issuer (RFC 9207)', query: { code: 'c', iss: CORP } },
        { name: 'an empty issuer', query: { code: 'c', iss: '' } },
        { name: 'an error of another issuer', query: { error: 'access_denied', iss: CORP } },
      ]
      for (const { name, query } of answers) {
        it(`is refused with ${name}`, async () => {
          const browser = server.browser()
          const state = (await leave(browser)).get('state') ?? ''
          await assertRefused(browser, await back(browser, { ...query, state }), 502, untrusted)
          assert.equal(upstream.requests.length, 0)
        })
      }

      it('is refused without the iss that the metadata announces', async () => {
        const browser = server.browser()
        const state = (await leave(browser, 'found')).get('state') ?? ''
        await assertRefused(
          browser,
          await back(browser, { code: 'c', state }, 'found'),
          502,
          /The sign-in data from Corp & Sons/,
        )
      })

      const hash = digest('upstream-access')
      const half = Buffer.from(hash, 'base64url').subarray(0, 16).toString('base64url')
      const invalid: readonly { name: string; respond: () => Promise<TokenAnswer>; words?: RegExp }[] = [
        // Covers token exchange at the OIDC provider: nonce
        // Covers unsafe behaviour: upstream nonce, state and error are checked
        { name: 'another nonce', respond: () => upstream.usual({ nonce: 'x'.repeat(43) }) },
        { name: 'no nonce', respond: () => upstream.usual({ nonce: undefined }) },
        { name: 'a list of nonces', respond: () => upstream.usual({ nonce: [upstream.nonce] }) },
        // Covers token exchange at the OIDC provider: audience
        { name: 'another audience', respond: () => upstream.usual({ aud: 'somebody-else' }) },
        { name: 'no audience', respond: () => upstream.usual({ aud: undefined }) },
        { name: 'several audiences without azp', respond: () => upstream.usual({ aud: [RELYING_PARTY, 'other'] }) },
        { name: 'another azp', respond: () => upstream.usual({ azp: 'other' }) },
        // Covers token exchange at the OIDC provider: issuer
        { name: 'another issuer', respond: () => upstream.usual({ iss: CORP }) },
        { name: 'no issuer', respond: () => upstream.usual({ iss: undefined }) },
        // Covers token exchange at the OIDC provider: expiry
        { name: 'a past exp', respond: () => upstream.usual({ exp: 1 }) },
        { name: 'no exp', respond: () => upstream.usual({ exp: undefined }) },
        { name: 'a future nbf', respond: () => upstream.usual({ nbf: 9e9 }) },
        {
          name: 'at_hash of another access token',
          respond: () => upstream.usual({ at_hash: half.replace(/^./, '_') }),
        },
        { name: 'at_hash of full length', respond: () => upstream.usual({ at_hash: hash }) },
        // Covers token exchange at the OIDC provider: JWKS signature
        { name: 'an unknown key id', respond: () => upstream.usual({}, { kid: 'corp-2' }) },
        {
          name: 'an embedded jwk',
          respond: async () => {
            const other = await createOidcProvider(clock)
            const claims = { iss: upstream.url, nonce: upstream.nonce }
            return { body: { id_token: await other.token(claims, { jwk: other.jwk }) } }
          },
        },
        {
          name: 'no signature',
          respond: async () => ({
            body: {
              id_token: unsigned(
                { alg: 'none' },
                { iss: upstream.url, aud: RELYING_PARTY, sub: 'pat', exp: 9e9, nonce: upstream.nonce },
              ),
            },
          }),
        },
        {
          name: 'HS256 with the public key as a secret',
          respond: async () => ({
            body: {
              id_token: await new SignJWT({
                iss: upstream.url,
                aud: RELYING_PARTY,
                sub: 'pat',
                exp: 9e9,
                nonce: upstream.nonce,
              })
                .setProtectedHeader({ alg: 'HS256', kid: 'corp-1' })
                .sign(publicKeyAsSecret(upstream)),
            },
          }),
        },
        { name: 'no ID token', respond: async () => ({ body: { access_token: 'x' } }) },
        { name: 'a number as the ID token', respond: async () => ({ body: { id_token: 7 } }) },
        { name: 'a malformed ID token', respond: async () => ({ body: { id_token: 'a.b.c' } }) },
        {
          name: 'invalid_grant',
          respond: async () => ({ status: 400, body: { error: 'invalid_grant', error_description: '<b>x</b>' } }),
        },
        { name: 'status 401', respond: async () => ({ status: 401, body: 'no' }) },
        {
          name: 'status 201',
          respond: async () => ({ ...(await upstream.usual()), status: 201 }),
        },
      ]
      for (const { name, respond } of invalid) {
        it(`is refused with ${name}`, async () => {
          const browser = server.browser()
          const state = (await leave(browser)).get('state') ?? ''
          upstream.answer = respond
          const before = server.events.length
          await assertRefused(browser, await back(browser, { code: 'c', state }), 502, untrusted)
          assert.deepEqual(
            server.events.slice(before).map(({ type }) => type),
            ['IdentityProviderAuthenticationFailure'],
          )
        })
      }

      const faults: readonly { name: string; respond: () => Promise<TokenAnswer> }[] = [
        { name: 'fails with 503', respond: async () => ({ status: 503, body: {} }) },
        { name: 'returns no JSON', respond: async () => ({ body: '<html>' }) },
        { name: 'returns an array', respond: async () => ({ body: [] }) },
        { name: 'returns too much data', respond: async () => ({ body: { id_token: 'x'.repeat(100_000) } }) },
        { name: 'closes the connection', respond: async () => response => void response.destroy() },
        {
          name: 'closes the connection within the body',
          respond: async () => response =>
            void response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
        },
        {
          name: 'redirects',
          respond: async () => response => void response.writeHead(307, { location: `${upstream.url}/token` }).end(),
        },
      ]
      for (const { name, respond } of faults) {
        // Partly covers any /login/callback/{origin}: error: any failure
        it(`is requested once if the provider ${name}`, async () => {
          const browser = server.browser()
          const state = (await leave(browser)).get('state') ?? ''
          upstream.answer = respond
          await assertRefused(
            browser,
            await back(browser, { code: 'c', state }),
            502,
            /Corp & Sons did not respond correctly/,
          )
          assert.equal(upstream.requests.length, 1)
        })
      }

      it('is refused without a usable user name', async () => {
        const browser = server.browser()
        const state = (await leave(browser)).get('state') ?? ''
        upstream.answer = () => upstream.usual({ sub: 7 })
        await assertRefused(
          browser,
          await back(browser, { code: 'c', state }),
          403,
          /<p class="lead">Your account cannot be used here\. Contact your administrator\.<\/p>[\s\S]*Unable to map claim to a username/,
        )
      })

      const valid: readonly { name: string; claims: Change }[] = [
        { name: 'at_hash of the access token', claims: { at_hash: half } },
        {
          name: 'several audiences and azp',
          claims: { aud: ['other', RELYING_PARTY], azp: RELYING_PARTY },
        },
      ]
      for (const { name, claims } of valid) {
        it(`is accepted with ${name}`, async () => {
          const browser = server.browser()
          const state = (await leave(browser)).get('state') ?? ''
          upstream.answer = () => upstream.usual(claims)
          assert.equal((await back(browser, { code: 'c', state })).status, 302)
        })
      }
    })

    it('refuses a response of a provider disabled meanwhile', async () => {
      const browser = server.browser()
      const state = (await leave(browser, 'body')).get('state') ?? ''
      const provider = await server.store.providers.findByOrigin('svc', 'body')
      assert.ok(provider)
      await server.store.providers.update('svc', { ...provider, active: false })
      const start = server.refusals.length
      await assertRefused(browser, await back(browser, { code: 'c', state }, 'body'), 404, /not available here/)
      assert.match(
        server.refusals.slice(start).join('\n'),
        /sign-in at "body": the provider is inactive or was deleted,/,
      )
      assert.equal(upstream.requests.length, 0)
      await server.store.providers.update('svc', provider)
    })

    it('encrypts the client secret in the database', async () => {
      const provider = await server.store.providers.findByOrigin('svc', 'corp')
      assert.match(String(provider?.config['relyingPartySecret']), /^v2\./)
    })
  })

  describe(`Zone as OIDC provider of another zone in ${mode}`, () => {
    let server: TestServer
    let port: number
    before(async () => {
      port = await freePort()
      const base = `http://localhost:${port}`
      const upstream = `http://z1.localhost:${port}`
      const z1 = {
        client_id: 'main-zone',
        client_secret: 'main-zone-secret',
        authorized_grant_types: ['authorization_code'],
        scope: ['openid', 'profile', 'email'],
        redirect_uri: [`${base}/login/callback/z1`],
        autoapprove: true,
      }
      const bootstrap = {
        ...authorizeBootstrap,
        identity_providers: [
          {
            originKey: 'z1',
            type: 'oidc1.0',
            name: 'Zone one',
            config: {
              discoveryUrl: `${upstream}/.well-known/openid-configuration`,
              relyingPartyId: z1.client_id,
              relyingPartySecret: z1.client_secret,
              scopes: ['openid', 'profile', 'email'],
              attributeMappings: { user_name: 'user_name' },
              linkText: 'Zone one',
            },
          },
        ],
        identity_zones: authorizeBootstrap.identity_zones.map(zone =>
          zone.id === 'z1'
            ? {
                ...zone,
                config: { userConfig: { defaultGroups: ['openid', 'profile', 'email'] } },
                bootstrap: { ...zone.bootstrap, clients: [z1] },
              }
            : zone,
        ),
      }
      server = await startServer({ mode, config: { base_url: base, bootstrap } })
      await server.app.http.listen({ host: '127.0.0.1', port })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    it('signs its users in to an application of the other zone', async () => {
      const [browser, atZone] = [server.browser(), server.browser(`z1.localhost:${port}`)]
      await authorize(browser, AUTO_REQUEST)
      const page = await browser.send('/login')
      const href = unescaped(/<a class="saml-login-link[^"]*" href="([^"]*)"/.exec(page.text)?.[1] ?? '')
      const away = (await browser.send(href)).location()
      assert.equal(away.host, `z1.localhost:${port}`)
      const asked = await atZone.send(away.pathname + away.search)
      assert.equal(asked.location().pathname, '/login')
      const signedIn = await atZone.signIn('marissa', 'z1-koala')
      const answered = (await atZone.send(signedIn.location().pathname + signedIn.location().search)).location()
      assert.equal(answered.host, `localhost:${port}`)
      assert.equal(answered.searchParams.has('iss'), mode === 'standard')
      const returned = await browser.send(answered.pathname + answered.search)
      assert.equal(returned.status, 302, returned.text)
      const { pathname, search } = returned.location()
      const code = (await browser.send(pathname + search)).location()
      assert.equal(code.origin, 'https://auto.example')
      assert.ok(code.searchParams.get('code'))
      const user = await server.store.users.findByName('svc', 'z1', 'marissa')
      assert.equal(user?.email, 'm@z1.example')
      assert.equal((await server.store.users.findByName('svc', 'svc', 'marissa'))?.email, 'marissa@example.org')
    })
  })
}

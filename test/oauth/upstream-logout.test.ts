// RP-Initiated Logout at the provider of the session, after the local logout.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { digest } from '../../src/base/secrets.ts'
import { AUTO_REQUEST, Z1_HOST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { hiddenFields } from '../support/forms.ts'
import type { Github } from '../support/github.ts'
import { githubRecord, OUR_ID, startGithub } from '../support/github.ts'
import { MODES } from '../support/oauth.ts'
import { RELYING_PARTY } from '../support/oidc-provider.ts'
import type { Registered } from '../support/registration.ts'
import { METADATA, register, registered, setRegistration } from '../support/registration.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

const BYE = 'https://auto.example/bye'
const OWN = 'http://localhost:8080/logout.do'

const bootstrapWith = (upstream: Upstream, github: Github) => {
  const record = (origin: string, config: Readonly<Record<string, unknown>> = {}) =>
    upstreamRecord(upstream, origin, { logoutUrl: `${upstream.url}/logout?tenant=1`, ...config })
  const discoveryUrl = `${upstream.url}/.well-known/openid-configuration`
  const unset = { authUrl: undefined, tokenUrl: undefined, tokenKeyUrl: undefined, issuer: undefined }
  return {
    ...authorizeBootstrap,
    clients: authorizeBootstrap.clients.map(client =>
      client.client_id === 'auto'
        ? { ...client, post_logout_redirect_uris: [BYE, `${BYE}?long=${'x'.repeat(3900)}`] }
        : client,
    ),
    identity_providers: [
      record('corp'),
      record('found', { ...unset, logoutUrl: undefined, discoveryUrl }),
      record('half', { logoutUrl: undefined, discoveryUrl }),
      record('lost', { logoutUrl: undefined, discoveryUrl: `${upstream.url}/nowhere` }),
      record('none', { logoutUrl: undefined }),
      record('stays', { performRpInitiatedLogout: false }),
      record('script'),
      githubRecord(github, { logoutUrl: `${github.url}/logout` }),
      githubRecord(github, {}, 'silent'),
    ],
    identity_zones: authorizeBootstrap.identity_zones.map(zone =>
      zone.id === 'z1' ? { ...zone, bootstrap: { ...zone.bootstrap, identity_providers: [record('corp')] } } : zone,
    ),
  }
}

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`/logout.do of a session of an upstream provider in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let github: Github
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      github = await startGithub()
      server = await startServer({ mode, clock, config: { bootstrap: bootstrapWith(upstream, github) } })
      // No record can contain this; the logout must not use it either.
      const provider = await server.store.providers.findByOrigin('svc', 'script')
      assert.ok(provider)
      const config = { ...provider.config, logoutUrl: 'javascript:alert(1)' }
      await server.store.providers.update('svc', { ...provider, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
      await github.stop()
    })

    async function signIn(origin = 'corp', claims = {}, browser = server.browser()): Promise<Browser> {
      const answer = await signInUpstream(browser, upstream, { origin, claims })
      assert.equal(answer.status, 302, answer.text)
      assert.equal((await browser.send('/home')).status, 200)
      return browser
    }

    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

    /** The logout form of our pages. */
    const signOut = (browser: Browser): Promise<TestAnswer> =>
      browser.send('/logout.do', { method: 'POST', form: { 'X-Svc-Csrf': browser.csrf, 'X-Uaa-Csrf': browser.csrf } })

    /** A logout that continues to a URI of the client, as each mode supports it. */
    async function signOutTo(browser: Browser, target = BYE): Promise<TestAnswer> {
      if (!isStandard) {
        return browser.send('/logout.do', { query: { redirect: AUTO_REQUEST.redirect_uri, client_id: 'auto' } })
      }
      const { code = '' } = responseOf(await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })).query
      const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
      const tokens = (await server.token(form, { basic: ['auto', 'auto-secret'] })).json<{ id_token: string }>()
      const query = { id_token_hint: tokens.id_token, post_logout_redirect_uri: target, state: 'theirs' }
      return browser.send('/logout.do', { query })
    }

    const idTokenOf = async (): Promise<string> => {
      const { body } = await upstream.usual()
      return (body as { id_token: string }).id_token
    }

    // Covers GET /logout.do: rule: logout at the OIDC provider
    // Covers GET /logout.do of an OIDC session: client_id
    it('ends the session, then redirects to the provider with its ID token', async () => {
      const browser = await signIn()
      const answer = await signOut(browser)
      assert.equal(answer.status, 302, answer.text)
      const { origin, pathname, searchParams } = answer.location()
      assert.equal(origin + pathname, `${upstream.url}/logout`)
      const { state, id_token_hint: hint = '', ...rest } = Object.fromEntries(searchParams)
      assert.deepEqual(rest, { tenant: '1', post_logout_redirect_uri: OWN, client_id: RELYING_PARTY })
      assert.equal(hint.split('.')[1], (await idTokenOf()).split('.')[1])
      assert.equal(state !== undefined, isStandard)
      assert.equal(await isSignedIn(browser), false)
    })

    // Covers GET /logout.do of an OIDC session: post_logout_redirect_uri
    // Covers compatibility: logout and sessions: L7 return from the logout at a provider
    it('continues to the requested page or client on return', async () => {
      const browser = await signIn()
      const { searchParams } = (await signOutTo(browser)).location()
      const back = new URL(searchParams.get('post_logout_redirect_uri') ?? '')
      const state = searchParams.get('state')
      if (state !== null) back.searchParams.set('state', state)
      assert.equal(back.origin + back.pathname, OWN)
      const answer = await browser.send(back.pathname + back.search)
      assert.equal(answer.status, 302, answer.text)
      assert.equal(answer.headers['location'], isStandard ? `${BYE}?state=theirs` : AUTO_REQUEST.redirect_uri)
      if (isStandard) assert.match((await browser.send(back.pathname + back.search)).text, /signed out/i)
    })

    describe('of a self-registered client', () => {
      let app: Registered
      const cb = 'https://new.example/cb'
      const bye = 'https://new.example/bye'
      before(async () => {
        await setRegistration(server, { mode: 'open' })
        const metadata = { ...METADATA, post_logout_redirect_uris: [bye], scope: 'openid' }
        app = registered(await register(server, metadata))
      })

      async function idTokenFor(browser: Browser): Promise<string> {
        const { client_id, client_secret } = app
        const query = { response_type: 'code', client_id, redirect_uri: cb, scope: 'openid', nonce: 'n' }
        const page = await browser.send('/oauth/authorize', { query })
        const form = { ...hiddenFields(page.text), 'scope.0': 'scope.openid', user_oauth_approval: 'true' }
        const approved = page.status === 302 ? page : await browser.send('/oauth/authorize', { form })
        const { code = '' } = responseOf(approved).query
        const grant = { grant_type: 'authorization_code', code, redirect_uri: cb }
        return (await server.token(grant, { basic: [client_id, client_secret] })).json<{ id_token: string }>().id_token
      }

      /** Redirects to the provider, after confirmation if required, and returns from it. */
      async function logoutAndReturn(browser: Browser, query: Record<string, string>): Promise<TestAnswer> {
        const first = await browser.send('/logout.do', { query })
        const form = hiddenFields(first.text.split('<main')[1] ?? '')
        const left = first.status === 302 ? first : await browser.send('/logout.do', { method: 'POST', form })
        const { origin, searchParams } = left.location()
        assert.equal(origin, upstream.url)
        const back = new URL(searchParams.get('post_logout_redirect_uri') ?? '')
        const state = searchParams.get('state')
        if (state !== null) back.searchParams.set('state', state)
        return browser.send(back.pathname + back.search)
      }

      it('continues to the client on return with an ID token of the user', async () => {
        const browser = await signIn()
        const id_token_hint = await idTokenFor(browser)
        const answer = await logoutAndReturn(browser, { id_token_hint, post_logout_redirect_uri: bye })
        assert.equal(answer.headers['location'], bye)
      })

      it('shows a link to the client on return with an ID token of another user', async () => {
        const id_token_hint = await idTokenFor(await signIn('corp', { sub: 'up-2' }))
        const query = { id_token_hint, post_logout_redirect_uri: bye, state: 's' }
        const answer = await logoutAndReturn(await signIn(), query)
        if (!isStandard) {
          assert.equal(answer.headers['location'], 'http://localhost:8080/login')
          return
        }
        assert.match(answer.text, /You are signed out/)
        assert.match(
          answer.text,
          /href="https:\/\/new\.example\/bye\?state=s"[^>]*>Continue to <bdi>new\.example<\/bdi>/,
        )
        assert.equal(answer.headers['refresh'], undefined)
      })

      it('does not report sign-out if the user signed in meanwhile', { skip: !isStandard }, async () => {
        const id_token_hint = await idTokenFor(await signIn('corp', { sub: 'up-2' }))
        const browser = await signIn()
        const asked = await browser.send('/logout.do', { query: { id_token_hint, post_logout_redirect_uri: bye } })
        const form = hiddenFields(asked.text.split('<main')[1] ?? '')
        const left = await browser.send('/logout.do', { method: 'POST', form })
        const state = left.location().searchParams.get('state') ?? ''
        await signIn('corp', {}, browser)
        const answer = await browser.send('/logout.do', { query: { state } })
        assert.equal(answer.headers['location'], 'http://localhost:8080/')
        assert.equal(await isSignedIn(browser), true)
      })
    })

    // Covers oidc and oauth provider config: logoutUrl
    it('reads the logout URL from the discovery document', async () => {
      for (const origin of ['found', 'half']) {
        const browser = await signIn(origin)
        const { href } = (await signOut(browser)).location()
        assert.ok(href.startsWith(`${upstream.url}/logout?post_logout_redirect_uri=`), href)
      }
    })

    it('redirects to the logout URL of an OAuth 2.0 provider without an ID token', async () => {
      const visit = async (origin: string): Promise<Browser> => {
        const browser = server.browser()
        const query = github.agree((await browser.send(`/login/external/${origin}`)).location())
        await browser.send(`/login/callback/${origin}`, { query })
        assert.equal(await isSignedIn(browser), true)
        return browser
      }
      const { searchParams, pathname } = (await signOut(await visit('github'))).location()
      assert.equal(pathname, '/logout')
      searchParams.delete('state')
      assert.deepEqual(Object.fromEntries(searchParams), { post_logout_redirect_uri: OWN, client_id: OUR_ID })
      assert.equal((await signOut(await visit('silent'))).headers['location'], 'http://localhost:8080/login')
    })

    for (const [origin, why] of [
      ['none', 'without logout URL'],
      ['lost', 'without a discovery document'],
      // Covers oidc and oauth provider config: performRpInitiatedLogout
      ['stays', 'with performRpInitiatedLogout disabled'],
      ['script', 'with a javascript: logout URL'],
    ] as const) {
      it(`does not redirect to a provider ${why}`, async () => {
        const browser = await signIn(origin)
        const answer = await signOut(browser)
        assert.deepEqual([answer.status, answer.headers['location']], [302, 'http://localhost:8080/login'])
        assert.equal(await isSignedIn(browser), false)
      })
    }

    it('does not redirect internal users, or without a session', async () => {
      for (const browser of [await signedIn(server), server.browser()]) {
        const answer = await browser.send('/logout.do', { query: { redirect: 'http://localhost:8080/login?x=1' } })
        assert.equal(answer.headers['location'], 'http://localhost:8080/login?x=1')
      }
    })

    // Covers GET /logout.do of an OIDC session: id_token_hint
    it('omits an ID token that is too long', async () => {
      const browser = await signIn('corp', { padding: 'x'.repeat(4096) })
      const { searchParams } = (await signOut(browser)).location()
      assert.equal(searchParams.get('id_token_hint'), null)
      assert.equal(searchParams.get('client_id'), RELYING_PARTY)
    })

    it('stores the ID token encrypted, and not in the session record', async () => {
      const browser = await signIn()
      const cookie = browser.cookies.get(isStandard ? 'svc-session' : 'JSESSIONID') ?? ''
      const sealed = await server.store.sessions.sealedLogoutHint('svc', digest(cookie))
      assert.match(sealed ?? '', /^v2\./)
      assert.doesNotMatch(JSON.stringify(await server.store.sessions.find('svc', digest(cookie))), /v2\.|eyJ/)
    })

    it('redirects to the provider without a damaged ID token', async () => {
      const browser = await signIn()
      const cookie = browser.cookies.get(isStandard ? 'svc-session' : 'JSESSIONID') ?? ''
      const session = (await server.store.sessions.find('svc', digest(cookie))) ?? assert.fail()
      const damaged = { ...session, signIn: session.signIn ?? assert.fail(), sealedLogoutHint: 'v1.damaged' }
      await server.store.sessions.replace('svc', session.idDigest, damaged)
      const target = (await signOut(browser)).location()
      assert.deepEqual([target.pathname, target.searchParams.get('id_token_hint')], ['/logout', null])
      assert.equal(await isSignedIn(browser), false)
    })

    it('returns to the zone of the session', async () => {
      const browser = await signIn('corp', {}, server.browser(Z1_HOST))
      const { searchParams } = (await signOut(browser)).location()
      assert.equal(searchParams.get('post_logout_redirect_uri'), `http://${Z1_HOST}/logout.do`)
    })

    if (isStandard) returnsByState()
    else returnsByQuery()

    function returnsByState(): void {
      it('refuses a state of another browser or zone, and an expired one', async () => {
        const browser = await signIn()
        const state = (await signOutTo(browser)).location().searchParams.get('state') ?? ''
        const cookie = browser.cookies.get('svc-sign-out') ?? ''
        const follow = (who: Browser, given = state) => who.send('/logout.do', { query: { state: given } })
        const otherBrowser = server.browser()
        assert.equal((await follow(otherBrowser)).status, 200)
        const otherZone = server.browser(Z1_HOST)
        otherZone.cookies.set('svc-sign-out', cookie)
        assert.equal((await follow(otherZone)).status, 200)
        assert.equal((await follow(browser, `${state}x`)).status, 200)
        clock.advance(600)
        assert.equal((await follow(browser)).status, 200)
      })

      it('keeps a session that began before the return', async () => {
        const browser = await signIn()
        const state = (await signOutTo(browser)).location().searchParams.get('state') ?? ''
        await signIn('corp', {}, browser)
        const answer = await browser.send('/logout.do', { query: { state } })
        assert.equal(answer.headers['location'], `${BYE}?state=theirs`)
        assert.equal(await isSignedIn(browser), true)
      })

      it('shows the signed-out page if the target is too long for a cookie', async () => {
        const browser = await signIn()
        const answer = await signOutTo(browser, `${BYE}?long=${'x'.repeat(3900)}`)
        assert.equal(answer.location().origin, upstream.url)
        const state = answer.location().searchParams.get('state') ?? ''
        assert.match((await browser.send('/logout.do', { query: { state } })).text, /signed out/i)
      })

      it('asks for confirmation before redirecting to the provider', async () => {
        const browser = await signIn()
        const question = await browser.send('/logout.do')
        assert.equal(question.status, 200)
        assert.equal(await isSignedIn(browser), true)
        const form = hiddenFields(question.text)
        const answer = await browser.send('/logout.do', { method: 'POST', form })
        const { searchParams, origin } = answer.location()
        assert.equal(origin, upstream.url)
        assert.equal(searchParams.get('state'), null)
        assert.match((await browser.send('/logout.do')).text, /signed out/i)
      })
    }

    function returnsByQuery(): void {
      it('returns to the sign-in page if the target is too long for the URL', async () => {
        const browser = await signIn()
        const query = { redirect: `http://localhost:8080/home?long=${'x'.repeat(12_000)}`, client_id: 'auto' }
        const { searchParams, href } = (await browser.send('/logout.do', { query })).location()
        assert.ok(href.length < 8000)
        assert.equal(searchParams.get('post_logout_redirect_uri'), OWN)
        assert.equal(await isSignedIn(browser), false)
      })

      it('sends the client_id instead of the hint in the return URL', async () => {
        const browser = await signIn()
        const { code = '' } = responseOf(await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })).query
        const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
        const { id_token: hint } = (await server.token(form, { basic: ['auto', 'auto-secret'] })).json<{
          id_token: string
        }>()
        const query = { id_token_hint: hint, post_logout_redirect_uri: AUTO_REQUEST.redirect_uri }
        const { searchParams } = (await browser.send('/logout.do', { query })).location()
        const back = new URL(searchParams.get('post_logout_redirect_uri') ?? '')
        const returned = Object.fromEntries(back.searchParams)
        assert.deepEqual(returned, { post_logout_redirect_uri: AUTO_REQUEST.redirect_uri, client_id: 'auto' })
        assert.equal((await browser.send(back.pathname + back.search)).headers['location'], AUTO_REQUEST.redirect_uri)
      })
    }
  })
}

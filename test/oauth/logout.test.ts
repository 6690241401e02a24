import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, Z1_HOST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { hiddenFields, setCookies } from '../support/forms.ts'
import { changeClient, MODES } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { METADATA, register, registered, startRegistrationServer } from '../support/registration.ts'
import type { Registered } from '../support/registration.ts'
import { startServer } from '../support/server.ts'

const BYE = 'https://auto.example/bye'
const WHITELIST = ['https://listed.example/bye', 'https://*.wild.example/**', '/listed']

const bootstrap = {
  ...authorizeBootstrap,
  clients: authorizeBootstrap.clients.map(client =>
    client.client_id === 'auto'
      ? {
          ...client,
          post_logout_redirect_uris: [
            BYE,
            'https://auto.example/#/bye',
            'com.example.app://bye',
            'https://auto.example/bye?x=1',
          ],
        }
      : client,
  ),
}
const config = { bootstrap, zone_config: { links: { logout: { whitelist: WHITELIST } } } }

/** Tokens of the browser's session. */
async function tokensOf(
  server: TestServer,
  browser: Browser,
  host?: string,
): Promise<{ id_token: string; access_token: string }> {
  const { code = '' } = responseOf(await authorize(browser, { ...AUTO_REQUEST, scope: 'openid' })).query
  const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
  const secret = host === undefined ? 'auto-secret' : 'z1-secret'
  const answer = await server.token(form, { basic: ['auto', secret], ...(host !== undefined && { host }) })
  return answer.json<{ id_token: string; access_token: string }>()
}

const hintOf = async (server: TestServer, browser: Browser): Promise<string> =>
  (await tokensOf(server, browser)).id_token

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

const logout = (browser: Browser, query: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
  browser.send('/logout.do', { query })

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  const session = isStandard ? 'svc-session' : 'JSESSIONID'

  describe(`/logout.do in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers GET /logout.do: logout_hint
    it('ignores logout_hint (RP-Initiated Logout §2)', async () => {
      for (const logout_hint of ['marissa', 'joel', '', 'x'.repeat(2000), '<script>']) {
        const [hinted, plain] = [await signedIn(server), await signedIn(server)]
        const redirect = 'https://listed.example/bye'
        const [answer, usual] = [await logout(hinted, { redirect, logout_hint }), await logout(plain, { redirect })]
        assert.deepEqual([answer.status, answer.headers['location']], [usual.status, usual.headers['location']])
        assert.equal(await isSignedIn(hinted), await isSignedIn(plain))
        const asked = await logout(await signedIn(server), { logout_hint })
        const unhinted = await logout(await signedIn(server))
        assert.deepEqual([asked.status, asked.headers['location']], [unhinted.status, unhinted.headers['location']])
        assert.doesNotMatch(asked.text, /<script>/)
      }
    })

    describe('redirect', () => {
      const cases: readonly { name: string; query: Readonly<Record<string, string>>; want?: string; uaa?: string }[] = [
        // Covers GET /logout.do: redirect
        {
          name: 'to a page of this server',
          query: { redirect: 'http://localhost:8080/home?x=1' },
          want: 'http://localhost:8080/home?x=1',
        },
        { name: 'to the base URL', query: { redirect: 'http://localhost:8080' }, want: 'http://localhost:8080' },
        // Covers Zone config in effect: links.logout.whitelist
        {
          name: 'to a URL in the whitelist',
          query: { redirect: 'https://listed.example/bye' },
          want: 'https://listed.example/bye',
        },
        // Covers GET /logout.do: rule: whitelist of the zone
        {
          name: 'to a URL that matches a pattern in the whitelist',
          query: { redirect: 'https://a.wild.example/bye#/x' },
          want: 'https://a.wild.example/bye#/x',
        },
        { name: 'to a path in the whitelist', query: { redirect: '/listed' }, want: 'http://localhost:8080/listed' },
        // Covers GET /logout.do: rule: URIs of the client
        {
          name: 'to a redirect URI of the client',
          query: { redirect: 'https://auto.example/cb', client_id: 'auto' },
          want: 'https://auto.example/cb',
        },
        {
          name: 'to a post-logout redirect URI of the client, except in uaa',
          query: { redirect: BYE, client_id: 'auto' },
          want: BYE,
          uaa: 'default',
        },
        { name: 'not to a redirect URI without its client', query: { redirect: 'https://auto.example/cb' } },
        // Covers GET /logout.do: client_id
        {
          name: 'not to a redirect URI of another client',
          query: { redirect: 'https://auto.example/cb', client_id: 'app' },
        },
        { name: 'not to a longer path', query: { redirect: 'https://auto.example/cb/more', client_id: 'auto' } },
        { name: 'not to a subdomain', query: { redirect: 'https://a.auto.example/cb', client_id: 'auto' } },
        { name: 'not to another loopback port', query: { redirect: 'http://127.0.0.1:9000/cb', client_id: 'auto' } },
        {
          name: 'not to a longer URL than the whitelisted one',
          query: { redirect: 'https://listed.example/bye/more' },
        },
        { name: 'not to another host', query: { redirect: 'https://evil.example/' } },
        {
          name: 'not to another host that ends like a whitelisted one',
          query: { redirect: 'https://evil.example/.wild.example/' },
        },
        // Covers GET /logout.do: rule: own URLs
        {
          name: "not to a host that begins with this server's",
          query: { redirect: 'http://localhost:8080.evil.example/' },
        },
        {
          name: 'not to a user name that looks like this server',
          query: { redirect: 'http://localhost:8080@evil.example/' },
        },
        { name: "not to this server's host with a user name", query: { redirect: 'http://x@localhost:8080/' } },
        { name: 'not to another port of this server', query: { redirect: 'http://localhost:8081/' } },
        { name: 'not to another scheme of this server', query: { redirect: 'https://localhost:8080/' } },
        { name: 'not to a path outside the whitelist', query: { redirect: '/home' } },
        { name: 'not to a host without a scheme', query: { redirect: '//evil.example/' } },
        { name: 'not to a path with a backslash', query: { redirect: '/\\evil.example/' } },
        {
          name: "not to this server's host with a backslash",
          query: { redirect: 'http://localhost:8080\\@evil.example/' },
        },
        { name: 'not to a URL with a line break', query: { redirect: 'http://localhost:8080/\r\nX: y' } },
        { name: 'not to a URL with non-ASCII characters', query: { redirect: 'http://localhost:8080/ü' } },
        { name: 'not to a javascript: URL', query: { redirect: 'javascript:alert(1)', client_id: 'auto' } },
        { name: 'not to an empty URL', query: { redirect: '', client_id: 'auto', magic: '1' } },
      ]
      for (const { name, query, want, uaa } of cases) {
        it(`redirects ${name}`, async () => {
          const browser = await signedIn(server)
          const answer = await logout(browser, query)
          if (query['redirect'] === '' && isStandard) {
            assert.equal(answer.status, 200, 'an empty parameter counts as omitted, so confirmation is required')
            return
          }
          assert.equal(answer.status, 302)
          const target = uaa !== undefined && !isStandard ? uaa : (want ?? 'default')
          assert.equal(answer.headers['location'], target === 'default' ? 'http://localhost:8080/login' : target)
          assert.equal(await isSignedIn(browser), false)
        })
      }

      // Covers cookie X-<Service>-Csrf: cleared by logout
      // Covers cookie Current-User: cleared at logout
      // Covers GET /logout.do: rule: session and cookies are cleared
      it('clears session, CSRF token and Current-User', async () => {
        const browser = await signedIn(server)
        const id = browser.cookies.get(session) ?? ''
        const answer = await logout(browser, { redirect: 'http://localhost:8080/' })
        const secure = '; SameSite=Lax' // over http in both modes
        assert.deepEqual(setCookies(answer), {
          [session]: `${session}=; Max-Age=0; Path=/; HttpOnly${secure}`,
          'X-Svc-Csrf': 'X-Svc-Csrf=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
          'Current-User': 'Current-User=; Max-Age=0; Path=/; SameSite=Strict',
        })
        assert.equal(
          (await server.send('/home', { cookies: { [session]: id } })).status,
          302,
          'the session id is invalid',
        )
      })

      it('works without a session', async () => {
        const answer = await logout(server.browser(), { redirect: 'https://listed.example/bye' })
        assert.equal(answer.headers['location'], 'https://listed.example/bye')
      })

      it('keeps other sessions of the user', async () => {
        const [one, other] = [await signedIn(server), await signedIn(server)]
        await logout(one, { redirect: 'http://localhost:8080/' })
        assert.equal(await isSignedIn(other), true)
      })
    })

    it('keeps the session on HEAD', async () => {
      const browser = await signedIn(server)
      const answer = await browser.send('/logout.do', { method: 'HEAD' })
      assert.notEqual(answer.status, 200)
      assert.equal(await isSignedIn(browser), true)
    })

    it('keeps the session on prefetch', async () => {
      const browser = await signedIn(server)
      for (const purpose of ['prefetch', 'prefetch;prerender']) {
        const headers = { 'sec-purpose': purpose, 'sec-fetch-site': 'none' }
        assert.equal((await browser.send('/logout.do', { query: { redirect: '/' }, headers })).status, 403)
        assert.equal(await isSignedIn(browser), true)
      }
    })

    // Covers POST /logout.do: X-<Service>-Csrf
    it('refuses a form with a wrong CSRF token, and keeps the session', async () => {
      const browser = await signedIn(server)
      for (const form of [{ 'X-Svc-Csrf': 'A'.repeat(22) }, { 'X-Svc-Csrf': browser.csrf.slice(1) }]) {
        assert.equal((await browser.send('/logout.do', { form })).status, 403)
      }
      const foreign = { form: { 'X-Svc-Csrf': browser.csrf }, headers: { origin: 'https://evil.example' } }
      assert.equal((await browser.send('/logout.do', foreign)).status, 403)
      assert.equal(await isSignedIn(browser), true)
    })

    it('signs out by the button in the page header', async () => {
      const browser = await signedIn(server)
      const home = await browser.send('/home')
      const isLink = mode === 'uaa'
      assert.match(
        home.text,
        isLink
          ? /<a id="nav-dropdown-content-logout" href="\/logout\.do">/
          : /<form class="person" action="\/logout\.do" method="post">/,
      )
      const answer = await browser.send('/logout.do', isLink ? {} : { form: hiddenFields(home.text) })
      assert.equal(answer.status, 302)
      assert.equal(answer.headers['location'], 'http://localhost:8080/login')
      assert.equal(await isSignedIn(browser), false)
    })
  })
}

describe('RP-Initiated Logout at /logout.do in standard', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config })
    // Such a client can no longer be created.
    const auto = await server.store.clients.find('svc', 'auto')
    assert.ok(auto)
    const postLogoutRedirectUris = [...(auto.postLogoutRedirectUris ?? []), 'javascript:alert(1)']
    await server.store.clients.update('svc', { ...auto, postLogoutRedirectUris })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const asks = (answer: TestAnswer): boolean =>
    answer.status === 200 && answer.text.includes('<form id="logout_confirmation"')
  const isOver = (answer: TestAnswer): boolean => answer.status === 200 && answer.text.includes('You are signed out')

  // Covers GET /logout.do: state
  it('redirects to the registered URI with state for a valid hint', async () => {
    const browser = await signedIn(server)
    const id_token_hint = await hintOf(server, browser)
    const answer = await logout(browser, { id_token_hint, post_logout_redirect_uri: BYE, state: 'a b&c' })
    assert.equal(answer.status, 302)
    assert.equal(answer.headers['location'], `${BYE}?state=a%20b%26c`)
    assert.equal(await isSignedIn(browser), false)
  })

  const targets: readonly { name: string; target: string; state?: string; want: string | 400 }[] = [
    { name: 'without state', target: BYE, want: BYE },
    { name: 'with its own query', target: `${BYE}?x=1`, state: 's', want: `${BYE}?x=1&state=s` },
    {
      name: 'with a fragment',
      target: 'https://auto.example/#/bye',
      state: 's',
      want: 'https://auto.example/?state=s#/bye',
    },
    {
      name: 'with a custom scheme',
      target: 'com.example.app://bye',
      state: 's',
      want: 'com.example.app://bye?state=s',
    },
    // Covers GET /logout.do: post_logout_redirect_uri
    { name: 'that is only a redirect URI', target: 'https://auto.example/cb', want: 400 },
    { name: 'that is longer than the registered one', target: `${BYE}/more`, want: 400 },
    { name: 'in another case', target: 'https://AUTO.example/bye', want: 400 },
    { name: 'with another query', target: `${BYE}?x=2`, want: 400 },
    // Covers GET /logout.do: error: unregistered target
    { name: 'in the whitelist of the zone', target: 'https://listed.example/bye', want: 400 },
    { name: 'of this server', target: 'http://localhost:8080/home', want: 400 },
    { name: 'of an unknown site', target: 'https://evil.example/', want: 400 },
    { name: 'with scheme javascript:, even if registered', target: 'javascript:alert(1)', want: 400 },
  ]
  for (const { name, target, state, want } of targets) {
    it(`${want === 400 ? 'refuses a target' : 'redirects to a target'} ${name}`, async () => {
      const browser = await signedIn(server)
      const id_token_hint = await hintOf(server, browser)
      const answer = await logout(browser, {
        id_token_hint,
        post_logout_redirect_uri: target,
        ...(state !== undefined && { state }),
      })
      if (want === 400) {
        assert.equal(answer.status, 400)
        assert.equal(answer.headers['location'], undefined)
        assert.match(answer.text, /The post_logout_redirect_uri is not registered for this client\./)
        assert.ok(server.refusals.at(-1)?.includes(`post_logout_redirect_uri ${JSON.stringify(target)}`))
        assert.equal(await isSignedIn(browser), true)
        return
      }
      assert.equal(answer.headers['location'], want)
      assert.equal(await isSignedIn(browser), false)
    })
  }

  // Covers compatibility: logout and sessions: L3 hint
  it('accepts an expired hint', async () => {
    const browser = await signedIn(server)
    const id_token_hint = await hintOf(server, browser)
    for (let minute = 0; minute < 70; minute += 20) {
      server.clock.advance(1200)
      assert.equal(await isSignedIn(browser), true)
    }
    assert.equal((await logout(browser, { id_token_hint, post_logout_redirect_uri: BYE })).headers['location'], BYE)
  })

  it('accepts a hint with the client_id of its audience', async () => {
    const browser = await signedIn(server)
    const id_token_hint = await hintOf(server, browser)
    const answer = await logout(browser, { id_token_hint, client_id: 'auto', post_logout_redirect_uri: BYE })
    assert.equal(answer.headers['location'], BYE)
  })

  // Covers GET /logout.do: page: signed out
  it('shows the signed-out page for a hint without a target', async () => {
    const browser = await signedIn(server)
    const answer = await logout(browser, { id_token_hint: await hintOf(server, browser) })
    assert.ok(isOver(answer))
    assert.equal(setCookies(answer)['svc-session'], 'svc-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax')
    assert.equal(await isSignedIn(browser), false)
  })

  // Covers GET /logout.do: id_token_hint; error: bad hint
  it('refuses invalid hints, and keeps the session', async () => {
    const browser = await signedIn(server)
    const { id_token, access_token } = await tokensOf(server, browser)
    const neighbour = await signedIn(server, 'marissa', 'z1-koala', Z1_HOST)
    const [head = '', body = '', signature = ''] = id_token.split('.')
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
    const forgedBody = Buffer.from(JSON.stringify({ ...claims, sub: 'other' })).toString('base64url')
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
    const hints = {
      'an access token': access_token,
      'a hint of another zone': (await tokensOf(server, neighbour, Z1_HOST)).id_token,
      'a modified payload': `${head}.${forgedBody}.${signature}`,
      'a modified signature': `${head}.${body}.${signature.slice(0, -4)}AAAA`,
      'no signature': `${head}.${body}.`,
      'alg none': `${none}.${body}.`,
      'a malformed JWT': 'x',
      'empty JWT parts': '..',
      'a JWT that is too long': `${head}.${'a'.repeat(40_000)}.${signature}`.slice(0, 12_000),
    }
    for (const [name, id_token_hint] of Object.entries(hints)) {
      const answer = await logout(browser, { id_token_hint, post_logout_redirect_uri: BYE })
      assert.equal(answer.status, 400, name)
      assert.equal(answer.headers['location'], undefined, name)
      assert.match(answer.text, /The id_token_hint was not issued by this server\./, name)
      assert.equal(await isSignedIn(browser), true, name)
    }
  })

  it('refuses a hint of a client other than client_id, and keeps the session', async () => {
    const browser = await signedIn(server)
    const answer = await logout(browser, {
      id_token_hint: await hintOf(server, browser),
      client_id: 'app',
      post_logout_redirect_uri: BYE,
    })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /The id_token_hint does not belong to this client\./)
    assert.equal(await isSignedIn(browser), true)
  })

  const unconfirmed: readonly {
    name: string
    query: (browser: Browser) => Promise<Readonly<Record<string, string>>>
  }[] = [
    { name: 'there is no hint or client_id', query: async () => ({}) },
    { name: 'there is only a client_id', query: async () => ({ client_id: 'auto' }) },
    {
      name: 'there is a target without a hint',
      query: async () => ({ client_id: 'auto', post_logout_redirect_uri: BYE, state: 's' }),
    },
    {
      name: 'the hint is of another user',
      query: async () => ({
        id_token_hint: await hintOf(server, await signedIn(server, 'joel', 'wombat')),
        post_logout_redirect_uri: BYE,
        state: 's',
      }),
    },
    {
      name: 'the hint is of another session',
      query: async () => ({
        id_token_hint: await hintOf(server, await signedIn(server)),
        post_logout_redirect_uri: BYE,
        state: 's',
      }),
    },
  ]
  for (const { name, query } of unconfirmed) {
    // Covers GET /logout.do: page: logout_confirmation
    // Covers compatibility: logout and sessions: L5 confirmation
    it(`asks for confirmation if ${name}`, async () => {
      const browser = await signedIn(server)
      const asked = await query(browser)
      const page = await logout(browser, asked)
      assert.ok(asks(page), page.text)
      assert.equal(await isSignedIn(browser), true)
      assert.match(page.text, /<form id="logout_confirmation" action="\/logout\.do" method="post"/)
      const fields = hiddenFields(page.text.slice(page.text.indexOf('logout_confirmation')))
      assert.deepEqual(fields, { ...asked, 'X-Svc-Csrf': fields['X-Svc-Csrf'], confirmed: 'true' })

      const { 'X-Svc-Csrf': _, ...bare } = fields
      assert.ok(asks(await browser.send('/logout.do', { form: bare })), 'a CSRF token is required')
      assert.equal(
        (await browser.send('/logout.do', { form: { ...fields, 'X-Svc-Csrf': 'A'.repeat(22) } })).status,
        403,
      )
      assert.equal(await isSignedIn(browser), true)

      const done = await browser.send('/logout.do', { form: fields })
      if (asked['id_token_hint'] === undefined) assert.ok(isOver(done), 'there is no redirect without a hint')
      else assert.equal(done.headers['location'], `${BYE}?state=s`)
      assert.equal(await isSignedIn(browser), false)
    })
  }

  const OTHER_SITE = 'https://evil.example'
  const origins = [
    { name: 'Sec-Fetch-Site: cross-site', headers: { 'sec-fetch-site': 'cross-site' }, isAsked: true },
    { name: 'Sec-Fetch-Site: same-site', headers: { 'sec-fetch-site': 'same-site' }, isAsked: true },
    {
      name: 'Sec-Fetch-Site: same-origin',
      headers: { 'sec-fetch-site': 'same-origin', referer: OTHER_SITE },
      isAsked: false,
    },
    { name: 'a bookmark', headers: { 'sec-fetch-site': 'none' }, isAsked: false },
    { name: 'Origin of another site', headers: { origin: OTHER_SITE }, isAsked: true },
    { name: 'Origin null', headers: { origin: 'null' }, isAsked: true },
    { name: 'Referer of another site', headers: { referer: `${OTHER_SITE}/x` }, isAsked: true },
    { name: 'Referer of this server', headers: { referer: 'http://localhost:8080/home' }, isAsked: false },
    { name: 'none of these headers', headers: {}, isAsked: false },
  ]
  for (const { name, headers, isAsked } of origins) {
    it(`${isAsked ? 'asks for confirmation of' : 'follows'} a redirect with ${name} (L2)`, async () => {
      const browser = await signedIn(server)
      const query = { redirect: 'https://auto.example/cb', client_id: 'auto' }
      const answer = await browser.send('/logout.do', { query, headers })
      assert.equal(asks(answer), isAsked, answer.text)
      assert.equal(await isSignedIn(browser), isAsked)
      if (!isAsked) {
        assert.equal(answer.location().href, query.redirect)
        return
      }
      const fields = hiddenFields(answer.text.slice(answer.text.indexOf('logout_confirmation')))
      const done = await browser.send('/logout.do', { form: fields })
      assert.equal(done.location().href, query.redirect)
      assert.equal(await isSignedIn(browser), false)
    })
  }

  it('asks no confirmation of anonymous users', async () => {
    const query = { redirect: 'https://auto.example/cb', client_id: 'auto' }
    const answer = await server.send('/logout.do', { query, headers: { 'sec-fetch-site': 'cross-site' } })
    assert.equal(answer.location().href, query.redirect)
  })

  // Covers compatibility: logout and sessions: L4 target
  it('does not redirect without a hint', async () => {
    const browser = server.browser()
    const answer = await logout(browser, { client_id: 'auto', post_logout_redirect_uri: BYE, state: 's' })
    assert.ok(isOver(answer))
    assert.equal(answer.headers['location'], undefined)
  })

  it('redirects for a hint without a session', async () => {
    const id_token_hint = await hintOf(server, await signedIn(server))
    const answer = await logout(server.browser(), { id_token_hint, post_logout_redirect_uri: BYE, state: 's' })
    assert.equal(answer.headers['location'], `${BYE}?state=s`)
  })

  // Covers compatibility: logout and sessions: L2 dialect
  it('ignores redirect with a hint or post_logout_redirect_uri', async () => {
    const browser = await signedIn(server)
    assert.ok(asks(await logout(browser, { redirect: 'https://listed.example/bye', post_logout_redirect_uri: BYE })))
    const id_token_hint = await hintOf(server, browser)
    assert.ok(isOver(await logout(browser, { redirect: 'https://listed.example/bye', id_token_hint })))
  })

  // Covers POST /logout.do: form as GET
  it('accepts a form of the client without a CSRF token', async () => {
    const browser = await signedIn(server)
    const id_token_hint = await hintOf(server, browser)
    const answer = await browser.send('/logout.do', {
      form: { id_token_hint, post_logout_redirect_uri: BYE, state: 's' },
    })
    assert.equal(answer.status, 302)
    assert.equal(answer.headers['location'], `${BYE}?state=s`)
  })

  it('redirects a cross-site form to a GET, which includes the session cookie', async () => {
    const browser = await signedIn(server)
    const id_token_hint = await hintOf(server, browser)
    const form = { id_token_hint, post_logout_redirect_uri: BYE, state: 's' }
    const bounced = await server.send('/logout.do', {
      form: { ...form, password: 'koala', other: 'koala' },
      headers: { origin: 'https://auto.example' },
    })
    assert.equal(bounced.status, 303)
    assert.deepEqual(Object.fromEntries(bounced.location().searchParams), form)
    assert.deepEqual(setCookies(bounced), {}, 'the session is not ended yet')
    const done = await browser.send(bounced.location().pathname + bounced.location().search)
    assert.equal(done.headers['location'], `${BYE}?state=s`)
    assert.equal(await isSignedIn(browser), false)
  })

  it('refuses a form that is too long for a URL', async () => {
    const form = { post_logout_redirect_uri: BYE, state: 's'.repeat(8000) }
    const browser = await signedIn(server)
    for (const from of [server, browser]) {
      const answer = await from.send('/logout.do', { form, headers: { origin: 'https://auto.example' } })
      assert.equal(answer.status, 400)
      assert.doesNotMatch(answer.text + String(answer.headers['location']), /s{1000}/)
    }
    assert.equal(await isSignedIn(browser), true)
  })

  it('requires confirmation of a form of another site', async () => {
    const browser = await signedIn(server)
    const bounced = await server.send('/logout.do', { form: { x: '1' }, headers: { origin: 'https://evil.example' } })
    assert.ok(asks(await browser.send(bounced.location().pathname + bounced.location().search)))
    assert.equal(await isSignedIn(browser), true)
  })
})

describe('post_logout_redirect_uri at /logout.do in uaa', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ mode: 'uaa', config })
  })
  after(() => server.stop())

  const cases: readonly { name: string; query: (hint: string) => Readonly<Record<string, string>>; want: string }[] = [
    {
      name: 'takes precedence over redirect',
      query: () => ({ post_logout_redirect_uri: 'https://listed.example/bye', redirect: 'http://localhost:8080/home' }),
      want: 'https://listed.example/bye',
    },
    {
      name: 'may be a redirect URI of the client_id',
      query: () => ({ post_logout_redirect_uri: 'https://auto.example/cb', client_id: 'auto' }),
      want: 'https://auto.example/cb',
    },
    {
      name: 'may be a redirect URI of the client of the hint',
      query: hint => ({ post_logout_redirect_uri: 'https://auto.example/cb', id_token_hint: hint }),
      want: 'https://auto.example/cb',
    },
    {
      // As Spring Security sends it.
      name: 'may be a post-logout redirect URI of the client of the hint',
      query: hint => ({ post_logout_redirect_uri: BYE, id_token_hint: hint }),
      want: BYE,
    },
    {
      name: 'is compared exactly',
      query: hint => ({ post_logout_redirect_uri: `${BYE}/`, id_token_hint: hint }),
      want: 'http://localhost:8080/login',
    },
    {
      name: 'may not be a post-logout redirect URI of another client',
      query: () => ({ post_logout_redirect_uri: BYE, client_id: 'app' }),
      want: 'http://localhost:8080/login',
    },
    {
      name: 'is ignored with a bad hint',
      query: () => ({ post_logout_redirect_uri: BYE, id_token_hint: 'x', client_id: 'auto' }),
      want: 'http://localhost:8080/login',
    },
    {
      name: 'is ignored with a bad hint, even if it is a redirect URI',
      query: () => ({ post_logout_redirect_uri: 'https://auto.example/cb', id_token_hint: 'x', client_id: 'auto' }),
      want: 'http://localhost:8080/login',
    },
    {
      name: 'is returned without state',
      query: hint => ({ post_logout_redirect_uri: 'https://auto.example/cb', id_token_hint: hint, state: 's' }),
      want: 'https://auto.example/cb',
    },
    {
      name: 'is ignored if unknown',
      query: () => ({ post_logout_redirect_uri: 'https://evil.example/' }),
      want: 'http://localhost:8080/login',
    },
    { name: 'is optional', query: () => ({}), want: 'http://localhost:8080/login' },
  ]
  for (const { name, query, want } of cases) {
    it(`${name}, without a confirmation`, async () => {
      const browser = await signedIn(server)
      const answer = await logout(browser, query(await hintOf(server, browser)))
      assert.equal(answer.status, 302)
      assert.equal(answer.headers['location'], want)
      assert.equal(await isSignedIn(browser), false)
    })
  }

  // Covers compatibility: logout and sessions: L1 endpoint
  it('requires a CSRF token of a form', async () => {
    const browser = await signedIn(server)
    assert.equal((await browser.send('/logout.do', { form: { redirect: 'http://localhost:8080/' } })).status, 403)
    assert.equal(await isSignedIn(browser), true)
    const done = await browser.send('/logout.do', {
      form: { redirect: 'http://localhost:8080/home', 'X-Svc-Csrf': browser.csrf },
    })
    assert.equal(done.headers['location'], 'http://localhost:8080/home')
    const anonymous = await server.browser().send('/logout.do', { form: {} })
    assert.equal(anonymous.headers['location'], 'http://localhost:8080/login?error=invalid_login_request')
  })
})

describe('Zone settings of /logout.do', () => {
  for (const mode of MODES) {
    // Covers GET /logout.do: redirect name of the zone; rule: default target
    // Covers Zone config in effect: links.logout.redirectUrl; links.logout.redirectParameterName
    it(`configure the default target and the name of the redirect parameter in ${mode}`, async () => {
      const logoutLinks = {
        redirectUrl: 'https://portal.example/',
        redirectParameterName: 'next',
        whitelist: ['https://listed.example/bye'],
      }
      const server = await startServer({ mode, config: { bootstrap, zone_config: { links: { logout: logoutLinks } } } })
      try {
        const go = async (query: Readonly<Record<string, string>>) =>
          (await logout(await signedIn(server), query)).headers['location']
        assert.equal(await go({ next: 'https://listed.example/bye' }), 'https://listed.example/bye')
        assert.equal(await go({ next: 'https://evil.example/' }), 'https://portal.example/')
        const browser = await signedIn(server)
        const own = await browser.send('/logout.do', { form: { 'X-Svc-Csrf': browser.csrf } })
        assert.equal(own.headers['location'], 'https://portal.example/')
      } finally {
        await server.stop()
      }
    })
  }
})

for (const mode of MODES) {
  describe(`/logout.do of a self-registered client in ${mode}`, () => {
    const cb = 'https://new.example/cb'
    const bye = 'https://new.example/bye'
    let server: TestServer
    let app: Registered
    before(async () => {
      const zone_config = { protocols: { frontchannelLogout: true } }
      server = await startRegistrationServer({ mode: 'open' }, { mode, config: { zone_config } })
      const metadata = { ...METADATA, post_logout_redirect_uris: [bye], scope: 'openid' }
      app = registered(await register(server, metadata))
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** An ID token of the browser's session. */
    async function idTokenOf(browser: Browser): Promise<string> {
      const { client_id, client_secret } = app
      const query = { response_type: 'code', client_id, redirect_uri: cb, scope: 'openid', nonce: 'n' }
      const page = await browser.send('/oauth/authorize', { query })
      const form = { ...hiddenFields(page.text), 'scope.0': 'scope.openid', user_oauth_approval: 'true' }
      const approved = page.status === 302 ? page : await browser.send('/oauth/authorize', { form })
      const { code = '' } = responseOf(approved).query
      const grant = { grant_type: 'authorization_code', code, redirect_uri: cb }
      return (await server.token(grant, { basic: [client_id, client_secret] })).json<{ id_token: string }>().id_token
    }

    it('redirects with an ID token of the current session', async () => {
      const browser = await signedIn(server)
      const id_token_hint = await idTokenOf(browser)
      const answer = await logout(browser, { id_token_hint, post_logout_redirect_uri: bye })
      assert.equal(answer.headers['location'], bye)
      assert.equal(await isSignedIn(browser), false)
    })

    it('redirects with an ID token of an earlier session after confirmation', async () => {
      const id_token_hint = await idTokenOf(await signedIn(server))
      const browser = await signedIn(server)
      const page = await logout(browser, { id_token_hint, post_logout_redirect_uri: bye })
      const answer =
        mode === 'uaa'
          ? page
          : await browser.send('/logout.do', { form: hiddenFields(page.text.split('<main')[1] ?? '') })
      assert.equal(answer.headers['location'], bye)
    })

    // RFC 9700 §4.11.2.
    it('shows a link instead of redirecting an anonymous user', async () => {
      const id_token_hint = await idTokenOf(await signedIn(server, 'joel', 'wombat'))
      const visitor = server.browser()
      const answer = await logout(visitor, { id_token_hint, post_logout_redirect_uri: bye, state: 's' })
      if (mode === 'uaa') {
        assert.equal(answer.headers['location'], 'http://localhost:8080/login')
        return
      }
      assert.equal(answer.status, 200)
      assert.match(answer.text, /You are signed out/)
      assert.match(answer.text, /href="https:\/\/new\.example\/bye\?state=s"[^>]*>Continue to <bdi>new\.example<\/bdi>/)
      assert.equal(answer.headers['refresh'], undefined)
    })

    it('shows the link with front-channel logout frames', { skip: mode === 'uaa' }, async () => {
      await changeClient(server, 'auto', { frontchannelLogoutUri: 'https://auto.example/out' })
      const id_token_hint = await idTokenOf(await signedIn(server, 'joel', 'wombat'))
      const browser = await signedIn(server)
      await hintOf(server, browser)
      const asked = await logout(browser, { id_token_hint, post_logout_redirect_uri: bye })
      const answer = await browser.send('/logout.do', { form: hiddenFields(asked.text) })
      assert.match(answer.text, /<iframe [^>]*src="https:\/\/auto\.example\/out/)
      assert.match(answer.text, /href="https:\/\/new\.example\/bye"[^>]*>Continue to <bdi>new\.example<\/bdi>/)
      assert.equal(answer.headers['refresh'], undefined)
    })

    it('does not redirect by client_id alone', async () => {
      for (const browser of [server.browser(), await signedIn(server)]) {
        for (const redirect of [cb, bye]) {
          const answer = await logout(browser, { redirect, client_id: app.client_id })
          assert.equal(answer.headers['location'], 'http://localhost:8080/login')
        }
      }
    })
  })
}

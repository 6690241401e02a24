import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, Z1_HOST, authorize, authorizeBootstrap, requestOf, signedIn } from '../support/authorize.ts'
import { hiddenFields, setCookies, unescaped } from '../support/forms.ts'
import { MODES, changeUser, userNamed } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import type { ZoneConfig } from '../../src/model/zones/zone.ts'
import { startServer } from '../support/server.ts'

const bootstrap = {
  ...authorizeBootstrap,
  users: [
    ...authorizeBootstrap.users,
    { userName: 'vera', password: 'unverified', verified: false, emails: [{ value: 'v@example.org' }] },
    { userName: 'ina', password: 'inactive', active: false, emails: [{ value: 'i@example.org' }] },
  ],
}

/** Opens the sign-in page and posts its form, with some fields changed. */
async function post(
  browser: Browser,
  change: Readonly<Record<string, string>> = {},
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  const fields = hiddenFields((await browser.send('/login')).text)
  return browser.send('/login.do', { form: { username: 'marissa', password: 'koala', ...fields, ...change }, headers })
}

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  const session = isStandard ? 'svc-session' : 'JSESSIONID'

  describe(`Sign-in in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    describe('GET /login', () => {
      // Covers GET /login: page: prompt fields; `X-<Service>-Csrf` field; refresh before the CSRF cookie ends
      it('shows the form with its fields', async () => {
        const browser = server.browser()
        const { status, headers, text } = await browser.send('/login')
        assert.equal(status, 200)
        assert.equal(headers['content-type'], 'text/html; charset=utf-8')
        assert.equal(headers['content-language'], 'en')
        assert.ok(
          text.includes('<form action="/login.do" method="post" novalidate="novalidate" accept-charset="UTF-8">'),
        )
        assert.match(text, /<input id="username" type="text" name="username"/)
        assert.match(text, /<input id="password" type="password" name="password"/)
        assert.match(text, /<input class="button" type="submit" value="Sign in">/)
        assert.deepEqual(hiddenFields(text), { 'X-Svc-Csrf': browser.csrf })
        assert.doesNotMatch(text, /passcode|class="alert/)
      })

      it('creates no session', async () => {
        const names = Object.keys(setCookies(await server.browser().send('/login')))
        assert.deepEqual(names.toSorted(), ['X-Svc-Csrf', 'svc-visitor'])
      })

      const messages: readonly { query: string; text: RegExp; kind?: string }[] = [
        // Covers GET /login error codes: login_failure
        {
          query: 'error=login_failure',
          text: isStandard ? /Incorrect user name or password/ : /credentials are invalid/,
        },
        // Covers GET /login error codes: account_locked
        { query: 'error=account_locked', text: isStandard ? /locked for a while/ : /locked because of too many/ },
        // Covers GET /login error codes: account_not_verified
        { query: 'error=account_not_verified', text: isStandard ? /not verified yet/ : /is not verified/ },
        // Covers GET /login error codes: password_expired
        { query: 'error=password_expired', text: /has expired/ },
        // Covers GET /login error codes: invalid_login_request
        {
          query: 'error=invalid_login_request',
          text: isStandard ? /open for too long/ : /does not meet our security standards/,
        },
        // Covers GET /login error codes: invalid_idp
        {
          query: 'error=invalid_idp',
          text: isStandard ? /cannot be used with this application/ : /not authorized for your account/,
        },
        { query: 'error=magic', text: /<p>Error!<\/p>/ },
        { query: 'error=', text: /<p>Error!<\/p>/ },
        { query: 'error=__proto__', text: /<p>Error!<\/p>/ },
        // Covers GET /login: error
        {
          query: 'error=login_failure&error=account_locked',
          text: isStandard ? /Incorrect user name or password/ : /credentials are invalid/,
        },
        // Covers GET /login: success
        // Covers GET /login error codes: success `password_reset`
        {
          query: 'success=password_reset',
          text: isStandard ? /password is changed/ : /Password reset successful/,
          kind: 'success',
        },
        { query: 'success=magic', text: /<p>Success!<\/p>/, kind: 'success' },
        {
          query: 'error=login_failure&success=password_reset',
          text: isStandard ? /Incorrect user name or password/ : /credentials are invalid/,
        },
      ]
      for (const { query, text, kind = 'error' } of messages) {
        // Covers GET /login: page: alert
        it(`shows the message for ${query}`, async () => {
          const page = await server.send(`/login?${query}`)
          assert.equal(page.status, 200)
          assert.match(page.text, new RegExp(`<div id="message" class="alert alert-${kind}"`))
          assert.match(page.text, text)
          assert.equal(page.text.match(/class="alert/g)?.length, 1)
        })
      }

      // Covers GET /login: username
      it('fills in the user name', async () => {
        assert.match(
          (await server.send('/login', { query: { username: 'marissa' } })).text,
          /name="username" value="marissa"/,
        )
      })

      // Covers GET /login: form_redirect_uri
      it('keeps form_redirect_uri only for its own host', async () => {
        const field = async (place: string) =>
          hiddenFields((await server.send('/login', { query: { form_redirect_uri: place } })).text)['form_redirect_uri']
        assert.equal(await field('http://localhost:8080/home?x=1'), 'http://localhost:8080/home?x=1')
        assert.equal(await field('https://evil.example/'), undefined)
      })

      // Covers GET /login: rule: already signed in goes home
      it('redirects signed-in users home', async () => {
        const answer = await (await signedIn(server)).send('/login')
        assert.equal(answer.status, 302)
        assert.equal(answer.headers['location'], 'http://localhost:8080/home')
      })

      it('shows an error to a signed-in user in standard, and redirects home in uaa', async () => {
        const answer = await (await signedIn(server)).send('/login', { query: { error: 'login_failure' } })
        if (mode === 'standard') return assert.match(answer.text, /class="alert alert-error"/)
        assert.equal(answer.headers['location'], 'http://localhost:8080/home')
      })

      // Covers GET /login Accept: application/json: same document as `/info`; rule: never redirects
      it('returns the document of /info as JSON, with and without a session', async () => {
        const headers = { accept: 'application/json' }
        const info = (await server.send('/info')).json()
        for (const browser of [server.browser(), await signedIn(server)]) {
          const answer = await browser.send('/login', { headers })
          assert.equal(answer.status, 200)
          assert.deepEqual(answer.json(), info)
        }
      })

      // Covers GET /login: rule: Accept that cannot be met
      it('answers 406 to clients that accept neither HTML nor JSON', async () => {
        for (const accept of ['image/png', 'text/plain, application/xml', 'text/html;q=0']) {
          for (const method of ['GET', 'HEAD']) {
            const answer = await server.send('/login', { method, headers: { accept } })
            assert.equal(answer.status, 406, accept)
            assert.equal(answer.headers['cache-control'], 'no-cache, no-store, max-age=0, must-revalidate')
            assert.equal(answer.headers['x-frame-options'], 'DENY')
          }
        }
        for (const accept of ['text/html', 'TEXT/*;q=0.1', 'image/webp,*/*']) {
          assert.equal((await server.send('/login', { headers: { accept } })).status, 200, accept)
        }
      })

      // Covers GET /login: origin
      // Partly covers oidc and oauth provider config: prompts
      it('shows the prompts of the provider in `origin`', async () => {
        const corp = await server.store.providers.findByOrigin('svc', 'svc')
        assert.ok(corp)
        const prompts = [
          { name: 'username', type: 'text', text: 'Staff number' },
          { name: 'token', type: 'password', text: 'Token' },
          { name: 'broken' },
          null,
        ]
        const own = (originKey: string, config: Readonly<Record<string, unknown>>, active = true) =>
          server.store.providers.insert('svc', {
            ...corp,
            id: originKey,
            originKey,
            type: 'oidc1.0',
            config: { showLinkText: false, ...config },
            active,
          })
        await own('corp', { passwordGrantEnabled: true, prompts })
        await own('pages', { prompts })
        await own('off', { passwordGrantEnabled: true, prompts }, false)
        const labels = async (origin: string) =>
          [
            ...(await server.send('/login', { query: { origin } })).text.matchAll(/<label for="[^"]*"><bdi>([^<]*)</g),
          ].map(([, text]) => text)
        assert.deepEqual(await labels('corp'), ['Staff number', 'Token'])
        const usual = await labels('svc')
        assert.equal(usual.length, 2)
        for (const origin of ['pages', 'off', 'nowhere', '']) assert.deepEqual(await labels(origin), usual)
      })

      it('omits the sign-up link if the client does not allow the internal provider', async () => {
        const zone = await server.store.zones.find('svc')
        assert.ok(zone)
        await server.store.zones.update({
          ...zone,
          config: { ...zone.config, links: { selfService: { signup: '/join' } } },
        })
        const browser = server.browser()
        await authorize(browser, requestOf('ldaponly'))
        assert.doesNotMatch((await browser.send('/login')).text, /href="\/join"/)
        assert.match((await server.send('/login')).text, /href="\/join"/)
        await server.store.zones.update(zone)
      })

      it('omits the form if the client allows no provider with passwords', async () => {
        const browser = server.browser()
        await authorize(browser, requestOf('ldaponly'))
        const { text } = await browser.send('/login')
        assert.doesNotMatch(text, /login\.do/)
        assert.match(text, /No sign-in method is set up here/)
      })

      // Covers GET /login: page: `login_hint` field
      // Covers GET /login error codes: invalid_login_hint
      // Partly covers saved request: `login_hint` of the saved request
      it('accepts a login_hint with an origin or a user name, and reports an unknown origin', async () => {
        const hinted = async (login_hint: string) => {
          const browser = server.browser()
          await authorize(browser, { ...AUTO_REQUEST, login_hint })
          return (await browser.send('/login')).text
        }
        for (const hint of ['{"origin":"svc"}', encodeURIComponent('{"origin":"svc"}')]) {
          const text = await hinted(hint)
          assert.equal(hiddenFields(text)['login_hint'], hint)
          assert.doesNotMatch(text, /class="alert/)
        }
        assert.match(
          await hinted('{"origin":"nowhere"}'),
          isStandard ? /asked for a sign-in method that does not exist here/ : /login hint is invalid/,
        )
        const other = await hinted('joel@example.org')
        if (isStandard) assert.match(other, /name="username" value="joel@example\.org"/)
        else assert.doesNotMatch(other, /joel@/, 'only a domain is supported')
      })
    })

    describe('POST /login.do', () => {
      // Covers POST /login.do: cookie: Current-User; new `X-<Service>-Csrf`; rule: new session id
      // Covers session cookie: new id at login
      // Covers cookie X-<Service>-Csrf: replaced at login
      // Covers cookie Current-User: value; Path; readable by script; SameSite=Strict; Max-Age; set at login
      it('creates a session, a new anti-forgery token and Current-User', async () => {
        const browser = server.browser()
        await browser.send(`/home?${'x'.repeat(3000)}`) // too long for a cookie, so it is saved in a session
        const anonymous = browser.cookies.get(session)
        const csrf = browser.csrf
        const answer = await post(browser)
        assert.equal(answer.status, 302)
        const { id } = await userNamed(server, 'marissa')
        const cookies = setCookies(answer)
        assert.deepEqual(Object.keys(cookies).toSorted(), ['Current-User', 'X-Svc-Csrf', session].toSorted())
        assert.match(
          cookies[session] ?? '',
          isStandard
            ? /^svc-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/
            : /^JSESSIONID=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/,
        )
        assert.match(
          cookies['X-Svc-Csrf'] ?? '',
          /^X-Svc-Csrf=[A-Za-z0-9]{22}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/,
        )
        assert.equal(
          cookies['Current-User'],
          `Current-User=${encodeURIComponent(JSON.stringify({ userId: id }))}; Max-Age=1800; Path=/; SameSite=Strict`,
        )
        assert.ok(anonymous)
        assert.notEqual(browser.cookies.get(session), anonymous)
        assert.notEqual(browser.csrf, csrf)
        const earlier = await server.send('/home', { cookies: { [session]: anonymous } })
        assert.equal(earlier.status, 302, 'the earlier session id is invalid')
      })

      // Covers POST /login.do: rule: user name in any case
      it('ignores the case of the user name', async () => {
        assert.equal(
          (await post(server.browser(), { username: 'MarISSa' })).headers['location'],
          'http://localhost:8080/',
        )
      })

      // Covers POST /login.do: rule: target is the saved request
      it('redirects to the requested page', async () => {
        const browser = server.browser()
        const asked = await browser.send('/home?x=1')
        assert.equal(asked.status, 302)
        assert.equal(asked.headers['location'], 'http://localhost:8080/login')
        assert.equal((await post(browser)).headers['location'], 'http://localhost:8080/home?x=1')
      })

      // Covers POST /login.do: rule: target is /
      it('redirects to / without a saved request', async () => {
        assert.equal((await post(server.browser())).headers['location'], 'http://localhost:8080/')
      })

      const places: readonly { name: string; place: string; want?: string }[] = [
        // Covers POST /login.do: rule: target is `form_redirect_uri` of the own host
        {
          name: 'a page on its own host',
          place: 'http://localhost:8080/home?x=1#y',
          want: 'http://localhost:8080/home?x=1#y',
        },
        // Covers POST /login.do: form_redirect_uri
        // Partly covers unsafe behaviour: RelayState and `form_redirect_uri` only to own hosts
        { name: 'another host', place: 'https://evil.example/' },
        { name: 'its host as a subdomain of another', place: 'http://localhost:8080.evil.example/' },
        { name: 'its host as userinfo', place: 'http://localhost:8080@evil.example/' },
        { name: 'its host with userinfo', place: 'http://x@localhost:8080/' },
        { name: 'another port', place: 'http://localhost:9090/' },
        { name: 'another scheme', place: 'https://localhost:8080/' },
        { name: 'another zone', place: 'http://z1.localhost:8080/' },
        { name: 'two slashes', place: 'http://localhost:8080//evil.example/' },
        { name: 'a host without a scheme', place: '//evil.example/' },
        { name: 'a path', place: '/home' },
        { name: 'a backslash', place: 'http://localhost:8080/\\evil.example' },
        { name: 'a backslash before the host', place: '\\\\evil.example' },
        { name: 'a line break', place: 'http://localhost:8080/\r\nX: y' },
        { name: 'a tab', place: 'http://localhost:8080/\t/evil.example' },
        { name: 'a javascript: URL', place: 'javascript:alert(1)' },
        { name: 'a data: URL', place: 'data:text/html,x' },
        { name: 'an empty string', place: '' },
        {
          name: 'the logout endpoint',
          place: 'http://localhost:8080/logout.do?redirect=http%3A%2F%2Flocalhost%3A8080%2Fhome',
        },
      ]
      for (const { name, place, want = 'http://localhost:8080/' } of places) {
        it(`${want === place ? 'redirects' : 'does not redirect'} to ${name}`, async () => {
          assert.equal((await post(server.browser(), { form_redirect_uri: place })).headers['location'], want)
        })
      }

      const refusals: readonly { name: string; change: Readonly<Record<string, string>>; code: string }[] = [
        // Covers POST /login.do: password
        { name: 'a wrong password', change: { password: 'wrong' }, code: 'login_failure' },
        // Covers POST /login.do: username
        { name: 'an unknown user', change: { username: 'nemo' }, code: 'login_failure' },
        // Covers POST /login.do: error: login_failure
        { name: 'an inactive user', change: { username: 'ina', password: 'inactive' }, code: 'login_failure' },
        { name: 'no user name', change: { username: '' }, code: 'login_failure' },
        { name: 'no password', change: { password: '' }, code: 'login_failure' },
        // Covers POST /login.do: error: account_not_verified
        {
          name: 'an unverified user',
          change: { username: 'vera', password: 'unverified' },
          code: 'account_not_verified',
        },
        {
          name: 'an unverified user with a wrong password',
          change: { username: 'vera', password: 'wrong' },
          code: 'login_failure',
        },
        { name: 'the password of another zone', change: { password: 'z1-koala' }, code: 'login_failure' },
        {
          name: 'a login_hint with an unknown origin',
          change: { login_hint: '{"origin":"nowhere"}' },
          code: 'login_failure',
        },
        { name: 'a user name with SQL', change: { username: "' or 1=1 --" }, code: 'login_failure' },
        { name: 'a password of 10,000 characters', change: { password: 'x'.repeat(10_000) }, code: 'login_failure' },
      ]
      it('keeps Current-User where a session of the user goes on in standard', async () => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        await browser.send('/oauth/authorize', { query: { ...AUTO_REQUEST, prompt: 'login' } })
        const { cookies } = await browser.signIn('marissa', 'wrong')
        assert.equal(cookies['Current-User'] === undefined, isStandard)
        assert.equal((await browser.send('/home')).status, isStandard ? 200 : 302)
      })

      for (const { name, change, code } of refusals) {
        // Covers POST /login.do: rule: failure clears Current-User
        it(`refuses ${name}, and clears Current-User`, async () => {
          const browser = server.browser()
          const answer = await post(browser, change)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], `http://localhost:8080/login?error=${code}`)
          const { 'Typed-Name': typed, ...cookies } = setCookies(answer)
          assert.deepEqual(cookies, { 'Current-User': 'Current-User=; Max-Age=0; Path=/; SameSite=Strict' })
          const name = change['username'] ?? 'marissa'
          const attributes = '; Max-Age=60; Path=/login; HttpOnly; SameSite=Lax'
          // UAA: does not keep the name (row P3).
          const isKept = isStandard && name !== ''
          assert.equal(typed, isKept ? `Typed-Name=${encodeURIComponent(name)}${attributes}` : undefined)
          assert.equal((await browser.send('/home')).status, 302)
        })
      }

      it('keeps the user name of a failed sign-in for the next page only, in no URL', async () => {
        const browser = server.browser()
        const answer = await post(browser, { username: 'Marissa "M"', password: 'wrong' })
        const failed = await browser.send('/login?error=login_failure')
        const shown = 'value="Marissa &quot;M&quot;"'
        assert.equal(failed.text.includes(shown), isStandard)
        assert.doesNotMatch(`${String(answer.headers['location'])} ${failed.text}`, /(?:href|action)="[^"]*Marissa/i)
        assert.doesNotMatch((await browser.send('/login?error=login_failure')).text, /Marissa/)
        await post(browser, { username: 'Marissa "M"', password: 'wrong' })
        assert.doesNotMatch((await browser.send('/login')).text, /Marissa/, 'no failure on this page')
      })

      for (const name of ['x'.repeat(256), 'a\u0007b', '   ']) {
        it(`neither keeps ${JSON.stringify(name.slice(0, 10))} nor accepts it in a cookie`, async () => {
          const answer = await post(server.browser(), { username: name, password: 'wrong' })
          assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=login_failure')
          assert.equal(setCookies(answer)['Typed-Name'], undefined)
          const cookies = { 'Typed-Name': encodeURIComponent(name) }
          const page = await server.send('/login?error=login_failure', { cookies })
          assert.doesNotMatch(page.text, /name="username" value=/)
        })
      }

      it('escapes the name in the cookie', async () => {
        const cookies = { 'Typed-Name': encodeURIComponent('"><script>alert(1)</script>') }
        const { text } = await server.send('/login?error=login_failure', { cookies })
        assert.doesNotMatch(text, /<script>/)
        assert.equal(text.includes('value="&quot;&gt;&lt;script&gt;'), isStandard)
      })

      // Covers POST /login.do: error: password change goes to `/force_password_change`
      // Covers account state: passwordChangeRequired at login
      it('redirects to a pending password change', async () => {
        await changeUser(server, 'joel', { passwordChangeRequired: true })
        const browser = server.browser()
        const page = 'http://localhost:8080/force_password_change'
        const answer = await post(browser, { username: 'joel', password: 'wombat' })
        assert.equal(answer.headers['location'], isStandard ? page : 'http://localhost:8080/')
        assert.equal((await browser.send('/')).headers['location'], page)
        assert.equal((await browser.send('/force_password_change')).status, 200)
        await changeUser(server, 'joel', { passwordChangeRequired: false })
      })

      // Covers POST /login.do: error: account_locked
      // Covers lockout: a locked account refuses the right password
      it('locks an account for five minutes after five wrong passwords', async () => {
        const browser = server.browser()
        const locked = mode === 'standard' ? '?error=login_failure' : '?error=account_locked' // C12
        const attempt = async (password: string) =>
          (await post(browser, { username: 'sam', password })).location().search
        for (let count = 1; count <= 5; count += 1) assert.equal(await attempt('wrong'), '?error=login_failure')
        assert.equal(await attempt('dingo'), locked)
        assert.match((await browser.send('/login?error=account_locked')).text, /account (?:is|has been) locked/)
        server.clock.advance(299)
        assert.equal(await attempt('dingo'), locked)
        server.clock.advance(1)
        assert.equal(await attempt('dingo'), '')
      })

      // Covers lockout: unknown users are never locked
      it('does not lock unknown user names or other accounts', async () => {
        for (let count = 1; count <= 6; count += 1) await post(server.browser(), { username: 'nemo' })
        assert.equal((await post(server.browser(), { username: 'nemo' })).location().search, '?error=login_failure')
        assert.equal((await post(server.browser())).location().search, '')
      })

      it('refuses users of a provider that the client does not allow', async () => {
        const browser = server.browser()
        await authorize(browser, requestOf('ldaponly'))
        const csrf = browser.csrf
        const answer = await browser.send('/login.do', {
          form: {
            username: 'marissa',
            password: 'koala',
            'X-Svc-Csrf': csrf,
            form_redirect_uri: `http://localhost:8080/oauth/authorize?${new URLSearchParams(requestOf('ldaponly')).toString()}`,
          },
        })
        assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=login_failure')
      })

      const forgeries: readonly {
        name: string
        change?: Readonly<Record<string, string>>
        headers?: Record<string, string>
      }[] = [
        { name: 'without the anti-forgery token', change: { 'X-Svc-Csrf': '' } },
        { name: 'with a wrong anti-forgery token', change: { 'X-Svc-Csrf': 'A'.repeat(22) } },
        { name: 'from another origin', headers: { origin: 'https://evil.example' } },
        { name: 'from a sibling host', headers: { origin: 'http://evil.localhost:8080' } },
        // Covers denied page: CSRF wrong and signed in is 403
        {
          name: 'with Sec-Fetch-Site: cross-site',
          headers: { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:8080' },
        },
        { name: 'with Sec-Fetch-Site: same-site', headers: { 'sec-fetch-site': 'same-site' } },
      ]
      for (const { name, change = {}, headers = {} } of forgeries) {
        it(`refuses a form ${name}`, async () => {
          const browser = server.browser()
          const answer = await post(browser, change, headers)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=invalid_login_request')
          assert.equal((await browser.send('/home')).status, 302)

          const signed = await signedIn(server)
          const again = await signed.send('/login.do', {
            form: { username: 'joel', password: 'wombat', 'X-Svc-Csrf': signed.csrf, ...change },
            headers,
          })
          assert.equal(again.status, 403)
          assert.match(
            again.text,
            isStandard ? /This form was not sent from one of our pages/ : /Invalid Request Error/,
          )
          assert.match((await signed.send('/home')).text, /marissa/)
        })
      }

      // Covers POST /login.do: error: invalid_login_request
      // Covers denied page: CSRF wrong and signed out
      it('refuses a form without its cookie', async () => {
        const answer = await server.send('/login.do', {
          form: { username: 'marissa', password: 'koala', 'X-Svc-Csrf': 'A'.repeat(22) },
        })
        assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=invalid_login_request')
      })

      for (const headers of [
        { origin: 'http://localhost:8080' },
        { origin: 'null' },
        { origin: 'null', 'sec-fetch-site': 'same-origin' },
        { 'sec-fetch-site': 'none' },
      ]) {
        it(`accepts a same-origin form with ${JSON.stringify(headers)}`, async () => {
          assert.equal((await post(server.browser(), {}, headers)).headers['location'], 'http://localhost:8080/')
        })
      }

      // Covers POST /login.do: header X-CSRF-TOKEN
      it('accepts the CSRF token in a header', async () => {
        const browser = server.browser()
        await browser.send('/login')
        const answer = await browser.send('/login.do', {
          form: { username: 'marissa', password: 'koala' },
          headers: { 'x-csrf-token': browser.csrf },
        })
        assert.equal(answer.headers['location'], 'http://localhost:8080/')
      })

      it('answers 403 to a JSON caller without an anti-forgery token', async () => {
        for (const browser of [server.browser(), await signedIn(server)]) {
          const answer = await browser.send('/login.do', {
            form: { username: 'marissa' },
            headers: { accept: 'application/json' },
          })
          assert.equal(answer.status, 403)
          assert.deepEqual(Object.keys(answer.json()), ['error'])
        }
      })

      it('replaces the session of another user', async () => {
        const browser = await signedIn(server)
        const before = browser.cookies.get(session)
        await browser.send('/login.do', { form: { username: 'joel', password: 'wombat', 'X-Svc-Csrf': browser.csrf } })
        assert.notEqual(browser.cookies.get(session), before)
        assert.match((await browser.send('/home')).text, /<bdi>joel</)
      })

      it('records success and failure in the audit trail, never the input', async () => {
        await post(server.browser(), { username: 'typed-into-the-wrong-field', password: 'secret-of-somebody' })
        const trail = JSON.stringify(server.events)
        assert.match(trail, /UserAuthenticationSuccess/)
        assert.match(trail, /UserAuthenticationFailure/)
        assert.match(trail, /UserNotFound/)
        assert.doesNotMatch(trail, /koala|wombat|secret-of-somebody|typed-into/)
      })
    })

    describe('of another zone', () => {
      it('uses the users and sessions of that zone', async () => {
        const browser = await signedIn(server, 'marissa', 'z1-koala', Z1_HOST)
        assert.match((await browser.send('/home')).text, /<bdi>marissa</)
        const id = browser.cookies.get(session) ?? ''
        const elsewhere = await server.send('/home', { cookies: { [session]: id } })
        assert.equal(elsewhere.headers['location'], 'http://localhost:8080/login')
        assert.equal(
          (await server.browser(Z1_HOST).signIn('marissa', 'koala')).headers['location'],
          'http://z1.localhost:8080/login?error=login_failure',
        )
      })

      it('shows the name of the zone', async () => {
        const { text } = await server.send('/login', { host: Z1_HOST })
        assert.match(text, isStandard ? /<title>Sign in · Zone one<\/title>/ : /<h1>Welcome to Zone one!<\/h1>/)
      })
    })
  })
}

describe('Sign-in form of a zone', () => {
  // Covers GET /login: page: create account and reset password links
  // Covers layout and branding: self-service links of the zone; {zone.id} and {zone.subdomain} in links
  // Covers Zone config in effect: prompts
  it('shows the prompts and links of the zone, with variables replaced', async () => {
    const server = await startServer({
      config: {
        bootstrap,
        zone_config: {
          prompts: [
            { name: 'username', type: 'text', text: 'Staff <number>' },
            { name: 'password', type: 'password', text: 'Secret' },
            { name: 'passcode', type: 'password', text: 'Code' },
          ],
          links: {
            selfService: { signup: 'https://portal.example/{zone.id}/new', passwd: '/forgot?zone={zone.subdomain}' },
          },
        },
      },
    })
    try {
      const { text } = await server.send('/login')
      assert.ok(unescaped(text).includes('<bdi>Staff <number></bdi>'))
      assert.doesNotMatch(text, /name="passcode"/)
      assert.match(text, /<a href="https:\/\/portal\.example\/svc\/new">Create account<\/a>/)
      assert.match(text, /href="\/forgot\?zone=">Reset password<\/a>/)
    } finally {
      await server.stop()
    }
  })

  // Partly covers configuration file: bootstrap.identity_providers[]: config.disableInternalUserManagement
  it('has no links if internal user management is disabled', async () => {
    const identity_providers = [
      { originKey: 'svc', type: 'svc', name: 'svc', config: { disableInternalUserManagement: true } },
    ]
    const selfService = { signup: 'https://portal.example/new', passwd: '/forgot' }
    const server = await startServer({
      config: { bootstrap: { ...bootstrap, identity_providers }, zone_config: { links: { selfService } } },
    })
    try {
      const configure = async (config: ZoneConfig): Promise<void> => {
        const zone = await server.store.zones.find('svc')
        assert.ok(zone)
        await server.store.zones.update({ ...zone, config: { ...zone.config, ...config } })
      }
      assert.doesNotMatch((await server.send('/login')).text, /Create account|Reset password/)
      assert.deepEqual(Object.keys((await server.send('/info')).json<{ links: object }>().links), ['login', 'uaa'])
      await configure({ idpDiscoveryEnabled: true })
      const browser = server.browser()
      const asked = await browser.send('/login')
      assert.match(asked.text, /id="email"/)
      assert.doesNotMatch(asked.text, /Create account/)
      const form = { 'X-Svc-Csrf': browser.csrf, email: 'marissa' }
      const { text } = await browser.send('/login/idp_discovery', { form })
      assert.match(text, /id="password"/)
      assert.doesNotMatch(text, /Reset password/)
    } finally {
      await server.stop()
    }
  })

  // Covers layout and branding: selfServiceLinksEnabled
  // Covers Zone config in effect: links.selfService.selfServiceLinksEnabled
  it('has no links with selfServiceLinksEnabled=false', async () => {
    const selfService = { selfServiceLinksEnabled: false, signup: 'https://portal.example/new', passwd: '/forgot' }
    const server = await startServer({ config: { bootstrap, zone_config: { links: { selfService } } } })
    try {
      assert.doesNotMatch((await server.send('/login')).text, /Create account|Reset password/)
      assert.deepEqual(Object.keys((await server.send('/info')).json<{ links: object }>().links), ['login', 'uaa'])
    } finally {
      await server.stop()
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addSeconds } from '../../../src/base/clock.ts'
import { digest } from '../../../src/base/secrets.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { sessionCookieName } from '../../../src/web/sessions/session-cookies.ts'
import { APP_REQUEST, AUTO_REQUEST, authorize, signedIn } from '../../support/authorize.ts'
import { checkboxes, hiddenFields, setCookies } from '../../support/forms.ts'
import { MODES, changeUser, userNamed } from '../../support/oauth.ts'
import type { Browser, ServerOptions, TestServer } from '../../support/server.ts'
import { withServer } from '../../support/server.ts'

const S256 = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

for (const mode of MODES) {
  describe(`Session in ${mode}`, () => {
    const session = mode === 'standard' ? 'svc-session' : 'JSESSIONID'
    const inServer = (name: string, test: (server: TestServer) => Promise<void>): void => {
      it(name, () => withServer({ mode }, test))
    }

    // Covers session cookie: idle timeout
    inServer('expires after half an hour without a request', async server => {
      const browser = await signedIn(server)
      server.clock.advance(1799)
      assert.equal(await isSignedIn(browser), true)
      server.clock.advance(1800)
      assert.equal(await isSignedIn(browser), false)
    })

    inServer('expires as early after the clock was set back', async server => {
      const browser = await signedIn(server)
      server.clock.advance(-3600)
      assert.equal(await isSignedIn(browser), true)
      server.clock.advance(1800)
      assert.equal(await isSignedIn(browser), false)
    })

    // Covers session cookie: servlet.idle-timeout
    it('expires after servlet.idle-timeout without a request', () =>
      withServer({ mode, config: { servlet: { 'idle-timeout': 20 } } }, async server => {
        const browser = await signedIn(server)
        for (let round = 0; round < 5; round += 1) {
          server.clock.advance(14)
          assert.equal(await isSignedIn(browser), true, `${round}`)
        }
        server.clock.advance(20)
        assert.equal(await isSignedIn(browser), false)
      }))

    // Covers session cookie: servlet.session-cookie.max-age
    it('has a session cookie, unless servlet.session-cookie.max-age is set', async () => {
      for (const [servlet, own, readable] of [
        [{}, undefined, '1800'],
        [{ 'session-cookie': { 'max-age': -1 } }, undefined, '1800'],
        [{ 'session-cookie': { 'max-age': 86_400 } }, '86400', '86400'],
      ] as const) {
        await withServer({ mode, config: { servlet } }, async server => {
          const browser = server.browser()
          const cookies = setCookies(await browser.signIn('marissa', 'koala'))
          const ageOf = (name: string) => /Max-Age=(\d+)/.exec(cookies[name] ?? '')?.[1]
          assert.deepEqual([ageOf(session), ageOf('Current-User')], [own, readable])
          const gone = setCookies(await browser.send('/logout.do', { form: { 'X-Svc-Csrf': browser.csrf } }))
          assert.match(gone[session] ?? '', /Max-Age=0;/)
        })
      }
    })

    // Covers session cookie: absolute lifetime
    inServer('is extended by requests, for at most twelve hours', async server => {
      const browser = await signedIn(server)
      for (let passed = 0; passed < 43_200 - 1200; passed += 1200) {
        server.clock.advance(1200)
        assert.equal(await isSignedIn(browser), true, `${passed} s`)
      }
      server.clock.advance(1199)
      assert.equal(await isSignedIn(browser), true)
      server.clock.advance(1)
      assert.equal(await isSignedIn(browser), false)
    })

    inServer('is extended by authorization requests', async server => {
      const browser = await signedIn(server)
      for (let round = 0; round < 4; round += 1) {
        server.clock.advance(1700)
        assert.ok((await authorize(browser, { ...AUTO_REQUEST, prompt: 'none' })).location().searchParams.has('code'))
      }
    })

    // Covers session invalidation: user deleted or inactive
    inServer('ends if the account is deactivated, permanently', async server => {
      const browser = await signedIn(server)
      const cookies = Object.fromEntries(browser.cookies)
      await changeUser(server, 'marissa', { active: false })
      assert.equal((await authorize(browser, AUTO_REQUEST)).headers['location'], `${server.baseUrl}/login`)
      await changeUser(server, 'marissa', { active: true })
      assert.equal((await server.send('/home', { cookies })).status, 302)
    })

    // Covers GET /oauth/authorize: rule: password changed since login
    // Covers session invalidation: password changed after the login
    inServer('ends after a password change', async server => {
      const browser = await signedIn(server)
      await changeUser(server, 'marissa', { passwordRevision: 'next', passwordChangedAt: server.clock.now() })
      assert.equal(await isSignedIn(browser), false)
      assert.equal(await isSignedIn(await signedIn(server)), true)
    })

    inServer('ends after a password change even if the clock is set back', async server => {
      const browser = await signedIn(server)
      server.clock.advance(-3600)
      await changeUser(server, 'marissa', { passwordRevision: 'next', passwordChangedAt: server.clock.now() })
      assert.equal(await isSignedIn(browser), false)
      const later = await signedIn(server)
      server.clock.advance(-60)
      assert.equal(await isSignedIn(later), true)
    })

    inServer('without a password revision ends by the time of the password change', async server => {
      const browser = await signedIn(server)
      const user = await userNamed(server, 'marissa')
      const [session] = await server.store.sessions.listOfUser('svc', user.id, server.clock.now())
      assert.ok(session?.signIn)
      const { passwordRevision: _, ...signIn } = session.signIn
      await server.store.sessions.replace('svc', session.idDigest, { ...session, signIn })
      assert.equal(await isSignedIn(browser), true)
      await changeUser(server, 'marissa', { passwordChangedAt: addSeconds(server.clock.now(), 1) })
      assert.equal(await isSignedIn(browser), false)
    })

    inServer('is stored under a digest of its id', async server => {
      const browser = await signedIn(server)
      const id = browser.cookies.get(session) ?? ''
      assert.match(id, /^[\w-]{43}$/)
      assert.equal(await server.store.sessions.find('svc', id), undefined)
      assert.ok((await server.store.sessions.find('svc', digest(id)))?.signIn)
    })

    inServer('is not found by other ids', async server => {
      const browser = await signedIn(server)
      const id = browser.cookies.get(session) ?? ''
      for (const value of ['', 'x', `${id}x`, id.slice(1), id.toLowerCase(), digest(id), `${id.slice(0, -1)}!`]) {
        assert.equal((await server.send('/home', { cookies: { [session]: value } })).status, 302, value)
      }
    })

    describe('with clients', () => {
      const clientsOf = async (server: TestServer, browser: Browser): Promise<readonly string[] | undefined> =>
        (await server.store.sessions.find('svc', digest(browser.cookies.get(session) ?? '')))?.clients

      /** Starts counting writes of clients. */
      function countWrites(server: TestServer): () => number {
        let count = 0
        const insert = server.store.codes.insert.bind(server.store.codes)
        server.store.codes.insert = (...given) => {
          if (given[2] !== undefined) count += 1
          return insert(...given)
        }
        return () => count
      }

      inServer('stores each client that got a code, in one write', async server => {
        const browser = await signedIn(server)
        const writes = countWrites(server)
        assert.equal(await clientsOf(server, browser), undefined)
        for (const prompt of [undefined, 'none', undefined]) await authorize(browser, { ...AUTO_REQUEST, prompt })
        assert.deepEqual(await clientsOf(server, browser), ['auto'])
        assert.equal(writes(), 1)
        await authorize(browser, { ...AUTO_REQUEST, client_id: 'spa', redirect_uri: 'https://spa.example/cb', ...S256 })
        assert.deepEqual(await clientsOf(server, browser), ['auto', 'spa'])
        assert.equal(writes(), 2)
      })

      inServer('does not store clients that got no code', async server => {
        const browser = await signedIn(server)
        await authorize(browser, APP_REQUEST)
        await authorize(browser, { ...APP_REQUEST, prompt: 'none' })
        await authorize(browser, { ...AUTO_REQUEST, scope: 'nonsense' })
        await authorize(browser, { ...AUTO_REQUEST, client_id: 'nemo' })
        await authorize(server.browser(), { ...AUTO_REQUEST, prompt: 'none' })
        assert.equal(await clientsOf(server, browser), undefined)
      })

      inServer('stores a client after approval', async server => {
        const browser = await signedIn(server)
        const page = await authorize(browser, APP_REQUEST)
        const ticked = Object.fromEntries(checkboxes(page.text).map(({ name, value }) => [name, value]))
        const form = { ...hiddenFields(page.text), ...ticked, user_oauth_approval: 'true' }
        assert.ok((await browser.send('/oauth/authorize', { form })).location().searchParams.has('code'))
        assert.deepEqual(await clientsOf(server, browser), ['app'])
      })

      inServer('stores at most a hundred clients, and still answers others', async server => {
        const browser = await signedIn(server)
        const id = digest(browser.cookies.get(session) ?? '')
        for (let count = 0; count < 100; count += 1)
          await server.store.sessions.addClient('svc', id, { clientId: `c${count}`, isNotified: false })
        assert.ok((await authorize(browser, AUTO_REQUEST)).location().searchParams.has('code'))
        assert.equal((await clientsOf(server, browser))?.length, 100)
      })

      inServer('keeps clients and session_state if the same user signs in again', async server => {
        const browser = await signedIn(server)
        await authorize(browser, AUTO_REQUEST)
        const salt = async () =>
          (await server.store.sessions.find('svc', digest(browser.cookies.get(session) ?? '')))?.signIn?.sessionSalt
        const before = await salt()
        const cookie = browser.cookies.get(session)
        const again = (username: string, password: string) =>
          browser.send('/login.do', { form: { username, password, 'X-Svc-Csrf': browser.csrf } })
        await again('marissa', 'koala')
        assert.notEqual(browser.cookies.get(session), cookie)
        assert.deepEqual(await clientsOf(server, browser), ['auto'])
        assert.equal(await salt(), before)
        await again('joel', 'wombat')
        assert.equal(await clientsOf(server, browser), undefined)
        assert.notEqual(await salt(), before)
        await again('marissa', 'koala')
        assert.equal(await clientsOf(server, browser), undefined)
        assert.notEqual(await salt(), before)
      })
    })

    inServer('stores a truncated User-Agent', async server => {
      for (const [header, want] of [
        ['Mozilla/5.0 (X11; Linux) Firefox/140.0', 'Mozilla/5.0 (X11; Linux) Firefox/140.0'],
        ['x'.repeat(300), 'x'.repeat(256)],
        ['', undefined],
      ] as const) {
        const browser = server.browser()
        const fields = hiddenFields((await browser.send('/login')).text)
        const form = { username: 'marissa', password: 'koala', ...fields }
        await browser.send('/login.do', { form, headers: { 'user-agent': header } })
        const kept = await server.store.sessions.find('svc', digest(browser.cookies.get(session) ?? ''))
        assert.equal(kept?.signIn?.userAgent, want)
      }
    })

    inServer('without a sign-in is not signed in', async server => {
      const browser = server.browser()
      await authorize(browser, { ...AUTO_REQUEST, state: 'x'.repeat(2500) })
      assert.ok(browser.cookies.get(session))
      assert.equal(await isSignedIn(browser), false)
      const silent = await authorize(browser, { ...AUTO_REQUEST, prompt: 'none' })
      assert.equal(silent.location().searchParams.get('error'), 'login_required')
    })
  })
}

describe('Cookies over https', () => {
  const https = (baseUrl: string, more: Readonly<Record<string, unknown>> = {}): ServerOptions => ({
    config: { base_url: baseUrl, ...more },
  })

  /** Signs in, and returns the attributes of the cookies set. */
  async function cookiesOf(server: TestServer): Promise<Record<string, string>> {
    const base = new URL(server.baseUrl).pathname.replace(/\/$/, '')
    const browser = server.browser()
    const fields = hiddenFields((await browser.send(`${base}/login`)).text)
    const form = { username: 'marissa', password: 'koala', ...fields }
    const answer = await browser.send(`${base}/login.do`, { form })
    assert.equal(answer.headers['location'], `${server.baseUrl}/`)
    const lines = Object.entries(setCookies(answer))
    return Object.fromEntries(lines.map(([name, line]) => [name, line.replace(/^[^;]*; /, '')]))
  }

  const CSRF = 'Max-Age=86400; Path=/; HttpOnly; Secure; SameSite=Lax'
  const cases: readonly { name: string; options: ServerOptions; want: Readonly<Record<string, string>> }[] = [
    // Covers session cookie: name and flags (standard); HttpOnly; Secure
    // Covers cookie X-<Service>-Csrf: Secure
    // Covers cookie Current-User: Secure
    {
      name: 'are Secure, with a __Host- session cookie',
      options: https('https://id.example'),
      want: {
        '__Host-svc-session': 'Path=/; HttpOnly; Secure; SameSite=Lax',
        'X-Svc-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
    // Covers session cookie: Path
    {
      name: 'have the path of the base URL',
      options: https('https://id.example/auth'),
      want: {
        '__Secure-svc-session': 'Path=/auth/; HttpOnly; Secure; SameSite=Lax',
        'X-Svc-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
    // Covers configuration file: session.same_site
    // Covers session cookie: `session.same_site`: none
    {
      name: 'are SameSite=None if configured',
      options: https('https://id.example', { session: { same_site: 'none' } }),
      want: {
        '__Host-svc-session': 'Path=/; HttpOnly; Secure; SameSite=None',
        'X-Svc-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=None',
      },
    },
    // Covers session cookie: JSESSIONID (uaa)
    // Covers cookie X-<Service>-Csrf: Path
    // Covers compatibility: pages, headers, cookies: P3 other cookies
    {
      name: 'have UAA’s names and paths in uaa',
      options: { ...https('https://id.example/uaa'), mode: 'uaa' },
      want: {
        JSESSIONID: 'Path=/uaa; HttpOnly; Secure; SameSite=None',
        'X-Svc-Csrf': CSRF.replace('Path=/', 'Path=/uaa/'),
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
    // Covers session cookie: SameSite
    {
      name: 'are SameSite=Lax over http, because None requires Secure',
      options: { config: { session: { same_site: 'none' } } },
      want: {
        'svc-session': 'Path=/; HttpOnly; SameSite=Lax',
        'X-Svc-Csrf': CSRF.replace(' Secure;', ''),
        'Current-User': 'Max-Age=1800; Path=/; SameSite=Strict',
      },
    },
    {
      name: 'contain the service name',
      options: https('https://id.example', {
        service: 'key',
        bootstrap: { users: [{ userName: 'marissa', password: 'koala', emails: [{ value: 'm@example.org' }] }] },
      }),
      want: {
        '__Host-key-session': 'Path=/; HttpOnly; Secure; SameSite=Lax',
        'X-Key-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
  ]
  for (const { name, options, want } of cases) {
    it(name, () => withServer(options, async server => assert.deepEqual(await cookiesOf(server), want)))
  }
})

describe('`sessionCookieName`', () => {
  const cases: readonly { base: string; mode: (typeof MODES)[number]; want: string }[] = [
    { base: 'http://localhost:8080', mode: 'standard', want: 'svc-session' },
    { base: 'http://localhost:8080/uaa', mode: 'standard', want: 'svc-session' },
    { base: 'https://id.example', mode: 'standard', want: '__Host-svc-session' },
    { base: 'https://id.example/', mode: 'standard', want: '__Host-svc-session' },
    { base: 'https://id.example/uaa', mode: 'standard', want: '__Secure-svc-session' },
    { base: 'https://id.example', mode: 'uaa', want: 'JSESSIONID' },
  ]
  for (const { base, mode, want } of cases) {
    it(`returns ${want} at ${base} in ${mode}`, () => {
      const behaviour = behaviourOf(mode)
      assert.equal(
        sessionCookieName(
          { subdomain: '', address: 'host' },
          { service: serviceNamed('svc'), urls: createUrls(base, behaviour), behaviour },
        ),
        want,
      )
    })
  }
})

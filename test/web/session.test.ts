import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addSeconds } from '../../src/base/clock.ts'
import { digest } from '../../src/base/secrets.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { serviceNamed } from '../../src/model/service.ts'
import { createUrls } from '../../src/model/urls.ts'
import { sessionCookieName } from '../../src/web/session.ts'
import { AUTO_REQUEST, authorize, signedIn } from '../support/authorize.ts'
import { hiddenFields, setCookies } from '../support/forms.ts'
import { MODES, changeUser } from '../support/oauth.ts'
import type { Browser, ServerOptions, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

async function withServer(options: ServerOptions, test: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer(options)
  try {
    await test(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

for (const mode of MODES) {
  describe(`a session in ${mode}`, () => {
    const session = mode === 'standard' ? 'svc-session' : 'JSESSIONID'
    const inServer = (name: string, test: (server: TestServer) => Promise<void>): void => {
      it(name, () => withServer({ mode }, test))
    }

    inServer('ends after half an hour without a request', async server => {
      const browser = await signedIn(server)
      server.clock.advance(1799)
      assert.equal(await isSignedIn(browser), true)
      server.clock.advance(1800)
      assert.equal(await isSignedIn(browser), false)
    })

    inServer('goes on with every request, for twelve hours', async server => {
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

    inServer('goes on with authorization requests as with any other', async server => {
      const browser = await signedIn(server)
      for (let round = 0; round < 4; round += 1) {
        server.clock.advance(1700)
        assert.ok((await authorize(browser, { ...AUTO_REQUEST, prompt: 'none' })).location().searchParams.has('code'))
      }
    })

    inServer('ends with the account, and does not come back with it', async server => {
      const browser = await signedIn(server)
      const cookies = Object.fromEntries(browser.cookies)
      await changeUser(server, 'marissa', { active: false })
      assert.equal((await authorize(browser, AUTO_REQUEST)).headers['location'], `${server.baseUrl}/login`)
      await changeUser(server, 'marissa', { active: true })
      assert.equal((await server.send('/home', { cookies })).status, 302)
    })

    inServer('ends when the password is changed after it began', async server => {
      const browser = await signedIn(server)
      await changeUser(server, 'marissa', { passwordChangedAt: server.clock.now() })
      assert.equal(await isSignedIn(browser), true, 'a change of the same moment came before')
      await changeUser(server, 'marissa', { passwordChangedAt: addSeconds(server.clock.now(), 1) })
      assert.equal(await isSignedIn(browser), false)
      server.clock.advance(2)
      assert.equal(await isSignedIn(await signedIn(server)), true)
    })

    inServer('is kept under a digest of its id only', async server => {
      const browser = await signedIn(server)
      const id = browser.cookies.get(session) ?? ''
      assert.match(id, /^[\w-]{43}$/)
      assert.equal(await server.store.sessions.find('svc', id), undefined)
      assert.ok((await server.store.sessions.find('svc', digest(id)))?.signIn)
    })

    inServer('is not found by ids that are none', async server => {
      const browser = await signedIn(server)
      const id = browser.cookies.get(session) ?? ''
      for (const value of ['', 'x', `${id}x`, id.slice(1), id.toLowerCase(), digest(id), `${id.slice(0, -1)}!`]) {
        assert.equal((await server.send('/home', { cookies: { [session]: value } })).status, 302, value)
      }
    })

    inServer('that only remembers a request signs nobody in', async server => {
      const browser = server.browser()
      await authorize(browser, AUTO_REQUEST)
      assert.ok(browser.cookies.get(session))
      assert.equal(await isSignedIn(browser), false)
      const silent = await authorize(browser, { ...AUTO_REQUEST, prompt: 'none' })
      assert.equal(silent.location().searchParams.get('error'), 'login_required')
    })
  })
}

describe('the cookies over https', () => {
  const https = (baseUrl: string, more: Readonly<Record<string, unknown>> = {}): ServerOptions => ({
    config: { base_url: baseUrl, ...more },
  })

  /** Signs in, and answers the attributes of the cookies that were set. */
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
    {
      name: 'are Secure, and the session’s belongs to the host',
      options: https('https://id.example'),
      want: {
        '__Host-svc-session': 'Path=/; HttpOnly; Secure; SameSite=Lax',
        'X-Svc-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
    {
      name: 'below a path belong to the path',
      options: https('https://id.example/auth'),
      want: {
        '__Secure-svc-session': 'Path=/auth/; HttpOnly; Secure; SameSite=Lax',
        'X-Svc-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
    {
      name: 'are sent to frames of other sites where that is wanted',
      options: https('https://id.example', { session: { same_site: 'none' } }),
      want: {
        '__Host-svc-session': 'Path=/; HttpOnly; Secure; SameSite=None',
        'X-Svc-Csrf': CSRF,
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=None',
      },
    },
    {
      name: 'have UAA’s names and paths in its mode',
      options: { ...https('https://id.example/uaa'), mode: 'uaa' },
      want: {
        JSESSIONID: 'Path=/uaa/; HttpOnly; Secure; SameSite=None',
        'X-Svc-Csrf': CSRF.replace('Path=/', 'Path=/uaa/'),
        'Current-User': 'Max-Age=1800; Path=/; Secure; SameSite=Strict',
      },
    },
    {
      name: 'over http stay Lax, since browsers want Secure for anything else',
      options: { config: { session: { same_site: 'none' } } },
      want: {
        'svc-session': 'Path=/; HttpOnly; SameSite=Lax',
        'X-Svc-Csrf': CSRF.replace(' Secure;', ''),
        'Current-User': 'Max-Age=1800; Path=/; SameSite=Strict',
      },
    },
    {
      name: 'follow the name of the service',
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

describe('sessionCookieName', () => {
  const cases: readonly { base: string; mode: (typeof MODES)[number]; want: string }[] = [
    { base: 'http://localhost:8080', mode: 'standard', want: 'svc-session' },
    { base: 'http://localhost:8080/uaa', mode: 'standard', want: 'svc-session' },
    { base: 'https://id.example', mode: 'standard', want: '__Host-svc-session' },
    { base: 'https://id.example/', mode: 'standard', want: '__Host-svc-session' },
    { base: 'https://id.example/uaa', mode: 'standard', want: '__Secure-svc-session' },
    { base: 'https://id.example', mode: 'uaa', want: 'JSESSIONID' },
  ]
  for (const { base, mode, want } of cases) {
    it(`is ${want} at ${base} in ${mode}`, () => {
      const behaviour = behaviourOf(mode)
      assert.equal(sessionCookieName(serviceNamed('svc'), createUrls(base, behaviour), behaviour), want)
    })
  }
})

// Sign-ins and approvals under changed circumstances: deleted records, other tabs, repeated forms, the back button, foreign
// cookies.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { digest } from '../../src/base/secrets.ts'
import {
  APP_REQUEST,
  AUTO_REQUEST,
  Z1_HOST,
  authorize,
  authorizeBootstrap,
  responseOf,
  signedIn,
} from '../support/authorize.ts'
import { checkboxes, hiddenFields, setCookies } from '../support/forms.ts'
import { MODES, changeClient, changeUser, clientNamed, exchange, userNamed } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const LOGIN = 'http://localhost:8080/login'
const KOALA = { username: 'marissa', password: 'koala' }

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  const cookie = isStandard ? 'svc-session' : 'JSESSIONID'

  describe(`Resumption in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const follow = (browser: Browser, answer: TestAnswer): Promise<TestAnswer> =>
      browser.send(answer.location().pathname + answer.location().search)
    /** Starts an authorization request, and returns the hidden fields of the sign-in page. */
    async function asked(browser: Browser, request: Readonly<Record<string, string>> = AUTO_REQUEST) {
      assert.equal((await authorize(browser, request)).location().href, LOGIN)
      return hiddenFields((await browser.send('/login')).text)
    }
    it('forgets a request for a new sign-in half an hour after it was abandoned', async () => {
      if (!isStandard) return // such a request ends the session (A10)
      const browser = await signedIn(server)
      await authorize(browser, { ...AUTO_REQUEST, prompt: 'login' })
      assert.equal((await browser.send('/login')).status, 200)
      for (const _ of [1, 2]) {
        server.clock.advance(1000)
        await browser.send('/home')
      }
      assert.equal((await browser.send('/login')).location().pathname, '/home')
    })

    /** The form of an approval page, all scopes checked. */
    const allowed = (page: TestAnswer): Record<string, string> => ({
      ...hiddenFields(page.text),
      ...Object.fromEntries(checkboxes(page.text).map(({ name, value }) => [name, value])),
      user_oauth_approval: 'true',
    })
    /** A browser on the approval page, and its form. */
    async function approving(): Promise<{ browser: Browser; form: Record<string, string> }> {
      const browser = await signedIn(server)
      const { id } = await userNamed(server, 'marissa')
      await server.store.approvals.replace('svc', { userId: id, clientId: 'app' }, [])
      const page = await authorize(browser, APP_REQUEST)
      assert.ok(checkboxes(page.text).length > 0)
      return { browser, form: allowed(page) }
    }
    const isCode = (answer: TestAnswer): boolean => answer.location().searchParams.has('code')

    describe('of a saved request', () => {
      it('reports a client deleted in between, without a redirect', async () => {
        const browser = server.browser()
        await asked(browser)
        // As after deletion of the client.
        const saved = Buffer.from(browser.cookies.get('svc-request') ?? '', 'base64url').toString()
        assert.ok(saved.includes('client_id=auto'))
        const changed = saved.replace('client_id=auto', 'client_id=gone')
        browser.cookies.set('svc-request', Buffer.from(changed).toString('base64url'))
        const page = await browser.send('/login')
        assert.equal(page.status, 200)
        const signed = await browser.send('/login.do', { form: { ...KOALA, ...hiddenFields(page.text) } })
        const answer = await follow(browser, signed)
        assert.equal(answer.status, isStandard ? 400 : 401)
        assert.equal(answer.headers['location'], undefined)
        assert.equal((await browser.send('/home')).status, 200, 'the user is signed in nevertheless')
      })

      it('reports a redirect URI that was removed from the client, without a redirect', async () => {
        const { redirectUris } = await clientNamed(server, 'auto')
        const browser = server.browser()
        const fields = await asked(browser)
        await changeClient(server, 'auto', { redirectUris: ['https://auto.example/new'] })
        const signed = await browser.send('/login.do', { form: { ...KOALA, ...fields } })
        const answer = await follow(browser, signed)
        assert.equal(answer.status, 400)
        assert.equal(answer.headers['location'], undefined)
        await changeClient(server, 'auto', { redirectUris })
        assert.ok(isCode(await follow(browser, signed)))
      })

      it('refuses a deactivated user, and continues with another', async () => {
        const browser = server.browser()
        const fields = await asked(browser)
        await changeUser(server, 'marissa', { active: false })
        const refused = await browser.send('/login.do', { form: { ...KOALA, ...fields } })
        assert.equal(refused.location().href, `${LOGIN}?error=login_failure`)
        await changeUser(server, 'marissa', { active: true })
        const joel = await browser.signIn('joel', 'wombat')
        assert.equal(joel.location().pathname, '/oauth/authorize')
      })

      it('requires a new sign-in if the user was deactivated after sign-in', async () => {
        const browser = server.browser()
        const signed = await browser.send('/login.do', { form: { ...KOALA, ...(await asked(browser)) } })
        await changeUser(server, 'marissa', { active: false })
        assert.equal((await follow(browser, signed)).location().href, LOGIN)
        await changeUser(server, 'marissa', { active: true })
        assert.equal((await browser.send('/home')).location().href, LOGIN, 'the session stays ended')
      })

      it('ends the session of a deleted user', async () => {
        const browser = await signedIn(server)
        const row = digest(browser.cookies.get(cookie) ?? '')
        const session = await server.store.sessions.find('svc', row)
        assert.ok(session?.signIn)
        const signIn = { ...session.signIn, userId: 'gone' }
        await server.store.sessions.replace('svc', row, { ...session, signIn })
        assert.equal((await authorize(browser, AUTO_REQUEST)).location().href, LOGIN)
        assert.equal((await server.store.sessions.find('svc', row))?.signIn, undefined)
      })

      it('answers 404 while the zone is inactive, and continues afterwards', async () => {
        const browser = server.browser(Z1_HOST)
        await authorize(browser, AUTO_REQUEST)
        const fields = hiddenFields((await browser.send('/login')).text)
        const form = { username: 'marissa', password: 'z1-koala', ...fields }
        const zone = await server.store.zones.find('z1')
        assert.ok(zone)
        await server.store.zones.update({ ...zone, active: false })
        for (const path of ['/login', '/home', '/profile', '/logout.do', '/delete_saved_account']) {
          assert.equal((await browser.send(path)).status, 404, path)
        }
        const posted = await browser.send('/login.do', { form })
        assert.equal(posted.status, 404)
        assert.deepEqual(setCookies(posted), {})
        await server.store.zones.update({ ...zone, active: true })
        const signed = await browser.send('/login.do', { form })
        assert.equal(signed.location().origin, 'http://z1.localhost:8080')
        assert.ok(isCode(await follow(browser, signed)))
      })
    })

    describe('of an approval page', () => {
      it('does not redirect to a URI that was removed from the client', async () => {
        const { redirectUris } = await clientNamed(server, 'app')
        const { browser, form } = await approving()
        await changeClient(server, 'app', { redirectUris: ['https://app.example/new'] })
        const answer = await browser.send('/oauth/authorize', { form })
        await changeClient(server, 'app', { redirectUris })
        assert.equal(answer.status, 400)
        assert.equal(answer.headers['location'], undefined)
      })

      it('grants no scope that was removed from the client', async () => {
        const { scope } = await clientNamed(server, 'app')
        const { browser, form } = await approving()
        await changeClient(server, 'app', { scope: ['profile'] })
        const answer = await browser.send('/oauth/authorize', { form })
        await changeClient(server, 'app', { scope })
        assert.equal(responseOf(answer).query['code'], undefined)
        assert.match(answer.location().href, /[?&#]error=invalid_scope/)
      })

      it('grants and stores nothing for a deactivated user', async () => {
        const { browser, form } = await approving()
        const events = server.events.length
        await changeUser(server, 'marissa', { active: false })
        // The session has ended, so the answer is refused.
        const answer = await browser.send('/oauth/authorize', { form })
        await changeUser(server, 'marissa', { active: true })
        assert.equal(answer.location().href, LOGIN)
        assert.equal(server.events.length, events)
      })

      it('accepts the form once', async () => {
        const { browser, form } = await approving()
        const first = await browser.send('/oauth/authorize', { form })
        assert.ok(isCode(first))
        const again = await browser.send('/oauth/authorize', { form })
        assert.equal(again.status, 400)
        assert.match(again.text, /Cannot approve uninitialized authorization request/)
        const code = responseOf(first).query['code'] ?? ''
        const uri = { redirect_uri: APP_REQUEST.redirect_uri }
        assert.equal((await exchange(server, code, uri, ['app', 'app-secret'])).status, 200)
      })

      it('accepts only the form of the newest tab', async () => {
        const { browser, form: older } = await approving()
        const page = await authorize(browser, { ...APP_REQUEST, state: 'newer' })
        const newer = allowed(page)
        const refused = await browser.send('/oauth/authorize', { form: older })
        assert.equal(refused.status, 400)
        assert.match(refused.text, /Changes were detected/)
        assert.equal(responseOf(await browser.send('/oauth/authorize', { form: newer })).query['state'], 'newer')
      })

      it('refuses the form of another session', async () => {
        const { form } = await approving()
        const joel = await signedIn(server, 'joel', 'wombat')
        const foreign = await joel.send('/oauth/authorize', { form })
        assert.equal(foreign.status, 403)
        const own = await joel.send('/oauth/authorize', { form: { ...form, 'X-Svc-Csrf': joel.csrf } })
        assert.equal(own.status, 400)
        assert.match(own.text, /Cannot approve uninitialized authorization request/)
      })
    })

    describe('of a form posted without a session', () => {
      const forms: readonly (readonly [form: string, page: string])[] = [
        ['/change_password.do', '/change_password'],
        ['/change_email.do', '/change_email'],
        ['/profile', '/profile'],
        ['/profile/details', '/profile'],
        ['/profile/sessions', '/profile'],
        ['/profile/security/passkey', '/profile/security/passkey'],
        ['/profile/security/app', '/profile/security/app'],
        ['/profile/security/codes', '/profile/security'],
        ['/profile/security/rename', '/profile/security'],
        ['/profile/security/remove', '/profile/security'],
        ['/profile/security/devices', '/profile/security'],
      ]
      for (const [path, page] of forms) {
        it(`redirects ${path} to ${page} after sign-in`, async () => {
          const browser = await signedIn(server)
          browser.cookies.delete(mode === 'standard' ? 'svc-session' : 'JSESSIONID')
          const form = { 'X-Svc-Csrf': browser.csrf, 'X-Uaa-Csrf': browser.csrf }
          assert.equal((await browser.send(path, { method: 'POST', form })).location().href, LOGIN)
          assert.equal((await browser.signIn('marissa', 'koala')).location().href, `http://localhost:8080${page}`)
        })
      }
    })

    describe('of the sign-in form', () => {
      it('creates a session for each of two concurrent posts', async () => {
        const browser = server.browser()
        const form = { ...KOALA, ...(await asked(browser)) }
        const cookies = Object.fromEntries(browser.cookies)
        const answers = await Promise.all([1, 2].map(() => server.send('/login.do', { form, cookies })))
        for (const answer of answers) {
          assert.equal(answer.location().pathname, '/oauth/authorize')
          const own = { [cookie]: answer.cookies[cookie] ?? '' }
          const home = await server.send('/home', { cookies: own })
          assert.equal(home.status, 200)
        }
        assert.notEqual(answers[0]?.cookies[cookie], answers[1]?.cookies[cookie])
      })

      it('refuses a second post, and keeps the session', async () => {
        const browser = server.browser()
        const form = { ...KOALA, ...(await asked(browser)) }
        assert.equal((await browser.send('/login.do', { form })).status, 302)
        const id = browser.cookies.get(cookie)
        const again = await browser.send('/login.do', { form })
        assert.equal(again.status, 403)
        assert.equal(browser.cookies.get(cookie), id)
        assert.equal((await browser.send('/home')).status, 200)
      })

      it('continues after sign-in in another tab as the same user, and asks about another', async () => {
        const browser = server.browser()
        const older = await asked(browser)
        await browser.signIn('marissa', 'koala')
        const headers = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }
        const post = (username: string) =>
          browser.send('/login.do', { form: { ...older, username, password: 'wombat' }, headers })
        const [own, other] = [await post('marissa'), await post('joel')]
        assert.match((await browser.send('/home')).text, /marissa/)
        if (!isStandard) {
          assert.deepEqual([own.status, other.status], [403, 403])
          return
        }
        assert.match(own.location().href, /\/oauth\/authorize\?.*client_id=auto/)
        assert.equal(other.status, 403)
        assert.match(other.text, /You are signed in as <strong><bdi>marissa<\/bdi>/)
        assert.match(other.text, /id="this_account" href="[^"]+\/oauth\/authorize\?[^"]*client_id=auto/)
        // The other account signs in on the page that the second link opens, and continues there too.
        const fields = hiddenFields((await browser.send('/login')).text)
        const switched = await browser.send('/login.do', { form: { ...fields, username: 'joel', password: 'wombat' } })
        assert.ok(isCode(await follow(browser, switched)))
        assert.match((await browser.send('/home')).text, /joel/)
      })

      it('refuses the anti-forgery token of another browser', async () => {
        const other = server.browser()
        const fields = hiddenFields((await other.send('/login')).text)
        const browser = server.browser()
        await browser.send('/login')
        const answer = await browser.send('/login.do', { form: { ...KOALA, ...fields } })
        assert.equal(answer.location().href, `${LOGIN}?error=invalid_login_request`)
        assert.equal((await browser.send('/home')).status, 302)
      })

      it('refuses an expired anti-forgery token', async () => {
        const browser = server.browser()
        const form = { ...KOALA, ...(await asked(browser)) }
        browser.cookies.clear() // as a browser does when they expire
        const answer = await browser.send('/login.do', { form })
        assert.equal(answer.location().href, `${LOGIN}?error=invalid_login_request`)
      })
    })

    describe('with foreign cookies', () => {
      const send = (header: string): Promise<TestAnswer> => server.send('/home', { headers: { cookie: header } })

      it('refuses a session of another zone, without ending it', async () => {
        const there = await signedIn(server, 'marissa', 'z1-koala', Z1_HOST)
        const id = there.cookies.get(cookie) ?? ''
        assert.equal((await send(`${cookie}=${id}`)).status, 302)
        const out = await server.send('/logout.do', { cookies: { [cookie]: id } })
        assert.ok(out.status < 400)
        assert.equal((await there.send('/home')).status, 200)
      })

      it('uses the first of several session cookies', async () => {
        const id = (await signedIn(server)).cookies.get(cookie) ?? ''
        const foreign = 'x'.repeat(43)
        assert.equal((await send(`${cookie}=${id}; ${cookie}=${foreign}`)).status, 200)
        assert.equal((await send(`${cookie}=${foreign}; ${cookie}=${id}`)).status, 302)
      })

      it('accepts a session under its own cookie name only', async () => {
        const id = (await signedIn(server)).cookies.get(cookie) ?? ''
        for (const name of ['svc-session', 'JSESSIONID', '__Host-svc-session', 'session', 'X-svc-session']) {
          assert.equal((await send(`${name}=${id}`)).status, name === cookie ? 200 : 302, name)
        }
      })

      it('ignores malformed cookies', async () => {
        const id = (await signedIn(server)).cookies.get(cookie) ?? ''
        for (const junk of ['a', '=', ';;', 'a=%', 'Saved-Account-=%7B', '__proto__=x', `b=${'x'.repeat(4000)}`]) {
          assert.equal((await send(`${junk}; ${cookie}=${id}; ${junk}`)).status, 200, junk)
        }
      })
    })

    describe('of a sign-out', () => {
      it('expires the cookies even if the session has ended', async () => {
        for (const lose of [
          (browser: Browser) => server.store.sessions.delete('svc', digest(browser.cookies.get(cookie) ?? '')),
          () => Promise.resolve(server.clock.advance(1801)),
        ]) {
          const browser = await signedIn(server)
          await lose(browser)
          const answer = await browser.send('/logout.do', { form: { 'X-Svc-Csrf': browser.csrf } })
          assert.equal(answer.location().href, LOGIN)
          assert.match(setCookies(answer)[cookie] ?? '', /Max-Age=0/)
          assert.match(setCookies(answer)['Current-User'] ?? '', /Max-Age=0/)
          assert.equal((await browser.send('/logout.do')).status < 400, true, 'can be repeated')
        }
      })

      it('requires sign-in for the form of another tab, and continues its request', async () => {
        const { browser, form } = await approving()
        await browser.send('/logout.do', { form: { 'X-Svc-Csrf': browser.csrf } })
        assert.equal((await browser.send('/oauth/authorize', { form })).location().href, LOGIN)
        assert.equal((await browser.signIn('marissa', 'koala')).location().pathname, '/oauth/authorize')
      })
    })

    describe('with long URLs', () => {
      const huge = 'x'.repeat(7800)

      it('continues a request of almost 4 kB', async () => {
        const browser = server.browser()
        const state = huge.slice(0, 3600)
        const fields = await asked(browser, { ...AUTO_REQUEST, state })
        const signed = await browser.send('/login.do', { form: { ...KOALA, ...fields } })
        assert.equal(responseOf(await follow(browser, signed)).query['state'], state)
      })

      it('continues a request of 4,096 characters, and none of more', async () => {
        const path = `/oauth/authorize?${new URLSearchParams(AUTO_REQUEST).toString()}&nonce=`
        for (const [more, status] of [
          [0, 302],
          [1, 400],
        ] as const) {
          const browser = server.browser()
          const answer = await browser.send(path + 'x'.repeat(4096 - path.length + more))
          assert.equal(answer.status, status)
        }
      })

      it('refuses a longer request', async () => {
        const browser = server.browser()
        const answer = await authorize(browser, { ...AUTO_REQUEST, state: huge })
        assert.equal(answer.status, 400)
        assert.match(answer.text, /too long to be kept during a sign-in/)
        assert.equal((await browser.send('/home')).status, 302)
      })

      it('continues a request with many percent-encoded characters', async () => {
        const browser = server.browser()
        const state = '%&=+ü"<'.repeat(140)
        const fields = await asked(browser, { ...AUTO_REQUEST, state })
        const signed = await browser.send('/login.do', { form: { ...KOALA, ...fields } })
        assert.equal(responseOf(await follow(browser, signed)).query['state'], state)
      })

      for (const path of ['/login', '/home', '/profile', '/logout.do', '/delete_saved_account', '/nowhere']) {
        it(`answers ${path}`, async () => {
          const name = path === '/delete_saved_account' ? 'userId' : 'error'
          for (const browser of [server.browser(), await signedIn(server)]) {
            const answer = await browser.send(path, { query: { [name]: huge, username: huge, login_hint: huge } })
            assert.ok(answer.status < 500, `${answer.status}`)
            assert.ok(String(answer.headers['location'] ?? '').length < 200)
          }
        })
      }
    })
  })
}

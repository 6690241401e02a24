import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hiddenFields, setCookies } from '../../support/forms.ts'
import { MODES } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const NAME = 'X-Svc-Csrf'
const SHAPE = /^[A-Za-z0-9]{22}$/
const own = 'http://localhost:8080'
const refused = `${own}/login?error=invalid_login_request`

for (const mode of MODES) {
  describe(`Anti-forgery tokens in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** Opens the page and returns the anti-forgery token of its form. */
    const valueOn = async (browser: Browser, path = '/login'): Promise<string> =>
      hiddenFields((await browser.send(path)).text)[NAME] ?? ''
    const isSignedIn = (answer: { headers: Readonly<Record<string, unknown>> }): boolean =>
      new URL(String(answer.headers['location'])).search === ''

    // Covers cookie X-<Service>-Csrf: Max-Age 86400; HttpOnly; SameSite=Lax; fresh value with each page
    it('are new on every page, in the field and in the cookie', async () => {
      const browser = server.browser()
      const values = []
      for (let count = 0; count < 3; count += 1) {
        const page = await browser.send('/login')
        const value = hiddenFields(page.text)[NAME] ?? ''
        assert.match(value, SHAPE)
        const attributes = 'Max-Age=86400; Path=/; HttpOnly; SameSite=Lax'
        assert.equal(setCookies(page)[NAME], `${NAME}=${value}; ${attributes}`)
        assert.match(setCookies(page)['svc-visitor'] ?? '', new RegExp(`^svc-visitor=[A-Za-z0-9]{22}; ${attributes}$`))
        values.push(value)
      }
      assert.equal(new Set(values).size, 3)
    })

    it('are valid in several tabs', async () => {
      const browser = server.browser()
      const first = await valueOn(browser)
      await valueOn(browser)
      await valueOn(browser)
      const form = { username: 'marissa', password: 'koala', [NAME]: first }
      assert.ok(isSignedIn(await browser.send('/login.do', { form })))
    })

    it('are replaced at sign-in', async () => {
      const browser = server.browser()
      const before = await valueOn(browser)
      await browser.signIn('marissa', 'koala')
      const after = browser.csrf
      assert.notEqual(after, before)
      const profile = (value: string) => browser.send('/profile/sessions', { form: { others: 'true', [NAME]: value } })
      assert.equal((await profile(before)).status, 403)
      assert.equal((await profile(after)).status, 302, 'the token in the cookie')
      await browser.send('/profile')
      assert.notEqual(browser.csrf, after)
      assert.equal((await profile(browser.csrf)).status, 302, 'the token of a page')
    })

    const cases: readonly {
      name: string
      headers?: Readonly<Record<string, string>>
      want: boolean
    }[] = [
      { name: 'a form without origin headers', want: true },
      { name: 'the same origin', headers: { origin: own }, want: true },
      {
        name: 'the origin of the Host header, as behind a proxy',
        headers: { origin: 'https://localhost:8080' },
        want: true,
      },
      { name: 'another origin', headers: { origin: 'https://evil.example' }, want: false },
      { name: 'another port', headers: { origin: 'http://localhost:8081' }, want: false },
      { name: 'the origin of another zone', headers: { origin: 'http://z1.localhost:8080' }, want: false },
      { name: 'an invalid origin', headers: { origin: 'x' }, want: false },
      { name: 'the origin null, as from our own pages', headers: { origin: 'null' }, want: true },
      { name: 'Sec-Fetch-Site: same-origin', headers: { 'sec-fetch-site': 'same-origin', origin: 'null' }, want: true },
      { name: 'Sec-Fetch-Site: none', headers: { 'sec-fetch-site': 'none' }, want: true },
      {
        name: 'Sec-Fetch-Site: same-site',
        headers: { 'sec-fetch-site': 'same-site', origin: 'null' },
        want: false,
      },
      { name: 'Sec-Fetch-Site: cross-site', headers: { 'sec-fetch-site': 'cross-site', origin: 'null' }, want: false },
      { name: 'an invalid Sec-Fetch-Site', headers: { 'sec-fetch-site': 'x' }, want: false },
    ]
    for (const { name, headers = {}, want } of cases) {
      it(`are ${want ? 'accepted' : 'refused'} with ${name}`, async () => {
        const browser = server.browser()
        const form = { username: 'marissa', password: 'koala', [NAME]: await valueOn(browser) }
        const answer = await browser.send('/login.do', { form, headers })
        const location = String(answer.headers['location'])
        assert.equal(want ? location.startsWith(`${own}/`) && !location.includes('?') : answer.status !== 200, true)
        assert.equal(answer.cookies['Current-User'] !== '', want)
      })
    }

    it('are accepted in a header, unless the form has a field', async () => {
      const browser = server.browser()
      const value = await valueOn(browser)
      const form = { username: 'marissa', password: 'koala' }
      const headers = { 'x-csrf-token': value }
      const mismatched = await browser.send('/login.do', { form: { ...form, [NAME]: 'x' }, headers })
      assert.equal(mismatched.headers['location'], refused)
      assert.ok(isSignedIn(await browser.send('/login.do', { form, headers })))
    })

    const invalid: readonly { name: string; change: (value: string, browser: Browser) => TestRequest }[] = [
      // Covers POST /login.do: X-<Service>-Csrf
      { name: 'the field is missing', change: () => ({ form: {} }) },
      { name: 'the field is empty', change: () => ({ form: { [NAME]: '' } }) },
      { name: 'the field is malformed', change: value => ({ form: { [NAME]: `${value}x` } }) },
      {
        name: 'both cookies are missing',
        change: value => ({ form: { [NAME]: value }, cookies: {} }),
      },
      {
        name: 'the token cookie is missing',
        change: (value, { cookies }) => ({
          form: { [NAME]: value },
          cookies: { 'svc-visitor': cookies.get('svc-visitor') ?? '' },
        }),
      },
      // Covers cookie X-<Service>-Csrf: double submit value
      {
        name: 'field and cookie match but do not belong to the visitor cookie',
        change: (_, { cookies }) => ({
          form: { [NAME]: 'abcdefghijklmnopqrstuv' },
          cookies: { ...Object.fromEntries(cookies), [NAME]: 'abcdefghijklmnopqrstuv' },
        }),
      },
    ]
    for (const { name, change } of invalid) {
      it(`are refused if ${name}`, async () => {
        const browser = server.browser()
        const value = await valueOn(browser)
        const { form, ...request } = change(value, browser)
        const answer = await browser.send('/login.do', {
          ...request,
          form: { username: 'marissa', password: 'koala', ...(form as Readonly<Record<string, string>>) },
        })
        assert.equal(answer.cookies['Current-User'], '', 'no user is signed in')
        assert.ok(answer.headers['location'] === refused || answer.status === 403)
      })
    }

    it('are in the first cookie of a page, for scripts that keep only one', async () => {
      for (const path of ['/login', '/forgot_password', '/create_account']) {
        assert.equal(Object.keys(setCookies(await server.send(path)))[0], NAME, path)
      }
    })

    it('are accepted without the visitor cookie only from scripts in uaa', async () => {
      const value = await valueOn(server.browser())
      const request = {
        form: { username: 'marissa', password: 'koala', [NAME]: value },
        cookies: { [NAME]: value },
      }
      const isIn = async (headers: Readonly<Record<string, string>>): Promise<boolean> =>
        (await server.send('/login.do', { ...request, headers })).cookies['Current-User'] !== ''
      assert.equal(await isIn({}), mode === 'uaa')
      assert.equal(await isIn({ origin: 'null' }), false)
      assert.equal(await isIn({ 'sec-fetch-site': 'same-origin' }), false)
    })

    it('lead to sign-in and back if the session has ended', async () => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const query = { response_type: 'code', client_id: 'app', redirect_uri: 'https://app.example/cb', scope: 'openid' }
      const page = await browser.send('/oauth/authorize', { query })
      const fields = hiddenFields(page.text)
      await browser.send('/logout.do', { form: { [NAME]: browser.csrf } })
      const answer = await browser.send('/oauth/authorize', { form: { ...fields, user_oauth_approval: 'true' } })
      assert.equal(answer.headers['location'], `${own}/login`)
      const resumed = await browser.signIn('marissa', 'koala')
      assert.match(String(resumed.headers['location']), /\/oauth\/authorize\?response_type=code&client_id=app/)
    })
  })
}

describe('Sign-in form with an expired token', () => {
  const stale = { username: 'marissa', password: 'koala', [NAME]: 'A'.repeat(22) }
  const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' }

  it('is shown again with the user name, and then accepted', async () => {
    const server = await startServer()
    try {
      const browser = server.browser()
      const form_redirect_uri = `${own}/profile?x=1`
      const page = await browser.send('/login.do', { form: { ...stale, form_redirect_uri }, headers })
      assert.equal(page.status, 403)
      assert.match(page.text, /The page was open for too long/)
      assert.match(page.text, /name="username" value="marissa"/)
      assert.doesNotMatch(page.text, /koala/)
      const again = { ...hiddenFields(page.text), username: 'marissa', password: 'koala' }
      const answer = await browser.send('/login.do', { form: again })
      assert.equal(answer.headers['location'], form_redirect_uri)
    } finally {
      await server.stop()
    }
  })

  it('continues if the same user has signed in in another tab, else asks for the account', async () => {
    const server = await startServer()
    try {
      const browser = server.browser()
      const form_redirect_uri = `${own}/profile?x=1`
      const older = { ...hiddenFields((await browser.send('/login')).text), password: 'koala', form_redirect_uri }
      await browser.signIn('marissa', 'koala')
      const id = browser.cookies.get('svc-session')
      const send = (username: string, more: object = {}): Promise<TestAnswer> =>
        browser.send('/login.do', { form: { ...older, username, ...more }, headers })
      for (const name of ['marissa', 'Marissa']) {
        assert.equal((await send(name)).headers['location'], form_redirect_uri, name)
      }
      const asksForAccount = /You are signed in as <strong><bdi>marissa<.*href="[^"]*\/profile\?x=1"/s
      for (const name of ['joel', '']) {
        const { status, text } = await send(name)
        assert.equal(status, 403)
        assert.match(text, asksForAccount, name)
      }
      const hint = (origin: string): object => ({ login_hint: JSON.stringify({ origin }) })
      assert.equal((await send('marissa', hint('svc'))).headers['location'], form_redirect_uri)
      assert.match((await send('marissa', hint('ldap'))).text, asksForAccount)
      const forged = await send('marissa', { [NAME]: stale[NAME] })
      assert.equal(forged.status, 403)
      assert.match(forged.text, /not sent from one of our pages/)
      const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      const form = { ...older, username: 'marissa' }
      assert.equal((await browser.send('/login.do', { form, headers: foreign })).status, 403)
      assert.equal(browser.cookies.get('svc-session'), id)
    } finally {
      await server.stop()
    }
  })

  it('is reported at /login in uaa', async () => {
    const server = await startServer({ mode: 'uaa' })
    try {
      assert.equal((await server.send('/login.do', { form: stale, headers })).headers['location'], refused)
    } finally {
      await server.stop()
    }
  })

  it('is reported at /login for a cross-site form or a script', async () => {
    const server = await startServer()
    try {
      for (const others of [{}, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site' }]) {
        assert.equal((await server.send('/login.do', { form: stale, headers: others })).headers['location'], refused)
      }
    } finally {
      await server.stop()
    }
  })

  it('is reported as JSON if accepted', async () => {
    const server = await startServer()
    try {
      const answer = await server.send('/login.do', {
        form: stale,
        headers: { ...headers, accept: 'application/json' },
      })
      assert.equal(answer.status, 403)
      assert.match(answer.json<{ error: string }>().error, /open for too long/)
    } finally {
      await server.stop()
    }
  })
})

describe('Visitor cookie over https', () => {
  it('has the __Host- prefix, even with a path in the base URL', async () => {
    const server = await startServer({ config: { base_url: 'https://id.example/uaa' } })
    try {
      const page = await server.send('/uaa/login', { host: 'id.example' })
      assert.match(
        setCookies(page)['__Host-svc-visitor'] ?? '',
        /; Max-Age=86400; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      )
    } finally {
      await server.stop()
    }
  })
})

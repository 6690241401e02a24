import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { APP_REQUEST, Z1_HOST, authorize, authorizeBootstrap, requestOf, signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { changeUser } from '../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const GERMAN = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.8' }
const hinted = (uiLocales: string): Record<string, string> => ({ ...APP_REQUEST, ui_locales: uiLocales })
const backTo = (uiLocales: string, base = 'http://localhost:8080'): string =>
  `${base}/oauth/authorize?${new URLSearchParams(hinted(uiLocales)).toString()}`

/** The language of a page, which must be the same in header and markup. */
function languageOf(answer: TestAnswer): string {
  const tag = /^<!doctype html>\n<html lang="([^"]*)" dir="ltr">/.exec(answer.text)?.[1]
  assert.ok(tag !== undefined, answer.text.slice(0, 100))
  assert.equal(answer.headers['content-language'], tag)
  assert.equal(answer.headers['vary'], undefined) // pages are not cached
  assert.match(String(answer.headers['cache-control']), /no-store/)
  return tag
}

describe('Pages in standard', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { bootstrap: authorizeBootstrap } })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  describe('with Accept-Language', () => {
    const pages: readonly { name: string; path: string; request?: TestRequest; status?: number; words: string }[] = [
      { name: 'the sign-in', path: '/login', words: '<h1>Anmelden</h1>' },
      { name: 'a failed sign-in', path: '/login?error=login_failure', words: 'Benutzername oder Passwort ist falsch' },
      {
        name: 'an unknown path',
        path: '/nowhere',
        request: { headers: { ...GERMAN, accept: 'text/html' } },
        status: 404,
        words: 'Vielleicht ist die Adresse falsch geschrieben',
      },
      {
        name: 'an unknown zone',
        path: '/login',
        request: { host: 'none.localhost:8080' },
        status: 404,
        words: 'keine gültige Identitätszone',
      },
      { name: 'another zone', path: '/login', request: { host: Z1_HOST }, words: '<h1>Anmelden</h1>' },
      {
        name: 'an authorization request of an unknown client',
        path: '/oauth/authorize?client_id=none',
        status: 400,
        words: 'Eine Anwendung mit dieser Kennung gibt es hier nicht: none',
      },
      { name: 'a standalone error page', path: '/error500', words: 'Bei uns ist etwas schiefgegangen' },
      {
        name: 'an invalid query',
        path: '/login?%ff',
        status: 400,
        words: 'nicht korrekt als UTF-8 prozentkodiert',
      },
    ]
    for (const { name, path, request, status = 200, words } of pages) {
      // Covers security headers: Content-Language
      it(`use German: ${name}`, async () => {
        const answer = await server.send(path, { headers: GERMAN, ...request })
        assert.equal(answer.status, status)
        assert.equal(languageOf(answer), 'de')
        assert.ok(answer.text.includes(words), words)
      })
    }
    it('declare zh-Hans for zh-CN', async () => {
      assert.equal(languageOf(await server.send('/login', { headers: { 'accept-language': 'zh-CN' } })), 'zh-Hans')
    })
    const hostile = [
      { name: 'an empty value', header: '' },
      { name: '*;q=0', header: '*;q=0' },
      { name: 'an unsupported language', header: 'tlh' },
      { name: 'a malformed value', header: '<script>, "de", \\' },
      { name: 'ten thousand languages', header: 'sv,'.repeat(10_000) + 'de' },
    ]
    for (const { name, header } of hostile) {
      it(`use English for ${name}`, async () => {
        assert.equal(languageOf(await server.send('/login', { headers: { 'accept-language': header } })), 'en')
      })
    }
    it('use English without the header', async () => {
      assert.equal(languageOf(await server.send('/login')), 'en')
    })
  })

  describe('with ui_locales of an application', () => {
    // Covers GET /oauth/authorize: ui_locales
    it('use the requested language from sign-in to approval', async () => {
      const browser = server.browser()
      const request: TestRequest = { headers: GERMAN }
      assert.equal((await authorize(browser, hinted('sv fr-CA'), request)).location().pathname, '/login')
      const page = await browser.send('/login', request)
      assert.equal(languageOf(page), 'fr')
      const form = { username: 'marissa', ...hiddenFields(page.text) }
      const failed = await browser.send('/login.do', { ...request, form: { ...form, password: 'wrong' } })
      assert.equal(failed.location().search, '?error=login_failure')
      const again = await browser.send('/login?error=login_failure', request)
      assert.equal(languageOf(again), 'fr')
      assert.match(again.text, /Nom d’utilisateur ou mot de passe incorrect/)
      const done = await browser.send('/login.do', { ...request, form: { ...form, password: 'koala' } })
      const approval = await browser.send(done.location().pathname + done.location().search, request)
      assert.equal(languageOf(approval), 'fr')
      assert.match(approval.text, /The application<\/bdi> demande un accès/)
      // Other pages use the language of the browser.
      assert.equal(languageOf(await browser.send('/home', request)), 'de')
    })
    const besideSignIn = [
      '/forgot_password',
      '/reset_password?code=unknown',
      '/email_sent?code=reset_password',
      '/create_account',
      '/accounts/email_sent',
      '/verify_user?code=unknown',
      '/verify_email?code=unknown',
      '/invitations/accept?code=unknown',
      '/error500',
      '/saml_error',
      '/nowhere',
    ]
    for (const path of besideSignIn) {
      it(`use it on ${path}, too`, async () => {
        const browser = server.browser()
        await authorize(browser, hinted('fr'))
        const answer = await browser.send(path, { headers: { ...GERMAN, accept: 'text/html' } })
        assert.equal(languageOf(answer), 'fr')
      })
    }
    it('use it in the mail for a forgotten password', async () => {
      const browser = server.browser()
      await authorize(browser, hinted('fr'))
      await browser.send('/forgot_password.do', { form: { username: 'marissa' }, headers: GERMAN })
      const [mail] = await server.mails()
      assert.equal(mail?.subject, 'Réinitialisez votre mot de passe')
    })
    it('prefer the language of form_redirect_uri to that of the session', async () => {
      const browser = server.browser()
      await authorize(browser, hinted('fr'))
      const query = { form_redirect_uri: backTo('ja') }
      assert.equal(languageOf(await browser.send('/login', { query })), 'ja')
      assert.equal(languageOf(await browser.send('/login')), 'fr')
    })
    for (const [name, target] of [
      ['of another host', backTo('ja', 'http://evil.example')],
      ['of another zone', backTo('ja', `http://${Z1_HOST}`)],
      ['to another page', 'http://localhost:8080/home?ui_locales=ja'],
      ['that is malformed', `${backTo('ja')}&x=%ff`],
      ['with a NUL character', '\0'],
    ] as const) {
      it(`ignore a form_redirect_uri ${name}`, async () => {
        const query = { form_redirect_uri: target }
        const answer = await server.send('/login', { query, headers: GERMAN })
        if (answer.status === 200) assert.equal(languageOf(answer), 'de')
        else assert.equal(answer.status, 400)
      })
    }
    it('use ui_locales of a posted request', async () => {
      const browser = await signedIn(server)
      const answer = await browser.send('/oauth/authorize', { form: hinted('es'), headers: GERMAN })
      assert.equal(languageOf(answer), 'es')
    })
    it('use it if the approval form is refused', async () => {
      const browser = await signedIn(server)
      const page = await authorize(browser, hinted('es'))
      const form = { ...hiddenFields(page.text), user_oauth_approval: 'true', 'X-Svc-Csrf': 'forged' }
      const answer = await browser.send('/oauth/authorize', { form, headers: GERMAN })
      assert.equal(answer.status, 403)
      assert.equal(languageOf(answer), 'es')
      assert.match(answer.text, /Este formulario no se envió/)
    })
    it('use it if the request is refused on a page', async () => {
      const query = { ...hinted('ja'), redirect_uri: 'https://evil.example/' }
      const answer = await server.send('/oauth/authorize', { query, headers: GERMAN })
      assert.equal(answer.status, 400)
      assert.equal(languageOf(answer), 'ja')
      assert.match(answer.text, /戻り先のアドレス https:\/\/evil\.example\/ は/)
    })
    it('refuse a repeated ui_locales', async () => {
      const path = `/oauth/authorize?${new URLSearchParams(hinted('ja')).toString()}&ui_locales=fr`
      const { status, headers } = await server.send(path, { headers: GERMAN })
      assert.equal(status, 302)
      assert.match(String(headers['location']), /error=invalid_request/)
    })
    // Covers GET /logout.do: ui_locales
    it('use ui_locales of a logout, also after its confirmation', async () => {
      const browser = await signedIn(server)
      const asked = await browser.send('/logout.do', { query: { ui_locales: 'es', client_id: 'app' }, headers: GERMAN })
      assert.equal(languageOf(asked), 'es')
      const answer = await browser.send('/logout.do', { form: hiddenFields(asked.text), headers: GERMAN })
      assert.equal(answer.status, 200)
      assert.equal(languageOf(answer), 'es')
    })
    it('do not use it in another zone', async () => {
      const browser = server.browser()
      await authorize(browser, hinted('fr'))
      assert.equal(languageOf(await browser.send('/login', { host: Z1_HOST, headers: GERMAN })), 'de')
    })
  })

  describe('with the language of an account', () => {
    for (const path of ['/profile', '/error404', '/oauth_error', '/rejected', '/nowhere', '/forgot_password']) {
      it(`use it on ${path}`, async () => {
        const browser = await signedIn(server)
        await changeUser(server, 'marissa', { profile: { preferredLanguage: 'es' } })
        const answer = await browser.send(path, { headers: { ...GERMAN, accept: 'text/html' } })
        assert.equal(languageOf(answer), 'es')
        assert.match(answer.text, /<form class="person"/)
      })
    }
    for (const [name, path, host] of [
      ['at an unknown host', '/nowhere', 'none.localhost:8080'],
      ['before any limit', '/%zz', undefined],
    ] as const) {
      it(`read no session ${name}`, async () => {
        const browser = await signedIn(server)
        const find = mock.method(server.store.sessions, 'findWithUser')
        const answer = await browser.send(path, { headers: { accept: 'text/html' }, ...(host && { host }) })
        find.mock.restore()
        assert.match(answer.text, /^<!doctype html>/)
        assert.equal(find.mock.callCount(), 0)
      })
    }
  })

  describe('do not translate', () => {
    it('error_description in a redirect', async () => {
      const query = { ...requestOf('nobody'), ui_locales: 'de' }
      const answer = await server.send('/oauth/authorize', { query, headers: GERMAN })
      const description = answer.location().searchParams.get('error_description')
      assert.equal(description, 'Client is not authorized for any identity providers.')
    })
    it('JSON of the token endpoint', async () => {
      const answer = await server.token({ grant_type: 'x', ui_locales: 'de' }, { headers: GERMAN })
      assert.equal(answer.json()['error_description'], 'Unsupported grant type')
    })
    it('JSON instead of a page', async () => {
      const headers = { ...GERMAN, accept: 'application/json' }
      const answer = await server.send('/error429', { headers })
      assert.deepEqual(answer.json(), { error: 'Too many attempts. Wait a while, then try again.' })
    })
    it('the approval request as JSON', async () => {
      const browser = await signedIn(server)
      const headers = { ...GERMAN, accept: 'application/json' }
      const answer = await authorize(browser, { ...requestOf('asks'), ui_locales: 'de', scope: 'openid' }, { headers })
      assert.deepEqual(answer.json()['scopes'], [{ code: 'scope.openid', text: 'Know who you are' }])
    })
  })
})

describe('Pages in uaa', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ mode: 'uaa', config: { bootstrap: authorizeBootstrap } })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('are English regardless of Accept-Language (P4)', async () => {
    const answer = await server.send('/login', { headers: GERMAN })
    assert.equal(languageOf(answer), 'en')
    assert.match(answer.text, /value="Sign in"/)
  })
  it('are English regardless of ui_locales (P4)', async () => {
    const browser = await signedIn(server)
    const answer = await authorize(browser, hinted('de'), { headers: GERMAN })
    assert.equal(languageOf(answer), 'en')
    assert.match(answer.text, /Application Authorization/)
  })
  it('are English for errors (P4)', async () => {
    const browser = await signedIn(server)
    const answer = await authorize(browser, { ...hinted('de'), client_id: 'none' }, { headers: GERMAN })
    assert.equal(languageOf(answer), 'en')
    assert.match(answer.text, /No client with requested id: none/)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { digest } from '../../../src/base/secrets.ts'
import { Z1_HOST, authorizeBootstrap, signedIn } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, approve, changeUser, refresh, tokensOf, userNamed } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const PAGE = 'http://localhost:8080/profile'
const REFUSED = `${PAGE}?error_message_code=request.invalid_parameter`
const UNKNOWN = `${PAGE}?error_message_code=session.unknown`
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0'
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1'

type Fields = Readonly<Record<string, string | readonly string[]>>

/** Posts a form with the browser's anti-forgery value; a list is sent as one field each. */
function post(browser: Browser, path: string, fields: Fields, csrf = browser.csrf): Promise<TestAnswer> {
  const form = new URLSearchParams({ 'X-Svc-Csrf': csrf })
  for (const [name, value] of Object.entries(fields)) {
    for (const each of typeof value === 'string' ? [value] : value) form.append(name, each)
  }
  return browser.send(path, { form: form.toString() })
}

/** The checkboxes of the page: their values, and whether they are ticked. */
const boxes = (page: string): Record<string, boolean> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="checkbox" id="[^"]+" name="checkedScopes" value="([^"]+)"( checked)?>/g)].map(
      ([, value = '', checked]) => [unescaped(value), checked !== undefined],
    ),
  )

/** The handles of the other sessions, in the order of the page. */
const handles = (page: string): readonly string[] =>
  [...page.matchAll(/name="session" value="([^"]+)"/g)].map(([, handle = '']) => handle)

/** Signs in with a browser of this User-Agent. */
async function signedInAs(server: TestServer, userAgent: string, userName = 'marissa', password = 'koala') {
  const browser = server.browser()
  const page = await browser.send('/login')
  const form = { username: userName, password, ...hiddenFields(page.text) }
  const answer = await browser.send('/login.do', { form, headers: { 'user-agent': userAgent } })
  assert.equal(answer.headers['location'], 'http://localhost:8080/')
  return browser
}

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

for (const mode of MODES) {
  const cookie = mode === 'standard' ? 'svc-session' : 'JSESSIONID'

  describe(`Profile in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** The stored approvals of marissa for the client `app`. */
    const stored = async (): Promise<Record<string, string>> => {
      const { id } = await userNamed(server, 'marissa')
      const approvals = await server.store.approvals.list('svc', id, 'app', server.clock.now())
      return Object.fromEntries(approvals.map(({ scope, status }) => [scope, status]))
    }
    /** UAA: shows no message. */
    const pageAfter = (code: string): string => (mode === 'uaa' ? PAGE : `${PAGE}?success_message_code=${code}`)
    const modified = () => server.events.filter(({ type }) => type === 'ApprovalModifiedEvent')

    describe('GET /profile', () => {
      // Covers GET /profile: account settings
      it('shows the account, and links only to pages that exist', async () => {
        const { status, text } = await (await signedIn(server, 'sam', 'dingo')).send('/profile')
        assert.equal(status, 200)
        assert.match(text, mode === 'uaa' ? /<h1>Account Settings<\/h1>/ : /<h1>Account settings<\/h1>/)
        assert.match(text, /<dd><bdi>sam<\/bdi><\/dd>/)
        assert.match(text, /<dd class="email"><bdi>s@example\.org<\/bdi><\/dd>/)
        assert.match(text, /No application has asked for your consent yet|not yet authorized any third party/)
        const served = new Set((await server.app.routes()).map(route => route.url))
        for (const url of ['/change_email', '/change_password']) {
          assert.equal(text.includes(`href="${url}"`), served.has(url), url)
        }
      })

      it('breaks a long address at its punctuation, but in uaa leaves it whole for scripts', async () => {
        const browser = await signedIn(server, 'sam', 'dingo')
        await changeUser(server, 'sam', { email: 'sam.long@a-name.example.org' })
        const { text } = await browser.send('/profile')
        await changeUser(server, 'sam', { email: 's@example.org' })
        const broken = 'sam.<wbr>long<wbr>@a-<wbr>name.<wbr>example.<wbr>org'
        assert.ok(text.includes(mode === 'uaa' ? '<bdi>sam.long@a-name.example.org</bdi>' : `<bdi>${broken}</bdi>`))
      })

      it('redirects anonymous visitors to sign-in, and back', async () => {
        const visitor = server.browser()
        assert.equal((await visitor.send('/profile')).headers['location'], 'http://localhost:8080/login')
        assert.equal((await visitor.signIn('marissa', 'koala')).headers['location'], PAGE)
        const program = await server.send('/profile', { headers: { accept: 'application/json' } })
        assert.equal(program.status, mode === 'standard' ? 403 : 302)
      })

      const alerts: readonly { query: string; kind: string; text: RegExp }[] = [
        // Covers GET /profile: error_message_code
        {
          query: 'error_message_code=request.invalid_parameter',
          kind: 'error',
          text: /have not given that application any access/,
        },
        { query: 'error_message_code=email_change.non-uaa-origin', kind: 'error', text: /managed elsewhere/ },
        { query: 'error_message_code=email_change.invalid_code', kind: 'error', text: /was used already/ },
        { query: 'error_message_code=session.unknown', kind: 'error', text: /already ended/ },
        // Covers GET /profile: success_message_code
        {
          query: 'success_message_code=email_change.success',
          kind: 'success',
          text: /address is confirmed|address successfully verified/,
        },
        { query: 'error_message_code=%3Cscript%3E', kind: 'error', text: /<p>Error!<\/p>/ },
        { query: 'error_message_code=__proto__', kind: 'error', text: /<p>Error!<\/p>/ },
        {
          query: 'success_message_code=access.changed',
          kind: 'success',
          text: /choices for the application are saved/,
        },
        { query: 'success_message_code=access.revoked', kind: 'success', text: /access of the application is revoked/ },
        { query: 'success_message_code=toString', kind: 'success', text: /<p>Success!<\/p>/ },
        { query: 'success_message_code=x&error_message_code=session.unknown', kind: 'error', text: /already ended/ },
      ]
      for (const { query, kind, text } of alerts) {
        it(`shows a message for ${query}, never the code itself`, async () => {
          const page = (await (await signedIn(server)).send(`/profile?${query}`)).text
          assert.match(page, new RegExp(`class="alert alert-${kind}"`))
          assert.match(page, text)
          assert.doesNotMatch(page, /<script>|__proto__|toString/)
        })
      }

      // Covers GET /profile: approvals per client
      it('shows the approvals of each client with the scope descriptions of the zone', async () => {
        await approve(server, ['cloud.read', 'openid'], 'APPROVED')
        await approve(server, ['cloud.write'], 'DENIED')
        const page = (await (await signedIn(server)).send('/profile')).text
        assert.deepEqual(boxes(page), { 'app-cloud.read': true, 'app-cloud.write': false, 'app-openid': true })
        assert.match(page, /<form class="panel" id="app-form" action="\/profile" method="post"/)
        assert.match(page, /<input type="hidden" name="clientId" value="app">/)
        assert.match(page, /<bdi>The application<\/bdi>/)
        assert.match(page, /<bdi>Read the cloud<\/bdi>/)
        assert.match(page, /<bdi>Know who you are<\/bdi>/)
      })

      it('has UAA’s texts, classes and ids, and no inline script', async () => {
        const page = (await (await signedIn(server)).send('/profile')).text
        assert.match(page, /<button [^>]*name="update"[^>]*>Update<\/button>/)
        assert.match(page, mode === 'uaa' ? /<a [^>]*>Revoke Access<\/a>/ : /<a [^>]*>Revoke access<\/a>/)
        assert.match(page, /class="revocation-modal"[^>]*>\s*<p>Are you sure you want to revoke access to <bdi>/)
        assert.match(page, /class="revocation-cancel /)
        assert.match(page, /<button class="revocation-confirm [^>]*type="submit" name="delete"/)
        assert.doesNotMatch(page, /<script(?! src="[^"]*\/latchkey\.js)| on[a-z]+="/)
      })

      it('omits expired approvals and deleted clients', async () => {
        const { id: userId } = await userNamed(server, 'marissa')
        const now = server.clock.now()
        const gone = { zoneId: 'svc', userId, clientId: 'gone', scope: 'openid', status: 'APPROVED' } as const
        await server.store.approvals.save('svc', [
          { ...gone, updatedAt: now, expiresAt: new Date(now.getTime() + 9e5) },
          { ...gone, clientId: 'many', updatedAt: now, expiresAt: now },
        ])
        assert.deepEqual(
          Object.keys(boxes((await (await signedIn(server)).send('/profile')).text)).filter(
            box => !box.startsWith('app-'),
          ),
          [],
        )
      })
    })

    describe('POST /profile', () => {
      const APPROVED = { 'cloud.read': 'APPROVED', 'cloud.write': 'DENIED', openid: 'APPROVED' }
      before(async () => {
        browser = await signedIn(server)
      })

      // Covers POST /profile: checkedScopes; update
      it('approves checked scopes, denies the others, and keeps the expiry', async () => {
        const { id } = await userNamed(server, 'marissa')
        const list = () => server.store.approvals.list('svc', id, 'app', server.clock.now())
        const until = (await list()).map(each => each.expiresAt)
        const count = modified().length
        const answer = await post(browser, '/profile', {
          clientId: 'app',
          update: 'update',
          checkedScopes: ['app-cloud.write', 'app-openid'],
        })
        assert.equal(answer.status, 302)
        assert.equal(answer.headers['location'], pageAfter('access.changed'))
        assert.deepEqual(await stored(), { 'cloud.read': 'DENIED', 'cloud.write': 'APPROVED', openid: 'APPROVED' })
        assert.deepEqual(
          (await list()).map(each => each.expiresAt),
          until,
        )
        assert.equal(modified().length, count + 1)
        const event = modified().at(-1)
        assert.equal(event?.principal, id)
        assert.equal(event?.clientId, 'app')
        assert.equal(event?.data, 'cloud.read DENIED, cloud.write APPROVED, openid APPROVED')
      })

      it('denies all scopes if none is checked', async () => {
        await post(browser, '/profile', { clientId: 'app', update: '' })
        assert.deepEqual(await stored(), { 'cloud.read': 'DENIED', 'cloud.write': 'DENIED', openid: 'DENIED' })
        await post(browser, '/profile', {
          clientId: 'app',
          update: '',
          checkedScopes: ['app-cloud.read', 'app-openid'],
        })
        assert.deepEqual(await stored(), APPROVED)
      })

      it('leaves scopes alone that the page did not list', async () => {
        const page = (await browser.send('/profile')).text
        assert.match(page, /<input type="hidden" name="listedScopes" value="cloud\.read cloud\.write openid">/)
        await post(browser, '/profile', {
          clientId: 'app',
          update: '',
          checkedScopes: 'app-openid',
          listedScopes: 'cloud.write openid',
        })
        assert.deepEqual(await stored(), APPROVED)
        await post(browser, '/profile', { clientId: 'app', update: '', listedScopes: 'cloud.read' })
        assert.deepEqual(await stored(), { ...APPROVED, 'cloud.read': 'DENIED' })
        await post(browser, '/profile', {
          clientId: 'app',
          update: '',
          checkedScopes: ['app-cloud.read', 'app-openid'],
        })
        assert.deepEqual(await stored(), APPROVED)
      })

      // Covers POST /profile: clientId
      it('adds no approval that does not exist yet', async () => {
        await post(browser, '/profile', {
          clientId: 'app',
          update: '',
          checkedScopes: ['app-cloud.read', 'app-openid', 'app-svc.admin', 'other-cloud.write', 'cloud.write', 'app-'],
        })
        assert.deepEqual(await stored(), APPROVED)
        const count = modified().length
        const other = await post(browser, '/profile', { clientId: 'auto', update: '', checkedScopes: 'auto-openid' })
        assert.equal(other.headers['location'], pageAfter('access.changed'))
        const { id } = await userNamed(server, 'marissa')
        assert.deepEqual(await server.store.approvals.list('svc', id, 'auto', server.clock.now()), [])
        assert.equal(modified().length, count, 'no change, no event')
      })

      const unknown: readonly { name: string; fields: Fields }[] = [
        // Covers POST /profile: error: unknown client
        { name: 'an unknown client', fields: { clientId: 'nemo', update: '' } },
        { name: 'an unknown client to revoke', fields: { clientId: 'nemo', delete: '' } },
        { name: 'no client', fields: { update: '' } },
        { name: 'an empty client', fields: { clientId: '', delete: '' } },
        { name: 'a client id of 10,000 characters', fields: { clientId: 'x'.repeat(10_000), delete: '' } },
      ]
      for (const { name, fields } of unknown) {
        it(`changes nothing for ${name}`, async () => {
          const answer = await post(browser, '/profile', fields)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], REFUSED)
          assert.deepEqual(await stored(), APPROVED)
        })
      }

      for (const fields of [{ clientId: 'app' }, { clientId: 'app', checkedScopes: 'app-openid' }, {}]) {
        it(`changes nothing and shows no error without update or delete: ${JSON.stringify(fields)}`, async () => {
          const answer = await post(browser, '/profile', fields)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], PAGE)
          assert.deepEqual(await stored(), APPROVED)
        })
      }

      // Covers POST /profile: X-<Service>-Csrf
      it('refuses a missing or foreign anti-forgery token, and cross-site requests', async () => {
        const joel = await signedIn(server, 'joel', 'wombat')
        const revoke = { clientId: 'app', delete: '' }
        for (const csrf of ['', 'A'.repeat(22), joel.csrf]) {
          assert.equal((await post(browser, '/profile', revoke, csrf)).status, 403)
          assert.equal((await post(browser, '/profile/sessions', { others: 'true' }, csrf)).status, 403)
        }
        const answer = await browser.send('/profile', {
          form: { ...revoke, 'X-Svc-Csrf': browser.csrf },
          headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
        })
        assert.equal(answer.status, 403)
        assert.deepEqual(await stored(), APPROVED)
      })

      it('keeps the approvals of other users', async () => {
        const joel = await signedIn(server, 'joel', 'wombat')
        for (const button of ['update', 'delete']) await post(joel, '/profile', { clientId: 'app', [button]: '' })
        assert.deepEqual(await stored(), APPROVED)
        const z1 = await signedIn(server, 'marissa', 'z1-koala', Z1_HOST)
        const answer = await post(z1, '/profile', { clientId: 'app', delete: '' })
        assert.equal(answer.location().searchParams.get('error_message_code'), 'request.invalid_parameter')
        assert.deepEqual(await stored(), APPROVED)
      })

      // Covers POST /profile: delete
      it('revokes all approvals and tokens of a client, once', async () => {
        const { tokens } = await codeTokens()
        const answer = await post(browser, '/profile', { clientId: 'app', delete: '' })
        assert.equal(answer.headers['location'], pageAfter('access.revoked'))
        assert.deepEqual(await stored(), {})
        assert.equal(modified().at(-1)?.data, 'all revoked')
        const count = modified().length
        await post(browser, '/profile', { clientId: 'app', delete: '' })
        assert.equal(modified().length, count)
        assert.ok((await refresh(server, tokens.refresh_token)).status >= 400)
        assert.doesNotMatch((await browser.send('/profile')).text, /app-form/)
      })

      async function codeTokens() {
        const request = { client_id: 'app', response_type: 'code', redirect_uri: 'https://app.example/cb', state: 's' }
        await browser.send('/oauth/authorize', { query: { ...request, scope: 'openid cloud.read' } })
        const answer = await browser.send('/oauth/authorize', {
          query: { ...request, scope: 'openid cloud.read' },
        })
        const code = answer.location().searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: request.redirect_uri }
        return { tokens: tokensOf(await server.token(form, { basic: ['app', 'app-secret'] })) }
      }
    })

    describe('Sessions on /profile', () => {
      let here: Browser
      let phone: Browser
      before(async () => {
        await server.stop()
        server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
        here = await signedInAs(server, FIREFOX)
        server.clock.advance(600)
        phone = await signedInAs(server, IPHONE)
      })

      it('lists sessions with browser, system and times, and marks the current one', async () => {
        const page = (await here.send('/profile')).text
        const devices = page.slice(page.indexOf('<ul class="devices">'), page.indexOf('name="others"'))
        const [mine = '', theirs = ''] = devices.split('<h3>').slice(1)
        assert.match(mine, /^<bdi>Firefox on Windows<\/bdi> <span class="badge">this session<\/span><\/h3>/)
        assert.match(mine, /Signed in <time datetime="[^"]+">10 minutes ago<\/time>/)
        assert.match(mine, /, from <bdi>127\.0\.0\.1<\/bdi><\/p>/)
        assert.doesNotMatch(mine.slice(0, mine.indexOf('</ul>')), /<button/)
        assert.match(theirs, /^<bdi>Safari on iPhone<\/bdi><\/h3>/)
        assert.match(theirs, /last seen <time datetime="[^"]+">just now<\/time>/)
        assert.match(theirs, /<button class="quiet" type="submit" name="session" value="[\w-]+">Sign out/)
      })

      it('groups sessions by browser', async () => {
        const second = await signedInAs(server, IPHONE)
        const page = (await here.send('/profile')).text
        assert.equal(page.match(/<h3><bdi>Safari on iPhone/g)?.length, 1)
        assert.equal(handles(page).length, 2)
        await post(second, '/logout.do', {})
        assert.equal(handles((await here.send('/profile')).text).length, 1)
      })

      it('identifies sessions by handles that are neither cookies nor keys of the database', async () => {
        const page = (await here.send('/profile')).text
        const [handle = ''] = handles(page)
        assert.equal(handles(page).length, 1)
        for (const browser of [here, phone]) {
          const id = browser.cookies.get(cookie) ?? ''
          assert.ok(!page.includes(id))
          assert.ok(!page.includes(digest(id)))
          assert.notEqual(handle, digest(digest(id)))
        }
        assert.equal((await server.send('/home', { cookies: { [cookie]: handle } })).status, 302)
        assert.equal(await server.store.sessions.find('svc', handle), undefined)
      })

      it('neither lists nor ends sessions of other users or zones', async () => {
        const [handle = ''] = handles((await here.send('/profile')).text)
        const joel = await signedIn(server, 'joel', 'wombat')
        const z1 = await signedIn(server, 'marissa', 'z1-koala', Z1_HOST)
        for (const [stranger, want] of [
          [joel, UNKNOWN],
          [z1, UNKNOWN.replace('localhost', 'z1.localhost')],
        ] as const) {
          assert.deepEqual(handles((await stranger.send('/profile')).text), [])
          assert.equal((await post(stranger, '/profile/sessions', { session: handle })).headers['location'], want)
          await post(stranger, '/profile/sessions', { others: 'true' })
        }
        assert.ok((await isSignedIn(here)) && (await isSignedIn(phone)))
      })

      it('does not end the current session, or any by an invalid handle', async () => {
        const [own = ''] = handles((await phone.send('/profile')).text)
        const id = phone.cookies.get(cookie) ?? ''
        const invalid: readonly Fields[] = [
          { session: own },
          { session: id },
          { session: digest(id) },
          { session: '' },
          { session: 'x'.repeat(10_000) },
          { session: 'x', others: 'true' },
          { others: 'false' },
          {},
        ]
        for (const fields of invalid) {
          const answer = await post(here, '/profile/sessions', fields)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], UNKNOWN, JSON.stringify(fields).slice(0, 80))
        }
        assert.ok((await isSignedIn(here)) && (await isSignedIn(phone)))
      })

      // Covers POST /profile/sessions: session
      it('ends one session, once', async () => {
        const [handle = ''] = handles((await here.send('/profile')).text)
        const answer = await post(here, '/profile/sessions', { session: handle })
        assert.equal(answer.headers['location'], `${PAGE}?success_message_code=session.signed_out`)
        assert.equal(await isSignedIn(phone), false)
        assert.ok(await isSignedIn(here))
        assert.equal((await post(here, '/profile/sessions', { session: handle })).headers['location'], UNKNOWN)
        const page = (await here.send(answer.location().pathname + answer.location().search)).text
        assert.match(page, /class="alert alert-success"/)
        assert.deepEqual(handles(page), [])
        assert.doesNotMatch(page, /name="others"/)
      })

      // Covers POST /profile/sessions: others
      it('ends all other sessions', async () => {
        const others = [await signedIn(server), await signedIn(server), await signedIn(server)]
        const joel = await signedIn(server, 'joel', 'wombat')
        assert.match((await here.send('/profile')).text, /name="others" value="true"/)
        const answer = await post(here, '/profile/sessions', { others: 'true' })
        assert.equal(answer.headers['location'], `${PAGE}?success_message_code=session.others_signed_out`)
        for (const other of others) assert.equal(await isSignedIn(other), false)
        assert.ok((await isSignedIn(here)) && (await isSignedIn(joel)))
        assert.equal(
          (await post(here, '/profile/sessions', { others: 'true' })).status,
          302,
          'a repetition is accepted',
        )
      })

      it('omits expired sessions', async () => {
        await signedIn(server)
        assert.equal(handles((await here.send('/profile')).text).length, 1)
        server.clock.advance(1200)
        await here.send('/home')
        server.clock.advance(601)
        assert.deepEqual(handles((await here.send('/profile')).text), [])
        await signedIn(server)
        await changeUser(server, 'marissa', { passwordRevision: 'next' })
        const fresh = await signedIn(server)
        assert.deepEqual(handles((await fresh.send('/profile')).text), [])
      })

      it('escapes an unknown User-Agent', async () => {
        const odd = await signedInAs(server, '"><script>alert(1)</script> Firefox/1')
        const none = await signedInAs(server, '')
        const page = (await odd.send('/profile')).text
        assert.doesNotMatch(page, /<script>/)
        assert.match(page, /<bdi>Unknown browser<\/bdi>/)
        await none.send('/home')
      })
    })
  })
}

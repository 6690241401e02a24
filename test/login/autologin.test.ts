// An application posts the password from its own form, and redirects the browser with the code that it receives.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { TooManyHashes } from '../../src/base/passwords.ts'
import { authorizeBootstrap, responseOf } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import {
  changeClient,
  changeUser,
  clientNamed,
  MODES,
  NO_CREDENTIALS,
  tokensOf,
  userNamed,
  verified,
} from '../support/oauth.ts'
import type { Browser, TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const AUTO = ['auto', 'auto-secret'] as const
const MARISSA = { username: 'marissa', password: 'koala' }
const AUTHORIZE = {
  response_type: 'code',
  client_id: 'auto',
  redirect_uri: 'https://auto.example/cb',
  scope: 'openid',
  state: 's1',
}
const JSON_TYPE = { 'content-type': 'application/json' }

for (const mode of MODES) {
  describe(`Autologin in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const users = [
        ...authorizeBootstrap.users,
        ...['late', 'unverified', 'guessed', 'changed', 'gone', 'doubted', 'renewed'].map(userName => ({
          userName,
          password: 'koala',
          emails: [{ value: `${userName}@example.org` }],
        })),
      ]
      server = await startServer({ mode, config: { bootstrap: { ...authorizeBootstrap, users } } })
      await changeUser(server, 'late', { passwordChangeRequired: true })
      await changeUser(server, 'unverified', { verified: false })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const post = (form: Readonly<Record<string, string>> = MARISSA, request: TestRequest = {}): Promise<TestAnswer> =>
      server.send('/autologin', { form, basic: AUTO, ...request })

    async function codeOf(
      username = 'marissa',
      password = 'koala',
      basic: readonly [string, string] = AUTO,
    ): Promise<string> {
      const answer = await post({ username, password }, { basic })
      assert.equal(answer.status, 200, answer.text)
      return String(answer.json()['code'])
    }

    const visit = (
      browser: Browser,
      query: Readonly<Record<string, string>>,
      request: TestRequest = {},
    ): Promise<TestAnswer> => browser.send('/autologin', { query, ...request })

    describe('POST /autologin', () => {
      // Covers POST /autologin: Authorization: Basic; username; password; response: code; path
      it('returns a code for the client, and creates no session', async () => {
        const answer = await post()
        assert.equal(answer.status, 200, answer.text)
        const { code, ...rest } = answer.json()
        assert.match(String(code), /^[\w-]{32}$/)
        assert.deepEqual(rest, { path: '/oauth/authorize' })
        assert.deepEqual(answer.cookies, {})
        assert.equal(answer.headers['cache-control'], 'no-store')
      })

      // Covers POST /autologin: JSON body
      it('accepts JSON', async () => {
        const answer = await server.send('/autologin', {
          body: JSON.stringify(MARISSA),
          headers: JSON_TYPE,
          basic: AUTO,
        })
        assert.equal(answer.json()['path'], '/oauth/authorize')
      })

      const refusals: readonly { name: string; send: () => Promise<TestAnswer>; want: string; description: string }[] =
        [
          {
            name: 'a wrong password',
            send: () => post({ ...MARISSA, password: 'bad' }),
            want: '401 invalid_client',
            description: 'Bad credentials',
          },
          // Covers POST /autologin: error: bad user or client
          {
            name: 'an unknown user',
            send: () => post({ username: 'nobody', password: 'bad' }),
            want: '401 invalid_client',
            description: 'Bad credentials',
          },
          // Covers POST /autologin: error: no password
          {
            name: 'no password',
            send: () => post({ username: 'marissa' }),
            want: '401 invalid_client',
            description: 'No password in request',
          },
          // Covers POST /autologin: error: no username
          {
            name: 'no user name',
            send: () => post({ password: 'koala' }),
            want: '401 invalid_client',
            description: 'No username in request',
          },
          {
            name: 'a wrong client secret',
            send: () => post(MARISSA, { basic: ['auto', 'bad'] }),
            want: '401 invalid_client',
            description: 'Bad credentials',
          },
          {
            name: 'an unknown client',
            send: () => post(MARISSA, { basic: ['none', 'bad'] }),
            want: '401 invalid_client',
            description: 'Bad credentials',
          },
          {
            name: 'a user of a provider that the client does not allow',
            send: () => post(MARISSA, { basic: ['ldaponly', 'ldaponly-secret'] }),
            want: '401 invalid_client',
            description: 'Bad credentials',
          },
          // Covers POST /autologin: error: no client
          {
            name: 'no client',
            send: () => server.send('/autologin', { form: MARISSA }),
            want: mode === 'uaa' ? '401 unauthorized' : '401 invalid_client',
            description: NO_CREDENTIALS[mode],
          },
          {
            name: 'a token instead of client credentials',
            send: () => server.send('/autologin', { form: MARISSA, bearer: 'x.y.z' }),
            want: mode === 'uaa' ? '401 unauthorized' : '401 invalid_client',
            description: NO_CREDENTIALS[mode],
          },
          {
            name: 'an unverified account with the correct password',
            send: () => post({ username: 'unverified', password: 'koala' }),
            want: '403 access_denied',
            description: 'Account not verified',
          },
          {
            name: 'two user names',
            send: () => server.send('/autologin', { form: 'username=a&username=b&password=c', basic: AUTO }),
            want: '400 invalid_request',
            description: 'The parameter username must not be repeated',
          },
          {
            name: 'a broken body',
            send: () => server.send('/autologin', { body: '{bad', headers: JSON_TYPE, basic: AUTO }),
            want: '400 invalid_request',
            description: 'The request body is not valid JSON',
          },
          {
            name: 'members that are not strings',
            send: () =>
              server.send('/autologin', {
                body: '{"username":["marissa"],"password":1}',
                headers: JSON_TYPE,
                basic: AUTO,
              }),
            want: '401 invalid_client',
            description: 'No username in request',
          },
          {
            name: 'a body of another type',
            send: () =>
              server.send('/autologin', { body: 'x', headers: { 'content-type': 'text/plain' }, basic: AUTO }),
            want: '415 invalid_request',
            description: 'The content type must be a form or JSON',
          },
        ]
      for (const { name, send, want, description } of refusals) {
        it(`refuses ${name}`, async () => {
          const answer = await send()
          const { error, error_description: reported } = answer.json()
          assert.equal(`${answer.status} ${String(error)}`, want, answer.text)
          assert.equal(reported, description)
          const types = answer.status === 415 ? 'application/x-www-form-urlencoded, application/json' : undefined
          assert.equal(answer.headers['accept'], types)
        })
      }

      it('accepts client credentials in the form in standard only (C1)', async () => {
        const form = { ...MARISSA, client_id: 'auto', client_secret: 'auto-secret' }
        const answer = await server.send('/autologin', { form })
        assert.equal(answer.status, mode === 'uaa' ? 401 : 200, answer.text)
      })

      it('counts towards the lockout of the account', async () => {
        for (let count = 1; count <= 5; count += 1) await post({ username: 'guessed', password: `wrong ${count}` })
        assert.equal((await post({ username: 'guessed', password: 'koala' })).status, 401)
      })
    })

    describe('GET /autologin', () => {
      // Covers GET /autologin: code; client_id
      it('creates a session, and redirects to the home page', async () => {
        const browser = server.browser()
        const answer = await visit(browser, { code: await codeOf(), client_id: 'auto' })
        assert.equal(answer.status, 302, answer.text)
        assert.equal(answer.location().pathname, '/home')
        assert.ok(answer.cookies['Current-User'])
        assert.match((await browser.send('/home')).text, /marissa/)
      })

      it('redirects to the pending authorization request', async () => {
        const browser = server.browser()
        await browser.send('/oauth/authorize', { query: AUTHORIZE })
        const { pathname, searchParams } = (
          await visit(browser, { code: await codeOf(), client_id: 'auto' })
        ).location()
        assert.deepEqual([pathname, searchParams.get('client_id')], ['/oauth/authorize', 'auto'])
      })

      it('does not repeat a request that continued after a new password', async () => {
        await changeUser(server, 'renewed', { passwordChangeRequired: true })
        const browser = server.browser()
        await browser.signIn('renewed', 'koala')
        await browser.send('/oauth/authorize', { query: AUTHORIZE })
        const { text } = await browser.send('/force_password_change')
        const typed = { password: 'three-lamps-and-a-boat', password_confirmation: 'three-lamps-and-a-boat' }
        await browser.send('/force_password_change', { form: { ...hiddenFields(text), ...typed } })
        const continued = await browser.send('/force_password_change_completed')
        assert.equal(continued.location().pathname, '/oauth/authorize')
        const code = await codeOf('renewed', typed.password)
        assert.equal((await visit(browser, { code, client_id: 'auto' })).location().pathname, '/home')
      })

      it('redirects to a pending password change', async () => {
        const browser = server.browser()
        const answer = await visit(browser, { code: await codeOf('late'), client_id: 'auto' })
        assert.equal(answer.location().pathname, '/force_password_change')
        assert.equal((await browser.send('/profile')).location().pathname, '/force_password_change')
      })

      it('signs nobody in without a code', async () => {
        const answer = await visit(server.browser(), {})
        assert.equal(answer.location().pathname, '/home')
        assert.equal(answer.cookies['Current-User'], undefined)
      })

      it('does not use up the code on HEAD', async () => {
        const query = { code: await codeOf(), client_id: 'auto' }
        assert.equal((await server.send('/autologin', { method: 'HEAD', query })).cookies['Current-User'], undefined)
        assert.equal((await visit(server.browser(), query)).status, 302)
      })

      it('keeps the code where a busy server begins no session', async () => {
        const query = { code: await codeOf(), client_id: 'auto' }
        const { sessions } = server.store
        const usual = { ...sessions }
        Object.assign(sessions, { replaceAtLogon: () => Promise.reject(new TooManyHashes()) })
        assert.equal((await visit(server.browser(), query)).status, 503)
        assert.equal(
          (await server.browser().send('/oauth/authorize', { query: { ...AUTHORIZE, ...query } })).status,
          503,
        )
        Object.assign(sessions, usual)
        assert.equal((await visit(server.browser(), query)).status, 302)
      })

      it('accepts a code once, even if used concurrently', async () => {
        const query = { code: await codeOf(), client_id: 'auto' }
        const answers = await Promise.all([1, 2, 3].map(() => visit(server.browser(), query)))
        assert.deepEqual(
          answers.map(({ status }) => status).toSorted((a, b) => a - b),
          [302, 400, 400],
        )
      })

      it('renews the session id, against session fixation', async () => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        const before = Object.fromEntries(browser.cookies)
        await visit(browser, { code: await codeOf(), client_id: 'auto' })
        assert.equal((await server.send('/profile', { cookies: before })).status, 302)
        assert.equal((await browser.send('/profile')).status, 200)
      })

      const bad: readonly { name: string; code: () => Promise<string> }[] = [
        // Covers GET /autologin: error: bad code
        { name: 'an unknown code', code: async () => 'nonsense' },
        {
          name: 'an expired code',
          code: async () => {
            const code = await codeOf()
            server.clock.advance(301)
            return code
          },
        },
        {
          name: 'a code issued before a password change',
          code: async () => {
            const code = await codeOf('changed')
            await changeUser(server, 'changed', { passwordRevision: 'another' })
            return code
          },
        },
        {
          name: 'a code of a deactivated user',
          code: async () => {
            const code = await codeOf('gone')
            await changeUser(server, 'gone', { active: false })
            return code
          },
        },
        {
          name: 'a code of a user whose address no longer counts as verified',
          code: async () => {
            const code = await codeOf('doubted')
            await changeUser(server, 'doubted', { verified: false })
            return code
          },
        },
      ]
      for (const { name, code } of bad) {
        it(`refuses ${name}`, async () => {
          const answer = await visit(server.browser(), { code: await code(), client_id: 'auto' })
          assert.equal(answer.status, 400)
          assert.match(answer.text, /sign-in code is not valid/)
          assert.equal(answer.cookies['Current-User'], undefined)
        })
      }

      it('refuses a code if the provider was disabled, or is no longer allowed for the client', async () => {
        const providers = server.store.providers
        const provider = (await providers.findByOrigin('svc', 'svc')) ?? assert.fail()
        const client = await clientNamed(server, 'auto')
        const changes: readonly (readonly [() => Promise<unknown>, () => Promise<unknown>])[] = [
          [() => providers.update('svc', { ...provider, active: false }), () => providers.update('svc', provider)],
          [
            () => changeClient(server, 'auto', { allowedProviders: ['ldap'] }),
            () => server.store.clients.update('svc', client),
          ],
        ]
        for (const [change, undo] of changes) {
          const code = await codeOf()
          await change()
          const answer = await visit(server.browser(), { code, client_id: 'auto' })
          await undo()
          assert.equal(answer.status, 400)
          assert.match(answer.text, /sign-in code is not valid/)
        }
        assert.equal((await visit(server.browser(), { code: await codeOf(), client_id: 'auto' })).status, 302)
      })

      // Covers GET /autologin: error: client mismatch; client or user missing
      it('refuses a code with another client id or none', async () => {
        for (const [query, description] of [
          [{ client_id: 'app' }, 'Cannot redeem provided code for user, client mismatch'],
          [{}, 'Cannot redeem provided code for user, client id missing'],
        ] as const) {
          const page = await visit(server.browser(), { code: await codeOf(), ...query })
          assert.equal(page.status, mode === 'uaa' ? 406 : 401)
          const json = await visit(
            server.browser(),
            { code: await codeOf(), ...query },
            { headers: { accept: 'application/json' } },
          )
          assert.deepEqual(
            [json.status, json.json()['error'], json.json()['error_description']],
            [401, 'unauthorized', description],
          )
          assert.equal(json.cookies['Current-User'], undefined)
        }
      })

      it('keeps the session of another user in standard (E4)', async () => {
        const browser = server.browser()
        await browser.signIn('joel', 'wombat')
        const query = { code: await codeOf(), client_id: 'auto' }
        const answer = await visit(browser, query)
        assert.equal(answer.status, mode === 'uaa' ? 302 : 403, answer.text)
        assert.match((await browser.send('/home')).text, mode === 'uaa' ? /marissa/ : /joel/)
        if (mode === 'standard')
          assert.equal((await visit(server.browser(), query)).status, 302, 'the code is still valid')
      })

      it('refuses embedded and prefetch requests', async () => {
        for (const headers of [
          { 'sec-fetch-dest': 'iframe' },
          { 'sec-fetch-dest': 'image' },
          { 'sec-fetch-dest': 'empty' },
          { 'sec-fetch-dest': 'document', 'sec-purpose': 'prefetch;prerender' },
          { purpose: 'prefetch' },
          { 'x-moz': 'prefetch' },
        ]) {
          const answer = await visit(server.browser(), { code: await codeOf(), client_id: 'auto' }, { headers })
          assert.deepEqual([answer.status, answer.cookies['Current-User']], [403, undefined])
        }
      })
    })

    it('is recorded in the audit trail as a sign-in of the browser, without the code', async () => {
      const { id } = await userNamed(server, 'marissa')
      const sent = { headers: { 'user-agent': 'A browser' } }
      const ways = [
        (query: Readonly<Record<string, string>>) => visit(server.browser(), query, sent),
        (query: Readonly<Record<string, string>>) =>
          server.browser().send('/oauth/authorize', { query: { ...AUTHORIZE, ...query }, ...sent }),
      ]
      for (const redeem of ways) {
        const code = await codeOf()
        const foreign = await codeOf('marissa', 'koala', ['app', 'app-secret'])
        const from = server.events.length
        for (const value of [code, code, foreign]) await redeem({ code: value, client_id: 'auto' })
        const events = server.events.slice(from).filter(({ type }) => /^(?:User|Principal)Authentication/.test(type))
        assert.deepEqual(
          events.map(({ type, principal, clientId, data, userAgent }) => [type, principal, clientId, data, userAgent]),
          [
            ['UserAuthenticationSuccess', id, 'auto', 'autologin', 'A browser'],
            ['PrincipalAuthenticationFailure', 'autologin', undefined, 'autologin: bad-code', 'A browser'],
            ['PrincipalAuthenticationFailure', 'autologin', undefined, 'autologin: other-client', 'A browser'],
          ],
        )
        for (const value of [code, foreign]) assert.ok(!JSON.stringify(server.events).includes(value))
      }
    })

    describe('code at /oauth/authorize', () => {
      const ask = (
        browser: Browser,
        query: Readonly<Record<string, string>>,
        request: TestRequest = {},
      ): Promise<TestAnswer> => browser.send('/oauth/authorize', { query: { ...AUTHORIZE, ...query }, ...request })

      // Covers GET /oauth/authorize: rule: code of POST `/autologin` signs in
      // Covers GET /oauth/authorize code of autologin: code
      it('signs in and continues', async () => {
        const browser = server.browser()
        const answer = await ask(browser, { code: await codeOf() })
        assert.equal(answer.status, 302, answer.text)
        const { query } = responseOf(answer)
        assert.equal(query['state'], 's1')
        const form = {
          grant_type: 'authorization_code',
          code: query['code'] ?? '',
          redirect_uri: AUTHORIZE.redirect_uri,
        }
        const { id_token } = tokensOf(await server.token(form, { basic: AUTO }))
        const { id } = await userNamed(server, 'marissa')
        const { payload } = await verified(server, id_token)
        assert.deepEqual([payload.sub, payload['amr']], [id, ['pwd']])
        assert.ok(responseOf(await ask(browser, {})).query['code'], 'the session stays')
      })

      it('asks for approval without exposing the code', async () => {
        const browser = server.browser()
        const request = { client_id: 'app', redirect_uri: 'https://app.example/cb', scope: 'cloud.read' }
        const code = await codeOf('marissa', 'koala', ['app', 'app-secret'])
        const page = await ask(browser, { ...request, code })
        assert.equal(page.status, 200, page.text)
        assert.match(page.text, /cloud\.read/)
        assert.ok(!page.text.includes(code))
      })

      it('redirects to a pending password change without the code', async () => {
        const answer = await ask(server.browser(), { code: await codeOf('late') })
        assert.equal(answer.location().pathname, '/force_password_change')
        assert.equal(answer.location().search, '')
      })

      it('refuses a used code and an unknown one', async () => {
        const code = await codeOf()
        await ask(server.browser(), { code })
        for (const value of [code, 'nonsense']) {
          const answer = await ask(server.browser(), { code: value })
          assert.equal(answer.status, 400)
          assert.match(answer.text, /sign-in code is not valid/)
        }
      })

      it('requires sign-in for a code of another client', async () => {
        const answer = await ask(server.browser(), { code: await codeOf('marissa', 'koala', ['app', 'app-secret']) })
        assert.deepEqual([answer.status, answer.location().pathname], [302, '/login'])
      })

      it('ignores a code with prompt=none or another response type', async () => {
        const code = await codeOf()
        const silent = await ask(server.browser(), { code, prompt: 'none' })
        assert.match(String(silent.headers['location']), /error=login_required/)
        await ask(server.browser(), { code, response_type: 'code id_token' })
        assert.equal((await ask(server.browser(), { code })).location().host, 'auto.example', 'the code is still valid')
      })

      it('keeps the session of another user in standard (E4)', async () => {
        const browser = server.browser()
        await browser.signIn('joel', 'wombat')
        const answer = await ask(browser, { code: await codeOf() })
        assert.equal(answer.status, mode === 'uaa' ? 302 : 403)
      })

      const remembers = { skip: mode === 'uaa' && 'it does not remember fresh sign-ins (A10)' }
      it('counts as a fresh sign-in for prompt=login and max_age=0', remembers, async () => {
        for (const fresh of [{ prompt: 'login' }, { max_age: '0' }]) {
          const answer = await ask(server.browser(), { code: await codeOf(), ...fresh })
          assert.ok(responseOf(answer).query['code'], answer.text)
        }
      })

      it('refuses framed requests', async () => {
        const answer = await ask(
          server.browser(),
          { code: await codeOf() },
          { headers: { 'sec-fetch-dest': 'iframe' } },
        )
        assert.equal(answer.status, 403)
      })

      const checksFirst = { skip: mode === 'uaa' && 'it signs in before it checks the request (A1)' }
      it('keeps the code if the redirect URI is refused', checksFirst, async () => {
        const code = await codeOf()
        assert.equal((await ask(server.browser(), { code, redirect_uri: 'https://evil.example/' })).status, 400)
        assert.equal((await ask(server.browser(), { code })).status, 302)
      })
    })
  })
}

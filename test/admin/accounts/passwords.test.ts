import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { User } from '../../../src/model/users/user.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import { MODES, tokensOf, userNamed } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import { CLOSED_INTERNAL, CORP } from '../../support/self-service.ts'
import { caller } from '../../support/zones.ts'
import { JSON_TYPE, LOGIN_SERVER, loginServerCalls } from './support.ts'

const PASSWORD = 'nine-lamps-on-a-boat'
const user = (userName: string, more: object = {}) => ({
  userName,
  password: PASSWORD,
  emails: [{ value: `${userName.split('@')[0]}@acc.example` }],
  ...more,
})
const zone = (id: string, more: object = {}) => ({
  id,
  subdomain: id,
  name: id,
  bootstrap: { clients: [LOGIN_SERVER], users: [user('nadia@acc.example')], ...more },
})
const config = {
  bootstrap: {
    ...defaultBootstrap,
    clients: [...defaultBootstrap.clients, LOGIN_SERVER, caller('root', 'svc.admin'), caller('powerless')],
    users: [
      ...defaultBootstrap.users,
      ...['nadia@acc.example', 'omar', 'pia', 'quentin', 'rosa', 'sam', 'tina'].map(name => user(name)),
      user('gone', { active: false }),
      user('waiting', { verified: false }),
      { userName: 'ext', origin: 'corp', emails: [{ value: 'ext@corp.example' }] },
    ],
    identity_providers: [CORP],
    identity_zones: [zone('z1'), zone('closed', { identity_providers: CLOSED_INTERNAL })],
  },
}
const NEW = 'seven-chairs-in-the-rain'

for (const mode of MODES) {
  describe(`Password resets by a login server in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const { tokenOf, post } = loginServerCalls(() => server)
    const ask = (userName: string, more?: TestRequest): Promise<TestAnswer> => post('/password_resets', userName, more)
    const change = (body: unknown, more?: TestRequest): Promise<TestAnswer> =>
      post('/password_change', JSON.stringify(body), more)
    const named = (userName: string): Promise<User> => userNamed(server, userName)
    const codeFor = async (userName: string, more?: TestRequest): Promise<string> => {
      const answer = await ask(userName, more)
      assert.equal(answer.status, 201, answer.text)
      const { code, user_id } = answer.json<{ code: string; user_id: string }>()
      assert.match(code, /^[\w-]{32}$/)
      assert.equal(user_id, (await named(userName)).id)
      return code
    }
    const signsIn = async (username: string, password: string): Promise<boolean> =>
      (await server.token({ grant_type: 'password', username, password }, { basic: ['app', 'app-secret'] })).status ===
      200
    const isBare = (answer: TestAnswer, status: number): void => {
      assert.equal(answer.status, status, answer.text)
      if (mode === 'uaa') assert.equal(answer.text, '')
      else assert.equal(typeof answer.json()['error_description'], 'string')
    }
    const isRefused = (answer: TestAnswer, error: string, message: string): void => {
      assert.equal(answer.status, 422)
      assert.deepEqual(answer.json(), { error, error_description: message, message })
    }
    const EXPIRED = 'Sorry, your reset password link is no longer valid. Please request a new one'

    it('describes a missing token as the reference does at every route for login servers', async () => {
      const routes = ['/password_resets', '/password_change', '/email_verifications', '/email_changes', '/Codes']
      const anonymous = [
        ...routes.map(path => ({ path, method: 'POST', body: '{}', headers: JSON_TYPE })),
        { path: '/Codes/x', method: 'GET' },
      ]
      const want =
        mode === 'uaa'
          ? 'An Authentication object was not found in the SecurityContext'
          : 'Full authentication is required to access this resource'
      for (const { path, ...request } of anonymous) {
        const answer = await server.send(path, request)
        assert.deepEqual(
          [answer.status, answer.json()],
          [401, { error: 'unauthorized', error_description: want }],
          path,
        )
        const challenge = `Bearer realm="SVC/oauth", error="unauthorized", error_description="${want}"`
        if (mode === 'uaa') assert.equal(answer.headers['www-authenticate'], challenge)
      }
    })

    // Covers POST /password_resets: response: code; user_id
    // Covers POST /password_change: code; new_password; response: user_id; username; email; code
    // Covers one-time codes: login after `/password_change`
    it('set a password once, and return a code for sign-in', async () => {
      const code = await codeFor('NADIA@acc.example'.toLowerCase())
      const answer = await change({ code, new_password: NEW, unknown: 1 })
      const { code: loginCode, ...rest } = answer.json<Record<string, string>>()
      const { id } = await named('nadia@acc.example')
      assert.deepEqual(rest, { user_id: id, username: 'nadia@acc.example', email: 'nadia@acc.example' })
      assert.ok(await signsIn('nadia@acc.example', NEW))
      assert.ok(!(await signsIn('nadia@acc.example', PASSWORD)))
      isRefused(await change({ code, new_password: `${NEW}-2` }), 'invalid_code', EXPIRED)
      const signedIn = await server
        .browser()
        .send('/autologin', { query: { code: loginCode ?? '', client_id: 'login' } })
      assert.equal(signedIn.status, 302)
      assert.ok(Object.keys(signedIn.cookies).length > 0)
    })

    // Covers POST /password_resets: client_id; redirect_uri
    it('bind the sign-in code to the client of the request', async () => {
      const code = await codeFor('omar', { query: { client_id: 'app', redirect_uri: 'https://app.example/cb' } })
      const { code: loginCode } = (await change({ code, new_password: NEW })).json<Record<string, string>>()
      const data = (await server.store.oneTimeCodes.redeem('svc', 'autologin', loginCode ?? ''))?.data
      assert.equal(data, undefined, 'codes are stored as digests')
      const query = { code: loginCode ?? '', client_id: 'login' }
      assert.notEqual((await server.browser().send('/autologin', { query })).status, 302)
    })

    // Covers POST /password_resets: user name as body
    it('accept any content type, and ignore the case of the user name', async () => {
      for (const headers of [{ 'content-type': 'text/plain' }, { 'content-type': 'application/octet-stream' }]) {
        assert.equal((await ask('pia', { headers })).status, 201)
      }
      assert.equal((await ask('PIA')).status, 201)
    })

    for (const name of ['nobody', '"pia"', 'pia@acc.example', 'x'.repeat(300), 'pi\0a', '\u0000']) {
      // Covers POST /password_resets: error: unknown user
      it(`answer 404 for the user name ${JSON.stringify(name.slice(0, 20))}`, async () => isBare(await ask(name), 404))
    }

    // Covers POST /password_resets: error: other origin
    it('answer 409 for users of other origins', async () => {
      const answer = await ask('ext')
      assert.equal(answer.status, 409)
      const [ext] = (
        await server.store.users.list('svc', {
          filter: { kind: 'compare', attribute: 'username', comparison: 'eq', value: 'ext' },
          sortBy: 'id',
          descending: false,
          startIndex: 1,
          count: 1,
        })
      ).records
      assert.deepEqual(answer.json(), { user_id: ext?.id })
    })

    // Covers POST /password_change: error: no code
    it('require a user name and a code', async () => {
      isBare(await ask(''), 400)
      isBare(await ask('  '), 400)
      isBare(await change({ new_password: NEW }), 400)
      isBare(await change({ username: 'pia', current_password: PASSWORD, new_password: NEW }), 400)
      isBare(await change({ code: null, new_password: NEW }), 400)
    })

    // Covers POST /password_change: error: invalid_password
    it('consume the code even if the password is rejected', async () => {
      const refused = async (password: unknown, message: RegExp): Promise<void> => {
        const code = await codeFor('quentin')
        const answer = await change({ code, new_password: password })
        assert.equal(answer.status, 422)
        assert.equal(answer.json()['error'], 'invalid_password')
        assert.match(String(answer.json()['message']), message)
        isRefused(await change({ code, new_password: NEW }), 'invalid_code', EXPIRED)
      }
      await refused(PASSWORD, /^Your new password cannot be the same as the old password\.$/)
      await refused('y'.repeat(300), /^Password must be no more than 255 characters in length\.$/)
      await refused('', /^Password must be at least \d+ characters in length\./)
      await refused(undefined, /^Password must be at least \d+ characters in length\./)
      assert.ok(await signsIn('quentin', PASSWORD))
    })

    // Covers POST /password_change: error: invalid_code; changed meanwhile
    it('reject replaced codes, expired codes and codes from before a password change', async () => {
      const [first, second] = [await codeFor('rosa'), await codeFor('rosa')]
      isRefused(await change({ code: first, new_password: NEW }), 'invalid_code', EXPIRED)
      server.clock.advance(30 * 60)
      isRefused(await change({ code: second, new_password: NEW }), 'invalid_code', EXPIRED)
      const third = await codeFor('rosa')
      assert.equal((await change({ code: await codeFor('rosa'), new_password: NEW })).status, 200)
      isRefused(await change({ code: third, new_password: `${NEW}!` }), 'invalid_code', EXPIRED)
    })

    // Covers POST /password_change: error: user gone
    it('reject codes of inactive users', async () => {
      const answer = await ask('gone')
      assert.equal(answer.status, 201)
      isRefused(
        await change({ code: answer.json<{ code: string }>().code, new_password: NEW }),
        'invalid_code',
        EXPIRED,
      )
    })

    it('verify and unlock the user, and end sessions', async () => {
      assert.equal((await change({ code: await codeFor('waiting'), new_password: NEW })).status, 200)
      assert.ok((await named('waiting')).verified)
      const browser = server.browser()
      assert.equal((await browser.signIn('sam', PASSWORD)).status, 302)
      const code = await codeFor('sam')
      for (let attempt = 0; attempt < 5; attempt += 1) assert.ok(!(await signsIn('sam', 'wrong')))
      assert.ok(!(await signsIn('sam', PASSWORD)), 'locked out')
      assert.equal((await change({ code, new_password: NEW })).status, 200)
      assert.ok(await signsIn('sam', NEW))
      assert.match(String((await browser.send('/profile')).headers['location']), /\/login$/)
    })

    // Covers audit trail: PasswordChangeSuccess; PasswordResetRequest
    it('are recorded in the audit log, without passwords', async () => {
      await change({ code: await codeFor('tina'), new_password: NEW })
      const { id } = await named('tina')
      const types = server.events.filter(({ principal }) => principal === id).map(({ type }) => type)
      assert.ok(types.includes('PasswordResetRequest') && types.includes('PasswordChangeSuccess'), types.join())
      assert.doesNotMatch(JSON.stringify(server.events), /seven-chairs/)
    })

    it('require a login server or an administrator', async () => {
      assert.equal((await ask('nobody', { bearer: await tokenOf('root') })).status, 404)
      const powerless = await ask('pia', { bearer: await tokenOf('powerless') })
      assert.equal(powerless.status, 403)
      assert.equal(powerless.json()['error'], 'insufficient_scope')
      assert.equal((await server.send('/password_resets', { method: 'POST', body: 'pia' })).status, 401)
      assert.equal((await server.send('/password_resets', { bearer: await tokenOf('login') })).status, 405)
      assert.equal((await ask('pia', { bearer: await tokenOf('login', 'z1.localhost:8080') })).status, 401)
    })

    it('are limited to the zone, and rejected if internal user management is disabled', async () => {
      const code = await codeFor('nadia@acc.example')
      const elsewhere = await change({ code, new_password: NEW }, { host: 'z1.localhost:8080' })
      isRefused(elsewhere, 'invalid_code', EXPIRED)
      const closed = await ask('nadia@acc.example', { host: 'closed.localhost:8080' })
      assert.deepEqual([closed.status, closed.json()['error']], [403, 'internal_user_management_disabled'])
    })

    it('reject malformed bodies', async () => {
      assert.equal((await post('/password_change', '{bad')).status, 400)
      assert.equal((await change({ code: 1, new_password: NEW })).status, 400)
      assert.equal((await change({ code: 'x', new_password: {} })).status, 400)
      const form = await post('/password_change', 'code=x', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      assert.equal(form.status, 415, form.text)
    })
  })
}

for (const kind of DATABASE_KINDS) {
  describe(`Concurrent password resets with one code on ${kind}`, () => {
    it('succeed once', async () => {
      const database = await freshDatabase(kind)
      const server = await startServer({ config, database: database.url })
      const { access_token: bearer } = tokensOf(
        await server.token({ grant_type: 'client_credentials' }, { basic: ['login', 'login-secret'] }),
      )
      const ask = await server.send('/password_resets', { method: 'POST', body: 'omar', bearer })
      const { code } = ask.json<{ code: string }>()
      const answers = await Promise.all(
        ['one', 'two', 'three'].map(each =>
          server.send('/password_change', {
            method: 'POST',
            headers: JSON_TYPE,
            body: JSON.stringify({ code, new_password: `${NEW}-${each}` }),
            bearer,
          }),
        ),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 422, 422],
      )
      await server.stop()
      await database.drop()
    })
  })
}

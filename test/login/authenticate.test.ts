import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { LoginServerApi } from '../support/login-server.ts'
import { OTHER_HOST, startLoginServer } from '../support/login-server.ts'
import { changeUser, MODES, userNamed } from '../support/oauth.ts'
import type { TestAnswer, TestRequest } from '../support/server.ts'

const MARISSA = { username: 'marissa', password: 'koala' }
const ERIN = { source: 'login', origin: 'ext-a', add_new: 'true', username: 'erin' }

for (const mode of MODES) {
  describe(`POST /authenticate in ${mode}`, () => {
    let api: LoginServerApi
    before(async () => {
      const users = ['marissa', 'lena', 'late', 'unverified', 'guessed'].map(userName => ({
        userName,
        password: 'koala',
        emails: [{ value: `${userName}@example.org` }],
        ...(userName === 'lena' && { groups: ['oauth.login'] }),
      }))
      api = await startLoginServer(mode, { bootstrap: { users } })
      await changeUser(api.server, 'late', { passwordChangeRequired: true })
      await changeUser(api.server, 'unverified', { verified: false })
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    const send = (form: Readonly<Record<string, string>>, request: TestRequest = {}): Promise<TestAnswer> =>
      api.server.send('/authenticate', { form, ...request })

    /** UAA answers an empty object. */
    const assertMalformed = (answer: TestAnswer, status = 400): void => {
      assert.equal(answer.status, status, answer.text)
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.json()['error'], status === 405 ? 'method_not_allowed' : 'invalid_request')
    }

    // Covers POST /authenticate: username; response: username; email
    it('returns user name and address to an anonymous caller with the password', async () => {
      const answer = await send({ ...MARISSA, username: 'MARISSA' })
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.json(), { username: 'marissa', email: 'marissa@example.org' })
      assert.deepEqual(answer.cookies, {}, 'no session')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.ok(!api.server.events.some(({ type, principal }) => type === 'TokenIssuedEvent' && principal !== 'login'))
    })

    // Covers POST /authenticate: response: origin; user_id
    it('also returns origin and id to a login server', async () => {
      const answer = await send(MARISSA, { bearer: api.token })
      const { id } = await userNamed(api.server, 'marissa')
      const want = { username: 'marissa', origin: 'svc', email: 'marissa@example.org', user_id: id }
      assert.deepEqual(answer.json(), want)
    })

    const failures: readonly { name: string; form: Readonly<Record<string, string>> }[] = [
      // Covers POST /authenticate: password
      { name: 'a wrong password', form: { ...MARISSA, password: 'bad' } },
      // Covers POST /authenticate: error: authentication failed
      { name: 'an unknown user', form: { username: 'nobody', password: 'bad' } },
      { name: 'an empty password', form: { ...MARISSA, password: '' } },
      { name: 'a user with a pending password change', form: { username: 'late', password: 'koala' } },
      { name: 'an unverified account with a wrong password', form: { username: 'unverified', password: 'bad' } },
      { name: 'source=login without a token', form: ERIN },
    ]
    for (const { name, form } of failures) {
      it(`answers 401 to ${name}`, async () => {
        const answer = await send(form)
        assert.deepEqual([answer.status, answer.json()], [401, { error: 'authentication failed' }])
      })
    }

    // Covers POST /authenticate: error: account not verified
    it('reveals an unverified account only with the correct password', async () => {
      const answer = await send({ username: 'unverified', password: 'koala' })
      assert.deepEqual([answer.status, answer.json()], [403, { error: 'account not verified' }])
    })

    it('counts towards the lockout of the account', async () => {
      for (let count = 1; count <= 5; count += 1) await send({ username: 'guessed', password: `wrong ${count}` })
      const answer = await send({ username: 'guessed', password: 'koala' })
      assert.deepEqual([answer.status, answer.json()], [401, { error: 'authentication failed' }])
    })

    it('rate-limits by address and user name', async () => {
      for (let count = 1; count <= 100; count += 1) await send({ username: 'unheard-of', password: 'x' })
      const answer = await send({ username: 'unheard-of', password: 'x' })
      assert.equal(answer.status, 429)
      assert.equal(answer.headers['retry-after'], '60')
    })

    const malformed: readonly { name: string; send: () => Promise<TestAnswer> }[] = [
      { name: 'without a password', send: () => send({ username: 'marissa' }) },
      { name: 'without a user name', send: () => send({ password: 'x' }) },
      {
        name: 'with two user names',
        send: () => api.server.send('/authenticate', { form: 'username=a&username=b&password=x' }),
      },
      {
        name: 'with parameters in the query',
        send: () => api.server.send('/authenticate', { method: 'POST', query: MARISSA }),
      },
      // Covers POST /authenticate: origin
      {
        name: 'from a login server without an origin',
        send: () => send({ source: 'login', add_new: 'true', username: 'x' }, { bearer: api.token }),
      },
      {
        name: 'from a login server without a user name',
        send: () => send({ source: 'login', add_new: 'true', origin: 'ext-a' }, { bearer: api.token }),
      },
      {
        name: 'from a login server without add_new',
        send: () => send({ source: 'login', username: 'x', origin: 'ext-a' }, { bearer: api.token }),
      },
    ]
    for (const { name, send: sending } of malformed) {
      it(`refuses a request ${name}`, async () => assertMalformed(await sending()))
    }

    it('refuses JSON', async () => {
      const body = JSON.stringify(MARISSA)
      const answer = await api.server.send('/authenticate', { body, headers: { 'content-type': 'application/json' } })
      assert.equal(answer.status, 400)
    })

    const inUaa = { skip: mode === 'standard' && 'the setting exists in uaa only' }
    it('accepts parameters in the query if jwt.token.queryString is enabled', inUaa, async () => {
      const lax = await startLoginServer(mode, { config: { jwt: { token: { queryString: { enabled: true } } } } })
      const answer = await lax.server.send('/authenticate', { method: 'POST', query: MARISSA })
      assert.equal(answer.status, 200, answer.text)
      await lax.stop()
    })

    // Covers POST /authenticate: error: other method
    it('refuses GET', async () => {
      const answer = await api.server.send('/authenticate', {
        bearer: api.token,
        headers: { accept: 'application/json' },
      })
      assertMalformed(answer, 405)
      assert.equal(answer.headers['allow'], 'POST')
    })

    // Covers POST /authenticate: source; email
    it('creates the user that a login server asserts, and later returns the same', async () => {
      const answer = await send({ ...ERIN, email: 'erin@shop.example' }, { bearer: api.token })
      assert.equal(answer.status, 200, answer.text)
      const user = await api.userOf('ext-a', 'erin')
      const email = mode === 'uaa' ? {} : { email: 'erin@shop.example' } // E3
      const want = { username: 'erin', origin: 'ext-a', ...email, user_id: user?.id }
      assert.deepEqual(answer.json(), want)
      assert.deepEqual((await send({ ...ERIN, add_new: 'false' }, { bearer: api.token })).json(), want)
    })

    const accounts: readonly { name: string; form: Readonly<Record<string, string>> }[] = [
      // Covers POST /authenticate: add_new
      { name: 'an unknown user with add_new=false', form: { ...ERIN, username: 'nobody', add_new: 'false' } },
      { name: 'a user of the internal origin', form: { ...ERIN, username: 'marissa', origin: 'svc' } },
      { name: "a user of another provider's origin", form: { ...ERIN, origin: 'corp' } },
      { name: 'a user id instead of a user name', form: { ...ERIN, username: ' ', user_id: 'any' } },
    ]
    for (const { name, form } of accounts) {
      it(`refuses ${name} to a login server`, async () => {
        const answer = await send(form, { bearer: api.token })
        assert.deepEqual([answer.status, answer.json()], [401, { error: 'authentication failed' }])
      })
    }

    const tokens: readonly { name: string; token: () => Promise<string>; status: number }[] = [
      { name: 'of a client without oauth.login', token: () => api.tokenOf('admin'), status: 403 },
      { name: 'of a user', token: () => api.tokenOfUser('lena', 'koala'), status: 403 },
      { name: 'of another zone', token: () => api.tokenOf('login', OTHER_HOST), status: 401 },
    ]
    for (const { name, token, status } of tokens) {
      it(`refuses a token ${name}, even with a password`, async () => {
        const bearer = await token()
        for (const form of [ERIN, MARISSA]) assert.equal((await send(form, { bearer })).status, status)
      })
    }
  })
}

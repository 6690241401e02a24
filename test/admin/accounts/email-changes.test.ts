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

const zone = (id: string, config: object = {}) => ({
  id,
  subdomain: id,
  name: id,
  bootstrap: {
    clients: [LOGIN_SERVER],
    users: [{ userName: 'nadia@shop.example', password: 'koala', emails: [{ value: 'nadia@shop.example' }] }],
    ...config,
  },
})
const config = {
  bootstrap: {
    ...defaultBootstrap,
    clients: [
      ...defaultBootstrap.clients,
      LOGIN_SERVER,
      caller('root', 'svc.admin'),
      { ...caller('leading'), change_email_redirect_url: 'https://app.example/changed' },
    ],
    users: [
      ...defaultBootstrap.users,
      { userName: 'nadia@shop.example', password: 'koala', emails: [{ value: 'nadia@shop.example' }] },
      { userName: 'taken@shop.example', password: 'koala', emails: [{ value: 'taken@shop.example' }] },
      { userName: 'boss', password: 'koala', emails: [{ value: 'boss@shop.example' }], groups: ['svc.admin'] },
      { userName: 'ext', origin: 'corp', emails: [{ value: 'ext@corp.example' }] },
    ],
    identity_providers: [CORP],
    identity_zones: [zone('z1'), zone('closed', { identity_providers: CLOSED_INTERNAL })],
  },
}

for (const mode of MODES) {
  describe(`Email changes by a login server in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const { tokenOf, post } = loginServerCalls(() => server)
    const verification = (body: unknown, more?: TestRequest): Promise<TestAnswer> =>
      post('/email_verifications', JSON.stringify(body), more)
    const codeFor = async (userName: string, email: string, more: object = {}): Promise<string> => {
      const answer = await verification({ userId: (await named(userName)).id, email, ...more })
      assert.equal(answer.status, 201, answer.text)
      assert.match(String(answer.headers['content-type']), mode === 'uaa' ? /^application\/json/ : /^text\/plain/)
      assert.match(answer.text, /^[\w-]{32}$/)
      const event = server.events.at(-1)
      assert.deepEqual([event?.type, event?.data], ['AccountCodeIssuedEvent', 'email change'])
      return answer.text
    }
    const named = (userName: string): Promise<User> => userNamed(server, userName)
    const change = (code: string, more?: TestRequest): Promise<TestAnswer> => post('/email_changes', code, more)

    /** Asserts an error of which UAA sends only the status. */
    const isBare = (answer: TestAnswer, status: number): void => {
      assert.equal(answer.status, status, answer.text)
      if (mode === 'uaa') assert.equal(answer.text, '')
      else assert.equal(typeof answer.json()['error_description'], 'string')
    }

    // Covers POST /email_verifications: userId; email; response: code as text
    // Covers POST /email_changes: response: username; userId; email
    // Covers audit trail: EmailChangedEvent
    it('change the email, and a user name equal to it, once', async () => {
      const before = await named('nadia@shop.example')
      const code = await codeFor('nadia@shop.example', 'nadia@new.example', { unknown: 1 })
      assert.equal((await named('nadia@shop.example')).email, 'nadia@shop.example', 'nothing is changed yet')
      const answer = await change(code)
      assert.deepEqual(answer.json(), {
        username: 'nadia@new.example',
        userId: before.id,
        redirect_url: null,
        email: 'nadia@new.example',
      })
      const after = await named('nadia@new.example')
      assert.equal(after.id, before.id)
      assert.ok(after.verified)
      const event = server.events.findLast(({ type }) => type === 'EmailChangedEvent')
      assert.equal(event?.principal, before.id)
      assert.equal(event.clientId, 'login')
      assert.equal(event.byOther, true)
      assert.equal(server.events.filter(({ type }) => type === 'EmailChangedEvent').length, 1)
      isBare(await change(code), 422)
    })

    // Covers POST /email_verifications: client_id
    // Covers POST /email_changes: response: redirect_url
    it('keep a different user name, and return the redirect URL of the client', async () => {
      const code = await codeFor('joel', 'joel@new.example', { client_id: 'leading' })
      assert.deepEqual((await change(code)).json(), {
        username: 'joel',
        userId: (await named('joel')).id,
        redirect_url: 'https://app.example/changed',
        email: 'joel@new.example',
      })
    })

    // Covers POST /email_changes: code as body
    it('accept the code with any content type', async () => {
      for (const type of ['text/plain', 'application/octet-stream', 'application/x-www-form-urlencoded']) {
        const code = await codeFor('joel', `joel@${type.length}.example`)
        const answer = await change(`${code}\n`, { headers: { 'content-type': type } })
        assert.equal(answer.status, 200, `${type} ${answer.text}`)
      }
    })

    it('are allowed for administrators', async () => {
      assert.equal((await change(await codeFor('boss', 'boss@new.example'))).status, 200)
    })

    // Covers POST /email_verifications: error: name taken
    it('are rejected if the new email is the user name of another user', async () => {
      await codeFor('marissa', 'taken@shop.example')
      const { id: userId } = await named('nadia@new.example')
      isBare(await verification({ userId, email: 'TAKEN@shop.example' }), 409)
      isBare(await verification({ userId, email: 'nadia@new.example' }), 409)
    })

    it('are rejected if the user name was taken in the meantime', async () => {
      const code = await codeFor('nadia@new.example', 'late@shop.example')
      const nadia = await named('nadia@new.example')
      const late = { ...nadia, id: 'late-id', userName: 'late@shop.example', email: 'late@shop.example' }
      await server.store.users.insert('svc', late)
      isBare(await change(code), 409)
      assert.equal((await named('nadia@new.example')).email, 'nadia@new.example')
    })

    const BAD_BODIES: readonly (readonly [string, (id: string) => unknown, number])[] = [
      ['no address', userId => ({ userId }), 400],
      ['an address without a domain', userId => ({ userId, email: 'nonsense' }), 400],
      ['an address with a line break', userId => ({ userId, email: 'a@b.example\r\nBcc: c@d.example' }), 400],
      ['two addresses', userId => ({ userId, email: 'a@b.example,c@d.example' }), 400],
      ['an address that is too long', userId => ({ userId, email: `${'a'.repeat(300)}@b.example` }), 400],
      ['an address that is not a string', userId => ({ userId, email: ['a@b.example'] }), 400],
      ['no user', () => ({ email: 'a@b.example' }), 400],
      // Covers POST /email_verifications: error: unknown user
      ['an unknown user', () => ({ userId: 'none', email: 'a@b.example' }), 404],
      ['a list', () => [], 400],
    ]
    for (const [name, body, status] of BAD_BODIES) {
      it(`are rejected with ${name}`, async () => {
        const answer = await verification(body((await named('joel')).id))
        assert.equal(answer.status, status, answer.text)
        assert.equal(typeof answer.json()['error_description'], 'string')
      })
    }

    it('are rejected for users of other origins', async () => {
      const ext = await server.store.users.findByName('svc', 'corp', 'ext')
      assert.equal((await verification({ userId: ext?.id, email: 'a@b.example' })).status, 400)
    })

    // Covers POST /email_changes: error: bad code
    it('are rejected with a code that is malformed, expired, of another zone or from before a password change', async () => {
      for (const text of ['nonsense', '{}', 'x'.repeat(32), 'x'.repeat(10_000), '\u00e9'])
        isBare(await change(text), 422)
      const code = await codeFor('joel', 'joel@later.example')
      isBare(await change(JSON.stringify(code)), 422)
      isBare(await change(code, { host: 'z1.localhost:8080' }), 422)
      server.clock.advance(30 * 60)
      isBare(await change(code), 422)
      const earlier = await codeFor('joel', 'joel@later.example')
      const { id, passwordRevision } = await named('joel')
      const passwordChangedAt = server.clock.now()
      const password = { passwordHash: 'x', passwordRevision: 'another', passwordChangedAt, meetsDemand: false }
      assert.ok(await server.store.users.setPassword('svc', id, passwordRevision, password))
      isBare(await change(earlier), 422)
      assert.equal((await change('')).status, 400)
    })

    const CALLERS: readonly (readonly [string, string | undefined, number])[] = [
      ['no token', undefined, 401],
      ['a token without the scope', 'root', 403],
    ]
    for (const [name, client, status] of CALLERS) {
      it(`are rejected with ${name}`, async () => {
        for (const path of ['/email_verifications', '/email_changes']) {
          const bearer = client === undefined ? '' : await tokenOf(client)
          const request = { method: 'POST', body: '{}', headers: JSON_TYPE, ...(bearer !== '' && { bearer }) }
          assert.equal((await server.send(path, request)).status, status, path)
        }
      })
    }

    it('are rejected if internal user management is disabled', async () => {
      const host = 'closed.localhost:8080'
      for (const answer of [
        await verification({ userId: 'x', email: 'a@b.example' }, { host }),
        await change('x', { host }),
      ]) {
        assert.equal(answer.status, 403)
        assert.equal(answer.json()['error'], 'internal_user_management_disabled')
      }
    })
  })
}

for (const kind of DATABASE_KINDS) {
  it(`Concurrent email changes give a user name to one account on ${kind}`, async () => {
    const database = await freshDatabase(kind)
    const accounts = ['a@shop.example', 'b@shop.example'].map(value => ({
      userName: value,
      password: 'koala',
      emails: [{ value }],
    }))
    const server = await startServer({
      database: database.url,
      config: { bootstrap: { ...config.bootstrap, users: accounts } },
    })
    const form = { grant_type: 'client_credentials' }
    const bearer = tokensOf(await server.token(form, { basic: ['login', 'login-secret'] })).access_token
    const post = (path: string, body: string) => server.send(path, { method: 'POST', bearer, body, headers: JSON_TYPE })
    const codes: string[] = []
    for (const { userName } of accounts) {
      const { id: userId } = await userNamed(server, userName)
      codes.push((await post('/email_verifications', JSON.stringify({ userId, email: 'wanted@shop.example' }))).text)
    }
    const answers = await Promise.all(codes.map(code => post('/email_changes', code)))
    assert.equal(
      answers
        .map(({ status }) => status)
        .toSorted((a, b) => a - b)
        .join(),
      '200,409',
    )
    assert.deepEqual(server.faults, [])
    await server.stop()
    await database.drop()
  })
}

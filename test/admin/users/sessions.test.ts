import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { signedIn } from '../../support/authorize.ts'
import { APP, MODES, exchange, isAlive, passwordTokens, refresh, tokensOf, userNamed } from '../../support/oauth.ts'
import type { Browser, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import { HOST_OF_Z1, caller, tokenOf } from '../../support/zones.ts'

const callers = [
  caller('root', 'svc.admin'),
  caller('writer', 'scim.write'),
  caller('reader', 'scim.read'),
  caller('creator', 'scim.create'),
  caller('passwords', 'password.write'),
  caller('admin-here', 'zones.svc.admin'),
  caller('admin-of-z1', 'zones.z1.admin'),
  caller('writer-of-z1', 'zones.z1.scim.write'),
]
const manager = {
  client_id: 'manager',
  client_secret: 'manager-secret',
  authorized_grant_types: ['password'],
  scope: ['scim.write'],
}
const [marissa] = defaultBootstrap.users
const config = {
  bootstrap: {
    ...defaultBootstrap,
    groups: [...defaultBootstrap.groups, { displayName: 'scim.write' }],
    clients: [...defaultBootstrap.clients, ...callers, manager],
    users: [
      ...defaultBootstrap.users,
      { userName: 'admin', password: 'koala', emails: [{ value: 'admin@example.org' }], groups: ['scim.write'] },
    ],
    identity_zones: [
      {
        id: 'z1',
        subdomain: 'one',
        name: 'Zone 1',
        bootstrap: { clients: callers, users: [{ ...marissa, groups: [] }] },
      },
    ],
  },
}

const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

for (const mode of MODES) {
  describe(`/Users/{id}/sessions in ${mode}`, () => {
    let server: TestServer
    let id: string
    before(async () => {
      server = await startServer({ mode, config })
      id = (await userNamed(server, 'marissa')).id
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const ask = async (method: string, as: string, given: { readonly of?: string; readonly zone?: string } = {}) =>
      server.send(`/Users/${encodeURIComponent(given.of ?? id)}/sessions`, {
        method,
        bearer: await tokenOf(server, as),
        ...(given.zone !== undefined && { headers: { 'x-identity-zone-id': given.zone } }),
      })

    // Covers GET /Users/{id}/sessions: rule: no secret in the answer
    it('lists sessions without secrets', async () => {
      const browser = await signedIn(server)
      const secrets = [...browser.cookies.values()]
      const answer = await ask('GET', 'reader')
      const now = server.clock.now().toISOString()
      const expiresAt = new Date(server.clock.now().getTime() + 43_200_000).toISOString()
      const [session, ...others] = answer.json<Record<string, unknown>[]>()
      const { userAgent: _, ...rest } = session ?? {}
      assert.deepEqual(others, [])
      const from = { remoteAddress: '127.0.0.1' }
      assert.deepEqual(rest, { signedInAt: now, lastSeenAt: now, expiresAt, methods: ['pwd'], ...from, clients: [] })
      const stored = await server.store.sessions.listOfUser('svc', id, server.clock.now())
      for (const secret of [...secrets, ...stored.map(({ idDigest }) => idDigest)]) {
        assert.ok(!answer.text.includes(secret))
      }
      server.clock.advance(1801)
      assert.deepEqual((await ask('GET', 'reader')).json(), [], 'no session is left')
    })

    const send = async (method: string, path: string, as: string, body: object): Promise<void> => {
      const answer = await server.send(path, {
        method,
        bearer: await tokenOf(server, as),
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'if-match': '*' },
      })
      assert.equal(answer.status, 200, answer.text)
    }
    const setPassword = (password: string) => send('PUT', `/Users/${id}/password`, 'passwords', { password })
    const ways: readonly { name: string; end: () => Promise<void>; password?: string }[] = [
      {
        name: 'DELETE',
        async end() {
          const answer = await ask('DELETE', 'writer')
          assert.deepEqual([answer.status, answer.text], [204, ''])
        },
      },
      {
        name: 'deactivation of the account',
        async end() {
          await send('PATCH', `/Users/${id}`, 'writer', { active: false })
          const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
          assert.ok((await server.token(form, { basic: APP })).status >= 400)
          await send('PATCH', `/Users/${id}`, 'writer', { active: true })
        },
      },
      { name: 'a password change by an administrator', end: () => setPassword('another-one'), password: 'another-one' },
    ]
    const CODE = { response_type: 'code', client_id: 'auto', redirect_uri: 'https://auto.example/cb', scope: 'openid' }

    for (const { name, end, password = 'koala' } of ways) {
      // Covers DELETE /Users/{id}/sessions: rule: ends tokens and codes as well
      it(`ends sessions, codes, passcodes and tokens on ${name}`, async () => {
        const browser = await signedIn(server)
        const passcode = (await browser.send('/passcode', { headers: { accept: 'application/json' } })).json<string>()
        const code = (await browser.send('/oauth/authorize', { query: CODE })).location().searchParams.get('code')
        const [jwt, opaque] = [await passwordTokens(server), await passwordTokens(server, { token_format: 'opaque' })]
        const bystander = await passwordTokens(server, { username: 'joel', password: 'wombat' })
        const other = await signedIn(server, 'joel', 'wombat')
        const before = await userNamed(server, 'marissa')
        await end()
        assert.equal(await isSignedIn(browser), false)
        for (const tokens of [jwt, opaque]) {
          assert.equal(await isAlive(server, tokens.access_token), false)
          assert.ok((await refresh(server, tokens.refresh_token)).status >= 400)
        }
        assert.ok(code)
        assert.ok((await exchange(server, code, { redirect_uri: CODE.redirect_uri })).status >= 400)
        assert.ok((await server.token({ grant_type: 'password', passcode }, { basic: APP })).status >= 400)
        assert.equal(await isAlive(server, bystander.access_token), true)
        assert.equal(await isSignedIn(other), true)
        // The user can sign in again with the password.
        assert.equal(await isSignedIn(await signedIn(server, 'marissa', password)), true)
        assert.equal(await isAlive(server, (await passwordTokens(server, { password })).access_token), true)
        await server.store.users.update('svc', before)
      })
    }

    it('records who ended the sessions', async () => {
      const basic = ['manager', 'manager-secret'] as const
      const form = { grant_type: 'password', username: 'admin', password: 'koala' }
      const { access_token: bearer } = tokensOf(await server.token(form, { basic }))
      await server.send(`/Users/${id}/sessions`, { method: 'DELETE', bearer })
      const event = server.events.findLast(({ type }) => type === 'TokenRevocationEvent')
      const { id: admin } = await userNamed(server, 'admin')
      assert.deepEqual([event?.principal, event?.clientId], [`userId:${id}`, 'manager'])
      assert.equal(event?.data, `UserID=${id}, ZoneID=svc; sessions ended, too; caller=${admin}`)
    })

    for (const as of ['root', 'writer', 'admin-here']) {
      it(`allows ${as} to list and end sessions`, async () => {
        assert.equal((await ask('GET', as)).status, 200)
        assert.equal((await ask('DELETE', as)).status, 204)
      })
    }

    it('allows scim.read only to list sessions', async () => {
      assert.equal((await ask('GET', 'reader')).status, 200)
      assert.deepEqual((await ask('DELETE', 'reader')).json()['error'], 'insufficient_scope')
    })

    // Covers any /Users/{id}/sessions: error: not permitted; not found
    it('rejects other callers and unknown users', async () => {
      const browser = await signedIn(server)
      for (const method of ['GET', 'DELETE']) {
        assert.equal((await server.send(`/Users/${id}/sessions`, { method })).status, 401)
        const { access_token: own } = await passwordTokens(server)
        assert.equal((await server.send(`/Users/${id}/sessions`, { method, bearer: own })).status, 403)
        for (const as of ['creator', 'admin-of-z1', 'writer-of-z1']) {
          assert.equal((await ask(method, as)).json()['error'], 'insufficient_scope', `${method} ${as}`)
        }
        for (const unknown of ['nobody', '\0', '\ud83d\udd11', 'x'.repeat(200)]) {
          const answer = await ask(method, 'root', { of: unknown })
          assert.ok([404, 414].includes(answer.status), answer.text)
        }
      }
      assert.equal(await isSignedIn(browser), true)
    })

    it('is limited to the zone of the host or of X-Identity-Zone-Id', async () => {
      const theirs = (await userNamed(server, 'marissa', 'z1')).id
      const browser = await signedIn(server, 'marissa', 'koala', HOST_OF_Z1)
      for (const as of ['root', 'writer', 'admin-of-z1']) {
        const answer = await ask('DELETE', as, { of: theirs })
        assert.ok([403, 404].includes(answer.status), answer.text)
      }
      assert.equal((await ask('DELETE', 'admin-of-z1', { zone: 'z1' })).status, 404, 'a user of the default zone')
      assert.equal((await ask('DELETE', 'writer', { of: theirs, zone: 'z1' })).status, 403)
      assert.equal(await isSignedIn(browser), true)
      assert.equal((await ask('GET', 'writer-of-z1', { of: theirs, zone: 'z1' })).json<unknown[]>().length, 1)
      assert.equal((await ask('DELETE', 'admin-of-z1', { of: theirs, zone: 'z1' })).status, 204)
      assert.equal(await isSignedIn(browser), false)
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import {
  APP,
  approve,
  changeUser,
  exchange,
  insertCode,
  insufficientScope,
  MODES,
  passwordTokens,
  refused,
  RESOURCE,
  SERVICE,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'admin',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.admin'],
    },
    {
      client_id: 'portal',
      client_secret: 'secret',
      authorized_grant_types: ['password', 'client_credentials'],
      scope: ['svc.resource', 'openid'],
      authorities: ['svc.resource', 'jobs.read'],
    },
  ],
  users: [
    ...defaultBootstrap.users,
    { userName: 'root', password: 'secret', emails: [{ value: 'root@example.org' }], groups: ['svc.resource'] },
  ],
}
const PORTAL = ['portal', 'secret'] as const
const REALM = 'Bearer realm="SVC/oauth", '

for (const mode of MODES) {
  const inactive = mode === 'standard' ? { active: false } : { revocable: false, active: false }

  describe(`POST /introspect in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())
    const send = (token: string, request: TestRequest = { basic: RESOURCE }): Promise<TestAnswer> =>
      server.send('/introspect', { form: { token }, ...request })
    const clientToken = async (basic: readonly [string, string], form = {}): Promise<string> =>
      tokensOf(await server.token({ grant_type: 'client_credentials', ...form }, { basic })).access_token

    // Covers POST /introspect: token; response: active; claims of `check_token`; username; token_type
    // Covers POST /introspect: rule: Basic client with the resource authority
    it('returns the claims of a user token', async () => {
      const { access_token: token, jti } = await passwordTokens(server, { scope: 'openid cloud.read' })
      const answer = await send(token)
      const { id } = await userNamed(server, 'marissa')
      const now = server.clock.now().getTime() / 1000
      const scopes = ['cloud.read', 'openid']
      const common = {
        active: true,
        user_id: id,
        user_name: 'marissa',
        email: 'marissa@example.org',
        client_id: 'app',
        exp: now + (mode === 'standard' ? 3600 : 43_200),
        jti,
        aud: ['cloud', 'openid', 'app'],
        sub: id,
        iss: decodeJwt(token).iss,
        iat: now,
        cid: 'app',
        grant_type: 'password',
        azp: 'app',
        auth_time: now,
        zid: 'svc',
        rev_sig: decodeJwt(token)['rev_sig'],
        origin: 'svc',
        revocable: false,
      }
      const own =
        mode === 'standard'
          ? { scope: scopes.join(' '), username: 'marissa', token_type: 'bearer', amr: ['pwd'], acr: '1' }
          : { scope: scopes }
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.json(), { ...common, ...own })
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      assert.equal(answer.headers['cache-control'], 'no-store')
    })

    it('returns authorities and no user for a client token', async () => {
      const reported = (await send(await clientToken(SERVICE, { scope: 'jobs.read' }))).json()
      assert.deepEqual(reported['authorities'], ['jobs.run', 'jobs.read'])
      assert.deepEqual(reported['scope'], mode === 'standard' ? 'jobs.read' : ['jobs.read'])
      assert.deepEqual([reported['sub'], reported['username'], reported['user_id']], ['service', undefined, undefined])
    })

    it('returns the claims of an opaque token, and revocable', async () => {
      const reported = (await send(await clientToken(SERVICE, { token_format: 'opaque' }))).json()
      assert.deepEqual([reported['active'], reported['revocable'], reported['client_id']], [true, true, 'service'])
    })

    const invalidTokens = [
      { name: 'an unknown token', token: 'nonsense' },
      { name: 'an empty JWT', token: '..' },
      { name: 'a JWT without a key id', token: 'e30.e30.e30' },
      { name: 'a token of 60 KiB', token: 'x'.repeat(60_000) },
      { name: 'SQL as a token', token: "' or 1=1 --" },
      { name: 'a token with non-ASCII characters', token: '\u00fc\u4e16\u{1f511}' },
      { name: 'the digest of a token', token: 'qkv0K0r0J6hVnJ0Zq1S3WmQF2jz2dU3yA7lSxDEm8pE' },
    ]
    for (const { name, token } of invalidTokens) {
      // Covers POST /introspect: response: inactive
      // Covers compatibility: token endpoint: C7 introspection
      it(`reports ${name} as inactive (C7)`, async () => {
        const answer = await send(token)
        assert.deepEqual([answer.status, answer.json()], [200, inactive])
      })
    }

    it('reports an expired token as inactive', async () => {
      const { access_token: token } = await passwordTokens(server)
      server.clock.advance(43_200)
      assert.deepEqual((await send(token)).json(), inactive)
    })

    it('reports a revoked token as inactive, and others as active', async () => {
      for (const format of ['jwt', 'opaque']) {
        const { access_token: token } = await passwordTokens(server, { token_format: format })
        const { access_token: another } = await passwordTokens(server, { token_format: format })
        assert.equal((await server.send('/oauth/revoke', { form: { token }, basic: APP })).status, 200)
        assert.deepEqual((await send(token)).json(), inactive)
        assert.equal((await send(another)).json()['active'], true)
      }
    })

    it('reports a refresh token as inactive', async () => {
      assert.deepEqual((await send((await passwordTokens(server)).refresh_token)).json(), inactive)
    })

    it('reports the token of a deactivated user as inactive', async () => {
      const { access_token: token } = await passwordTokens(server, { username: 'joel', password: 'wombat' })
      await changeUser(server, 'joel', { active: false })
      assert.deepEqual((await send(token)).json(), inactive)
    })

    // Covers POST /introspect: rule: approvals are checked
    it('requires approval by the user', async () => {
      const code = await insertCode(server, { clientId: 'app', scopes: ['openid', 'cloud.read'] })
      const { access_token: token } = tokensOf(await exchange(server, code, {}, APP))
      assert.deepEqual((await send(token)).json(), inactive)
      await approve(server, ['openid', 'cloud.read'], 'APPROVED')
      assert.equal((await send(token)).json()['active'], true)
      await approve(server, ['cloud.read'], 'DENIED')
      assert.deepEqual((await send(token)).json(), inactive)
    })

    it('accepts client credentials in the form', async () => {
      const form = { token: 'nonsense', client_id: 'resource', client_secret: 'resource-secret' }
      assert.equal((await server.send('/introspect', { form })).status, 200)
    })

    // Covers POST /introspect: rule: bearer client token with the resource authority
    it('accepts a client token with the authority', async () => {
      assert.equal((await send('nonsense', { bearer: await clientToken(PORTAL) })).status, 200)
    })

    it('ignores token_type_hint and unknown parameters', async () => {
      const form = { token: 'nonsense', token_type_hint: 'refresh_token', x: 'y' }
      assert.equal((await server.send('/introspect', { form, basic: RESOURCE })).status, 200)
    })

    const notAllowed: Refusal =
      mode === 'standard' ? insufficientScope(mode, 'svc.resource') : { want: '403 access_denied', challenge: null }
    const callers: readonly (Refusal & { readonly name: string; readonly request: () => Promise<TestRequest> })[] = [
      {
        name: 'an anonymous caller',
        request: async () => ({}),
        want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
        challenge: /^Basic realm="SVC\/client"/,
      },
      // Covers POST /introspect: error: no or bad credentials
      {
        name: 'a wrong secret',
        request: async () => ({ basic: ['resource', 'wrong'] }),
        want: '401 invalid_client',
        challenge: /^Basic /,
      },
      {
        name: 'a public client',
        request: async () => ({ form: { token: 'x', client_id: 'spa' } }),
        want: '401 invalid_client',
      },
      // Covers error body families: E2 missing scope
      // Covers POST /introspect: error: missing authority
      {
        name: 'a client without the authority',
        request: async () => ({ basic: SERVICE }),
        want: { standard: '403 insufficient_scope', uaa: '403 access_denied' },
        description: mode === 'standard' ? 'Insufficient scope for this resource' : 'Access is denied',
        ...(mode === 'uaa' && { challenge: null }),
      },
      // Covers POST /introspect: rule: the admin scope alone is not enough
      {
        name: 'a client with only the admin authority',
        request: async () => ({ basic: ['admin', 'secret'] }),
        want: { standard: '403 insufficient_scope', uaa: '403 access_denied' },
      },
      // Covers POST /introspect: rule: user tokens are 403
      {
        name: 'a user token of any scope',
        request: async () => ({ bearer: await rootToken() }),
        ...notAllowed,
      },
      {
        name: 'a client token without the authority in its scope',
        request: async () => ({ bearer: await clientToken(PORTAL, { scope: 'jobs.read' }) }),
        ...notAllowed,
      },
      {
        name: 'an unknown token',
        request: async () => ({ bearer: 'nonsense' }),
        want: '401 invalid_token',
        challenge: new RegExp(`^${REALM}error="invalid_token"`),
      },
    ]
    const rootToken = async (): Promise<string> =>
      (await passwordTokens(server, { username: 'root', password: 'secret' }, PORTAL)).access_token
    for (const { name, request, ...refusal } of callers) {
      it(`refuses ${name}`, async () => {
        const prepared = await request()
        await refused(server, mode, () => send('nonsense', prepared), refusal)
      })
    }

    // Covers every endpoint: error: `insufficient_scope` with the scopes that help
    it('returns the required scope in standard (C7)', async () => {
      const { scope } = (await send('nonsense', { basic: SERVICE })).json()
      assert.equal(scope, mode === 'standard' ? 'svc.resource' : undefined)
    })

    for (const form of ['', 'token=', 'tok=x']) {
      // Covers POST /introspect: error: token missing
      it(`refuses a request without a token (${form})`, async () => {
        await refused(server, mode, () => server.send('/introspect', { form, basic: RESOURCE }), {
          want: '400 invalid_request',
        })
      })
    }

    it('ignores a token in the query', async () => {
      const query = { token: 'nonsense' }
      await refused(server, mode, () => server.send('/introspect', { query, form: '', basic: RESOURCE }), {
        want: '400 invalid_request',
      })
    })

    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      // Covers POST /introspect: error: other method
      it(`answers 405 to ${method}`, async () => {
        const answer = await refused(server, mode, () => server.send('/introspect', { method, basic: RESOURCE }), {
          want: '405 method_not_allowed',
          description: `Request method '${method}' not supported`,
        })
        assert.equal(answer.headers['allow'], 'POST')
      })
    }

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

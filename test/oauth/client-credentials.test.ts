import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { changeClient, isAlive, MODES, refused, SERVICE, tokensOf, verified } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const FORM = { grant_type: 'client_credentials' }
const both = {
  client_id: 'both',
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials', 'password'],
  scope: ['openid', 'cloud.read'],
  authorities: ['jobs.run', 'openid', 'zones.*.read', 'deep.er.read', 'word'],
}
const idle = { client_id: 'idle', client_secret: 'secret', authorized_grant_types: ['client_credentials'] }
const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, both, idle] }

const granted = [
  // Covers POST /oauth/token grant_type=client_credentials: scope default is all authorities
  { name: 'all authorities if no scope is requested', scope: '', want: 'jobs.run jobs.read' },
  // Covers POST /oauth/token: scope
  { name: 'a requested authority', scope: 'jobs.read', want: 'jobs.read' },
  { name: 'authorities in the requested order', scope: 'jobs.read jobs.run', want: 'jobs.read jobs.run' },
  { name: 'scopes separated by plus signs', scope: 'jobs.run+jobs.read', want: 'jobs.run jobs.read' },
  // Covers every endpoint: rule: scope words separated by white space, plus or comma
  {
    name: 'scopes separated by commas and line breaks',
    scope: ' jobs.run,\r\n\tjobs.read ',
    want: 'jobs.run jobs.read',
  },
  { name: 'a repeated scope once', scope: 'jobs.run jobs.run', want: 'jobs.run' },
]

const refusals: readonly (Refusal & { readonly name: string; readonly scope: string })[] = [
  // Covers error body: error: `invalid_scope` 400
  // Covers POST /oauth/token: error: scope outside the client
  // Covers POST /oauth/token grant_type=client_credentials: error: scope is no authority
  {
    name: 'a scope that is not an authority',
    scope: 'jobs.run jobs.delete',
    want: '400 invalid_scope',
    description: 'Invalid scope: jobs.delete',
    challenge: null,
  },
  {
    name: 'a scope in another case',
    scope: 'JOBS.RUN',
    want: '400 invalid_scope',
    description: 'Invalid scope: JOBS.RUN',
  },
  { name: 'a wildcard', scope: 'jobs.*', want: '400 invalid_scope', description: 'Invalid scope: jobs.*' },
]

for (const mode of MODES) {
  describe(`grant_type=client_credentials in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())

    for (const { name, scope, want } of granted) {
      // Covers POST /oauth/token grant_type=client_credentials: claim: authorities lists all
      it(`grants ${name}`, async () => {
        const { payload } = await verified(
          server,
          tokensOf(await server.token({ ...FORM, scope }, { basic: SERVICE })).access_token,
        )
        assert.deepEqual(payload['scope'], mode === 'standard' ? want : want.split(' '))
        assert.deepEqual(payload['authorities'], ['jobs.run', 'jobs.read'], 'authorities lists all')
      })
    }

    for (const { name, scope, ...refusal } of refusals) {
      // Covers error body: scope
      it(`refuses ${name}, and returns the allowed scopes`, async () => {
        const answer = await refused(server, mode, () => server.token({ ...FORM, scope }, { basic: SERVICE }), refusal)
        assert.equal(answer.json()['scope'], 'jobs.run jobs.read')
      })
    }

    // Covers POST /oauth/token grant_type=client_credentials: rule: no `refresh_token`; no `id_token`
    it('returns neither a refresh token nor an ID token, even with openid', async () => {
      const answer = await server.token({ ...FORM, scope: 'openid' }, { basic: ['both', 'secret'] })
      assert.deepEqual(Object.keys(answer.json()), ['access_token', 'token_type', 'expires_in', 'scope', 'jti'])
    })

    it('grants authorities, not scopes of the client', async () => {
      const { scope } = tokensOf(await server.token(FORM, { basic: ['both', 'secret'] }))
      assert.equal(scope, both.authorities.join(' '))
    })

    it('derives the audience from scopes: the part before the last dot, openid, and the client', async () => {
      const { access_token: token } = tokensOf(await server.token(FORM, { basic: ['both', 'secret'] }))
      const { payload } = await verified(server, token)
      assert.deepEqual(payload.aud, ['jobs', 'openid', 'zones.*', 'deep.er', 'both'])
    })

    it('grants a client without authorities svc.none, which adds no audience', async () => {
      const { access_token: token, scope } = tokensOf(await server.token(FORM, { basic: ['idle', 'secret'] }))
      assert.equal(scope, 'svc.none')
      assert.deepEqual((await verified(server, token)).payload.aud, ['idle'])
    })

    // Covers POST /oauth/token: token_format=opaque; response: `access_token` opaque
    // Covers opaque and revocable tokens: `token_format=opaque` is stored
    it('issues JWT and opaque tokens', async () => {
      const jwt = tokensOf(await server.token(FORM, { basic: SERVICE }))
      const opaque = tokensOf(await server.token({ ...FORM, token_format: 'opaque' }, { basic: SERVICE }))
      assert.equal(opaque.access_token, opaque.jti)
      assert.match(opaque.access_token, /^[0-9a-f]{32}$/)
      assert.deepEqual(
        [await isAlive(server, jwt.access_token), await isAlive(server, opaque.access_token)],
        [true, true],
      )
    })

    // Covers POST /oauth/token: error: client without scopes
    it('refuses a client whose authorities were removed', async () => {
      await changeClient(server, 'idle', { authorities: [] })
      await refused(server, mode, () => server.token(FORM, { basic: ['idle', 'secret'] }), {
        want: '400 invalid_scope',
        description: 'Empty scope (client has no registered scopes)',
      })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

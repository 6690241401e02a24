import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  AUTO,
  MODES,
  exchange,
  insertCode,
  isAlive,
  passwordTokens,
  refresh,
  refused,
  tokensOf,
} from '../support/oauth.ts'
import type { TestDatabase } from '../support/databases.ts'
import { freshDatabase } from '../support/databases.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const OFFLINE = 'svc.offline_token'
const bootstrap = {
  ...defaultBootstrap,
  clients: defaultBootstrap.clients.map(client =>
    'scope' in client && client.scope
      ? { ...client, scope: [...client.scope, OFFLINE] }
      : { ...client, authorities: [...(client.authorities ?? []), OFFLINE] },
  ),
}
const restrict = { jwt: { token: { refresh: { restrict_grant: true } } } }

for (const mode of MODES) {
  describe(`jwt.token.refresh.restrict_grant in ${mode}`, () => {
    let server: TestServer
    let open: TestServer
    let database: TestDatabase
    // A shared database, as if the setting was changed between them.
    before(async () => {
      database = await freshDatabase('sqlite')
      open = await startServer({ mode, database: database.url, config: { bootstrap } })
      server = await startServer({ mode, database: database.url, config: { bootstrap, ...restrict } })
    })
    after(async () => {
      assert.deepEqual([...server.faults, ...open.faults], [])
      await server.stop()
      await open.stop()
      await database.drop()
    })

    // Covers configuration file: jwt.token.refresh.restrict_grant
    it('issues a refresh token with the offline scope for any grant', async () => {
      assert.ok((await passwordTokens(server, { scope: `openid ${OFFLINE}` })).refresh_token)
      const code = await insertCode(server, { scopes: ['openid', OFFLINE] })
      assert.ok(tokensOf(await exchange(server, code)).refresh_token)
    })

    // Covers refresh token: jwt.token.refresh.restrict_grant
    it('issues no refresh token without the offline scope', async () => {
      const tokens = await passwordTokens(server, { scope: 'openid' })
      assert.equal(tokens.refresh_token, undefined)
      assert.ok(tokens.id_token)
      const code = await insertCode(server, { scopes: ['openid', 'cloud.read'] })
      assert.equal(tokensOf(await exchange(server, code)).refresh_token, undefined)
    })

    it('issues no refresh token for client_credentials, even with the offline scope', async () => {
      const form = { grant_type: 'client_credentials', scope: OFFLINE }
      const tokens = tokensOf(await server.token(form, { basic: ['service', 'service-secret'] }))
      assert.deepEqual([tokens.scope, tokens.refresh_token], [OFFLINE, undefined])
    })

    it('allows refreshing to fewer scopes repeatedly', async () => {
      const { refresh_token: first } = await passwordTokens(server, { scope: `openid cloud.read ${OFFLINE}` }, AUTO)
      const narrowed = tokensOf(await refresh(server, first, { scope: 'cloud.read' }, AUTO))
      assert.equal(narrowed.scope, 'cloud.read')
      assert.ok(narrowed.refresh_token, 'narrowing does not affect the refresh token')
      assert.equal(tokensOf(await refresh(server, narrowed.refresh_token, {}, AUTO)).scope.includes(OFFLINE), true)
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: offline scope missing in restricted mode
    it('refuses an existing refresh token without the offline scope', async () => {
      const code = await insertCode(open, { scopes: ['openid', 'cloud.read'] })
      const { refresh_token: token, access_token: access } = tokensOf(await exchange(open, code))
      for (const form of [{}, {}, { scope: 'openid' }]) {
        await refused(server, mode, () => refresh(server, token, form, AUTO), {
          want: { standard: '400 invalid_grant', uaa: '403 insufficient_scope' },
          description: `Expected scope ${OFFLINE} is missing`,
        })
      }
      assert.equal(await isAlive(server, access), true, 'no token was revoked')
    })

    it('has no effect if disabled', async () => {
      const { refresh_token: token } = await passwordTokens(open, { scope: 'openid' }, AUTO)
      assert.ok(tokensOf(await refresh(open, token, {}, AUTO)).refresh_token)
    })
  })
}

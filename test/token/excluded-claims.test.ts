import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { APP, MODES, RESOURCE, SERVICE, passwordTokens, refresh, tokensOf, verified } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const EXCLUDED = [
  'authorities',
  'azp',
  'cid',
  'email',
  'origin',
  'auth_time',
  'amr',
  'user_name',
  '__proto__',
  'nonsense',
]

for (const mode of MODES) {
  describe(`jwt.token.claims.exclude in ${mode}`, () => {
    let server: TestServer
    let complete: TestServer
    before(async () => {
      server = await startServer({ mode, config: { jwt: { token: { claims: { exclude: EXCLUDED } } } } })
      complete = await startServer({ mode })
    })
    after(async () => {
      assert.deepEqual([...server.faults, ...complete.faults], [])
      await server.stop()
      await complete.stop()
    })

    const claimsOf = async (from: TestServer, kind: 'access_token' | 'id_token') => {
      const tokens = await passwordTokens(from, { scope: 'openid email' })
      return Object.keys((await verified(from, tokens[kind])).payload)
    }

    for (const kind of ['access_token', 'id_token'] as const) {
      // Covers access token claims: jwt.token.claims.exclude
      it(`excludes exactly these claims from the ${kind}`, async () => {
        const all = await claimsOf(complete, kind)
        assert.ok(all.some(name => EXCLUDED.includes(name)))
        assert.deepEqual(
          await claimsOf(server, kind),
          all.filter(name => !EXCLUDED.includes(name)),
        )
      })
    }

    it('excludes them from client tokens', async () => {
      const form = { grant_type: 'client_credentials' }
      const claims = decodeJwt(tokensOf(await server.token(form, { basic: SERVICE })).access_token)
      assert.deepEqual([claims['authorities'], claims['cid']], [undefined, undefined])
      assert.equal(claims['client_id'], 'service')
    })

    it('does not affect userinfo, introspection and refresh, with JWT and opaque tokens', async () => {
      for (const format of ['jwt', 'opaque']) {
        const tokens = await passwordTokens(server, { scope: 'openid', token_format: format })
        assert.equal((await server.send('/userinfo', { bearer: tokens.access_token })).status, 200)
        const form = { token: tokens.access_token }
        const reported = (await server.send('/introspect', { form, basic: RESOURCE })).json()
        assert.deepEqual([reported['active'], reported['email'], reported['cid']], [true, undefined, undefined])
        const checked = await server.send('/check_token', { form, basic: RESOURCE })
        assert.equal(checked.status, 200)
        assert.equal(checked.json()['user_name'], undefined)
        tokensOf(await refresh(server, tokens.refresh_token, {}, APP))
      }
    })
  })
}

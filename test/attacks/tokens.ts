import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { changeUser, exchange, insertCode, isAlive, passwordTokens, refresh, tokensOf } from '../support/oauth.ts'
import type { ServerOptions, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const against =
  (attempt: (server: TestServer) => Promise<void>, options: ServerOptions = {}) =>
  async (): Promise<void> => {
    const server = await startServer(options)
    try {
      await attempt(server)
    } finally {
      await server.stop()
    }
  }

/** Attacks on tokens and clients. */
export const tokenAttacks: readonly Attack[] = [
  {
    attack: 'reads codes and tokens out of error descriptions',
    outcome: 'descriptions do not include them',
    attempt: against(async server => {
      const code = await insertCode(server)
      tokensOf(await exchange(server, code))
      assert.ok(!(await exchange(server, code)).text.includes(code))
      const { access_token: token } = await passwordTokens(server, { token_format: 'opaque' })
      await server.send(`/oauth/token/revoke/${token}`, { method: 'DELETE', bearer: token })
      assert.ok(!(await server.send('/userinfo', { bearer: token })).text.includes(token))
    }),
  },
  {
    attack: 'uses a rotated refresh token a few seconds after its owner',
    outcome: 'all tokens of the grant are revoked',
    attempt: against(
      async server => {
        const first = await passwordTokens(server)
        const second = tokensOf(await refresh(server, first.refresh_token))
        server.clock.advance(5)
        assert.equal((await refresh(server, first.refresh_token)).json()['error'], 'invalid_grant')
        assert.equal(await isAlive(server, second.access_token), false)
      },
      { config: { zone_config: { tokenPolicy: { refreshTokenRotate: true } } } },
    ),
  },
  {
    attack: 'sets a profile URL to a script, for a client that links to the claim',
    outcome: 'claims have only http and https URLs',
    attempt: against(async server => {
      const script = 'javascript:alert(document.cookie)'
      const profile = { profileUrl: script, website: script, photos: [{ value: 'data:text/html,<script>' }] }
      await changeUser(server, 'marissa', { profile })
      const tokens = await passwordTokens(server, { scope: 'openid profile' })
      const reported = (await server.send('/userinfo', { bearer: tokens.access_token })).json()
      for (const claims of [reported, decodeJwt(tokens.id_token)]) {
        assert.equal(claims['preferred_username'] ?? claims['user_name'], 'marissa')
        for (const name of ['profile', 'website', 'picture']) assert.equal(claims[name], undefined)
      }
    }),
  },
]

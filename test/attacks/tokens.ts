import assert from 'node:assert/strict'
import { exchange, insertCode, passwordTokens, tokensOf } from '../support/oauth.ts'
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

/** Tokens and clients must not be worth more than they say. */
export const tokenAttacks: readonly Attack[] = [
  {
    attack: 'reads codes and tokens out of error descriptions',
    outcome: 'none is repeated',
    attempt: against(async server => {
      const code = await insertCode(server)
      tokensOf(await exchange(server, code))
      assert.ok(!(await exchange(server, code)).text.includes(code))
      const { access_token: token } = await passwordTokens(server, { token_format: 'opaque' })
      await server.send(`/oauth/token/revoke/${token}`, { method: 'DELETE', bearer: token })
      assert.ok(!(await server.send('/userinfo', { bearer: token })).text.includes(token))
    }),
  },
]

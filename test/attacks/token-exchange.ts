import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { dpopKey, provenToken } from '../support/dpop.ts'
import { APP, approve, changeClient, insertCode, isAlive, MODES, passwordTokens, tokensOf } from '../support/oauth.ts'
import type { ServerOptions, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const service = (id: string, tokenExchange: readonly object[]) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: [GRANT, 'client_credentials'],
  scope: ['cloud.read', 'cloud.write'],
  authorities: ['jobs.run'],
  tokenExchange,
})
const rule = { audience: 'stock', subjects: ['app'], scopes: ['cloud.read', 'cloud.write'], mode: 'delegation' }
const zone = {
  id: 'z1',
  subdomain: 'z1',
  name: 'One',
  bootstrap: { ...defaultBootstrap, clients: [...defaultBootstrap.clients, service('cloud', [rule])] },
}
const bootstrap = {
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, service('cloud', [rule]), service('stock', [{ ...rule, audience: 'cloud' }])],
  identity_zones: [zone],
}

const exchange = (server: TestServer, token: string, id = 'cloud', host?: string): Promise<TestAnswer> =>
  server.token(
    { grant_type: GRANT, subject_token: token, subject_token_type: ACCESS_TOKEN },
    { basic: [id, 'secret'], ...(host !== undefined && { host }) },
  )

const against =
  (attempt: (server: TestServer) => Promise<void>, options: ServerOptions = { config: { bootstrap } }) =>
  async (): Promise<void> => {
    const server = await startServer(options)
    try {
      await attempt(server)
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }

const personsToken = async (server: TestServer, scope = 'openid cloud.read'): Promise<string> =>
  (await passwordTokens(server, { scope })).access_token

/** Privilege escalation by token exchange. */
export const tokenExchangeAttacks: readonly Attack[] = [
  {
    attack: 'exchanges the token of a user of another zone, at the same client there',
    outcome: 'the token is not valid here',
    attempt: against(async server => {
      const answer = await exchange(server, await personsToken(server), 'cloud', 'z1.localhost:8080')
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
    }),
  },
  {
    attack: 'exchanges a token that is for another service',
    outcome: 'refused: the token is not for that client',
    attempt: against(async server => {
      const { access_token: exchanged } = tokensOf(await exchange(server, await personsToken(server)))
      assert.equal((await exchange(server, exchanged, 'cloud')).status, 400) // back to where it came from
      assert.match((await exchange(server, await personsToken(server), 'stock')).text, /not meant for this client/)
    }),
  },
  {
    attack: 'keeps an exchanged token after the original grant was revoked',
    outcome: 'it ends with the grant',
    attempt: against(async server => {
      const tokens = await passwordTokens(server, { scope: 'openid cloud.read' })
      const { access_token: exchanged } = tokensOf(await exchange(server, tokens.access_token))
      const basic = ['app', 'app-secret'] as const
      assert.equal((await server.send('/oauth/revoke', { form: { token: tokens.refresh_token }, basic })).status, 200)
      assert.equal(await isAlive(server, exchanged), false)
    }),
  },
  {
    attack: 'keeps it in uaa, where access tokens do not have their grant',
    outcome: 'it ends with the grant of an opaque token',
    attempt: against(
      async server => {
        for (const format of ['jwt', 'opaque']) {
          const form = { scope: 'openid cloud.read', token_format: 'opaque' }
          const tokens = await passwordTokens(server, form)
          const subject = { subject_token: tokens.access_token, subject_token_type: ACCESS_TOKEN }
          const asked = { grant_type: GRANT, token_format: format, ...subject }
          const { access_token: exchanged } = tokensOf(await server.token(asked, { basic: ['cloud', 'secret'] }))
          assert.equal(await isAlive(server, exchanged), true)
          await server.send('/oauth/revoke', { form: { token: tokens.refresh_token }, basic: APP })
          assert.equal(await isAlive(server, exchanged), false, format)
        }
      },
      { mode: 'uaa', config: { bootstrap, zone_config: { protocols: { tokenExchange: true } } } },
    ),
  },
  {
    attack: 'presents an exchanged token as an assertion, for a longer token with all scopes and without actor',
    outcome: 'it is refused in both modes',
    attempt: async () => {
      const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
      const stock = { ...service('stock', []), authorized_grant_types: [JWT_BEARER, 'refresh_token'] }
      const clients = [...defaultBootstrap.clients, service('cloud', [rule]), stock]
      const zone_config = { protocols: { tokenExchange: true } }
      const config = { bootstrap: { ...defaultBootstrap, clients }, zone_config }
      for (const mode of MODES) {
        await against(
          async server => {
            const { access_token: assertion } = tokensOf(await exchange(server, await personsToken(server)))
            const asked = { grant_type: JWT_BEARER, assertion }
            const answer = await server.token(asked, { basic: ['stock', 'secret'] })
            assert.match(answer.text, /An exchanged token cannot be used as an assertion/)
            assert.notEqual(answer.status, 200)
          },
          { mode, config },
        )()
      }
    },
  },
  {
    attack: 'starts a new grant with an exchanged token, for a longer token without actor',
    outcome: 'neither a code nor a refresh token is issued in both modes',
    attempt: async () => {
      const scope = ['openid', 'cloud.read', 'svc.user']
      const redirectUri = 'https://cloud.example/cb'
      const cloud = {
        ...service('cloud', [{ ...rule, audience: 'cloud', scopes: scope }]),
        authorized_grant_types: [GRANT, 'user_token', 'authorization_code', 'refresh_token'],
        scope,
        redirect_uri: [redirectUri],
        autoapprove: true,
      }
      const app = defaultBootstrap.clients.map(client => (client.client_id === 'app' ? { ...client, scope } : client))
      const config = {
        bootstrap: { ...defaultBootstrap, clients: [...app, cloud] },
        zone_config: { protocols: { tokenExchange: true } },
      }
      for (const mode of MODES) {
        await against(
          async server => {
            const { access_token: bearer } = tokensOf(
              await exchange(server, await personsToken(server, scope.join(' '))),
            )
            const asked = { client_id: 'cloud', response_type: 'code', redirect_uri: redirectUri, state: 's' }
            const answers = [
              await server.send('/oauth/authorize', { query: asked, bearer }),
              await server.token({ grant_type: 'user_token', client_id: 'auto' }, { bearer }),
            ]
            for (const answer of answers) {
              assert.deepEqual([answer.status, answer.json()['error']], [401, 'invalid_token'])
              assert.match(answer.text, /An exchanged token cannot be used for another grant/)
            }
          },
          { mode, config },
        )()
      }
    },
  },
  {
    attack: 'uses an exchanged token at APIs of this server',
    outcome: 'it is valid for its audience only',
    attempt: against(async server => {
      const { access_token: exchanged } = tokensOf(await exchange(server, await personsToken(server)))
      assert.equal((await server.send('/userinfo', { bearer: exchanged })).status, 401)
    }),
  },
  {
    attack: 'exchanges a stolen key-bound token for a bearer token at a service',
    outcome: 'the new token must be bound, too',
    attempt: against(async server => {
      const password = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'openid cloud.read' }
      const bound = tokensOf(await provenToken(server, await dpopKey(), password, { basic: APP })).access_token
      const refused = await exchange(server, bound)
      assert.deepEqual([refused.status, refused.json()['error']], [400, 'invalid_request'])
      const form = { grant_type: GRANT, subject_token: bound, subject_token_type: ACCESS_TOKEN }
      const key = await dpopKey()
      const { access_token: token } = tokensOf(await provenToken(server, key, form, { basic: ['cloud', 'secret'] }))
      assert.deepEqual(decodeJwt(token)['cnf'], { jkt: key.jkt })
    }),
  },
  {
    attack: 'requests an allowed audience and another one',
    outcome: 'refused: a token has one audience',
    attempt: against(async server => {
      const subject = { subject_token: await personsToken(server), subject_token_type: ACCESS_TOKEN }
      for (const more of [
        'audience=stock&resource=https://bank.example/',
        'resource=stock&resource=https://bank.example/',
      ]) {
        const form = `${new URLSearchParams({ grant_type: GRANT, ...subject })}&${more}`
        const answer = await server.send('/oauth/token', { form, basic: ['cloud', 'secret'] })
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_target'])
      }
      const same = { audience: 'stock', resource: 'stock' }
      const form = { grant_type: GRANT, ...subject, ...same }
      assert.equal((await server.token(form, { basic: ['cloud', 'secret'] })).status, 200)
    }),
  },
  {
    attack: 'exchanges the token of an application whose approval was revoked',
    outcome: 'refused',
    attempt: against(async server => {
      const scopes = ['openid', 'cloud.read']
      await approve(server, scopes, 'APPROVED')
      const redirectUri = 'https://app.example/cb'
      const code = await insertCode(server, { clientId: 'app', redirectUri, scopes })
      const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
      const { access_token: token } = tokensOf(await server.token(form, { basic: APP }))
      assert.equal((await exchange(server, token)).status, 200)
      await approve(server, scopes, 'DENIED')
      const answer = await exchange(server, token)
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
    }),
  },
  {
    attack: 'exchanges an exchanged token after the user revoked the approval of a scope',
    outcome: 'the second exchange requires the approvals of the first client, too',
    attempt: against(async server => {
      const scopes = ['openid', 'cloud.read']
      await approve(server, scopes, 'APPROVED')
      const redirectUri = 'https://app.example/cb'
      const code = await insertCode(server, { clientId: 'app', redirectUri, scopes })
      const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
      const { access_token: token } = tokensOf(await server.token(form, { basic: APP }))
      const { access_token: exchanged } = tokensOf(await exchange(server, token))
      await changeClient(server, 'stock', {
        tokenExchange: [{ ...rule, audience: 'cloud', subjects: ['cloud'] }] as never,
      })
      assert.equal((await exchange(server, exchanged, 'stock')).status, 200)
      await approve(server, ['cloud.read'], 'DENIED')
      const answer = await exchange(server, exchanged, 'stock')
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
    }),
  },
]

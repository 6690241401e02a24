import assert from 'node:assert/strict'
import {
  APP,
  changeClient,
  exchange,
  insertCode,
  isAlive,
  MODES,
  passwordTokens,
  refresh,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

const personal = {
  client_id: 'personal',
  client_secret: 'personal-secret',
  authorized_grant_types: ['password'],
  scope: ['oauth.approvals'],
}
const bootstrap = {
  ...defaultBootstrap,
  groups: [...defaultBootstrap.groups, { displayName: 'oauth.approvals' }],
  clients: [...defaultBootstrap.clients, personal],
  users: defaultBootstrap.users.map(user => ({ ...user, groups: ['cloud.read', 'oauth.approvals'] })),
}

interface Scene {
  readonly server: TestServer
  readonly mode: CompatibilityMode
  readonly userId: string
  readonly put: (path: string, approvals: unknown) => Promise<TestAnswer>
}

/** Runs the attack in both modes with the token of a user who manages approvals. */
const inBothModes = (attempt: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const server = await startServer({ mode, config: { bootstrap } })
    try {
      const { access_token: bearer } = await passwordTokens(server, {}, ['personal', 'personal-secret'])
      const put = (path: string, approvals: unknown): Promise<TestAnswer> =>
        server.send(path, {
          method: 'PUT',
          bearer,
          body: JSON.stringify(approvals),
          headers: { 'content-type': 'application/json' },
        })
      await attempt({ server, mode, put, userId: (await userNamed(server, 'marissa')).id })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

const approved = (scope: string, given: object = {}) => ({ clientId: 'app', scope, status: 'APPROVED', ...given })

/** Attacks on approvals: only the user approves, and revoked approvals stay revoked. */
export const approvalAttacks: readonly Attack[] = [
  {
    attack: 'approves a scope that the client does not have yet',
    outcome: 'refused, and nothing is stored',
    attempt: inBothModes(async ({ server, put, userId }) => {
      for (const scope of ['svc.admin', 'cloud.*', '*']) {
        assert.equal((await put('/approvals/app', [approved('cloud.read'), approved(scope)])).status, 400)
      }
      assert.deepEqual(await server.store.approvals.listAllOfUser('svc', userId), [])
    }),
  },
  {
    attack: 'sends a megabyte of the smallest values with the token of an application, to keep the server busy',
    outcome: 'is refused before it is parsed',
    attempt: inBothModes(async ({ put }) => {
      const { status, text } = await put('/approvals', [
        { clientId: 'app', values: Array.from({ length: 500_000 }, () => 1) },
      ])
      assert.equal(status, 400)
      assert.match(text, /has more than 50000 values|Error accessing user's approvals/)
    }),
  },
  {
    attack: 'replaces all approvals by a request that fails at its last entry, or by null',
    outcome: 'refused, and nothing is deleted',
    attempt: inBothModes(async ({ server, put, userId }) => {
      await put('/approvals', [approved('cloud.read')])
      const joel = await userNamed(server, 'joel')
      const bodies = [null, [approved('cloud.write'), approved('openid', { userId: joel.id })]]
      for (const body of bodies) assert.ok((await put('/approvals', body)).status >= 400)
      const left = await server.store.approvals.listAllOfUser('svc', userId)
      assert.deepEqual(
        left.map(({ scope }) => scope),
        ['cloud.read'],
      )
      assert.deepEqual(await server.store.approvals.listAllOfUser('svc', joel.id), [])
    }),
  },
  {
    attack: 'continues to use an access token after the user revoked the approval',
    outcome: 'it is refused at APIs of this server and as an assertion; in uaa only where it is introspected',
    attempt: inBothModes(async ({ server, put, mode }) => {
      const scopes = ['openid', 'cloud.read']
      await put(
        '/approvals/app',
        scopes.map(scope => approved(scope)),
      )
      const redirectUri = 'https://app.example/cb'
      const code = await insertCode(server, { clientId: 'app', redirectUri, scopes })
      const issued = tokensOf(await exchange(server, code, { redirect_uri: redirectUri }, APP))
      const status = async () => (await server.send('/userinfo', { bearer: issued.access_token })).status
      assert.equal(await status(), 200)
      await put('/approvals/app', [approved('openid'), approved('cloud.read', { status: 'DENIED' })])
      assert.equal(await isAlive(server, issued.access_token), false)
      assert.equal(await status(), mode === 'standard' ? 401 : 200)
      await changeClient(server, 'app', { authorizedGrantTypes: [JWT_BEARER] })
      const asserted = await server.token({ grant_type: JWT_BEARER, assertion: issued.access_token }, { basic: APP })
      assert.equal(asserted.status, mode === 'standard' ? 400 : 200)
    }),
  },
  {
    attack: 'keeps a refresh token until the user approves the client again',
    outcome: 'the token stays revoked',
    attempt: inBothModes(async ({ server, put }) => {
      await put('/approvals/app', [approved('cloud.read')])
      const tokens = await passwordTokens(server)
      await put('/approvals/app', [])
      await put('/approvals/app', [approved('cloud.read'), approved('openid')])
      assert.ok((await refresh(server, tokens.refresh_token)).status >= 400)
    }),
  },
]

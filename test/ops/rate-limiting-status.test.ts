import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { insufficientScope, MODES, refused } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { TestRequest, TestServer } from '../support/server.ts'

const administrator = {
  client_id: 'boss',
  client_secret: 'boss-secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['svc.admin'],
}
const bootstrap = {
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, administrator],
  identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone one', bootstrap: { clients: [administrator] } }],
}
const BOSS = ['boss', 'boss-secret'] as const
const STATUS = '/RateLimitingStatus'

for (const mode of MODES) {
  describe(`GET /RateLimitingStatus in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const ratelimit = {
        loggingOption: 'onlylimited',
        credentialID: 'JWTjsonField:Claims:email',
        limiterMappings: [
          { name: 'All', pathSelectors: ['all'], global: '2000r/1800s' },
          { name: 'Own', pathSelectors: ['equals:/RateLimitingStatus'], global: '0r/s' },
        ],
      }
      server = await startServer({ mode, config: { bootstrap, ratelimit } })
    })
    after(() => server.stop())
    const tokenOf = async (basic: readonly [string, string], host?: string) =>
      String(
        (await server.token({ grant_type: 'client_credentials' }, { basic, ...(host && { host }) })).json()[
          'access_token'
        ],
      )

    // Partly covers GET /RateLimitingStatus: current.status
    // Covers GET /RateLimitingStatus: current.asOf; current.credentialIdExtractor; current.loggingLevel
    // Covers GET /RateLimitingStatus: current.limiterMappings; fromSource
    it('shows the limits to an administrator, and is not limited itself', async () => {
      for (const request of [{ basic: BOSS }, { bearer: await tokenOf(BOSS) }]) {
        const answer = await server.send(STATUS, request)
        assert.equal(answer.status, 200, answer.text)
        const { current, fromSource } = answer.json()
        assert.deepEqual(current, {
          status: 'ACTIVE',
          asOf: '2026-01-15T12:00:00Z',
          credentialIdExtractor: "JWT[1]:field='email'",
          loggingLevel: 'OnlyLimited',
          limiterMappings: 2,
        })
        assert.match(String(fromSource), /^file\(\/.*latchkey\.json\)$/)
      }
    })

    const basicRealm = /^Basic realm="SVC\/client"/
    const standard = mode === 'standard'
    const refusals: readonly ({
      readonly name: string
      readonly request: () => TestRequest | Promise<TestRequest>
    } & Refusal)[] = [
      {
        name: 'nobody',
        request: () => ({}),
        want: standard ? '401 invalid_client' : '401 unauthorized',
        challenge: basicRealm,
      },
      {
        name: 'a wrong secret',
        request: () => ({ basic: ['boss', 'x'] as const }),
        want: '401 invalid_client',
        challenge: basicRealm,
      },
      {
        name: 'no secret',
        request: () => ({ basic: ['boss', ''] as const }),
        want: '401 invalid_client',
        challenge: basicRealm,
      },
      {
        name: 'an unknown client',
        request: () => ({ basic: ['x', 'y'] as const }),
        want: '401 invalid_client',
        challenge: basicRealm,
      },
      {
        name: 'another client',
        request: () => ({ basic: ['service', 'service-secret'] as const }),
        want: '403 insufficient_scope',
      },
      { name: 'no token', request: () => ({ bearer: '' }), want: '401 invalid_token' },
      { name: 'a broken token', request: () => ({ bearer: 'a.b.c' }), want: '401 invalid_token' },
      {
        name: 'a client of another zone',
        request: () => ({ basic: BOSS, host: 'z1.localhost:8080' }),
        want: '403 insufficient_scope',
      },
      {
        name: 'a token of another client',
        request: async () => ({ bearer: await tokenOf(['service', 'service-secret']) }),
        ...insufficientScope(mode, 'svc.admin'),
      },
      {
        name: 'a token of another zone',
        request: async () => ({ bearer: await tokenOf(BOSS, 'z1.localhost:8080') }),
        want: '401 invalid_token',
      },
      {
        name: 'a token of another zone in that zone',
        request: async () => ({ bearer: await tokenOf(BOSS, 'z1.localhost:8080'), host: 'z1.localhost:8080' }),
        want: '403 insufficient_scope',
      },
      {
        name: 'an administrator of another zone',
        request: () => ({ basic: BOSS, headers: { 'x-identity-zone-id': 'z1' } }),
        want: '403 access_denied',
      },
    ]
    for (const { name, request, ...refusal } of refusals) {
      // Covers GET /RateLimitingStatus: rule: admin authority
      it(`rejects ${name}`, async () => {
        const sent = await request()
        const sending = () => server.send(STATUS, sent)
        const answer = await refused(server, mode, sending, refusal)
        assert.doesNotMatch(answer.text, /ACTIVE/)
      })
    }
  })
}

describe('GET /RateLimitingStatus without limits', () => {
  it('reports that there are none', async () => {
    const server = await startServer({ config: { bootstrap } })
    try {
      const { current } = (await server.send(STATUS, { basic: BOSS })).json()
      assert.deepEqual(current, { status: 'DISABLED', asOf: '2026-01-15T12:00:00Z' })
    } finally {
      await server.stop()
    }
  })
})

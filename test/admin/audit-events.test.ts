import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { auditConfig, eventsOf, machineToken } from '../support/audit.ts'
import { APP, MODES, SERVICE } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const FAILURES = [
  'PrincipalAuthenticationFailure',
  'UserAuthenticationFailure',
  'IdentityProviderAuthenticationFailure',
]
const Z1 = 'z1.localhost:8080'

for (const mode of MODES) {
  describe(`GET /audit/events in ${mode}`, () => {
    let server: TestServer
    let marissa = ''
    before(async () => {
      server = await startServer({ mode, config: auditConfig() })
      const password = { grant_type: 'password', username: 'marissa' }
      await server.token({ ...password, password: 'koala' }, { basic: APP })
      server.clock.advance(3600)
      await server.token({ ...password, password: 'wrong' }, { basic: APP })
      await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
      const z1 = ['service', 'service-secret'] as const
      await server.token({ grant_type: 'client_credentials' }, { basic: z1, host: Z1 })
      marissa = (await server.store.users.findByName('svc', 'svc', 'marissa'))?.id ?? ''
    })
    after(() => server.stop())

    // Covers GET /audit/events: principal
    it('returns events with time, actor, address and outcome, newest first', async () => {
      const events = await eventsOf(server, { principal: marissa })
      assert.deepEqual(
        events.map(({ type, outcome }) => [type, outcome]),
        [
          ['PrincipalAuthenticationFailure', 'failure'],
          ['UserAuthenticationFailure', 'failure'],
          ['IdentityProviderAuthenticationFailure', 'failure'],
          ['TokenIssuedEvent', 'success'],
          ['UserAuthenticationSuccess', 'success'],
          ['IdentityProviderAuthenticationSuccess', 'success'],
        ],
      )
      const [newest, , , token] = events
      assert.equal(newest?.time, server.clock.now().toISOString())
      assert.equal(newest.remoteAddress, '127.0.0.1')
      assert.equal(token?.clientId, 'app')
      assert.deepEqual(
        events.map(({ number }) => number),
        events.map(({ number }) => number).toSorted((a, b) => b - a),
      )
    })

    const filters: { name: string; query: () => Record<string, string>; want: readonly string[] }[] = [
      { name: 'type', query: () => ({ type: 'UserAuthenticationSuccess' }), want: ['UserAuthenticationSuccess'] },
      {
        name: 'client',
        query: () => ({ client_id: 'app', type: 'TokenIssuedEvent' }),
        want: ['TokenIssuedEvent'],
      },
      {
        name: 'outcome',
        query: () => ({ principal: marissa, outcome: 'failure' }),
        want: FAILURES,
      },
      {
        name: 'start',
        query: () => ({ principal: marissa, from: new Date(server.clock.now().getTime() - 1000).toISOString() }),
        want: FAILURES,
      },
      {
        name: 'end',
        query: () => ({
          principal: marissa,
          to: new Date(server.clock.now().getTime() - 1000).toISOString(),
          outcome: 'success',
        }),
        want: ['TokenIssuedEvent', 'UserAuthenticationSuccess', 'IdentityProviderAuthenticationSuccess'],
      },
      { name: 'an end before all events', query: () => ({ to: '2000-01-01T00:00:00Z' }), want: [] },
      { name: 'an unknown principal', query: () => ({ principal: 'nobody' }), want: [] },
    ]
    for (const { name, query, want } of filters) {
      // Covers GET /audit/events: `client_id`, `type`, `outcome`, `from`, `to`
      it(`filters by ${name}`, async () => {
        assert.deepEqual(
          (await eventsOf(server, query())).map(({ type }) => type),
          want,
        )
      })
    }

    // Covers GET /audit/events: `before`, `count`
    it('paginates: each event exactly once', async () => {
      const bearer = await machineToken(server, 'auditor')
      const page = async (query: Record<string, string>) =>
        (await server.send('/audit/events', { bearer, query })).json<{ events: { number: number }[]; next?: number }>()
      const whole = (await page({})).events.map(({ number }) => number)
      const found: number[] = []
      for (let next: number | undefined = whole[0] === undefined ? 1 : whole[0] + 1; next !== undefined; ) {
        const answer = await page({ count: '2', before: String(next) })
        found.push(...answer.events.map(({ number }) => number))
        ;({ next } = answer)
      }
      assert.deepEqual(found, whole)
      assert.equal(whole.at(-1), 1)
    })

    it('filters by actor', async () => {
      const boss = (await server.store.users.findByName('svc', 'svc', 'boss'))?.id ?? ''
      const form = { grant_type: 'password', username: 'boss', password: 'marsupial' }
      const answer = await server.token(form, { basic: ['console', 'console-secret'] })
      const bearer = answer.json<{ access_token: string }>().access_token
      const send = async (path: string, method: string, body?: object) => {
        const sent = { ...(body && { body: JSON.stringify(body) }), headers: { 'content-type': 'application/json' } }
        const { status, text } = await server.send(path, { method, bearer, ...sent })
        assert.ok(status < 300, text)
      }
      const client = { client_id: 'made', client_secret: 'x', authorized_grant_types: ['client_credentials'] }
      await send('/oauth/clients', 'POST', { ...client, authorities: ['svc.resource'] })
      await send(`/Users/${marissa}/sessions`, 'DELETE')
      await send('/Groups', 'POST', { displayName: 'made.by.boss' })
      const events = await eventsOf(server, { actor: boss })
      assert.deepEqual(
        events.map(({ type, principal }) => [type, type.startsWith('Group') ? 'group' : principal]),
        [
          ['GroupCreatedEvent', 'group'],
          ['SessionsEndedEvent', marissa],
          ['ClientCreateSuccess', 'made'],
        ],
      )
      assert.ok(events.every(({ actor, clientId }) => actor === boss && clientId === 'console'))
      assert.ok((await eventsOf(server, { principal: boss })).every(({ actor }) => actor === undefined))
    })

    // Covers GET /audit/events: rule: an auditor sees one zone
    it('returns only events of the zone', async () => {
      const events = await eventsOf(server, { principal: 'service' }, { host: Z1 })
      assert.deepEqual(
        events.map(({ type }) => type),
        ['TokenIssuedEvent', 'ClientAuthenticationSuccess'],
      )
      assert.deepEqual(await eventsOf(server, { principal: marissa }, { host: Z1 }), [])
    })

    const readers: { id: string; headers?: Record<string, string>; status: number }[] = [
      { id: 'auditor', status: 200 },
      { id: 'root', status: 200 },
      { id: 'root', headers: { 'x-identity-zone-id': 'z1' }, status: 200 },
      { id: 'z1-admin', headers: { 'x-identity-zone-id': 'z1' }, status: 200 },
      { id: 'z1-auditor', headers: { 'x-identity-zone-id': 'z1' }, status: 200 },
      { id: 'auditor', headers: { 'x-identity-zone-id': 'z1' }, status: 403 },
      { id: 'z2-auditor', headers: { 'x-identity-zone-id': 'z1' }, status: 403 },
      { id: 'z1-admin', status: 403 },
      { id: 'z1-auditor', status: 403 },
      { id: 'guest', status: 403 },
      { id: 'guest', headers: { 'x-identity-zone-id': 'z1' }, status: 403 },
    ]
    for (const { id, headers, status } of readers) {
      it(`answers ${id} ${headers ? 'in zone z1 ' : ''}with ${status}`, async () => {
        const bearer = await machineToken(server, id)
        const answer = await server.send('/audit/events', { bearer, ...(headers && { headers }) })
        assert.equal(answer.status, status, answer.text)
      })
    }

    for (const [name, value] of [
      ['count', '0'],
      ['count', '501'],
      ['count', 'ten'],
      ['before', '-1'],
      ['from', 'yesterday'],
      ['to', '2026-13-01T00:00:00Z'],
      ['from', '2026-02-30T00:00:00Z'],
      ['outcome', 'good'],
      ['clientId', 'app'],
      ['user', 'marissa'],
    ] as const) {
      it(`refuses ${name}=${value}`, async () => {
        const bearer = await machineToken(server, 'auditor')
        const answer = await server.send('/audit/events', { bearer, query: { [name]: value } })
        assert.equal(answer.status, 400)
        assert.equal(answer.json()['error'], 'invalid_request')
      })
    }
  })
}

describe('GET /audit/events without audit storage', () => {
  it('answers 404', async () => {
    const { bootstrap } = auditConfig()
    const server = await startServer({ config: { bootstrap, audit: { days: 1 } } })
    try {
      const bearer = await machineToken(server, 'auditor')
      assert.equal((await server.send('/audit/events', { bearer })).status, 404)
      assert.equal((await server.send('/audit/events')).status, 401)
    } finally {
      await server.stop()
    }
  })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import fastify from 'fastify'
import type { AuditEvent, AuditEventType } from '../../src/model/audit/event.ts'
import { createMetrics } from '../../src/ops/metrics.ts'
import type { Measurement, Metrics } from '../../src/ops/metrics.ts'
import { createGroupFinder } from '../../src/ops/request-groups.ts'
import type { Audience } from '../../src/web/route.ts'

/** A report as `name kind` to value. */
const reportOf = (metrics: Metrics): Readonly<Record<string, number>> =>
  Object.fromEntries(metrics.report().map(({ name, kind, value }) => [`${name} ${kind}`, value]))

/** A server with a route that responds when the test allows it. */
function watched(metrics: Metrics) {
  const app = fastify()
  metrics.watch(app)
  const gate = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const config = { access: { by: 'anyone', because: 'it is a test' }, audience: 'api' } as const
  app.get('/Users', { config }, () => 'users')
  app.get('/fails', { config }, () => Promise.reject(new Error('broken')))
  app.get('/slow', { config }, async () => {
    entered.resolve()
    await gate.promise
    return 'slow'
  })
  return { app, open: gate.resolve, entered: entered.promise }
}

/** Answers are counted once they are out, which is a little after they were received. */
const settle = () => new Promise(resolve => setImmediate(resolve))

describe('Request metrics', () => {
  // Covers metrics: requests.global; requests.{group}
  it('count requests by status and group, and are reset by each report', async () => {
    const metrics = createMetrics({ basePath: '' })
    const { app } = watched(metrics)
    for (const url of ['/Users', '/Users', '/nowhere', '/fails']) await app.inject(url)
    await settle()
    const first = reportOf(metrics)
    const wanted = {
      'requests.global.completed.count count': 4,
      'requests.global.unhealthy.count count': 0,
      'requests.global.status_1xx.count count': 0,
      'requests.global.status_2xx.count count': 2,
      'requests.global.status_3xx.count count': 0,
      'requests.global.status_4xx.count count': 1,
      'requests.global.status_5xx.count count': 1,
      'requests.users.completed.count gauge': 2,
      'requests.unknown.completed.count gauge': 1,
      'requests.api.completed.count gauge': 1,
      'server.inflight.count gauge': 0,
    }
    for (const [name, value] of Object.entries(wanted)) assert.equal(first[name], value, name)
    for (const name of ['requests.global.completed.time gauge', 'requests.users.completed.time gauge']) {
      assert.ok(Number.isInteger(first[name]), name)
    }
    assert.equal('requests.global.unhealthy.time gauge' in first, false)
    await app.inject('/Users')
    await settle()
    const second = reportOf(metrics)
    assert.equal(second['requests.global.completed.count count'], 1)
    assert.equal(second['requests.global.status_2xx.count count'], 1)
    assert.equal(second['requests.global.status_4xx.count count'], 0)
    assert.equal(second['requests.users.completed.count gauge'], 3)
    assert.equal(second['requests.api.completed.count gauge'], 1)
    assert.equal('requests.api.completed.time gauge' in second, false)
    await app.close()
  })

  // Covers metrics: server
  it('include running requests, except those whose callers have disconnected', async () => {
    const metrics = createMetrics({ basePath: '' })
    const { app, open, entered } = watched(metrics)
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
    const socket = connect(Number(url.port), '127.0.0.1')
    socket.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await entered
    const idleThen = reportOf(metrics)['server.idle.time gauge']
    assert.equal(reportOf(metrics)['server.inflight.count gauge'], 1)
    assert.equal(reportOf(metrics)['server.idle.time gauge'], idleThen, 'a working server is not idle')
    socket.destroy()
    await once(socket, 'close')
    while (reportOf(metrics)['server.inflight.count gauge'] !== 0) await settle()
    open()
    await app.close()
    assert.equal(reportOf(metrics)['requests.global.status_2xx.count count'], 0)
  })

  it('are reported per request if configured', async () => {
    const reported: Measurement[] = []
    const metrics = createMetrics({ basePath: '', onLatency: latency => void reported.push(latency) })
    const { app } = watched(metrics)
    for (const url of ['/Users', '/fails']) await app.inject(url)
    await settle()
    assert.deepEqual(
      reported.map(({ name, kind }) => `${name} ${kind}`),
      ['requests.users.latency timer', 'requests.api.latency timer'],
    )
    await app.close()
  })
})

describe('Other metrics', () => {
  // Covers metrics: database.global
  it('count database queries, and those that took more than three seconds', () => {
    const metrics = createMetrics({ basePath: '' })
    for (const milliseconds of [10, 20, 3000, 3001]) metrics.countQuery(milliseconds)
    const report = reportOf(metrics)
    assert.equal(report['database.global.completed.count count'], 4)
    assert.equal(report['database.global.completed.time gauge'], 1508)
    assert.equal(report['database.global.unhealthy.count count'], 1)
    assert.equal(report['database.global.unhealthy.time gauge'], 3001)
    assert.equal(reportOf(metrics)['database.global.completed.count count'], 0)
  })

  const audited: readonly (readonly [AuditEventType, string])[] = [
    ['UserAuthenticationSuccess', 'user_authentication_count'],
    ['UserAuthenticationFailure', 'user_authentication_failure_count'],
    ['UserNotFound', 'user_not_found_count'],
    ['PasswordChangeSuccess', 'user_password_changes'],
    ['PasswordChangeFailure', 'user_password_failures'],
    ['ClientAuthenticationSuccess', 'client_authentication_count'],
    ['ClientAuthenticationFailure', 'client_authentication_failure_count'],
    ['PrincipalAuthenticationFailure', 'principal_authentication_failure_count'],
  ]
  for (const [type, name] of audited) {
    // Partly covers metrics: audit_service
    it(`count ${type} of the audit trail`, () => {
      const metrics = createMetrics({ basePath: '' })
      const trail: AuditEvent[] = []
      const audit = metrics.counted(event => void trail.push(event))
      const events = [type, 'TokenIssuedEvent', type].map(
        each => ({ type: each, zoneId: 'svc', principal: 'x' }) as AuditEvent, // of the types above
      )
      for (const event of events) audit(event)
      const report = reportOf(metrics)
      assert.deepEqual(trail, events)
      for (const [, other] of audited) {
        assert.equal(report[`audit_service.${other} gauge`], other === name ? 2 : 0, other)
      }
    })
  }

  it('include second factors once used', () => {
    const metrics = createMetrics({ basePath: '' })
    const audit = metrics.counted(() => undefined)
    const reported = () => Object.entries(reportOf(metrics)).filter(([name]) => name.includes('mfa_'))
    assert.deepEqual(reported(), [])
    for (const type of ['MfaAuthenticationFailure', 'MfaAuthenticationSuccess', 'MfaAuthenticationFailure'] as const) {
      audit({ type, zoneId: 'svc', principal: 'u1' })
    }
    assert.deepEqual(reported(), [
      ['audit_service.mfa_authentication_failure_count gauge', 2],
      ['audit_service.mfa_authentication_count gauge', 1],
    ])
  })

  // Partly covers metrics: vitals
  it('include the machine and the process', () => {
    const report = reportOf(createMetrics({ basePath: '' }))
    for (const name of ['vm.cpu.count', 'vm.memory.total', 'vm.memory.free', 'jvm.heap.used', 'jvm.heap.max']) {
      assert.ok((report[`vitals.${name} gauge`] ?? 0) > 0, name)
    }
    for (const [name, value] of Object.entries(report)) assert.ok(Number.isInteger(value) && value >= 0, name)
    assert.ok((report['vitals.jvm.heap.used gauge'] ?? 0) < (report['vitals.jvm.heap.max gauge'] ?? 0))
  })
})

describe('The metrics group of a request', () => {
  const cases: readonly (readonly [string | undefined, Audience | undefined, string, number])[] = [
    ['/resources/*', 'open', 'static-content', 1000],
    ['/zone.css', 'open', 'static-content', 1000],
    ['/healthz', 'open', 'system', 1000],
    ['/livez', 'open', 'system', 1000],
    ['/readyz', 'open', 'system', 1000],
    ['/oauth/token', 'api', 'token-api', 3000],
    ['/oauth/token/alias/:entityId', 'api', 'token-api', 3000],
    ['/check_token', 'api', 'token-api', 3000],
    ['/token_keys', 'open', 'token-api', 3000],
    ['/oauth/authorize', 'page', 'oauth-oidc', 5000],
    ['/.well-known/openid-configuration', 'open', 'oauth-oidc', 5000],
    ['/userinfo', 'api', 'oauth-oidc', 5000],
    ['/oauth/clients/:client_id', 'api', 'clients', 5000],
    ['/Users/:id', 'api', 'users', 10_000],
    ['/ids/Users', 'api', 'users', 10_000],
    ['/Groups', 'api', 'groups', 10_000],
    ['/identity-zones', 'api', 'api', 5000],
    ['/login', 'page', 'ui', 5000],
    ['/session', 'open', 'system', 1000],
    [undefined, undefined, 'unknown', 1000],
  ]
  for (const [route, audience, name, limitMilliseconds] of cases) {
    it(`is ${name} for ${route ?? 'no route'}`, () => {
      for (const basePath of ['', '/uaa']) {
        const groupOf = createGroupFinder(basePath)
        const url = route === undefined ? undefined : basePath + route
        for (const _ of [1, 2]) assert.deepEqual(groupOf(url, audience), { name, limitMilliseconds })
      }
    })
  }
})

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fastify from 'fastify'
import { parse } from 'yaml'
import { OAuthError } from '../../src/model/oauth-error.ts'
import { combined } from '../../src/ops/instrument.ts'
import { addTaskMetrics } from '../../src/ops/management.ts'
import { createMetrics } from '../../src/ops/metrics.ts'
import { createPrometheus } from '../../src/ops/prometheus/prometheus.ts'
import { addLogoutMetrics, addMailMetrics, addWebhookMetrics } from '../../src/ops/prometheus/queue-metrics.ts'
import { addSearchMetrics } from '../../src/ops/prometheus/search-metrics.ts'
import { parseForm } from '../../src/web/requests/form.ts'
import { loadedAtStart } from '../support/loaded-at-start.ts'

const config = { access: { by: 'anyone', because: 'it is a test' }, audience: 'api' } as const

function measured({ isDatabaseUp = () => true }: { isDatabaseUp?: () => boolean } = {}) {
  const prometheus = createPrometheus({ basePath: '/uaa', version: '1.2.3', isDatabaseUp })
  const app = fastify()
  prometheus.watch(app)
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
    done(null, parseForm(String(body))),
  )
  app.post('/uaa/oauth/token', { config }, async () => {
    throw new OAuthError('invalid_grant', 'no')
  })
  app.get('/uaa/Users/:id', { config }, () => 'user')
  return { app, prometheus }
}

/** Answers are counted once they are out, which is a little after they were received. */
const settle = () => new Promise(resolve => setImmediate(resolve))

/** The lines of one metric that are no help, without buckets. */
async function linesOf({ registry }: ReturnType<typeof createPrometheus>, name: string): Promise<readonly string[]> {
  await settle()
  const text = await registry.metrics()
  return text.split('\n').filter(line => line.startsWith(`latchkey_${name}{`) || line.startsWith(`latchkey_${name} `))
}

const token = (grantType?: string) => ({
  method: 'POST' as const,
  url: '/uaa/oauth/token',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  payload: grantType === undefined ? '' : new URLSearchParams({ grant_type: grantType }).toString(),
})

describe('Prometheus metrics', () => {
  it('count requests by route pattern, not path', async () => {
    const { app, prometheus } = measured()
    for (const url of ['/uaa/Users/a', '/uaa/Users/b?x=1', '/nowhere/c', '/nowhere/d']) await app.inject(url)
    assert.deepEqual(await linesOf(prometheus, 'http_request_duration_seconds_count'), [
      'latchkey_http_request_duration_seconds_count{endpoint="/Users/:id",method="GET",status="2xx"} 2',
      'latchkey_http_request_duration_seconds_count{endpoint="unknown",method="GET",status="4xx"} 2',
    ])
    assert.deepEqual(await linesOf(prometheus, 'http_requests_in_flight'), ['latchkey_http_requests_in_flight 0'])
    await app.close()
  })

  it('count rejections by rate limit', async () => {
    const { app, prometheus } = measured()
    const count = combined([prometheus])?.countRefusal
    for (const limit of ['wrongPasswords', 'ratelimit', 'wrongPasswords']) count?.(limit)
    assert.deepEqual(await linesOf(prometheus, 'limited_total'), [
      'latchkey_limited_total{limit="wrongPasswords"} 2',
      'latchkey_limited_total{limit="ratelimit"} 1',
    ])
    await app.close()
  })

  it('count token requests by known grant types only', async () => {
    const { app, prometheus } = measured()
    for (const type of ['client_credentials', 'made up 1', 'made up 2', undefined]) await app.inject(token(type))
    assert.deepEqual(await linesOf(prometheus, 'token_request_duration_seconds_count'), [
      'latchkey_token_request_duration_seconds_count{grant_type="client_credentials",status="4xx"} 1',
      'latchkey_token_request_duration_seconds_count{grant_type="other",status="4xx"} 2',
      'latchkey_token_request_duration_seconds_count{grant_type="none",status="4xx"} 1',
    ])
    assert.deepEqual(await linesOf(prometheus, 'oauth_errors_total'), [
      'latchkey_oauth_errors_total{endpoint="/oauth/token",error="invalid_grant"} 4',
    ])
    await app.close()
  })

  it('do not name unknown methods', async () => {
    const { app, prometheus } = measured()
    await app.inject({ method: 'TRACE' as 'GET', url: '/nowhere' })
    assert.deepEqual(await linesOf(prometheus, 'http_request_duration_seconds_count'), [
      'latchkey_http_request_duration_seconds_count{endpoint="unknown",method="other",status="4xx"} 1',
    ])
    await app.close()
  })

  it('count events and queries, and report version and database state', async () => {
    let works = true
    const { prometheus } = measured({ isDatabaseUp: () => works })
    const passed: string[] = []
    const audit = prometheus.counted(({ type }) => void passed.push(type))
    audit({ type: 'UserNotFound', zoneId: 'z1', principal: 'u-1' })
    prometheus.countQuery(2)
    assert.deepEqual(passed, ['UserNotFound'])
    assert.deepEqual(await linesOf(prometheus, 'audit_events_total'), [
      'latchkey_audit_events_total{type="AuditTrailAlteredEvent"} 0',
      'latchkey_audit_events_total{type="AuditEventsLostEvent"} 0',
      'latchkey_audit_events_total{type="UserNotFound"} 1',
    ])
    assert.deepEqual(await linesOf(prometheus, 'database_query_duration_seconds_sum'), [
      'latchkey_database_query_duration_seconds_sum 0.002',
    ])
    assert.deepEqual(await linesOf(prometheus, 'build_info'), ['latchkey_build_info{version="1.2.3"} 1'])
    assert.deepEqual(await linesOf(prometheus, 'database_up'), ['latchkey_database_up 1'])
    works = false
    assert.deepEqual(await linesOf(prometheus, 'database_up'), ['latchkey_database_up 0'])
  })

  it('count outbound requests by purpose and outcome, not host', async () => {
    const { prometheus } = measured()
    const common = { purpose: 'jwks', method: 'GET', address: 'https://keys.example/', milliseconds: 20 } as const
    for (const outcome of [200, 503, 'timeout', 'timeout'] as const) prometheus.countOutbound?.({ ...common, outcome })
    assert.deepEqual(await linesOf(prometheus, 'outbound_request_duration_seconds_count'), [
      'latchkey_outbound_request_duration_seconds_count{purpose="jwks",outcome="2xx"} 1',
      'latchkey_outbound_request_duration_seconds_count{purpose="jwks",outcome="5xx"} 1',
      'latchkey_outbound_request_duration_seconds_count{purpose="jwks",outcome="timeout"} 2',
    ])
    assert.deepEqual(await linesOf(prometheus, 'outbound_request_duration_seconds_sum'), [
      'latchkey_outbound_request_duration_seconds_sum{purpose="jwks",outcome="2xx"} 0.02',
      'latchkey_outbound_request_duration_seconds_sum{purpose="jwks",outcome="5xx"} 0.02',
      'latchkey_outbound_request_duration_seconds_sum{purpose="jwks",outcome="timeout"} 0.04',
    ])
  })

  it('report queues, and keep the last values during a database outage', async () => {
    const { prometheus } = measured()
    const queueLines = (text: string) =>
      text.split('\n').filter(line => /^latchkey_(logouts|audit_webhook)_/.test(line))
    let isUnreachable = false
    let queries = 0
    const queue = { outcomes: { delivered: 3, given_up: 1 }, waiting: 2, waitingMilliseconds: 1500 }
    const source = <T>(value: T) => ({
      async totals() {
        queries += 1
        await new Promise(resolve => setImmediate(resolve))
        if (isUnreachable) throw new Error('away')
        return value
      },
    })
    addLogoutMetrics(prometheus.registry, source(queue))
    addWebhookMetrics(prometheus.registry, source([{ ...queue, name: 'siem' }]))
    for (isUnreachable of [false, true]) {
      assert.deepEqual(queueLines(await prometheus.registry.metrics()), [
        'latchkey_logouts_waiting 2',
        'latchkey_logouts_waiting_seconds 1.5',
        'latchkey_logouts_total{outcome="delivered"} 3',
        'latchkey_logouts_total{outcome="given_up"} 1',
        'latchkey_audit_webhook_waiting{webhook="siem"} 2',
        'latchkey_audit_webhook_waiting_seconds{webhook="siem"} 1.5',
        'latchkey_audit_webhook_total{webhook="siem",outcome="delivered"} 3',
        'latchkey_audit_webhook_total{webhook="siem",outcome="given_up"} 1',
      ])
    }
    assert.equal(queries, 4)
  })

  it('report which server answers searches, and the state of replicas', async () => {
    const { prometheus } = measured()
    let searches = 2
    const searchServers = () => [
      { name: 'primary', searches: 1 },
      { name: 'r1:5432', searches, isUsed: true },
      { name: 'r2:5432', searches: 0, isUsed: false },
    ]
    addSearchMetrics(prometheus.registry, { searchServers })
    const lines = () => linesOf(prometheus, 'database_searches_total')
    assert.deepEqual(await lines(), [
      'latchkey_database_searches_total{server="primary"} 1',
      'latchkey_database_searches_total{server="r1:5432"} 2',
      'latchkey_database_searches_total{server="r2:5432"} 0',
    ])
    assert.deepEqual(await linesOf(prometheus, 'replica_used'), [
      'latchkey_replica_used{server="r1:5432"} 1',
      'latchkey_replica_used{server="r2:5432"} 0',
    ])
    searches = 5
    assert.equal((await lines())[1], 'latchkey_database_searches_total{server="r1:5432"} 5')
  })

  it('work beside those for StatsD', async () => {
    const prometheus = createPrometheus({ basePath: '', version: '1', isDatabaseUp: () => true })
    const statsd = createMetrics({ basePath: '' })
    const both = combined([statsd, prometheus])
    both?.countQuery?.(5)
    both?.counted(() => {})({ type: 'UserNotFound', zoneId: 'z1', principal: 'u-1' })
    const values = Object.fromEntries(statsd.report().map(({ name, value }) => [name, value]))
    assert.equal(values['database.global.completed.count'], 1)
    assert.equal(values['audit_service.user_not_found_count'], 1)
    assert.equal(
      (await linesOf(prometheus, 'audit_events_total')).at(-1),
      'latchkey_audit_events_total{type="UserNotFound"} 1',
    )
    assert.equal(combined([]), undefined)
  })

  it('are not loaded unless configured', () => {
    const early = /\/node_modules\/(?:prom-client|@opentelemetry)\/|\/src\/ops\/(?:prometheus|management)\.ts$/
    assert.deepEqual(
      loadedAtStart().filter(url => early.test(url)),
      [],
    )
  })
})

/** The labels that Prometheus itself gives every series. */
const TARGET_LABELS = ['instance', 'job']

/** All series of a server with every feature, with their labels. */
async function knownSeries(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { prometheus } = measured()
  const mails = { outcomes: {}, waiting: 0, waitingMilliseconds: 0 }
  addMailMetrics(prometheus.registry, { totals: async () => mails })
  addLogoutMetrics(prometheus.registry, { totals: async () => mails })
  addWebhookMetrics(prometheus.registry, { totals: async () => [] })
  addTaskMetrics(prometheus.registry, { leases: () => [] })
  addSearchMetrics(prometheus.registry, { searchServers: () => [] })
  const metrics = await prometheus.registry.getMetricsAsJSON()
  return new Map(
    metrics.flatMap(({ name, type }) => {
      const metric = prometheus.registry.getSingleMetric(name) as unknown as { labelNames: readonly string[] }
      const labels = [...metric.labelNames, ...TARGET_LABELS]
      const suffixes = String(type) === 'histogram' ? ['_bucket', '_count', '_sum'] : ['']
      return suffixes.map(
        suffix => [name + suffix, new Set(suffix === '_bucket' ? [...labels, 'le'] : labels)] as const,
      )
    }),
  )
}

/** A selector, such as `latchkey_mails_total{outcome="sent"}`: the name, and what is between the braces. */
const SELECTOR = /\b((?:latchkey|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g

/** Asserts that every selector and every grouping of an expression names series and labels that exist. */
function assertExists(expression: string, known: Awaited<ReturnType<typeof knownSeries>>, where: string): void {
  const selectors = [...expression.matchAll(SELECTOR)]
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/, */))
  for (const [, name = '', matchers = ''] of selectors) {
    const labels = known.get(name)
    assert.ok(labels, `${where}: ${name}`)
    const matched = [...matchers.matchAll(/([a-z_]+)(?:=~|!~|!=|=)"/g)].map(match => match[1] ?? '')
    for (const label of [...matched, ...grouped]) assert.ok(labels.has(label), `${where}: ${name} has no ${label}`)
  }
}

const documentText = (name: string): Promise<string> => readFile(join(import.meta.dirname, '../../docs', name), 'utf8')

describe('The Grafana dashboard', () => {
  it('queries existing metrics and labels', async () => {
    const { panels } = JSON.parse(await documentText('grafana-dashboard.json')) as {
      panels: { title: string; targets: { expr: string }[] }[]
    }
    const known = await knownSeries()
    assert.ok(panels.length >= 15)
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        assert.match(expr, /\b(?:latchkey|process|nodejs)_/, title)
        assertExists(expr, known, title)
      }
    }
  })
})

describe('The table of metrics in docs/operate.md', () => {
  it('has every metric with its labels', async () => {
    const known = await knownSeries()
    const rows = [...(await documentText('operate.md')).matchAll(/^\| (`latchkey_[^|]*) \|([^|]*)\|/gm)]
    const described = rows.flatMap(([, names = '', labels = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(name => [
        name[1],
        [...labels.matchAll(/`([^`]+)`/g)].map(([, each]) => each),
      ]),
    )
    const real = [...known].flatMap(([name, labels]) => {
      if (!name.startsWith('latchkey_') || /_(?:bucket|count)$/.test(name)) return []
      return [[name.replace(/_sum$/, ''), [...labels].filter(label => !TARGET_LABELS.includes(label))]]
    })
    assert.deepEqual(Object.fromEntries(described), Object.fromEntries(real))
  })
})

describe('docs/alerts.yml', () => {
  it('queries existing metrics and labels, and describes a response to each alert', async () => {
    const { groups } = parse(await documentText('alerts.yml')) as {
      groups: { rules: { alert: string; expr: string; labels: object; annotations: object }[] }[]
    }
    const known = await knownSeries()
    const rules = groups.flatMap(group => group.rules)
    assert.ok(rules.length >= 10)
    const runbook = await documentText('runbook.md')
    const named = new Set([...runbook.matchAll(/`(Latchkey[A-Z][A-Za-z]+)`/g)].map(match => match[1]))
    assert.deepEqual(named, new Set(rules.map(({ alert }) => alert)))
    for (const { alert, expr, labels, annotations } of rules) {
      assert.match(expr, /\b(?:latchkey_|nodejs_|up\{job="latchkey"\})/, alert)
      assertExists(expr, known, alert)
      assert.match(JSON.stringify(labels), /^\{"severity":"(?:page|ticket)"\}$/, alert)
      assert.deepEqual(Object.keys(annotations), ['summary', 'description'], alert)
    }
  })
})

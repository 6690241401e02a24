// Metrics for Prometheus. Labels have few values, independent of input: no zones, clients, users or addresses. Loaded only
// where a management port is configured.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { stopwatch } from '../../base/clock.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { UNKNOWN_ENDPOINT, endpointOf, grantTypeOf, issuesTokens, methodOf } from '../endpoints.ts'
import type { OutboundExchange } from '../../base/outbound.ts'
import type { Signature } from '../../model/tokens/signature.ts'
import { type Series, SeriesHistogram } from './histogram.ts'
import type { Instrument } from '../instrument.ts'

/** The metrics of one process. */
interface Prometheus extends Instrument {
  readonly countQuery: (milliseconds: number) => void
  readonly registry: Registry
}

/** In seconds: tokens take a millisecond, passwords a tenth of a second, providers elsewhere seconds. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const QUERY_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5]
/** The fastest signature takes a twentieth of a millisecond, the slowest token gives up after seconds. */
const SIGNATURE_BUCKETS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5]
const OUTBOUND_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const STATUSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** What is measured of the requests of one route and method, by class of status. */
interface Endpoint {
  readonly name: string
  readonly isToken: boolean
  readonly series: (Series | undefined)[]
}

/** `isDatabaseUp` is asked when the metrics are. */
export function createPrometheus({
  basePath,
  version,
  isDatabaseUp,
}: {
  readonly basePath: string
  readonly version: string
  readonly isDatabaseUp: () => boolean
}): Prometheus {
  const registry = new Registry()
  const registers = [registry]
  let pending = 0
  collectDefaultMetrics({ register: registry })
  const requests = new SeriesHistogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Requests by endpoint, method and class of status; none: the caller disconnected before the response.',
    labelNames: ['endpoint', 'method', 'status'] as const,
    buckets: REQUEST_BUCKETS,
    registers,
  })
  const grants = new SeriesHistogram({
    name: 'latchkey_token_request_duration_seconds',
    help: 'Requests of the token endpoint by grant type and class of status.',
    labelNames: ['grant_type', 'status'] as const,
    buckets: REQUEST_BUCKETS,
    registers,
  })
  const refusals = new Counter({
    name: 'latchkey_oauth_errors_total',
    help: 'Refusals by endpoint and OAuth error code.',
    labelNames: ['endpoint', 'error'] as const,
    registers,
  })
  void new Gauge({
    name: 'latchkey_http_requests_in_flight',
    help: 'Requests in progress.',
    registers,
    collect() {
      this.set(pending)
    },
  })
  const queries = new SeriesHistogram({
    name: 'latchkey_database_query_duration_seconds',
    help: 'Statements outside of transactions, and whole transactions.',
    labelNames: [],
    buckets: QUERY_BUCKETS,
    registers,
  })
  const outbound = new SeriesHistogram({
    name: 'latchkey_outbound_request_duration_seconds',
    help: 'Requests to other servers by purpose, and by class of status or reason of the failure.',
    labelNames: ['purpose', 'outcome'] as const,
    buckets: OUTBOUND_BUCKETS,
    registers,
  })
  const signatures = new SeriesHistogram({
    name: 'latchkey_signature_duration_seconds',
    help: 'Signatures by algorithm, and by where they are made: on the main thread, in the thread pool, in a token.',
    labelNames: ['algorithm', 'place', 'outcome'] as const,
    buckets: SIGNATURE_BUCKETS,
    registers,
  })
  // Some are there from the start, because the first one has to show as an increase.
  const uncollected = new Map([
    ['AuditTrailAlteredEvent', 0],
    ['AuditEventsLostEvent', 0],
  ])
  void new Counter({
    name: 'latchkey_audit_events_total',
    help: 'Events of the audit trail by type.',
    labelNames: ['type'] as const,
    registers,
    collect() {
      for (const [type, count] of uncollected) this.inc({ type }, count)
      uncollected.clear()
    },
  })
  const limited = new Counter({
    name: 'latchkey_limited_total',
    help: 'Requests refused by a limit, by limit; ratelimit for the configured ones.',
    labelNames: ['limit'] as const,
    registers,
  })
  void new Gauge({
    name: 'latchkey_database_up',
    help: 'Whether the database was available at the last check.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(isDatabaseUp() ? 1 : 0)
    },
  })
  const build = new Gauge({
    name: 'latchkey_build_info',
    help: 'Always 1; the version is a label.',
    labelNames: ['version'] as const,
    aggregator: 'first',
    registers,
  })
  build.set({ version }, 1)

  const endpoints = new WeakMap<object, Map<string, Endpoint>>()
  const requestSeries = cached((endpoint, method, status) => requests.add({ endpoint, method, status }))
  const grantSeries = cached((grant_type, status) => grants.add({ grant_type, status }))
  const outboundSeries = cached((purpose, outcome) => outbound.add({ purpose, outcome }))
  const signatureSeries = cached((algorithm, place, outcome) => signatures.add({ algorithm, place, outcome }))
  const querySeries = queries.add({})

  /** Routes are identified by their configuration object, which is unique per route. */
  function endpointFor(request: FastifyRequest): Endpoint {
    const { config, url } = request.routeOptions
    let methods = endpoints.get(config)
    if (!methods) endpoints.set(config, (methods = new Map<string, Endpoint>()))
    const method = methodOf(request)
    let endpoint = methods.get(method)
    if (!endpoint) {
      const name = endpointOf(url, basePath)
      endpoint = { name, isToken: issuesTokens(name), series: [] }
      methods.set(method, endpoint)
    }
    return endpoint
  }

  function end(request: FastifyRequest, status: number, seconds: number): void {
    pending -= 1
    const endpoint = endpointFor(request)
    const series = (endpoint.series[status] ??= requestSeries(endpoint.name, methodOf(request), statusOf(status)))
    series.observe(seconds)
    if (endpoint.isToken) grantSeries(grantTypeOf(request), statusOf(status)).observe(seconds)
  }

  /** `close` is emitted for every response, even if the client has disconnected. */
  function onRequest(request: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
    pending += 1
    const elapsed = stopwatch()
    raw.once('close', () => end(request, raw.headersSent ? Math.floor(raw.statusCode / 100) : 0, elapsed() / 1000))
    done()
  }

  function onError(request: FastifyRequest, _reply: FastifyReply, error: unknown, done: () => void): void {
    if (error instanceof OAuthError) refusals.inc({ endpoint: endpointFor(request).name, error: error.error })
    done()
  }

  return {
    registry,
    watch(http: FastifyInstance) {
      http.addHook('onRequest', onRequest)
      http.addHook('onError', onError)
    },
    counted: audit => event => {
      uncollected.set(event.type, (uncollected.get(event.type) ?? 0) + 1)
      audit(event)
    },
    countQuery: milliseconds => querySeries.observe(milliseconds / 1000),
    countRefusal: limit => limited.inc({ limit }),
    countOutbound({ purpose, outcome, milliseconds }: OutboundExchange) {
      const label = typeof outcome === 'number' ? statusOf(Math.floor(outcome / 100)) : outcome
      outboundSeries(purpose, label).observe(milliseconds / 1000)
    },
    countSignature({ algorithm, place, milliseconds, isMade }: Signature) {
      signatureSeries(algorithm, place, isMade ? 'made' : 'failed').observe(milliseconds / 1000)
    },
  }
}

/** Finds a series by the values of its labels, or adds it. */
function cached<Labels extends string[], Found>(find: (...labels: Labels) => Found): (...labels: Labels) => Found {
  const cache = new Map<string, Found>()
  return (...labels) => {
    const key = labels.join(' ')
    let series = cache.get(key)
    if (series === undefined) cache.set(key, (series = find(...labels)))
    return series
  }
}

const statusOf = (status: number): string => STATUSES[status] ?? UNKNOWN_ENDPOINT

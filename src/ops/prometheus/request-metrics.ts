// Requests by endpoint, and refusals. Labels have few values, independent of input.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { Counter, Gauge } from 'prom-client'
import { stopwatch } from '../../base/clock.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { endpointOf, grantTypeOf, issuesTokens, methodOf, statusClassOf } from '../endpoints.ts'
import type { Series } from './histogram.ts'
import { SeriesHistogram, seriesFinder } from './histogram.ts'

/** In seconds: tokens take a millisecond, passwords a tenth of a second, providers elsewhere seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What is measured of the requests of one route and method, by class of status. */
interface Endpoint {
  readonly name: string
  readonly isToken: boolean
  readonly series: (Series | undefined)[]
}

/** Adds the metrics of requests; returns the function that observes a server from now on. */
export function addRequestMetrics(registry: Registry, basePath: string): (http: FastifyInstance) => void {
  const registers = [registry]
  const endpointFor = endpointFinder(basePath)
  let pending = 0
  const requests = new SeriesHistogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Requests by endpoint, method and class of status; none: the caller disconnected before the response.',
    labelNames: ['endpoint', 'method', 'status'] as const,
    buckets: BUCKETS,
    registers,
  })
  const grants = new SeriesHistogram({
    name: 'latchkey_token_request_duration_seconds',
    help: 'Requests of the token endpoint by grant type and class of status.',
    labelNames: ['grant_type', 'status'] as const,
    buckets: BUCKETS,
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
  const requestSeries = seriesFinder((endpoint, method, status) => requests.add({ endpoint, method, status }))
  const grantSeries = seriesFinder((grant_type, status) => grants.add({ grant_type, status }))

  function end(request: FastifyRequest, status: number, seconds: number): void {
    pending -= 1
    const endpoint = endpointFor(request)
    const series = (endpoint.series[status] ??= requestSeries(endpoint.name, methodOf(request), statusClassOf(status)))
    series.observe(seconds)
    if (endpoint.isToken) grantSeries(grantTypeOf(request), statusClassOf(status)).observe(seconds)
  }

  /** `close` is emitted once for every response, even if the client has disconnected. */
  function onRequest(request: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
    pending += 1
    const elapsed = stopwatch()
    raw.on('close', () => end(request, raw.headersSent ? Math.floor(raw.statusCode / 100) : 0, elapsed() / 1000))
    done()
  }

  function onError(request: FastifyRequest, _reply: FastifyReply, error: unknown, done: () => void): void {
    if (error instanceof OAuthError) refusals.inc({ endpoint: endpointFor(request).name, error: error.error })
    done()
  }

  return http => {
    http.addHook('onRequest', onRequest)
    http.addHook('onError', onError)
  }
}

/** Routes are identified by their configuration object, which is unique per route. */
function endpointFinder(basePath: string): (request: FastifyRequest) => Endpoint {
  const endpoints = new WeakMap<object, Map<string, Endpoint>>()
  return request => {
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
}

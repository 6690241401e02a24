// Traces by the API of OpenTelemetry alone: operators bring the SDK and its exporter, and without one these spans are nothing.
// Spans hold no credentials, names or addresses of people. Loaded only where tracing is configured.
import { SpanKind, SpanStatusCode, context, isSpanContextValid, propagation, trace } from '@opentelemetry/api'
import type { Context, Span } from '@opentelemetry/api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { epochMilliseconds } from '../base/clock.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { UNKNOWN_ENDPOINT, endpointOf, grantTypeOf, issuesTokens, methodOf } from './endpoints.ts'
import type { Instrument } from './instrument.ts'

/** Makes spans of requests and database queries. */
export interface Tracing extends Instrument {
  readonly countQuery: (milliseconds: number) => void
  /** False if no SDK has registered itself, so that every span is lost. */
  readonly hasSdk: boolean
  /** The trace of a request. */
  readonly traceIdOf: (request: FastifyRequest) => string | undefined
}

/** The scheme of a database URL, as OpenTelemetry names the systems. */
const SYSTEMS: Readonly<Record<string, string>> = { sqlite: 'sqlite', postgres: 'postgresql', postgresql: 'postgresql' }

/** Uses the SDK that is registered when requests arrive. */
export function createTracing({
  basePath,
  version,
  database,
}: {
  readonly basePath: string
  readonly version: string
  /** The URL, of which only the scheme is used. */
  readonly database: string
}): Tracing {
  const tracer = trace.getTracer('latchkey', version)
  const contexts = new WeakMap<FastifyRequest, Context>()
  const system = SYSTEMS[database.split(':', 1).join('')] ?? 'other_sql'

  function onRequest(request: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
    const parent = propagation.extract(context.active(), request.headers)
    const attributes = { 'http.request.method': methodOf(request), 'url.scheme': request.protocol }
    const span = tracer.startSpan(methodOf(request), { kind: SpanKind.SERVER, attributes }, parent)
    const active = trace.setSpan(parent, span)
    contexts.set(request, active)
    raw.once('close', () => end(span, request, raw.headersSent ? raw.statusCode : undefined))
    context.with(active, done)
  }

  function end(span: Span, request: FastifyRequest, status: number | undefined): void {
    if (span.isRecording()) {
      const endpoint = endpointOf(request.routeOptions.url, basePath)
      if (endpoint !== UNKNOWN_ENDPOINT) {
        span.updateName(`${methodOf(request)} ${endpoint}`)
        span.setAttribute('http.route', endpoint)
      }
      // Undefined until it is resolved, whatever its type says.
      const zone = (request.zone as FastifyRequest['zone'] | undefined)?.id
      if (zone !== undefined) span.setAttribute('latchkey.zone', zone)
      if (issuesTokens(endpoint)) span.setAttribute('latchkey.grant_type', grantTypeOf(request))
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      if (status === undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end()
  }

  /** A body is read by callbacks of its connection, which have lost the context. */
  function afterBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
    context.with(contexts.get(request) ?? context.active(), done)
  }

  function onError(request: FastifyRequest, _reply: FastifyReply, error: unknown, done: () => void): void {
    const span = trace.getSpan(contexts.get(request) ?? context.active())
    span?.setAttribute(
      'error.type',
      error instanceof OAuthError ? error.error : error instanceof Error ? error.name : '',
    )
    done()
  }

  return {
    watch(http: FastifyInstance) {
      http.addHook('onRequest', onRequest)
      http.addHook('preValidation', afterBody)
      http.addHook('onError', onError)
    },
    counted: audit => audit,
    /** Only inside of a request: purges and health checks would each be a trace of their own. */
    countQuery(milliseconds) {
      if (!trace.getActiveSpan()?.isRecording()) return
      const endTime = epochMilliseconds()
      const attributes = { 'db.system.name': system }
      tracer
        .startSpan('database', { kind: SpanKind.CLIENT, attributes, startTime: endTime - milliseconds })
        .end(endTime)
    },
    get hasSdk() {
      const span = tracer.startSpan('start')
      span.end()
      return isSpanContextValid(span.spanContext())
    },
    traceIdOf(request) {
      const found = contexts.get(request)
      const spanContext = found && trace.getSpanContext(found)
      return spanContext && isSpanContextValid(spanContext) ? spanContext.traceId : undefined
    },
  }
}

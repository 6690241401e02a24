// Traces by the API of OpenTelemetry only: operators install the SDK and its exporter; without them the spans are no-ops.
// Spans hold no credentials, names or addresses of users. Loaded only where tracing is configured.
import { SpanKind, SpanStatusCode, context, isSpanContextValid, propagation, trace } from '@opentelemetry/api'
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { epochMilliseconds } from '../base/clock.ts'
import type { OutboundExchange } from '../base/outbound.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Signature } from '../model/tokens/signature.ts'
import { UNKNOWN_ENDPOINT, endpointOf, grantTypeOf, issuesTokens, methodOf } from './endpoints.ts'
import type { Instrument } from './instrument.ts'
import { zoneIfFound } from '../web/requests/request-context.ts'

/** Makes spans of requests, and of database queries, signatures and requests to others in them. */
export interface Tracing extends Instrument {
  readonly countQuery: (milliseconds: number) => void
  readonly countOutbound: (exchange: OutboundExchange) => void
  readonly countSignature: (signature: Signature) => void
  /** False if no SDK has registered itself, so that every span is lost. */
  readonly hasSdk: boolean
  readonly traceIdOf: (request: FastifyRequest) => string | undefined
}

/** The scheme of a database URL, as OpenTelemetry names the systems. */
const SYSTEMS: Readonly<Record<string, string>> = { sqlite: 'sqlite', postgres: 'postgresql', postgresql: 'postgresql' }

/** Uses the SDK that is registered when requests arrive. */
export function createTracing({
  scheme,
  basePath,
  version,
  database,
}: {
  /** From the base URL: proxies may pass on a header about it as the caller wrote it. */
  readonly scheme: string
  readonly basePath: string
  readonly version: string
  /** The URL, of which only the scheme is used. */
  readonly database: string
}): Tracing {
  const tracer = trace.getTracer('latchkey', version)
  const requests = createRequestSpans(tracer, { scheme, basePath })
  const system = SYSTEMS[database.split(':', 1).join('')] ?? 'other_sql'

  /** Adds a span for work that has just ended, as a child of the span of the request. */
  function addSpan(name: string, kind: SpanKind, { milliseconds, isFailed = false, ...attributes }: Ended): void {
    if (!isTraced()) return
    const endTime = epochMilliseconds()
    const span = tracer.startSpan(name, { kind, attributes, startTime: endTime - milliseconds })
    if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endTime)
  }

  return {
    watch: requests.watch,
    counted: audit => audit,
    countQuery: milliseconds => addSpan('database', SpanKind.CLIENT, { milliseconds, 'db.system.name': system }),
    /** The URL is not recorded: it may contain secrets. The trace is not propagated to other servers either. */
    countOutbound({ method, purpose, address, milliseconds, outcome }) {
      if (!isTraced()) return
      const isFailed = typeof outcome === 'string' || outcome >= 400
      addSpan(method, SpanKind.CLIENT, {
        milliseconds,
        isFailed,
        'http.request.method': method,
        ...serverAttributes(address),
        ...(typeof outcome === 'number' && { 'http.response.status_code': outcome }),
        ...(isFailed && { 'error.type': String(outcome) }),
        'latchkey.purpose': purpose,
      })
    },
    countSignature: ({ algorithm, place, milliseconds, isMade }) =>
      addSpan('sign', SpanKind.INTERNAL, {
        milliseconds,
        isFailed: !isMade,
        'latchkey.algorithm': algorithm,
        'latchkey.place': place,
      }),
    get hasSdk() {
      const span = tracer.startSpan('start')
      span.end()
      return isSpanContextValid(span.spanContext())
    },
    traceIdOf: requests.traceIdOf,
  }
}

/** Only inside of a request: purges and health checks would each be a trace of their own. */
const isTraced = (): boolean => trace.getActiveSpan()?.isRecording() === true

/** The span of each request, from its first hook until its connection is closed or free. */
function createRequestSpans(
  tracer: Tracer,
  { scheme, basePath }: { readonly scheme: string; readonly basePath: string },
): Pick<Tracing, 'watch' | 'traceIdOf'> {
  const contexts = new WeakMap<FastifyRequest, Context>()

  function onRequest(request: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
    const parent = propagation.extract(context.active(), request.headers)
    const attributes = { 'http.request.method': methodOf(request), 'url.scheme': scheme }
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
      const zone = zoneIfFound(request)?.id
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
    watch(http) {
      http.addHook('onRequest', onRequest)
      http.addHook('preValidation', afterBody)
      http.addHook('onError', onError)
    },
    traceIdOf(request) {
      const found = contexts.get(request)
      const spanContext = found && trace.getSpanContext(found)
      return spanContext && isSpanContextValid(spanContext) ? spanContext.traceId : undefined
    },
  }
}

interface Ended extends Attributes {
  readonly milliseconds: number
  readonly isFailed?: boolean
}

function serverAttributes(address: string): Attributes {
  if (!URL.canParse(address)) return {}
  const { hostname, port, protocol } = new URL(address)
  return { 'server.address': hostname, 'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

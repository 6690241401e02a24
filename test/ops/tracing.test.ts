// With an SDK as small as the API allows: it keeps spans, and follows them by AsyncLocalStorage.
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api'
import type { Context, Span, SpanOptions } from '@opentelemetry/api'
import fastify from 'fastify'
import { createOutbound } from '../../src/base/outbound.ts'
import { OAuthError } from '../../src/model/oauth-error.ts'
import { createTracing } from '../../src/ops/tracing.ts'
import { parseForm } from '../../src/web/requests/form.ts'

interface Seen {
  name: string
  readonly kind: SpanKind | undefined
  readonly id: string
  readonly trace: string
  readonly parent: string | undefined
  readonly attributes: Record<string, unknown>
  status?: SpanStatusCode
  ended: boolean
}

const seen: Seen[] = []
const storage = new AsyncLocalStorage<Context>()

function startSpan(name: string, options: SpanOptions = {}, from: Context = context.active()): Span {
  const parent = trace.getSpanContext(from)
  const id = String(seen.length + 1).padStart(16, '0')
  const one: Seen = {
    name,
    kind: options.kind,
    id,
    trace: parent?.traceId ?? id.padStart(32, 'a'),
    parent: parent?.spanId,
    attributes: { ...options.attributes },
    ended: false,
  }
  seen.push(one)
  const span = {
    spanContext: () => ({ traceId: one.trace, spanId: id, traceFlags: 1 }),
    isRecording: () => !one.ended,
    updateName: (given: string) => ((one.name = given), span),
    setAttribute: (key: string, value: unknown) => ((one.attributes[key] = value), span),
    setStatus: ({ code }: { code: SpanStatusCode }) => ((one.status = code), span),
    end: () => void (one.ended = true),
  }
  return span as unknown as Span
}

before(() => {
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan: () => assert.fail() }) as never })
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (given, work, self, ...args) => storage.run(given, () => work.apply(self, args)),
    bind: (_, target) => target,
    enable: () => assert.fail(),
    disable: () => assert.fail(),
  })
  propagation.setGlobalPropagator({
    inject: () => {},
    extract: (given, carrier) => {
      const [, traceId = '', spanId = ''] = ((carrier as Record<string, string>)['traceparent'] ?? '').split('-')
      return traceId === '' ? given : trace.setSpanContext(given, { traceId, spanId, traceFlags: 1, isRemote: true })
    },
    fields: () => ['traceparent'],
  })
})
after(() => {
  trace.disable()
  propagation.disable()
})

const config = { access: { by: 'anyone', because: 'it is a test' }, audience: 'api' } as const
const settle = () => new Promise(resolve => setImmediate(resolve))

/** The spans of a request. */
async function spansOf(request: object): Promise<readonly Seen[]> {
  seen.length = 0
  const tracing = createTracing({
    scheme: 'https',
    basePath: '/uaa',
    version: '1',
    database: 'postgres://user:secret@db.example/id',
  })
  const app = fastify({ trustProxy: true })
  app.decorateRequest('zone')
  tracing.watch(app)
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
    done(null, parseForm(String(body))),
  )
  app.get('/uaa/Users/:id', { config }, async incoming => {
    incoming.zone = { id: 'zone-1' } as typeof incoming.zone
    await settle()
    tracing.countQuery(2)
    return tracing.traceIdOf(incoming)
  })
  app.post('/uaa/oauth/token', { config }, async () => {
    await settle()
    tracing.countQuery(1)
    throw new OAuthError('invalid_grant', 'no')
  })
  app.get('/uaa/broken', { config }, () => Promise.reject(new TypeError('secret detail')))
  await app.inject(request)
  await settle()
  await app.close()
  tracing.countQuery(1)
  return [...seen]
}

describe('Traces', () => {
  it('have a span for a request within its caller’s trace, and one for each query', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'x-forwarded-proto': 'as the caller says' }
    const [request, query, ...others] = await spansOf({ url: '/uaa/Users/u-1?filter=secret', headers })
    assert.deepEqual(others, [])
    assert.deepEqual(request, {
      name: 'GET /Users/:id',
      kind: SpanKind.SERVER,
      id: '0000000000000001',
      trace: traceId,
      parent: '00f067aa0ba902b7',
      attributes: {
        'http.request.method': 'GET',
        'url.scheme': 'https',
        'http.route': '/Users/:id',
        'latchkey.zone': 'zone-1',
        'http.response.status_code': 200,
      },
      ended: true,
    })
    assert.deepEqual(
      { name: query?.name, kind: query?.kind, trace: query?.trace, parent: query?.parent, ...query?.attributes },
      { name: 'database', kind: SpanKind.CLIENT, trace: traceId, parent: request?.id, 'db.system.name': 'postgresql' },
    )
  })

  it('have the grant type and error of a token request', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const payload = 'grant_type=refresh_token&refresh_token=secret'
    const [request, query] = await spansOf({ method: 'POST', url: '/uaa/oauth/token', headers, payload })
    assert.equal(request?.attributes['latchkey.grant_type'], 'refresh_token')
    assert.equal(request.attributes['error.type'], 'invalid_grant')
    assert.equal(request.attributes['http.response.status_code'], 400)
    assert.equal(request.status, undefined, 'a rejection is not a server error')
    assert.equal(query?.parent, request.id)
    assert.equal(JSON.stringify(seen).includes('secret'), false)
  })

  it('have spans of signatures and outbound requests, which do not propagate the trace', async () => {
    const received: IncomingHttpHeaders[] = []
    const server = createServer(({ headers }, response) => {
      received.push(headers)
      response.writeHead(received.length === 1 ? 200 : 503).end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // no pipe
    seen.length = 0
    const tracing = createTracing({ scheme: 'https', basePath: '', version: '1', database: 'sqlite:x' })
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, onExchange: tracing.countOutbound })
    const app = fastify()
    app.decorateRequest('zone')
    tracing.watch(app)
    app.get('/Users', { config }, async () => {
      tracing.countSignature({ algorithm: 'ES256', place: 'main', milliseconds: 0.1, isMade: true })
      await outbound.for('provider').fetch(`http://127.0.0.1:${port}/token?code=secret`, { method: 'POST', body: '' })
      await outbound.for('jwks').fetch(`http://127.0.0.1:${port}/keys`)
      await assert.rejects(outbound.fetch('https://secret.example:99999/'))
      return 'done'
    })
    await app.inject('/Users')
    await settle()
    await outbound.fetch(`http://127.0.0.1:${port}/`) // outside of a request
    const [request, ...others] = seen.map(span => ({ ...span }))
    const address = { 'server.address': '127.0.0.1', 'server.port': port }
    assert.deepEqual(
      others.map(({ name, kind, status, attributes }) => ({ name, kind, status, ...attributes })),
      [
        {
          name: 'sign',
          kind: SpanKind.INTERNAL,
          status: undefined,
          'latchkey.algorithm': 'ES256',
          'latchkey.place': 'main',
        },
        {
          name: 'POST',
          kind: SpanKind.CLIENT,
          status: undefined,
          'http.request.method': 'POST',
          ...address,
          'http.response.status_code': 200,
          'latchkey.purpose': 'provider',
        },
        {
          name: 'GET',
          kind: SpanKind.CLIENT,
          status: SpanStatusCode.ERROR,
          'http.request.method': 'GET',
          ...address,
          'http.response.status_code': 503,
          'error.type': '503',
          'latchkey.purpose': 'jwks',
        },
        {
          name: 'GET',
          kind: SpanKind.CLIENT,
          status: SpanStatusCode.ERROR,
          'http.request.method': 'GET',
          'error.type': 'forbidden',
          'latchkey.purpose': 'other',
        },
      ],
    )
    assert.deepEqual(new Set(others.map(({ parent }) => parent)), new Set([request?.id]))
    assert.ok(received.every(headers => !('traceparent' in headers)))
    assert.equal(JSON.stringify(seen).includes('secret'), false)
    await app.close()
    server.closeAllConnections()
    server.close()
  })

  it('mark server errors, without the error message', async () => {
    const [request] = await spansOf({ url: '/uaa/broken' })
    assert.equal(request?.status, SpanStatusCode.ERROR)
    assert.equal(request.attributes['error.type'], 'TypeError')
    assert.equal(JSON.stringify(seen).includes('secret'), false)
  })

  it('have no path without a route', async () => {
    const [request] = await spansOf({ url: '/secret/path' })
    assert.equal(request?.name, 'GET')
    assert.equal('http.route' in request.attributes, false)
  })

  it('detect whether an SDK is registered', () => {
    const settings = { scheme: 'https', basePath: '', version: '1', database: 'sqlite::memory:' }
    assert.equal(createTracing(settings).hasSdk, true)
    trace.disable()
    assert.equal(createTracing(settings).hasSdk, false)
  })
})

// Adds the id, zone and trace of the current request to the lines of the log. Loaded only where it is
// configured.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stopwatch } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { addressOf, zoneIfFound } from '../web/requests/request-context.ts'
import { createProxyTrust } from '../web/requests/trusted-proxies.ts'
import { endpointOf, methodOf } from './endpoints.ts'
import type { Instrument } from './instrument.ts'

/** The fields of a line that identify its request. */
interface RequestFacts {
  readonly request_id: string
  /** The id of the zone; absent before it is known, and for requests that belong to none. */
  readonly zone?: string
  /** W3C Trace Context. */
  readonly trace_id?: string
}

/** One answered request, for the log of requests. */
export interface AnsweredRequest {
  readonly method: string
  /** The pattern of its route: a path may hold codes. */
  readonly endpoint: string
  /** 0: the caller disconnected before the response. */
  readonly status: number
  readonly milliseconds: number
  readonly address: string
}

/** Finds the request for which the current code runs. */
export interface RequestLog extends Pick<Instrument, 'watch'> {
  current(): RequestFacts | undefined
}

/** Other values may be long, or mislead a log parser that expects an id. */
const REQUEST_ID = /^[\w.:-]{1,64}$/
/** https://www.w3.org/TR/trace-context/#traceparent-header: version, trace, parent, flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/
const ID_LENGTH = 10

interface Entry {
  readonly request: FastifyRequest
  readonly id: string
  readonly traceId: string | undefined
  /** Kept once it has the zone. */
  facts?: RequestFacts
}

/** `onAnswer` is called for every answered request, inside of its context. */
export function createRequestLog({
  random,
  trustedProxies,
  basePath,
  traceIdOf,
  onAnswer,
}: {
  readonly random: Random
  readonly trustedProxies: readonly string[]
  readonly basePath: string
  /** Finds the trace that this server has started or joined. */
  readonly traceIdOf?: ((request: FastifyRequest) => string | undefined) | undefined
  readonly onAnswer?: ((answered: AnsweredRequest) => void) | undefined
}): RequestLog {
  const storage = new AsyncLocalStorage<Entry>()
  const entries = new WeakMap<FastifyRequest, Entry>()
  const isTrusted = createProxyTrust(trustedProxies)
  const process = random.alphanumeric(ID_LENGTH) // no hyphen first, which a command would take for an option
  let count = 0

  /** The id that a trusted proxy sent, so that other callers cannot make two requests look like one. */
  function idOf({ raw: { headers, socket } }: FastifyRequest): string {
    const given = headers['x-request-id']
    if (typeof given === 'string' && REQUEST_ID.test(given) && isTrusted(socket.remoteAddress)) return given
    count += 1
    return `${process}-${count.toString(36)}`
  }

  function onRequest(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const entry: Entry = { request, id: idOf(request), traceId: traceIdOf?.(request) ?? givenTraceId(request) }
    entries.set(request, entry)
    reply.header('x-request-id', entry.id)
    if (onAnswer) reportAnswer(entry, reply, onAnswer)
    storage.run(entry, done)
  }

  function reportAnswer(entry: Entry, { raw }: FastifyReply, report: (answered: AnsweredRequest) => void): void {
    const elapsed = stopwatch()
    raw.once('close', () => {
      const { request } = entry
      const answered = {
        method: methodOf(request),
        endpoint: endpointOf(request.routeOptions.url, basePath),
        status: raw.headersSent ? raw.statusCode : 0,
        milliseconds: Math.round(elapsed() * 10) / 10,
        address: addressOf(request),
      }
      storage.run(entry, () => report(answered))
    })
  }

  /** A body is read by callbacks of its connection, which have lost the context. */
  function afterBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
    const entry = entries.get(request)
    if (entry) storage.run(entry, done)
    else done()
  }

  return {
    watch(http: FastifyInstance) {
      http.addHook('onRequest', onRequest)
      http.addHook('preValidation', afterBody)
    },
    current() {
      const entry = storage.getStore()
      return entry && factsOf(entry)
    },
  }
}

function factsOf(entry: Entry): RequestFacts {
  const { facts, request, id, traceId } = entry
  if (facts) return facts
  const zone = zoneIfFound(request)?.id
  const found = {
    request_id: id,
    ...(zone !== undefined && { zone }),
    ...(traceId !== undefined && { trace_id: traceId }),
  }
  if (zone !== undefined) entry.facts = found
  return found
}

/** The trace that the caller takes part in. */
export function givenTraceId({ headers: { traceparent } }: FastifyRequest): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined
}

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { TlsFiles } from '../base/certificates/tls-files.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Urls } from '../model/urls.ts'
import { acceptBodies } from './requests/bodies.ts'
import { answerBrokenRequest } from './requests/broken-request.ts'
import { hasUnclearEnd } from './requests/host.ts'
import { sendAsciiLocation, sendPlainJson } from './headers.ts'
import { parseQuery } from './requests/query.ts'
import { createProxyTrust } from './requests/trusted-proxies.ts'
import { resourceMetadataOf } from './callers/resource-metadata-url.ts'
import { createPrefixRemover, withoutTrailingSlash } from './zones/zone.ts'

const BODY_LIMIT = 64 * 1024
// No route has a Fastify schema. Without this the compilers for them are loaded at every start: 50 ms and 4 MB.
const NO_COMPILERS = { buildValidator: refuseSchema, buildSerializer: refuseSchema }

// Cut off slow-loris clients after 10 s: Node's own limit is a minute, checked every 30 s.
const CONNECTIONS = { headersTimeout: 10_000, connectionsCheckingInterval: 2000 }

/**
 * Responses of one connection that may wait for the one before. Browsers and libraries send one request after the other; what a
 * caller sends at once and does not read the answers to is kept in memory.
 */
const MAX_QUEUED = 7
/**
 * A connection ends if the caller reads nothing of a response for this long, or at first for twice as long: Node.js compares what
 * is left when the time is up. Over TLS it only sees that a whole write is complete, so one that takes longer is cut off.
 */
const UNREAD_MS = 30_000
/** Characters that the operating system takes over, whether or not the caller reads them. */
const MAX_UNTIMED = 4096

/** Options of `node:tls`. A caller's certificate is only requested here: the code that uses it decides on access. */
interface ServerTls {
  readonly cert: string
  readonly key: string
  readonly minVersion: 'TLSv1.2'
  readonly ciphers: string
  readonly requestCert: boolean
}

/** Read again here: the files may have changed since the configuration was checked. */
export async function serverTls(files: TlsFiles & { readonly asksForCertificates: boolean }): Promise<ServerTls> {
  const { readTls } = await import('../base/certificates/tls-files.ts')
  const read = readTls(files)
  if (read.problem !== undefined) throw new Error(`${files[read.of]} ${read.problem}`)
  return { ...read.context, requestCert: files.asksForCertificates }
}

interface RouterOptions {
  readonly behaviour: Behaviour
  readonly urls: Urls
  readonly trustedProxies: readonly string[]
  /** Answers errors outside of any route. */
  readonly onFrameworkError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

/** The HTTP server with its limits, without routes, and without other hooks than those of connections and of all responses. */
export function createHttpServer({
  tls,
  handOver,
  ...options
}: RouterOptions & {
  /** Absent: plain HTTP. */
  readonly tls?: ServerTls | undefined
  /** Hook for what has no route here. */
  readonly handOver?: onRequestHookHandler
}): FastifyInstance {
  const { behaviour, urls } = options
  const withoutPrefix = createPrefixRemover(urls)
  const http: FastifyInstance = fastify({
    ...commonOptions(options),
    requestTimeout: 30_000,
    // The casts: Fastify's types take the options of one kind of server, a record as the query, and requests of that server.
    ...(tls
      ? { https: { ...tls, ...CONNECTIONS, handshakeTimeout: 10_000, rejectUnauthorized: false } as never }
      : { http: CONNECTIONS }),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    rewriteUrl: behaviour.exactPaths ? withoutPrefix : raw => withoutTrailingSlash(withoutPrefix(raw), urls),
    clientErrorHandler: answerBrokenRequest,
  })
  // What is written before the handshake is complete waits for that, and so would the connection, for ever.
  if (tls) http.server.on('tlsClientError', (_error, socket: Socket) => socket.destroy())
  if (tls) http.server.on('secureConnection', parseWhatWasRead)
  prepare(http, options)
  http.addHook('onRequest', createConnectionGuard())
  if (handOver) http.addHook('onRequest', handOver)
  return http
}

/** Routes requests that the server has received and rewritten, and hands over. Does not listen. */
export function createInnerRouter(options: RouterOptions): FastifyInstance {
  const router: FastifyInstance = fastify(commonOptions(options))
  prepare(router, options)
  return router
}

function commonOptions({ trustedProxies, onFrameworkError }: RouterOptions) {
  return {
    bodyLimit: BODY_LIMIT,
    schemaController: { compilersFactory: NO_COMPILERS },
    exposeHeadRoutes: false, // watchRoutes adds HEAD to routes of GET
    // Only these proxies may name the caller's address: see docs/decisions/0015-caller-addresses.md.
    trustProxy: trustedProxies.length > 0 ? createProxyTrust(trustedProxies) : false,
    routerOptions: { querystringParser: (text: string) => parseQuery(text) as never, maxParamLength: 256 },
    frameworkErrors: (error: unknown, request: unknown, reply: unknown) =>
      void onFrameworkError(error, request as FastifyRequest, reply as FastifyReply),
  }
}

function prepare(http: FastifyInstance, { behaviour, urls }: RouterOptions): void {
  http
    .decorateRequest('zone')
    .decorateRequest('audience')
    .decorateRequest('encodedBasic')
    .decorateRequest('clientCertificate')
    .decorateRequest('bearer')
    .decorateRequest('visit')
    .decorateRequest('user')
    .decorateRequest('waiting')
  http.decorateRequest('visitLoaded', false)
  http.decorateRequest('usesDpop', false)
  http.decorateRequest('bearerSpaceOptional', !behaviour.spaceAfterBearer)
  http.decorateRequest('resourceMetadata', {
    getter() {
      return resourceMetadataOf(this, { urls, behaviour })
    },
  })
  http.addHook('onRequest', dropClosedConnection)
  acceptBodies(http, behaviour)
  http.addHook('onSend', sendPlainJson)
  http.addHook('onSend', sendAsciiLocation)
  http.addHook('onSend', endUnread)
}

/**
 * While a response over 64 KiB is still being sent, Node.js pauses socket and parser at the next request. But a paused TLS socket
 * still hands over the records that it has read, and the parser refuses them: a body in another record than its headers, as many
 * clients and proxies send it, would be an error. The pause of the socket is enough; the number of requests is limited below.
 */
function parseWhatWasRead(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser')
  if (parser instanceof Object) Reflect.set(parser, 'pause', () => {})
}

/**
 * The first hook: drops a request whose connection was reset meanwhile. Its address is no longer known, so it would count against
 * no limit and appear without origin in the audit trail. An address that was read before stays known.
 */
function dropClosedConnection({ raw }: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (raw.socket.remoteAddress !== undefined) return done()
  reply.hijack()
  raw.socket.destroy()
}

/**
 * Only for what the network may not take at once: a timer for every response costs throughput. Node.js sets another limit once the
 * response was sent.
 */
function endUnread({ raw }: FastifyRequest, { raw: response }: FastifyReply, payload: unknown, done: () => void): void {
  const fits = typeof payload === 'string' && payload.length < MAX_UNTIMED
  if ((!fits || isQueued(response)) && 'setTimeout' in raw.socket) raw.socket.setTimeout(UNREAD_MS) // none where it is injected
  done()
}

/** Whether the caller sent the request before it got the answers to earlier ones. */
const isQueued = (response: ServerResponse): boolean => response.socket === null

/**
 * Closes the connection after too many requests that are not answered yet, and after one whose end is uncertain, because the
 * following bytes may begin in the middle of a request; they are not read. The latter applies to requests to upgrade, answered
 * like any other (RFC 9110 §7.8), because Node.js loses the bytes that it received together with them, and to requests with a
 * transfer coding that is not understood (RFC 9112 §6.1), which requests/host.ts refuses.
 */
function createConnectionGuard() {
  const closing = new WeakSet<object>()
  const queued = new WeakMap<object, number>()

  /** How many responses of the connection wait for the one before, with this one. */
  function enqueue(socket: object, response: ServerResponse): number {
    const count = (queued.get(socket) ?? 0) + 1
    queued.set(socket, count)
    response.once('close', () => queued.set(socket, (queued.get(socket) ?? 1) - 1))
    return count
  }

  return ({ raw }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { socket } = raw
    if (closing.has(socket)) {
      reply.hijack() // the connection ends with the response before
      return
    }
    const isTooMany = isQueued(reply.raw) && enqueue(socket, reply.raw) >= MAX_QUEUED
    const isUpgrade = raw.headers.upgrade !== undefined && /\bupgrade\b/i.test(raw.headers.connection ?? '')
    if (isUpgrade || hasUnclearEnd(raw) || isTooMany) {
      closing.add(socket)
      reply.raw.setHeader('connection', 'close') // stays when the request is handed over
    }
    done()
  }
}

function refuseSchema(): never {
  throw new Error('routes take no Fastify schemas: bodies are parsed where they are read')
}

import fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TlsFiles } from '../base/certificates/tls-files.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Urls } from '../model/urls.ts'
import { acceptBodies } from './requests/bodies.ts'
import { answerBrokenRequest } from './requests/broken-request.ts'
import { hasUnclearEnd } from './requests/host.ts'
import { sendPlainJson } from './headers.ts'
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
 * Requests of one connection that are answered at a time. Browsers and libraries send one after the other; what a caller sends at
 * once and does not read the answers to is kept in memory.
 */
const MAX_PIPELINED = 8
/** A connection ends if the caller reads nothing of a response for this long. */
const UNREAD_MS = 30_000

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

/** The HTTP server with its limits, without hooks and routes. `onFrameworkError` answers errors outside of any route. */
export function createHttpServer({
  behaviour,
  urls,
  trustedProxies,
  tls,
  onFrameworkError,
}: {
  readonly behaviour: Behaviour
  readonly urls: Urls
  readonly trustedProxies: readonly string[]
  /** Absent: plain HTTP. */
  readonly tls?: ServerTls | undefined
  readonly onFrameworkError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<void>
}): FastifyInstance {
  const withoutPrefix = createPrefixRemover(urls)
  const http: FastifyInstance = fastify({
    bodyLimit: BODY_LIMIT,
    schemaController: { compilersFactory: NO_COMPILERS },
    requestTimeout: 30_000,
    ...(tls
      ? { https: { ...tls, ...CONNECTIONS, handshakeTimeout: 10_000, rejectUnauthorized: false } as never }
      : { http: CONNECTIONS }),
    return503OnClosing: false,
    exposeHeadRoutes: false, // watchRoutes adds HEAD to routes of GET
    forceCloseConnections: 'idle',
    rewriteUrl: behaviour.exactPaths ? withoutPrefix : raw => withoutTrailingSlash(withoutPrefix(raw), urls),
    // Only these proxies may name the caller's address: see docs/decisions/0015-caller-addresses.md.
    trustProxy: trustedProxies.length > 0 ? createProxyTrust(trustedProxies) : false,
    routerOptions: { querystringParser: text => parseQuery(text) as never, maxParamLength: 256 },
    frameworkErrors: (error, request, reply) =>
      void onFrameworkError(error, request as FastifyRequest, reply as FastifyReply),
    clientErrorHandler: answerBrokenRequest,
  })
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
  http.addHook('onRequest', createConnectionGuard())
  acceptBodies(http, behaviour)
  http.addHook('onSend', sendPlainJson)
  http.addHook('onSend', endUnread)
  return http
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

/** Node.js sets another limit once the response was sent. */
function endUnread({ raw: { socket } }: FastifyRequest, _reply: unknown, _payload: unknown, done: () => void): void {
  if ('setTimeout' in socket) socket.setTimeout(UNREAD_MS) // a request without a connection has none
  done()
}

/**
 * Closes the connection after too many requests that are not answered yet, and after one whose end is uncertain, because the
 * following bytes may begin in the middle of a request; they are not read. The latter applies to requests to upgrade, answered
 * like any other (RFC 9110 §7.8), because Node.js loses the bytes that it received together with them, and to HTTP/1.0 requests
 * with a transfer coding (RFC 9112 §6.1), which host.ts refuses.
 */
function createConnectionGuard() {
  const closing = new WeakSet<object>()
  const unanswered = new WeakMap<object, number>()
  return ({ raw }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { socket } = raw
    if (closing.has(socket)) {
      reply.hijack() // the connection ends with the response before
      return
    }
    const count = (unanswered.get(socket) ?? 0) + 1
    unanswered.set(socket, count)
    reply.raw.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
    const isUpgrade = raw.headers.upgrade !== undefined && /\bupgrade\b/i.test(raw.headers.connection ?? '')
    if (isUpgrade || hasUnclearEnd(raw) || count >= MAX_PIPELINED) {
      closing.add(socket)
      reply.header('connection', 'close')
    }
    done()
  }
}

function refuseSchema(): never {
  throw new Error('routes take no Fastify schemas: bodies are parsed where they are read')
}

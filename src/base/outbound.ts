// All requests to URLs that others configure: key documents, metadata, token endpoints of providers. Owns which addresses
// may be reached and how much a response may cost; does not know what is requested. A name is resolved once, every
// address is checked, and the connection goes to exactly those. See docs/decisions/0013-outbound-requests.md.
import { lookup } from 'node:dns/promises'
import type { Socket } from 'node:net'
import { connect, isIP } from 'node:net'
import { stopwatch } from './clock.ts'
import { isLoopbackHost } from './loopback.ts'
import { addressKind } from './network-address.ts'
import { OutboundError } from './outbound-error.ts'
import type { OutboundFailure } from './outbound-error.ts'
import { exchange, lookupOf, readAnswer } from './outbound-http.ts'
import type { OutboundRequest } from './outbound-http.ts'
import { createOutboundSlots } from './outbound-slots.ts'

export { OutboundError } from './outbound-error.ts'
export type { OutboundFailure } from './outbound-error.ts'
export type { OutboundRequest } from './outbound-http.ts'

/** A request counted against a share; by default the server's own. */
interface SharedRequest extends OutboundRequest {
  readonly share?: OutboundShare
}

/** A JSON response with its headers, which say how long it may be cached. */
interface OutboundJson {
  readonly value: unknown
  readonly headers: Headers
}

/** The share of concurrent requests that a request counts against. */
export interface OutboundShare {
  /** The zone whose configuration names the address. */
  readonly zoneId: string
  /** The origin of the identity provider that is asked, so that it leaves connections to the others of the zone. */
  readonly provider?: string
  /** `sign-in`: a user waits for the result; `directory`: for that of a directory. Each has slots of its own. */
  readonly purpose: 'sign-in' | 'directory' | 'background'
}

/** A server of a protocol other than HTTP. */
interface OutboundServer {
  /** A name or a literal address, as `URL` gives it. */
  readonly hostname: string
  readonly port: number
  /** Timeout for everything, if less than the default of five seconds. */
  readonly withinMs?: number
  readonly share?: OutboundShare
}

/** Opens a connection to one of the checked addresses. */
export type OpenConnection = () => Promise<Socket>

/**
 * Leaves a connection of a talk open after its end; false if too many are kept, and then it ends like the others. The
 * caller that keeps it limits its time and closes it.
 */
export type KeepConnection = (socket: Socket) => boolean

/** Sends requests to other servers; every failure is an `OutboundError`. */
export interface Outbound {
  /** The complete response, with any status; a redirect is a failure. */
  fetch(address: string, request?: SharedRequest): Promise<Response>
  /** The JSON of a response with status 200; any other status is a failure. */
  getJson(address: string, share?: OutboundShare): Promise<OutboundJson>
}

/** Opens connections for other protocols, with the same address checks and limits. */
export interface OutboundConnections {
  /**
   * Lets `talk` open connections to one server; they are closed when it ends or the timeout expires, unless it keeps one. Adds
   * no encryption and does not limit the data received. Errors of `talk` are passed on; every other failure is an `OutboundError`.
   */
  connect<T>(server: OutboundServer, talk: (open: OpenConnection, keep: KeepConnection) => Promise<T>): Promise<T>
}

/** The purpose of a request: a small, fixed set, so that it can be a label of metrics and traces. */
type OutboundPurpose =
  | 'provider' // sign-in elsewhere: discovery, token and userinfo endpoints, SAML metadata
  | 'jwks' // of clients and providers
  | 'request_uri'
  | 'client_metadata' // metadata documents and sector identifiers of clients
  | 'logout'
  | 'webhook'
  | 'other'

/** A request that has ended. */
export interface OutboundExchange {
  readonly purpose: OutboundPurpose
  readonly method: 'GET' | 'POST'
  /** As asked for, which may be no URL. */
  readonly address: string
  readonly milliseconds: number
  /** The status of the answer, or why there is none. */
  readonly outcome: number | OutboundFailure | 'fault'
}

/** The client by what its requests are for. */
export interface OutboundByPurpose {
  for(purpose: OutboundPurpose): Outbound & OutboundConnections
}

/** Resolves a host name to all its addresses. */
type Resolver = (hostname: string) => Promise<readonly string[]>

/** Limits of outbound requests; tests replace the resolver and the deadline. */
export interface OutboundOptions {
  /** Whether private networks and loopback may be reached. */
  readonly allowPrivate: boolean
  /** Whether loopback may be reached, also without https under a loopback name. */
  readonly allowLoopback: boolean
  readonly resolve?: Resolver
  /** A signal that aborts after this many milliseconds. */
  readonly deadline?: (milliseconds: number) => AbortSignal
  /** Called after each request; absent if they are not measured. */
  readonly onExchange?: ((exchange: OutboundExchange) => void) | undefined
}

/** From the DNS query to the last byte. */
const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * 1024
/** For requests of the server itself. */
const OWN_SHARE: OutboundShare = { zoneId: '', purpose: 'background' }

/** RFC 6761 §6.3: loopback names are not looked up, since not every resolver knows names below `localhost`. */
const systemResolver: Resolver = async hostname =>
  isLoopbackHost(hostname)
    ? ['127.0.0.1', '::1']
    : (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Makes the client; all its requests share one set of concurrency limits. */
export function createOutbound(options: OutboundOptions): Outbound & OutboundConnections & OutboundByPurpose {
  const {
    allowPrivate,
    resolve = systemResolver,
    deadline = milliseconds => AbortSignal.timeout(milliseconds),
    onExchange,
  } = options
  const allowLoopback = options.allowLoopback || allowPrivate
  const takeSlot = createOutboundSlots()

  function checkUrl(address: string): URL {
    const url = URL.canParse(address) ? new URL(address) : undefined
    if (!url) throw new OutboundError('forbidden', 'the address is no URL')
    const isPlain = url.protocol === 'http:' && allowLoopback && isLoopbackHost(url.hostname)
    if (url.protocol !== 'https:' && !isPlain) {
      throw new OutboundError('forbidden', `${url.origin}: only https is allowed`)
    }
    if (url.username !== '' || url.password !== '') {
      throw new OutboundError('forbidden', `${url.origin}: the address holds credentials`)
    }
    return url
  }

  /** Resolves the host; throws if any of its addresses is not allowed. */
  async function allowedAddresses({ hostname, label, onlyLoopback }: Target): Promise<readonly string[]> {
    const literal = hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(literal) === 0 ? await resolve(hostname) : [literal]
    if (addresses.length === 0) throw new OutboundError('unreachable', `${label}: the name has no address`)
    for (const address of addresses) {
      const kind = addressKind(address)
      const isAllowed =
        kind === 'loopback'
          ? allowLoopback
          : !onlyLoopback && (kind === 'public' || (kind === 'private' && allowPrivate))
      if (!isAllowed) throw new OutboundError('forbidden', `${label}: leads to an address that is not allowed`)
    }
    return addresses
  }

  async function send(address: string, request: SharedRequest): Promise<Response> {
    const url = checkUrl(address)
    const { hostname, origin: label } = url
    const leave = takeSlot(url.host, label, request.share ?? OWN_SHARE)
    const signal = deadline(TIMEOUT_MS)
    try {
      const addresses = await untilAborted(
        allowedAddresses({ hostname, label, onlyLoopback: url.protocol !== 'https:' }),
        signal,
      )
      const incoming = await exchange(url, { request, addresses, signal })
      return await readAnswer(url, incoming, request.maxBytes ?? MAX_BYTES)
    } catch (cause) {
      if (cause instanceof OutboundError) throw cause
      if (signal.aborted) throw new OutboundError('timeout', `${url.origin}: no complete answer in time`)
      throw new OutboundError('unreachable', `${url.origin}: cannot be reached (${codeOf(cause)})`)
    } finally {
      leave()
    }
  }

  async function sendMeasured(address: string, request: SharedRequest, purpose: OutboundPurpose): Promise<Response> {
    if (!onExchange) return send(address, request)
    const elapsed = stopwatch()
    let outcome: OutboundExchange['outcome'] = 'fault'
    try {
      const response = await send(address, request)
      outcome = response.status
      return response
    } catch (error) {
      if (error instanceof OutboundError) outcome = error.failure
      throw error
    } finally {
      onExchange({ purpose, method: request.method ?? 'GET', address, milliseconds: elapsed(), outcome })
    }
  }

  async function withConnections<T>(
    { hostname, port, withinMs = TIMEOUT_MS, share = OWN_SHARE }: OutboundServer,
    talk: (open: OpenConnection, keep: KeepConnection) => Promise<T>,
  ): Promise<T> {
    const label = `${hostname}:${port}`
    const leave = takeSlot(label, label, share)
    const signal = deadline(Math.min(withinMs, TIMEOUT_MS))
    const unreachable = (cause: unknown): never => {
      if (cause instanceof OutboundError) throw cause
      throw new OutboundError('unreachable', `${label}: cannot be reached (${codeOf(cause)})`)
    }
    const sockets = new Set<Socket>()
    let isOver = false
    try {
      const judged = allowedAddresses({ hostname, label, onlyLoopback: false }).catch(unreachable)
      const lookup = lookupOf(await untilAborted(judged, signal))
      const open: OpenConnection = async () => {
        if (isOver) throw new OutboundError('timeout', `${label}: the time is up`)
        const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port, lookup })
        sockets.add(socket)
        await new Promise<void>((connected, failed) => {
          socket.once('connect', connected).once('error', failed)
          socket.once('close', () => failed(new Error('closed'))) // ended by the deadline
        }).catch(unreachable)
        socket.on('error', () => {}) // the reader notices the close
        return socket
      }
      const keep: KeepConnection = socket => {
        if (isOver || socket.destroyed || !sockets.has(socket)) return false
        try {
          socket.once('close', takeSlot(label, label, { zoneId: share.zoneId, purpose: 'kept' }))
        } catch (cause) {
          if (cause instanceof OutboundError) return false
          throw cause
        }
        return sockets.delete(socket)
      }
      return await untilAborted(talk(open, keep), signal)
    } catch (cause) {
      if (signal.aborted) throw new OutboundError('timeout', `${label}: no complete answer in time`)
      throw cause
    } finally {
      isOver = true
      for (const socket of sockets) socket.destroy()
      leave()
    }
  }

  const clientFor = (purpose: OutboundPurpose): Outbound & OutboundConnections => ({
    fetch: (address, request = {}) => sendMeasured(address, request, purpose),
    connect: withConnections,
    async getJson(address, share = OWN_SHARE) {
      const headers = { accept: 'application/json, application/jwk-set+json' }
      const response = await sendMeasured(address, { headers, share }, purpose)
      const { origin } = new URL(address)
      if (response.status !== 200) throw new OutboundError('bad-answer', `${origin}: answered ${response.status}`)
      try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())
        return { value: JSON.parse(text), headers: response.headers }
      } catch {
        throw new OutboundError('bad-answer', `${origin}: the answer is no JSON`) // do not repeat foreign content
      }
    },
  })
  return { ...clientFor('other'), for: clientFor }
}

interface Target {
  readonly hostname: string
  /** Its name in error messages. */
  readonly label: string
  readonly onlyLoopback: boolean
}

/** Rejects when the signal aborts; a DNS query itself cannot be cancelled. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(new Error('aborted'))
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}

/** Node's error code; its message might repeat what was sent. */
function codeOf(cause: unknown): string {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' ? code : 'no code'
}

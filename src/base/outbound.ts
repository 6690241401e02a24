// The only way out to addresses that somebody else names: key documents, metadata, other people's token endpoints. Owns
// where a request may go and how much an answer may cost; refuses to know what is asked. A name is resolved once, every
// address it has is judged, and the connection is made to exactly those. See docs/decisions/0013-outbound-requests.md.
import { lookup } from 'node:dns/promises'
import type { Socket } from 'node:net'
import { connect, isIP } from 'node:net'
import { isLoopbackHost } from './loopback.ts'
import { addressKind } from './network-address.ts'
import { OutboundError } from './outbound-error.ts'
import { exchange, lookupOf, readAnswer } from './outbound-http.ts'
import type { OutboundRequest } from './outbound-http.ts'

export { OutboundError } from './outbound-error.ts'
export type { OutboundFailure } from './outbound-error.ts'
export type { OutboundRequest } from './outbound-http.ts'

/** A request in somebody's share; without one it is the server's own. */
export interface SharedRequest extends OutboundRequest {
  readonly share?: OutboundShare
}

/** JSON that somebody else answered, with the headers that say how long it is good. */
export interface OutboundJson {
  readonly value: unknown
  readonly headers: Headers
}

/** Whose share of the requests under way one is. */
export interface OutboundShare {
  /** The zone whose records name the address. */
  readonly zoneId: string
  /** `sign-in`: a person has come back from a provider and waits. These have places of their own. */
  readonly purpose: 'sign-in' | 'background'
}

/** A server that speaks another protocol than HTTP. */
export interface OutboundServer {
  /** A name or a literal address, as `URL` gives it. */
  readonly hostname: string
  readonly port: number
  /** How long everything may take, where that is less than the usual five seconds. */
  readonly withinMs?: number
  readonly share?: OutboundShare
}

/** Opens a connection to one of the addresses that were judged. */
export type OpenConnection = () => Promise<Socket>

/** Makes requests to addresses that are not ours; every failure is an `OutboundError`. */
export interface Outbound {
  /** The answer, read to its end, whatever its status; a redirect is a failure. */
  fetch(address: string, request?: SharedRequest): Promise<Response>
  /** The JSON of an answer with status 200. */
  getJson(address: string, share?: OutboundShare): Promise<OutboundJson>
}

/** Makes connections for other protocols, under the same rule and within the same bounds. */
export interface OutboundConnections {
  /**
   * Lets `talk` open connections to one server; they end with it, or when the time is up. Nothing is encrypted here, and
   * what comes back is not limited. What `talk` throws is passed on; every other failure is an `OutboundError`.
   */
  connect<T>(server: OutboundServer, talk: (open: OpenConnection) => Promise<T>): Promise<T>
}

/** Gives every address of a host name. */
export type Resolver = (hostname: string) => Promise<readonly string[]>

/** How outbound requests are limited; tests replace the resolver and the deadline. */
export interface OutboundOptions {
  /** Whether private networks and this machine may be reached. */
  readonly allowPrivate: boolean
  /** Whether this machine may be reached, and without https under a loopback name. */
  readonly allowLoopback: boolean
  readonly resolve?: Resolver
  /** A signal that aborts after so many milliseconds. */
  readonly deadline?: (milliseconds: number) => AbortSignal
}

/** From the look-up of the name to the last byte. */
const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * 1024
/** Requests under way for each purpose: in all, of one zone, and of one zone to one host, which may be slow. */
const MAX_UNDER_WAY = {
  background: { all: 128, zone: 8, host: 4 },
  'sign-in': { all: 128, zone: 32, host: 16 },
} as const
/** Of the server itself. */
const OWN_SHARE: OutboundShare = { zoneId: '', purpose: 'background' }

/** RFC 6761 §6.3: names of this machine are not asked for, since not every system knows those below `localhost`. */
const systemResolver: Resolver = async hostname =>
  isLoopbackHost(hostname)
    ? ['127.0.0.1', '::1']
    : (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Requests through it share one bound on how many are under way. */
export function createOutbound(options: OutboundOptions): Outbound & OutboundConnections {
  const {
    allowPrivate,
    resolve = systemResolver,
    deadline = milliseconds => AbortSignal.timeout(milliseconds),
  } = options
  const allowLoopback = options.allowLoopback || allowPrivate
  const underWay = createCounts()

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

  /** Every address of the host, all of them allowed: one that is not says that the name leads astray. */
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

  /** Takes a place, or refuses; the result gives it back. */
  function enter(host: string, label: string, { zoneId, purpose }: OutboundShare): () => void {
    const most = MAX_UNDER_WAY[purpose]
    const places = [
      [purpose, most.all],
      [JSON.stringify([purpose, zoneId]), most.zone],
      [JSON.stringify([purpose, zoneId, host]), most.host],
    ] as const
    if (places.some(([key, limit]) => underWay.of(key) >= limit)) {
      throw new OutboundError('busy', `${label}: too many requests are under way`)
    }
    for (const [key] of places) underWay.add(key, 1)
    return () => {
      for (const [key] of places) underWay.add(key, -1)
    }
  }

  async function send(address: string, request: SharedRequest): Promise<Response> {
    const url = checkUrl(address)
    const { hostname, origin: label } = url
    const leave = enter(url.host, label, request.share ?? OWN_SHARE)
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

  async function converse<T>(
    { hostname, port, withinMs = TIMEOUT_MS, share = OWN_SHARE }: OutboundServer,
    talk: (open: OpenConnection) => Promise<T>,
  ): Promise<T> {
    const label = `${hostname}:${port}`
    const leave = enter(label, label, share)
    const signal = deadline(Math.min(withinMs, TIMEOUT_MS))
    const unreachable = (cause: unknown): never => {
      if (cause instanceof OutboundError) throw cause
      throw new OutboundError('unreachable', `${label}: cannot be reached (${codeOf(cause)})`)
    }
    const sockets: Socket[] = []
    let isOver = false
    try {
      const judged = allowedAddresses({ hostname, label, onlyLoopback: false }).catch(unreachable)
      const lookup = lookupOf(await untilAborted(judged, signal))
      const open: OpenConnection = async () => {
        if (isOver) throw new OutboundError('timeout', `${label}: the time is up`)
        const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port, lookup })
        sockets.push(socket)
        await new Promise<void>((connected, failed) => {
          socket.once('connect', connected).once('error', failed)
          socket.once('close', () => failed(new Error('closed'))) // ended by the deadline
        }).catch(unreachable)
        socket.on('error', () => {}) // whoever reads it notices its end
        return socket
      }
      return await untilAborted(talk(open), signal)
    } catch (cause) {
      if (signal.aborted) throw new OutboundError('timeout', `${label}: no complete answer in time`)
      throw cause
    } finally {
      isOver = true
      for (const socket of sockets) socket.destroy()
      leave()
    }
  }

  return {
    fetch: (address, request = {}) => send(address, request),
    connect: converse,
    async getJson(address, share = OWN_SHARE) {
      const headers = { accept: 'application/json, application/jwk-set+json' }
      const response = await send(address, { headers, share })
      const { origin } = new URL(address)
      if (response.status !== 200) throw new OutboundError('bad-answer', `${origin}: answered ${response.status}`)
      try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())
        return { value: JSON.parse(text), headers: response.headers }
      } catch {
        throw new OutboundError('bad-answer', `${origin}: the answer is no JSON`) // its text is not ours to repeat
      }
    },
  }
}

/** Counts by key; what is back at nothing is forgotten. */
function createCounts() {
  const counts = new Map<string, number>()
  const of = (key: string): number => counts.get(key) ?? 0
  return {
    of,
    add(key: string, change: 1 | -1): void {
      const count = of(key) + change
      if (count === 0) counts.delete(key)
      else counts.set(key, count)
    },
  }
}

interface Target {
  readonly hostname: string
  /** What errors call it. */
  readonly label: string
  readonly onlyLoopback: boolean
}

/** Stops waiting when the signal aborts; a look-up of a name cannot be ended any earlier. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(new Error('aborted'))
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}

/** Node's name of what went wrong; the message might repeat what was sent. */
function codeOf(cause: unknown): string {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' ? code : 'no code'
}

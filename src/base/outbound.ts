// All requests to URLs that others configure: key documents, metadata, token endpoints of providers. Composes which addresses
// may be reached, how many requests run at once and the limits of a response; does not know what is requested. See
// docs/decisions/0013-outbound-requests.md.
import { stopwatch } from './clock.ts'
import { createAddressCheck } from './outbound/addresses.ts'
import { createConnect } from './outbound/connections.ts'
import type { OutboundConnections } from './outbound/connections.ts'
import { TIMEOUT_MS, untilAborted } from './outbound/deadline.ts'
import { OutboundBusy, OutboundError, unreachable } from './outbound/error.ts'
import type { OutboundFailure } from './outbound/error.ts'
import { exchange, readAnswer } from './outbound/http.ts'
import type { OutboundRequest } from './outbound/http.ts'
import type { Resolver } from './outbound/lookups.ts'
import { createOutboundSlots, OWN_SHARE } from './outbound/slots.ts'
import type { OutboundShare } from './outbound/slots.ts'

export type { KeepConnection, OpenConnection, OutboundConnections } from './outbound/connections.ts'
export { OutboundBusy, OutboundError } from './outbound/error.ts'
export type { OutboundFailure } from './outbound/error.ts'
export type { OutboundShare } from './outbound/slots.ts'

/** A request counted against a share; by default the server's own. */
interface SharedRequest extends OutboundRequest {
  readonly share?: OutboundShare
}

/** A JSON response with its headers, which say how long it may be cached. */
interface OutboundJson {
  readonly value: unknown
  readonly headers: Headers
}

/** Sends requests to other servers; every failure is an `OutboundError`, or `OutboundBusy` where nothing was sent. */
export interface Outbound {
  /** The complete response, with any status; a redirect is a failure. */
  fetch(address: string, request?: SharedRequest): Promise<Response>
  /** The JSON of a response with status 200; any other status is a failure. */
  getJson(address: string, share?: OutboundShare): Promise<OutboundJson>
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
  /** As requested; may not be a valid URL. */
  readonly address: string
  readonly milliseconds: number
  /** The status of the response, or why there is none. */
  readonly outcome: number | OutboundFailure | 'busy' | 'fault'
}

/** The client, by the purpose of its requests. */
export interface OutboundByPurpose {
  for(purpose: OutboundPurpose): Outbound & OutboundConnections
}

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

/** Creates the client; all its requests share one set of concurrency limits. */
export function createOutbound(options: OutboundOptions): Outbound & OutboundConnections & OutboundByPurpose {
  const { deadline = milliseconds => AbortSignal.timeout(milliseconds), onExchange } = options
  const { checkUrl, allowedAddresses } = createAddressCheck(options)
  const takeSlot = createOutboundSlots()
  const connect = createConnect({ allowedAddresses, takeSlot, deadline })

  async function send(address: string, request: SharedRequest): Promise<Response> {
    const url = checkUrl(address)
    const { hostname, origin: label } = url
    const { share = OWN_SHARE } = request
    const leave = takeSlot(url.host, label, share)
    const signal = deadline(TIMEOUT_MS)
    try {
      const addresses = await untilAborted(
        allowedAddresses(
          { hostname, label, onlyLoopback: url.protocol !== 'https:' },
          { zoneId: share.zoneId, signal },
        ),
        signal,
      )
      const incoming = await exchange(url, { request, addresses, signal })
      return await readAnswer(url, incoming, request)
    } catch (cause) {
      if (cause instanceof OutboundError) throw cause
      if (signal.aborted) throw new OutboundError('timeout', `${label}: no complete response in time`)
      throw unreachable(label, cause)
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
      if (error instanceof OutboundBusy) outcome = 'busy'
      throw error
    } finally {
      onExchange({ purpose, method: request.method ?? 'GET', address, milliseconds: elapsed(), outcome })
    }
  }

  const clientFor = (purpose: OutboundPurpose): Outbound & OutboundConnections => ({
    fetch: (address, request = {}) => sendMeasured(address, request, purpose),
    connect,
    async getJson(address, share = OWN_SHARE) {
      const headers = { accept: 'application/json, application/jwk-set+json' }
      const response = await sendMeasured(address, { headers, share }, purpose)
      const { origin } = new URL(address)
      if (response.status !== 200) throw new OutboundError('bad-answer', `${origin}: answered ${response.status}`)
      try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())
        return { value: JSON.parse(text), headers: response.headers }
      } catch {
        throw new OutboundError('bad-answer', `${origin}: the response is not JSON`) // do not repeat foreign content
      }
    },
  })
  return { ...clientFor('other'), for: clientFor }
}

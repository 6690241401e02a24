import type { Requester } from '../base/fair-queue.ts'
import type { Zone } from './zone.ts'

/** A zone as a request addressed it, by host or by path; the URLs of the response stay there. Never stored. */
export interface AddressedZone extends Zone {
  readonly address: 'host' | 'path'
}

/**
 * A request, independent of the HTTP server: its zone, its origin, and what sender-constrained tokens are compared with
 * (RFC 8705, RFC 9449).
 */
export interface RequestContext {
  readonly zone: AddressedZone
  /** IP address. */
  readonly remoteAddress: string | undefined
  readonly method: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The part that limits per requester and the audit trail use. */
export type RequestOrigin = Pick<RequestContext, 'zone' | 'remoteAddress'> & Partial<Pick<RequestContext, 'headers'>>

/** The request that presents a token; only the zone if another party asks about the token (RFC 7662). */
export type TokenPresentation = Pick<RequestContext, 'zone'> & Partial<Pick<RequestContext, 'method' | 'headers'>>

/** The zone and address under which `FairQueue` queues the slow work of a request. */
export const requesterOf = ({ zone, remoteAddress }: RequestOrigin): Requester => ({
  zoneId: zone.id,
  address: remoteAddress,
})

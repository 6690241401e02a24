import type { Requester } from '../base/concurrency/fair-queue.ts'
import type { Zone } from './zones/zone.ts'

/** A zone as a request addressed it, by host or by path; the URLs of the response stay there. Never stored. */
export interface AddressedZone extends Zone {
  readonly address: 'host' | 'path'
  /** The further host, with its port, that the request named in place of that of the base URL; or one below it. */
  readonly root?: string | undefined
}

/** A request as it was sent, independent of the HTTP server: what sender-constrained tokens are compared with. */
export interface SentRequest {
  readonly zone: AddressedZone
  readonly method: string
  /** Path and query, as they were sent. */
  readonly originalUrl: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The certificate that the caller proved to have the key of, as the trusted proxy in front wrote it. */
  readonly clientCertificate?: string | undefined
}

/** A request with its origin. */
export interface RequestContext extends SentRequest {
  /** IP address. */
  readonly remoteAddress: string | undefined
}

/** The part that limits per requester and the audit trail use. */
export type RequestOrigin = Pick<RequestContext, 'zone' | 'remoteAddress'> &
  Partial<Pick<RequestContext, 'headers' | 'clientCertificate'>>

/** The request that presents a token; or only its zone, where another caller asks about the token (RFC 7662). */
export type TokenPresentation = SentRequest | { readonly zone: AddressedZone; readonly inspected: true }

/** The zone and address under which `FairQueue` queues the slow work of a request. */
export const requesterOf = ({ zone, remoteAddress }: RequestOrigin): Requester => ({
  zoneId: zone.id,
  address: remoteAddress,
})

import type { FastifyRequest } from 'fastify'
import { inOneSpelling } from '../../base/network-address.ts'
import type { AuditOrigin } from '../../model/audit/event.ts'
import type { AddressedZone, RequestContext } from '../../model/request.ts'
import { userAgentIn } from '../../model/users/user-agent.ts'

/** The address of the caller as limits, log and audit trail have it: some proxies forward it with a port. */
export const addressOf = ({ ip }: Pick<FastifyRequest, 'ip'>): string => inOneSpelling(ip)

/** The zone of a request that may have none: before it is looked up, and where that failed. Handlers always have one. */
export const zoneIfFound = ({ zone }: Pick<FastifyRequest, 'zone'>): AddressedZone | undefined => zone

/** The facts of a request for the layers below HTTP. */
export const contextOf = (request: FastifyRequest): RequestContext => ({
  zone: request.zone,
  remoteAddress: addressOf(request),
  method: request.method,
  originalUrl: request.originalUrl,
  headers: request.headers,
  clientCertificate: request.clientCertificate,
})

/** For the audit trail: where a change of a user's own account comes from. */
export function originOf(request: FastifyRequest): AuditOrigin {
  const userAgent = userAgentIn(request.headers)
  return { remoteAddress: addressOf(request), ...(userAgent !== undefined && { userAgent }) }
}

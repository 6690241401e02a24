import type { FastifyRequest } from 'fastify'
import type { AuditOrigin } from '../../model/audit/event.ts'
import type { RequestContext } from '../../model/request.ts'
import { userAgentIn } from '../../model/users/user-agent.ts'

/** The facts of a request for the layers below HTTP. */
export const contextOf = (request: FastifyRequest): RequestContext => ({
  zone: request.zone,
  remoteAddress: request.ip,
  method: request.method,
  originalUrl: request.originalUrl,
  headers: request.headers,
  clientCertificate: request.clientCertificate,
})

/** For the audit trail: where a change of a user's own account comes from. */
export function originOf({ ip, headers }: FastifyRequest): AuditOrigin {
  const userAgent = userAgentIn(headers)
  return { remoteAddress: ip, ...(userAgent !== undefined && { userAgent }) }
}

import type { FastifyRequest } from 'fastify'
import type { AuditOrigin } from '../model/event.ts'
import type { RequestContext } from '../model/request.ts'
import { userAgentIn } from '../model/user-agent.ts'

/** What the layers below HTTP need of a request. */
export const contextOf = ({ zone, ip, method, originalUrl, headers }: FastifyRequest): RequestContext => ({
  zone,
  remoteAddress: ip,
  method,
  originalUrl,
  headers,
})

/** For the audit trail: where a change of a person's own account comes from. */
export function originOf({ ip, headers }: FastifyRequest): AuditOrigin {
  const userAgent = userAgentIn(headers)
  return { remoteAddress: ip, ...(userAgent !== undefined && { userAgent }) }
}

import type { FastifyRequest } from 'fastify'
import type { RequestContext } from '../model/request.ts'

/** What the layers below HTTP need of a request. */
export const contextOf = ({ zone, ip, method, headers }: FastifyRequest): RequestContext => ({
  zone,
  remoteAddress: ip,
  method,
  headers,
})

import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MalformedInput } from './form.ts'
import { refusalHeaders } from '../answers.ts'

/** A name, an IPv4 address or a bracketed IPv6 address, and a port (RFC 9110 §7.2). */
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._~-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/**
 * Hook: refuses what a proxy in front may have read differently (RFC 9112 §3.2): two Host headers, one that is not a host, an
 * absolute URL with another host, a target with a fragment, which the router would take for a query, a transfer coding in
 * HTTP/1.0, or two Authorization headers, of which Node keeps the first (RFC 9110 §5.3).
 */
export function createHostCheck(isHttps: boolean) {
  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const problem = problemOf(request)
    if (problem === undefined) return done()
    reply.headers(refusalHeaders(request, isHttps))
    done(new MalformedInput(problem))
  }
}

/** Whether an HTTP/1.0 request has a transfer coding: its framing is faulty then (RFC 9112 §6.1). */
export const hasUnclearEnd = ({ httpVersionMinor, headers }: IncomingMessage): boolean =>
  httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined

function problemOf(request: FastifyRequest): string | undefined {
  if (hasUnclearEnd(request.raw)) return 'HTTP/1.0 has no transfer codings'
  if (request.raw.url?.includes('#')) return 'The request target has a fragment'
  if (!hasClearHost(request)) return 'The Host header is not valid'
  return isRepeated(request.raw, 'authorization') ? 'The Authorization header is repeated' : undefined
}

/** Whether the request has two headers of this name, in lower case. */
function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === name.length && rawHeaders[index]?.toLowerCase() === name) count += 1
  }
  return count > 1
}

function hasClearHost({ raw, originalUrl }: FastifyRequest): boolean {
  const { host } = raw.headers
  if (isRepeated(raw, 'host') || (host !== undefined && !HOST.test(host))) return false
  // As it was sent: the prefix of a zone is removed together with the host.
  const target = ABSOLUTE.exec(originalUrl)?.[1]
  return target === undefined || target.toLowerCase() === host?.toLowerCase()
}

import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MalformedInput } from './form.ts'
import { refusalHeaders } from '../answers.ts'

/** A name, an IPv4 address or a bracketed IPv6 address, and a port (RFC 9110 §7.2). */
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._~-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/**
 * Hook: refuses what a proxy in front may have read differently (RFC 9112 §3.2): two Host headers, one that is not a host, an
 * absolute URL with another host, a target with a fragment, which the router would take for a query, several transfer codings, one
 * in HTTP/1.0, or two Authorization headers, of which Node keeps the first (RFC 9110 §5.3).
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

/**
 * Whether the request has several transfer codings, which Node.js reads as if the last one, chunked, were alone, or is one of
 * HTTP/1.0 with any: its framing is faulty (RFC 9112 §6.1). Node.js refuses a single other one.
 */
export function hasUnclearEnd({ httpVersionMinor, headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding !== undefined && (httpVersionMinor === 0 || coding.includes(','))
}

function problemOf(request: FastifyRequest): string | undefined {
  if (hasUnclearEnd(request.raw)) return 'The transfer coding is not supported'
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
  // As it was sent: the origin was removed since.
  const target = ABSOLUTE.exec(originalUrl)?.[1]
  return target === undefined || target.toLowerCase() === host?.toLowerCase()
}

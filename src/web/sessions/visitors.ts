// The cookie by which a browser is known that has not signed in.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Random } from '../../base/random.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieOf, setCookie } from './cookies.ts'

const VISITOR_LENGTH = 22
/** Lifetime of the cookie, and so of anti-forgery values that are bound to it. */
export const VISITOR_SECONDS = 86_400

/** Browsers by their random values, which nobody else knows. */
interface Visitors {
  /** Undefined where the browser sent none. */
  of(request: FastifyRequest): string | undefined
  /** The same, or a new one, which `keep` must send. */
  for(request: FastifyRequest, reply: FastifyReply): string
  /** Sets the cookie for another day. */
  keep(reply: FastifyReply, visitor: string): void
}

/** One cookie serves every zone of the host. */
export function createVisitors({
  random,
  service,
  urls,
}: {
  readonly random: Random
  readonly service: Service
  readonly urls: Urls
}): Visitors {
  // `__Host-`: can be set by this host over https only (RFC 6265bis §4.1.3.2).
  const name = `${urls.isHttps ? '__Host-' : ''}${service.name}-visitor`
  const attributes: CookieAttributes = {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: urls.isHttps,
    maxAge: VISITOR_SECONDS,
  }
  // Once for each answer: a second value would replace the first one.
  const made = new WeakMap<FastifyReply, string>()

  function of(request: FastifyRequest): string | undefined {
    const visitor = cookieOf(request, name)
    return visitor?.length === VISITOR_LENGTH ? visitor : undefined
  }

  return {
    of,
    for(request, reply) {
      const visitor = of(request) ?? made.get(reply) ?? random.alphanumeric(VISITOR_LENGTH)
      made.set(reply, visitor)
      return visitor
    },
    keep: (reply, visitor) => setCookie(reply, name, visitor, attributes),
  }
}

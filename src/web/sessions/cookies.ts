// Cookies are parsed on demand, so that a token request does not pay for it.
import { parseCookie, stringifySetCookie } from 'cookie'
import type { SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ZoneAddress } from '../../model/urls.ts'
import { pathNameOf } from '../../model/urls.ts'

/** Cookies that a response expires at most: anyone on the host can plant some, and each adds a header. The next expires more. */
export const MAX_EXPIRED = 20

/** The attributes of a cookie (RFC 6265bis §4.1.2). */
export type CookieAttributes = Omit<SetCookie, 'name' | 'value'>

/**
 * The name of a cookie in the zone. Zones addressed by path get a name of their own: browsers send them the host's cookies
 * too, and servers must not rely on the order of cookies with the same name (RFC 6265 §4.2.2). Subdomains contain only
 * characters that are valid in cookie names, and no other cookie name of ours contains a dot.
 */
export const cookieNameIn = (zone: ZoneAddress, name: string): string =>
  zone.address === 'path' ? `${name}.${pathNameOf(zone)}` : name

/** The decoded value of a cookie; undefined if the browser sent none. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined || !cookie.includes(name)) return undefined
  const cookies = parseCookie(cookie)
  return Object.hasOwn(cookies, name) ? cookies[name] : undefined
}

/** The decoded cookies whose names begin with the prefix, as pairs of the name's rest and the value, in the order sent. */
export function cookiesNamed(
  request: FastifyRequest,
  prefix: string,
): readonly (readonly [rest: string, value: string])[] {
  const { cookie } = request.headers
  if (cookie === undefined || !cookie.includes(prefix)) return []
  return Object.entries(parseCookie(cookie)).flatMap(([name, value]) =>
    name.startsWith(prefix) && value !== undefined ? [[name.slice(prefix.length), value] as const] : [],
  )
}

const written = new WeakMap<FastifyReply, Map<string, string>>()

/** Sets a cookie; a later value for the same name replaces the earlier one. */
export function setCookie(reply: FastifyReply, name: string, value: string, attributes: CookieAttributes): void {
  const cookies = written.get(reply) ?? new Map<string, string>()
  written.set(reply, cookies)
  cookies.set(name, stringifySetCookie({ ...attributes, name, value }))
  reply.removeHeader('set-cookie').header('set-cookie', [...cookies.values()])
}

// Cookies, read when somebody asks and written when they are set: a token request pays for neither.
import { parseCookie, stringifySetCookie } from 'cookie'
import type { SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AddressedZone } from '../model/urls.ts'
import { pathNameOf } from '../model/urls.ts'

/** The attributes of a cookie (RFC 6265bis §4.1.2). */
export type CookieAttributes = Omit<SetCookie, 'name' | 'value'>

/**
 * The name of a cookie in a zone that is addressed by path. To such a zone browsers send the host's cookies as well, and one
 * name for both would leave it to their order in the header which of the two counts; RFC 6265 §4.2.2 tells servers not to
 * rely on that. Subdomains are made of characters that names may have; a dot occurs in no name of ours otherwise.
 */
export const cookieNameIn = (zone: AddressedZone, name: string): string =>
  zone.address === 'path' ? `${name}.${pathNameOf(zone)}` : name

/** The value of a cookie that the browser sent, decoded; undefined when it sent none. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined || !cookie.includes(name)) return undefined
  const cookies = parseCookie(cookie)
  return Object.hasOwn(cookies, name) ? cookies[name] : undefined
}

/** The cookies whose names begin with the text, decoded, by the rest of their names, in the order sent. */
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

/** Sets a cookie; of several values for one name the last one counts. */
export function setCookie(reply: FastifyReply, name: string, value: string, attributes: CookieAttributes): void {
  const cookies = written.get(reply) ?? new Map<string, string>()
  written.set(reply, cookies)
  cookies.set(name, stringifySetCookie({ ...attributes, name, value }))
  reply.removeHeader('set-cookie').header('set-cookie', [...cookies.values()])
}

// Cookies, read when somebody asks and written when they are set: a token request pays for neither.
import { parseCookie, stringifySetCookie } from 'cookie'
import type { SetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The attributes of a cookie (RFC 6265bis §4.1.2). */
export type CookieAttributes = Omit<SetCookie, 'name' | 'value'>

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

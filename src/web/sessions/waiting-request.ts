// Keeps the request of an anonymous visitor in a cookie until sign-in, which avoids a database row for visitors who never
// sign in. See docs/decisions/0012-pending-requests-in-a-cookie.md.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { SESSION_IDLE_SECONDS, parseSavedRequest } from '../../model/sessions/session.ts'
import type { Urls } from '../../model/urls.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieOf, setCookie } from './cookies.ts'
import { ownPath } from '../requests/own-path.ts'

/** Characters; leaves room in the request head for the URL and the other headers. */
const MAX_SAVED_LENGTH = 2000

/** Reads and writes the cookie; values are formatted by `formatSavedRequest`. */
export interface WaitingRequests {
  /** The pending request in this zone; undefined if there is none, or it is older than an idle session may be. */
  read(request: FastifyRequest): string | undefined
  /** Sets the cookie; does nothing and returns false if the value is too long. */
  write(reply: FastifyReply, text: string): boolean
  /** Expires the cookie, if the browser sent it. */
  forget(request: FastifyRequest, reply: FastifyReply): void
}

/** One instance serves every zone. */
export function createWaitingRequests(deps: {
  clock: Clock
  urls: Urls
  nameIn: (zone: AddressedZone) => string
  attributesIn: (zone: AddressedZone) => CookieAttributes
}): WaitingRequests {
  const { clock, urls, nameIn, attributesIn } = deps

  /** Validates the cookie like form input: a sibling host may have set it. */
  function read(request: FastifyRequest): string | undefined {
    const { zone } = request
    const value = cookieOf(request, nameIn(zone))
    if (value === undefined || value.length > 2 * MAX_SAVED_LENGTH) return undefined
    const parts = parseJson(Buffer.from(value, 'base64url').toString())
    const [zoneId, savedAt, text]: unknown[] = Array.isArray(parts) ? parts : []
    const age = clock.now().getTime() - Number(savedAt)
    if (zoneId !== zone.id || typeof text !== 'string' || !(age < SESSION_IDLE_SECONDS * 1000)) return undefined
    const { path } = parseSavedRequest(text) ?? {}
    // The base URL itself, or below it. Anything else that starts with it could name another host.
    if (path === undefined || !/^(?:$|[/?])/.test(path)) return undefined
    const base = urls.ofZone(zone)
    return ownPath([base], base + path.replace(/^(?!\/)/, '/')) === undefined ? undefined : text
  }

  return {
    read,
    write(reply, text) {
      if (text.length > MAX_SAVED_LENGTH) return false
      const { zone } = reply.request
      const value = Buffer.from(JSON.stringify([zone.id, clock.now().getTime(), text])).toString('base64url')
      setCookie(reply, nameIn(zone), value, { ...attributesIn(zone), maxAge: SESSION_IDLE_SECONDS })
      return true
    },
    forget(request, reply) {
      const { zone } = request
      if (cookieOf(request, nameIn(zone)) === undefined) return
      setCookie(reply, nameIn(zone), '', { ...attributesIn(zone), maxAge: 0 })
    },
  }
}

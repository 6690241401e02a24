// The two cookies of a session: its id, and the one that frames read to detect a change of user. Owns their names and
// attributes.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Service } from '../../model/service.ts'
import type { Urls, ZoneAddress } from '../../model/urls.ts'
import { DEFAULT_PAGE_SETTINGS } from '../../model/zones/settings.ts'
import type { PageSettings } from '../../model/zones/settings.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from './cookies.ts'

/** The cookies of all zones; each method uses the zone of its request. */
export interface SessionCookies {
  /** The id that the browser sent, unverified. */
  idOf(request: FastifyRequest): string | undefined
  setId(reply: FastifyReply, id: string): void
  clearId(reply: FastifyReply): void
  /** Sets the readable cookie by which frames detect a change of user; undefined expires it. */
  setCurrentUser(reply: FastifyReply, userId: string | undefined): void
  /** The attributes of the cookie with the id. */
  attributesIn(zone: AddressedZone): CookieAttributes
}

/** The name of the zone's session cookie (row P2). */
export function sessionCookieName(
  zone: ZoneAddress,
  { service, urls, behaviour }: { service: Service; urls: Urls; behaviour: Behaviour },
): string {
  if (!behaviour.ownSessionCookie) return cookieNameIn(zone, 'JSESSIONID')
  return guardedName(zone, `${service.name}-session`, urls)
}

/** Over https, adds a prefix so that no other host can set the cookie; `__Host-` requires path `/` (RFC 6265bis §4.1.3.2). */
export function guardedName(zone: ZoneAddress, plain: string, urls: Urls): string {
  const name = cookieNameIn(zone, plain)
  if (!urls.isHttps) return name
  return urls.pathOf(zone) === '' ? `__Host-${name}` : `__Secure-${name}`
}

/** The name of the zone's readable cookie, which its session management frames read. */
export const currentUserCookieName = (zone: ZoneAddress): string => cookieNameIn(zone, 'Current-User')

/** One instance serves every zone. */
export function createSessionCookies(deps: {
  readonly service: Service
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly sameSite: 'lax' | 'none'
  readonly pageSettings: PageSettings
}): SessionCookies {
  const { urls, behaviour } = deps
  const { cookieSeconds } = deps.pageSettings
  const currentUserSeconds = cookieSeconds ?? DEFAULT_PAGE_SETTINGS.idleSeconds
  const nameIn = (zone: ZoneAddress): string => sessionCookieName(zone, deps)
  // Over http, neither Secure nor attributes that need it (RFC 6265bis §5.7): non-browser clients would lose the session.
  const sameSite = urls.isHttps ? (behaviour.ownSessionCookie ? deps.sameSite : 'none') : 'lax'
  const attributesIn = (zone: AddressedZone) =>
    ({
      // UAA: no trailing slash.
      path: behaviour.ownSessionCookie ? `${urls.pathOf(zone)}/` : urls.pathOf(zone) || '/',
      httpOnly: true,
      sameSite,
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes
  const currentUserIn = (zone: AddressedZone) =>
    ({
      path: zone.address === 'path' ? `${urls.pathOf(zone)}/` : '/',
      sameSite: deps.sameSite === 'none' && urls.isHttps ? 'none' : 'strict',
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes

  return {
    attributesIn,
    idOf: request => cookieOf(request, nameIn(request.zone)),
    setId(reply, id) {
      const { zone } = reply.request
      setCookie(reply, nameIn(zone), id, {
        ...attributesIn(zone),
        ...(cookieSeconds !== undefined && { maxAge: cookieSeconds }),
      })
    },
    clearId(reply) {
      const { zone } = reply.request
      setCookie(reply, nameIn(zone), '', { ...attributesIn(zone), maxAge: 0 })
    },
    setCurrentUser(reply, userId) {
      const { zone } = reply.request
      const [value, maxAge] = userId === undefined ? ['', 0] : [JSON.stringify({ userId }), currentUserSeconds]
      setCookie(reply, currentUserCookieName(zone), value, { ...currentUserIn(zone), maxAge })
    },
  }
}

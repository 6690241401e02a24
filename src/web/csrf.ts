import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Random } from '../base/random.ts'
import { sameSecret } from '../base/secrets.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from './cookies.ts'
import { bodyForm } from './route.ts'

/** The anti-forgery value: the same in a cookie and in a form field or header (double submit). */
export interface Csrf {
  /** Name of the form field, and of the cookie where the zone is not addressed by path. */
  readonly fieldName: string
  /** The value for a page's hidden field; the cookie is set or its life prolonged. */
  issue(request: FastifyRequest, reply: FastifyReply): { readonly name: string; readonly value: string }
  /** Sets a new value, at sign-in. */
  renew(reply: FastifyReply): void
  /** Whether a state-changing request carries the value and comes from our own pages. */
  isGenuine(request: FastifyRequest): boolean
  /** Expires the cookie. */
  clear(reply: FastifyReply): void
}

const LENGTH = 22
const LIFE_SECONDS = 86_400

/** The cookie has the name and attributes that the specification gives it. */
export function createCsrf(deps: { random: Random; service: Service; urls: Urls; behaviour: Behaviour }): Csrf {
  const { random, service, urls, behaviour } = deps
  const name = service.csrfName
  const attributesIn = (zone: Zone) =>
    ({
      // Row P3: the specification says `/`; UAA the base path.
      path: behaviour.csrfCookieAtRoot && zone.address === undefined ? '/' : `${urls.pathOf(zone)}/`,
      httpOnly: true,
      sameSite: 'lax',
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes

  const valueIn = (request: FastifyRequest): string | undefined => {
    const value = cookieOf(request, cookieNameIn(request.zone, name))
    return value !== undefined && value.length === LENGTH && /^[A-Za-z0-9]+$/.test(value) ? value : undefined
  }
  const set = (reply: FastifyReply, value: string, maxAge = LIFE_SECONDS): void => {
    const { zone } = reply.request
    setCookie(reply, cookieNameIn(zone, name), value, { ...attributesIn(zone), maxAge })
  }

  /** A browser says where a form comes from; a value planted by a neighbouring host does not help against this. */
  function isOwnOrigin(request: FastifyRequest): boolean {
    const { origin } = request.headers
    const site = request.headers['sec-fetch-site']
    // `none` is the person's own doing, such as sending a form again after a restart of the browser.
    if (site !== undefined) return site === 'same-origin' || site === 'none'
    // Forms of pages with `Referrer-Policy: no-referrer`, as ours are, come from `null` (Fetch §3.2.2): that tells nothing.
    if (origin === undefined || origin === 'null') return true
    return origin === new URL(urls.ofZone(request.zone)).origin || isSameHost(origin, request)
  }

  return {
    fieldName: name,
    issue(request, reply) {
      const value = valueIn(request) ?? random.alphanumeric(LENGTH) // kept, so that several tabs work side by side
      set(reply, value)
      return { name, value }
    },
    renew: reply => set(reply, random.alphanumeric(LENGTH)),
    isGenuine(request) {
      const expected = valueIn(request)
      const header = request.headers['x-csrf-token']
      const sent = bodyForm(request)?.get(name) ?? (typeof header === 'string' ? header : undefined)
      return expected !== undefined && sent !== undefined && sameSecret(expected, sent) && isOwnOrigin(request)
    },
    clear(reply) {
      set(reply, '', 0)
    },
  }
}

/** Behind a proxy or under another local name the base URL's origin may differ from what the browser sees. */
function isSameHost(origin: string, request: FastifyRequest): boolean {
  return URL.canParse(origin) && new URL(origin).host === request.headers.host
}

// The user name of a failed sign-in or of a user who signs in next, or the address that a mail was sent to, for the next page. It
// travels in a cookie: URLs end up in logs and histories. Like every cookie it is untrusted input: the page only shows it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AddressedZone } from '../../model/request.ts'
import type { Urls } from '../../model/urls.ts'
import { cookieNameIn, cookieOf, setCookie } from '../../web/sessions/cookies.ts'
import { signInCookie } from './sign-in-cookie.ts'

const MAX_LENGTH = 255
/** Enough for a redirect on a slow connection. */
const SECONDS = 60

/** Keeps the name in the browser until the next page; see `createTypedNames`. */
interface TypedNames {
  /** Sets the cookie, unless the name is blank, too long or not fit to be shown. */
  keep(reply: FastifyReply, userName: string): void
  /** The name of the cookie, which is expired. */
  take(request: FastifyRequest, reply: FastifyReply): string | undefined
}

const nameIn = (zone: AddressedZone): string => cookieNameIn(zone, 'Typed-Name')
const isUsable = (name: string): boolean =>
  name.trim() !== '' && name.length <= MAX_LENGTH && name.isWellFormed() && !/\p{Cc}/u.test(name)

/** One instance serves every zone; only the page of the zone that shows the name gets the cookie. */
export function createTypedNames({ urls, shownAt }: { readonly urls: Urls; readonly shownAt: string }): TypedNames {
  const attributesIn = (zone: AddressedZone) => ({ ...signInCookie(urls, zone), path: urls.pathOf(zone) + shownAt })

  return {
    keep(reply, userName) {
      const { zone } = reply.request
      if (isUsable(userName)) setCookie(reply, nameIn(zone), userName, { ...attributesIn(zone), maxAge: SECONDS })
    },
    take(request, reply) {
      const { zone } = request
      const name = cookieOf(request, nameIn(zone))
      if (name === undefined) return undefined
      setCookie(reply, nameIn(zone), '', { ...attributesIn(zone), maxAge: 0 })
      return isUsable(name) ? name : undefined
    },
  }
}

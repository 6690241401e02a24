// Why the last sign-in at a SAML provider failed, for the page that UAA redirects to. It travels in a cookie that only this
// server can write: no one else can put text on the page.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AddressedZone } from '../../model/request.ts'
import type { CookieAttributes } from '../../web/sessions/cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from '../../web/sessions/cookies.ts'
import type { LoginParts } from '../parts.ts'

/** Characters; descriptions contain names of providers. */
const MAX_LENGTH = 500
/** Enough for a redirect on a slow connection. */
const SECONDS = 60

/** Keeps the description of a failure in the browser until the next page. */
export interface SamlFailures {
  keep(reply: FastifyReply, description: string): void
  /** The description in the cookie, which is expired. */
  take(request: FastifyRequest, reply: FastifyReply): string | undefined
}

const nameIn = (zone: AddressedZone): string => cookieNameIn(zone, 'Saml-Failure')
const contextIn = ({ id }: AddressedZone): string => JSON.stringify(['SAML failure', id])

/** One instance serves every zone; only `/saml_error` of the zone gets the cookie. */
export function createSamlFailures({ urls, vault }: LoginParts): SamlFailures {
  const attributesIn = (zone: AddressedZone) =>
    ({
      path: `${urls.pathOf(zone)}/saml_error`,
      httpOnly: true,
      sameSite: 'lax',
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes

  return {
    keep(reply, description) {
      const { zone } = reply.request
      const sealed = vault.seal(description.slice(0, MAX_LENGTH), contextIn(zone))
      setCookie(reply, nameIn(zone), sealed, { ...attributesIn(zone), maxAge: SECONDS })
    },
    take(request, reply) {
      const { zone } = request
      const sealed = cookieOf(request, nameIn(zone))
      if (sealed === undefined) return undefined
      setCookie(reply, nameIn(zone), '', { ...attributesIn(zone), maxAge: 0 })
      try {
        return vault.open(sealed, contextIn(zone))
      } catch {
        return undefined // not sealed by us, or for another zone
      }
    },
  }
}

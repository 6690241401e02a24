// Logout at the provider that a session came from, after the logout here (OpenID Connect RP-Initiated Logout §2, SAML
// Profiles §4.4), and the return from there. The final target of the browser is decided before it leaves; see
// logout/targets.ts. SAML's answers arrive at login/saml/logout.ts, which leads them on to the same return.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../base/clock.ts'
import type { Destination } from '../model/sessions/destination.ts'
import { LOGOUT_PATH, logoutRequestId } from '../model/sessions/logout-return.ts'
import type { AddressedZone } from '../model/request.ts'
import type { CookieAttributes } from '../web/sessions/cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from '../web/sessions/cookies.ts'
import type { OAuthDeps } from './deps.ts'

/** What happens after the session here has ended. */
export interface AfterLogout {
  /** The final target of the browser; undefined for the page that says that the user is signed out. */
  readonly target: string | undefined
  /** Where that page links to. */
  readonly offeredUrl?: string | undefined
  /** UAA: the parameters of the return, from which the target is determined again; without them, a cookie stores it. */
  readonly query?: string | undefined
}

/** Ends sessions here and at providers. */
export interface UpstreamLogout {
  /** Ends the session here; the logout at its provider, or undefined if there is none. */
  end(request: FastifyRequest, reply: FastifyReply, afterLogout: AfterLogout): Promise<Destination | undefined>
  /** What follows for a browser that returns from a provider; undefined for any other request. Works once. */
  afterReturn(request: FastifyRequest, reply: FastifyReply, state: string | undefined): AfterLogout | undefined
}

/** Time that a user may spend at the provider. */
const LIFE_SECONDS = 600
const STATE_LENGTH = 43 // 258 bits
/** Browsers store 4096 bytes with the name and the attributes (RFC 6265 §6.1). */
const MAX_COOKIE_LENGTH = 3800

/** The contents of the cookie. */
interface Sealed {
  readonly target?: string | undefined
  readonly offeredUrl?: string | undefined
  readonly until: number
}

/** One instance serves every zone. */
export function createUpstreamLogout(deps: OAuthDeps): UpstreamLogout {
  const { identity, sessions, vault, clock, random, service, urls } = deps
  const nameIn = (zone: AddressedZone): string =>
    cookieNameIn(zone, `${urls.isHttps ? '__Secure-' : ''}${service.name}-sign-out`)
  const attributesIn = (zone: AddressedZone) =>
    ({
      path: `${urls.pathOf(zone)}${LOGOUT_PATH}`,
      httpOnly: true,
      sameSite: 'lax', // the return is a navigation from another site
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes
  const contextOf = ({ id }: AddressedZone, state: string): string => JSON.stringify(['sign-out elsewhere', id, state])

  /** Stores what follows the return with this state. If it is too long, the signed-out page is shown without a link. */
  function remember({ zone }: FastifyRequest, reply: FastifyReply, to: AfterLogout & { state: string }): void {
    const { target, offeredUrl, state } = to
    const sealed: Sealed = { target, offeredUrl, until: addSeconds(clock.now(), LIFE_SECONDS).getTime() }
    const text = vault.seal(JSON.stringify(sealed), contextOf(zone, state))
    if (text.length > MAX_COOKIE_LENGTH) return
    setCookie(reply, nameIn(zone), text, { ...attributesIn(zone), maxAge: LIFE_SECONDS })
  }

  function opened({ zone }: FastifyRequest, { sealed, state }: { sealed: string; state: string }): Sealed | undefined {
    try {
      return JSON.parse(vault.open(sealed, contextOf(zone, state))) as Sealed // encrypted by us, above
    } catch {
      return undefined // encrypted for another state, or not by us
    }
  }

  return {
    async end(request, reply, { target, offeredUrl, query }) {
      const { zone } = request
      const origin = (await sessions.signedIn(request))?.session.signIn.origin
      const hint = await sessions.upstreamHint(request)
      await sessions.end(request, reply)
      if (origin === undefined) return undefined
      const own = `${urls.ofZone(zone)}${LOGOUT_PATH}`
      const returnTo = query ? `${own}?${query}` : own
      const state = random.urlSafe(STATE_LENGTH)
      const requestId = logoutRequestId(state)
      if (query !== undefined || (target ?? offeredUrl) === undefined) {
        return identity.signOut(origin, { zone, returnTo, hint, requestId })
      }
      const there = await identity.signOut(origin, { zone, returnTo, hint, requestId, state })
      if (there !== undefined) remember(request, reply, { target, offeredUrl, state })
      return there
    },
    afterReturn(request, reply, state) {
      const { zone } = request
      const sealed = state === undefined ? undefined : cookieOf(request, nameIn(zone))
      if (state === undefined || sealed === undefined) return undefined
      const saved = opened(request, { sealed, state })
      if (!saved) return undefined
      setCookie(reply, nameIn(zone), '', { ...attributesIn(zone), maxAge: 0 })
      const { target, offeredUrl, until } = saved
      return until > clock.now().getTime() ? { target, offeredUrl } : undefined
    },
  }
}

// Browsers that people told to be remembered after a second factor. The cookie is a sealed statement, so that no table is
// needed: it ends with the account's password, and when `factors.revision` moves on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { secondFactorPolicy } from '../../model/people/second-factor.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/people/user.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from './cookies.ts'

/** Browsers that need no second factor for a while. */
export interface RememberedDevices {
  /** Whether this browser was told so by this person, under what the zone allows now. */
  isRemembered(request: FastifyRequest, user: User): boolean
  /** Tells the browser; does nothing where the zone does not allow it. */
  remember(request: FastifyRequest, reply: FastifyReply, user: User): void
}

const DAY_SECONDS = 86_400

/** One instance serves every zone; each person has a cookie of their own, under a name that does not tell who it is. */
export function createRememberedDevices(deps: {
  clock: Clock
  vault: Vault
  service: Service
  urls: Urls
  behaviour: Behaviour
}): RememberedDevices {
  const { clock, vault, service, urls, behaviour } = deps

  function nameFor(zone: AddressedZone, { id }: User): string {
    const name = cookieNameIn(zone, `${service.name}-device-${digest(`device of ${zone.id} ${id}`).slice(0, 12)}`)
    if (!urls.isHttps) return name
    return urls.pathOf(zone) === '' ? `__Host-${name}` : `__Secure-${name}`
  }
  const attributesIn = (zone: AddressedZone) =>
    ({
      path: `${urls.pathOf(zone)}/`,
      httpOnly: true,
      sameSite: 'lax',
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes
  const contextOf = (zone: AddressedZone, { id, passwordRevision, factors }: User): string =>
    JSON.stringify(['remembered device', zone.id, id, passwordRevision, factors?.revision ?? 0])

  return {
    isRemembered(request, user) {
      const { zone } = request
      const { rememberDays } = secondFactorPolicy(zone, behaviour)
      if (rememberDays === 0) return false
      const sealed = cookieOf(request, nameFor(zone, user))
      if (sealed === undefined) return false
      try {
        const since = new Date(Number(vault.open(sealed, contextOf(zone, user))))
        // From when it was said: a zone that allows fewer days now ends it sooner.
        return since <= clock.now() && addSeconds(since, rememberDays * DAY_SECONDS) > clock.now()
      } catch {
        return false
      }
    },
    remember({ zone }, reply, user) {
      const { rememberDays } = secondFactorPolicy(zone, behaviour)
      if (rememberDays === 0) return
      const sealed = vault.seal(String(clock.now().getTime()), contextOf(zone, user))
      setCookie(reply, nameFor(zone, user), sealed, { ...attributesIn(zone), maxAge: rememberDays * DAY_SECONDS })
    },
  }
}

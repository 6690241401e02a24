// Browsers that users chose to have remembered after a second factor. The cookie is a sealed statement, so that no table is
// needed: it ends with the account's password, and when `factors.revision` moves on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isWithin } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { secondFactorPolicy } from '../../model/users/second-factor.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/users/user.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieOf, cookiesNamed, MAX_EXPIRED, setCookie } from './cookies.ts'
import { guardedName } from './session-cookies.ts'

/** Browsers that need no second factor for a while. */
export interface RememberedDevices {
  /** Whether this user had this browser remembered, under the zone's current policy. */
  isRemembered(request: FastifyRequest, user: User): boolean
  /** Sets the cookie; does nothing where the zone does not allow it. */
  remember(request: FastifyRequest, reply: FastifyReply, user: User): void
  /** Expires the cookie. */
  forget(request: FastifyRequest, reply: FastifyReply, user: Pick<User, 'id'>): void
}

const DAY_SECONDS = 86_400
/** Users of one browser. Many cookies would exceed the size of a request head, and nobody could sign in any more. */
const MAX_USERS = 20
/** What stands for the user in the name of a cookie. A name that others gave one may be none that can be written. */
const LABEL = /^[\w-]{12}$/

/** One instance serves every zone; each user has a separate cookie, under a name that does not identify the user. */
export function createRememberedDevices(deps: {
  clock: Clock
  vault: Vault
  service: Service
  urls: Urls
  behaviour: Behaviour
}): RememberedDevices {
  const { clock, vault, service, urls, behaviour } = deps

  const nameWith = (zone: AddressedZone, label: string): string =>
    guardedName(zone, `${service.name}-device-${label}`, urls)
  const nameFor = (zone: AddressedZone, { id }: Pick<User, 'id'>): string =>
    nameWith(zone, digest(`device of ${zone.id} ${id}`).slice(0, 12))
  const attributesIn = (zone: AddressedZone) =>
    ({
      path: `${urls.pathOf(zone)}/`,
      httpOnly: true,
      sameSite: 'lax',
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes
  const contextOf = (zone: AddressedZone, { id, passwordRevision, factors }: User): string =>
    JSON.stringify(['remembered device', zone.id, id, passwordRevision, factors?.revision ?? 0])

  /** Expires the oldest cookies, which browsers send first (RFC 6265 §5.4), so that there is room for one more. */
  function makeRoom(request: FastifyRequest, reply: FastifyReply, newName: string): void {
    const { zone } = request
    const [prefix = '', suffix = ''] = nameWith(zone, '\0').split('\0')
    const labels = cookiesNamed(request, prefix)
      .filter(([rest]) => rest.endsWith(suffix))
      .map(([rest]) => rest.slice(0, rest.length - suffix.length))
    const names = labels.filter(label => LABEL.test(label)).map(label => nameWith(zone, label))
    const others = names.filter(name => name !== newName)
    const surplus = Math.min(Math.max(0, others.length - MAX_USERS + 1), MAX_EXPIRED)
    for (const name of others.slice(0, surplus)) {
      setCookie(reply, name, '', { ...attributesIn(zone), maxAge: 0 })
    }
  }

  return {
    isRemembered(request, user) {
      const { zone } = request
      const { rememberDays } = secondFactorPolicy(zone, behaviour)
      if (rememberDays === 0) return false
      const sealed = cookieOf(request, nameFor(zone, user))
      if (sealed === undefined) return false
      try {
        const since = new Date(Number(vault.open(sealed, contextOf(zone, user))))
        // Counted from when it was set: a zone that now allows fewer days ends it sooner.
        return isWithin(rememberDays * DAY_SECONDS, since, clock.now())
      } catch {
        return false
      }
    },
    remember(request, reply, user) {
      const { zone } = request
      const { rememberDays } = secondFactorPolicy(zone, behaviour)
      if (rememberDays === 0) return
      const sealed = vault.seal(String(clock.now().getTime()), contextOf(zone, user))
      const name = nameFor(zone, user)
      makeRoom(request, reply, name)
      setCookie(reply, name, sealed, { ...attributesIn(zone), maxAge: rememberDays * DAY_SECONDS })
    },
    forget(request, reply, user) {
      const name = nameFor(request.zone, user)
      if (cookieOf(request, name) !== undefined)
        setCookie(reply, name, '', { ...attributesIn(request.zone), maxAge: 0 })
    },
  }
}

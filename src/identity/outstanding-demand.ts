import type { Clock } from '../base/clock.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { UserGroups } from '../model/tokens/scopes.ts'
import { secondFactorPolicy } from '../model/users/second-factor.ts'
import { openDemand } from '../model/sessions/sign-in-demands.ts'
import type { SignInDemand } from '../model/sessions/sign-in-demands.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

/** The properties of a sign-in that decide its outstanding steps. */
interface CompletedSignIn {
  /** The classes with the level first; absent for one factor. */
  readonly acr?: readonly string[] | undefined
  /** Whether the user has had this browser remembered. */
  readonly isRemembered?: boolean
}

/** What the user must still do, if anything; the one place that decides it, for browsers and programs alike. */
export type DemandFinder = (zone: Zone, user: User, signIn: CompletedSignIn) => Promise<SignInDemand | undefined>

/** Makes the function; it reads nothing where the account was read with its groups and the zone asks for no group. */
export function createDemandFinder({
  store,
  clock,
  behaviour,
  groupsOf,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly behaviour: Behaviour
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
}): DemandFinder {
  return async (zone, user, { acr, isRemembered = false }) => {
    const secondFactor = secondFactorPolicy(zone, behaviour)
    const groupNames = secondFactor.requirement === 'groups' ? (await groupsOf(zone, user)).groups : []
    const provider = await store.providers.findByOrigin(zone.id, user.origin)
    return openDemand({ user, groupNames, provider, secondFactor, acr, isRemembered, now: clock.now() })
  }
}

import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { UserGroups } from '../model/tokens/scopes.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { defaultGroupsOf } from '../users/groups/default-groups.ts'

/** Names of the user's groups: direct, through nested groups, and the zone's default ones, with the zone's filter. */
export type GroupsOf = (zone: Zone, user: User) => Promise<UserGroups>

/** Looks nothing up for a user whose groups are known. */
export function createGroupsOf(deps: { store: Store; service: Service; behaviour: Behaviour }): GroupsOf {
  const { store } = deps
  return async (zone, user) => {
    const defaults = defaultGroupsOf(zone, deps)
    const names = user.groupNames ?? (await store.groups.namesOfUser(zone.id, user.id))
    const groups = [...new Set([...names, ...defaults])]
    const allowed = zone.config.userConfig?.allowedGroups
    return allowed ? { groups, allowed: [...allowed, ...defaults] } : { groups }
  }
}

// The groups that every user of a zone has, without being a member: names that the zone's settings list.
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { CONTACT_SCOPES } from '../../model/tokens/scopes.ts'
import { missingGroups } from '../../model/users/group.ts'
import type { Group } from '../../model/users/group.ts'
import type { Service } from '../../model/service.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { defaultGroups } from '../../model/zones/zone.ts'
import { MAX_DETAILS, TooManyDetails } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'

/** What decides which groups are default groups of a zone. */
interface DefaultGroupDeps {
  readonly service: Service
  readonly behaviour: Behaviour
}

/** Names of the groups that every user of the zone has (row A7 of docs/compatibility.md). */
export const defaultGroupsOf = (
  zone: Pick<Zone, 'config'>,
  { service, behaviour }: DefaultGroupDeps,
): readonly string[] => [...defaultGroups(zone, service.name), ...(behaviour.contactScopesForAll ? CONTACT_SCOPES : [])]

/** Whether every user of the zone has the group; names are compared without regard to case. */
export const isDefaultGroup = (zone: Pick<Zone, 'config'>, name: string, deps: DefaultGroupDeps): boolean =>
  defaultGroupsOf(zone, deps).some(each => each.toLowerCase() === name.toLowerCase())

/** A group as `/Users` and SCIM 2.0 show it with a user. */
export interface ShownGroup {
  readonly value: string
  readonly display: string
  /** `INDIRECT` where the user is in it through other groups only. */
  readonly type: 'DIRECT' | 'INDIRECT'
}

/** The groups shown with each of these users, who are in the zone, by the user's id. */
export type GroupsShown = (
  zone: Zone,
  userIds: readonly string[],
) => Promise<ReadonlyMap<string, readonly ShownGroup[]>>

/** The default groups of a zone; one that does not exist yet is created. */
type DefaultGroups = (zone: Zone) => Promise<readonly ShownGroup[]>

/** What reads default groups, and creates them. */
export interface DefaultGroupsDeps extends DefaultGroupDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

/** Creates it: these groups count as direct. */
export function createDefaultGroups(deps: DefaultGroupsDeps): DefaultGroups {
  const { store, clock, random } = deps

  async function find(zone: Zone): Promise<readonly Group[]> {
    const names = [...new Set(defaultGroupsOf(zone, deps))]
    const found = await store.groups.findByNames(zone.id, names)
    const missing = missingGroups(names, found)
    if (missing.length === 0) return found
    const now = clock.now()
    const made = missing.map(displayName => newGroup({ zoneId: zone.id, displayName }, { id: random.uuid(), now }))
    await store.groups.insertMissing(zone.id, made)
    return store.groups.findByNames(zone.id, names)
  }

  return async zone => (await find(zone)).map(group => shown(group, 'DIRECT'))
}

/** Creates it: memberships, groups that they are nested in, and the zone's default groups. */
export function createGroupsShown(deps: DefaultGroupsDeps): GroupsShown {
  const { store } = deps
  const defaultsOf = createDefaultGroups(deps)

  return async (zone, userIds) => {
    if (userIds.length === 0) return new Map()
    const defaults = await defaultsOf(zone)
    if (defaults.length * userIds.length > MAX_DETAILS) throw new TooManyDetails('list')
    const isDefault = new Set(defaults.map(({ value }) => value))
    const found = await store.users.listGroups(zone.id, userIds)
    return new Map(
      userIds.map(userId => {
        const own = (found.get(userId) ?? []).filter(({ id }) => !isDefault.has(id))
        return [userId, [...defaults, ...own.map(group => shown(group, group.direct ? 'DIRECT' : 'INDIRECT'))]]
      }),
    )
  }
}

const shown = ({ id, displayName }: Pick<Group, 'id' | 'displayName'>, type: ShownGroup['type']): ShownGroup => ({
  value: id,
  display: displayName,
  type,
})

/** The record of a group that is made now. */
export const newGroup = (
  draft: Pick<Group, 'zoneId' | 'displayName'> & {
    readonly description?: string | undefined
    readonly externalId?: string | null | undefined
  },
  { id, now }: { readonly id: string; readonly now: Date },
): Group => ({
  zoneId: draft.zoneId,
  id,
  displayName: draft.displayName,
  ...(draft.description !== undefined && { description: draft.description }),
  ...(typeof draft.externalId === 'string' && { externalId: draft.externalId }),
  version: 0,
  createdAt: now,
  updatedAt: now,
})

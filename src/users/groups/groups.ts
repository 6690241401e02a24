// Creates, changes and deletes groups for every API: the rules of names and members, the rights of callers, one
// transaction for each operation, and the audit trail after it. Independent of HTTP.
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Audit } from '../../model/audit/event.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import type { Group, Member } from '../../model/users/group.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { AlreadyExists, InvalidNesting, NoSuchMember } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'
import { isDefaultGroup, newGroup } from './default-groups.ts'
import { createGroupChanges } from './group-changes.ts'
import type { GroupChanges } from './group-changes.ts'
import { createGroupEvents, memberFacts } from './group-events.ts'
import { createGroupMappings } from './group-mappings.ts'
import type { GroupMappings } from './group-mappings.ts'
import { createGroupMembers } from './group-members.ts'
import type { GroupMembers } from './group-members.ts'
import { invalidMember, nameTaken } from './group-refusals.ts'
import { createGroupRights } from './group-rights.ts'
import type { GroupCaller } from './group-rights.ts'
import { checkDraft, checkMembers } from './group-rules.ts'
import type { GroupDraft } from './group-rules.ts'

/** A group to be made. */
interface NewGroup extends GroupDraft {
  readonly members: readonly Member[]
  /** UAA: the body may set the first version of a group. */
  readonly version?: number | undefined
}

/** Groups of every zone. All of it throws `OAuthError`, with the codes of UAA's API. */
export interface Groups extends GroupChanges, GroupMembers, GroupMappings {
  create(zone: Zone, group: NewGroup, by: GroupCaller): Promise<Group>
}

/** Dependencies of `createGroups`. */
interface GroupDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** One instance serves every zone. */
export function createGroups(deps: GroupDeps): Groups {
  const { store, clock, random } = deps
  const rights = createGroupRights(deps)
  const report = createGroupEvents(deps.audit)
  const parts = { ...deps, rights, report }
  return {
    ...createGroupChanges(parts),
    ...createGroupMembers(parts),
    ...createGroupMappings(parts),

    async create(zone, { members, version = 0, ...draft }, by) {
      checkDraft(zone, draft, deps)
      if (await store.groups.findByName(zone.id, draft.displayName)) throw nameTaken(draft)
      rights.checkNames(zone, [draft.displayName], by)
      checkMembers(members)
      const [first] = members
      if (first && isDefaultGroup(zone, draft.displayName, deps)) throw invalidMember(first)
      const made = { id: random.uuid(), now: clock.now() }
      const group = { ...newGroup({ ...draft, zoneId: zone.id }, made), version }
      try {
        await store.groups.insert(zone.id, group, members)
      } catch (cause) {
        if (cause instanceof NoSuchMember) throw invalidMember(cause.member, cause)
        if (cause instanceof InvalidNesting) throw invalidMember(cause, cause)
        throw cause instanceof AlreadyExists ? nameTaken(draft, cause) : cause
      }
      report('GroupCreatedEvent', group, { by, facts: memberFacts({ add: members, remove: [] }) })
      return group
    },
  }
}

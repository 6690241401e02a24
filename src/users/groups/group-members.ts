// Adds and removes one member of a group, for every API.
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import type { Member } from '../../model/users/group.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { Store } from '../../store/store.ts'
import { noSuchResource, refuseResource } from '../refusal.ts'
import { isDefaultGroup } from './default-groups.ts'
import { findGroup } from './group-changes.ts'
import { memberFacts } from './group-events.ts'
import type { GroupReport } from './group-events.ts'
import { noSuchMember, refusalOf, toDefaultGroup } from './group-refusals.ts'
import type { GroupCaller, GroupRights } from './group-rights.ts'
import { checkMembers } from './group-rules.ts'

/** Members of the groups of every zone. */
export interface GroupMembers {
  addMember(zone: Zone, groupId: string, member: Member, by: GroupCaller): Promise<Member>
  removeMember(zone: Zone, groupId: string, memberId: string, by: GroupCaller): Promise<Member>
}

/** One instance serves every zone. */
export function createGroupMembers(deps: {
  readonly store: Store
  readonly service: Service
  readonly behaviour: Behaviour
  readonly rights: GroupRights
  readonly report: GroupReport
}): GroupMembers {
  const { store, rights, report } = deps
  return {
    async addMember(zone, groupId, member, by) {
      const group = await findGroup(store, zone, groupId)
      if (member.memberId === '' || member.origin === '') {
        const message = 'group-id, member-id, origin and member-type must be non-empty'
        throw refuseResource('invalid_scim_resource', message)
      }
      checkMembers([member])
      if (isDefaultGroup(zone, group.displayName, deps)) throw toDefaultGroup()
      await rights.checkGroup(zone, group, by)
      const outcome = await store.groups
        .insertMember(zone.id, { ...member, groupId })
        .catch((cause: unknown): never => {
          throw refusalOf(cause, { group: groupId, code: 'scim_resource_not_found' })
        })
      if (outcome === 'missing') throw noSuchResource('Group', groupId)
      if (outcome === 'same') {
        const message = `${member.memberId} is already part of the group: ${groupId}`
        throw refuseResource('member_already_exists', message)
      }
      report('GroupModifiedEvent', group, { by, facts: memberFacts({ add: [member], remove: [] }) })
      return member
    },

    async removeMember(zone, groupId, memberId, by) {
      const group = await store.groups.find(zone.id, groupId)
      const removed = group && (await store.groups.removeMember(zone.id, groupId, memberId))
      if (!removed) throw noSuchMember(groupId, memberId)
      report('GroupModifiedEvent', group, { by, facts: memberFacts({ add: [], remove: [memberId] }) })
      return removed
    },
  }
}

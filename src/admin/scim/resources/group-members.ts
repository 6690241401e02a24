// Reads the members of SCIM groups, never more at once than a response or a filter needs.
import { mapInBatches } from '../../../base/concurrency/in-batches.ts'
import type { Group, Member } from '../../../model/users/group.ts'
import type { Zone } from '../../../model/zones/zone.ts'
import type { MemberRecord } from '../../../store/store.ts'
import type { Json } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { memberToJson } from './group-resource.ts'
import type { SentMember } from './group-resource.ts'
import type { Context } from './resources.ts'
import type { Selection } from '../requests/selection.ts'
import type { AdminDeps } from '../../deps.ts'

/** Members of the groups of every zone. */
export interface GroupMembers {
  /** The selected members of a group, a page at a time. */
  pages(context: Context, groupId: string, selection: Selection): AsyncGenerator<readonly unknown[]>
  /** The members of each group that has any; throws if the total is too large for one response. */
  ofGroups(zone: Zone, groups: readonly Group[]): Promise<ReadonlyMap<string, readonly Member[]>>
  /** The members with these ids, or all of them; throws if these are too many for a filter. */
  load(zone: Zone, groupId: string, ids: readonly string[] | 'all'): Promise<readonly Member[]>
  /** The members with their types; memberships of this API have the internal origin. */
  typed(zone: Zone, members: readonly SentMember[]): Promise<readonly Member[]>
}

/** Members that are read at a time. */
const MEMBERS_PER_PAGE = 500
/** Members of all groups on a page of a list. */
const MAX_MEMBERS_OF_LIST = 10_000
/** As many as a request can have; for filters that are not about ids. */
const MAX_MEMBERS_TO_FILTER = 10_000
/** Number of groups whose members the store reads at once. */
const GROUPS_AT_ONCE = 64

/** One instance serves every zone. */
export function createGroupMembers({ store, service }: Pick<AdminDeps, 'store' | 'service'>): GroupMembers {
  return {
    async *pages({ zone, base }, groupId, selection) {
      const showsNames = selection.wants('members', 'display')
      let after: string | undefined
      for (;;) {
        const page = { count: MEMBERS_PER_PAGE, after }
        const records: readonly MemberRecord[] = showsNames
          ? await store.groups.listMemberRecords(zone.id, groupId, page)
          : (await store.groups.listMembers(zone.id, groupId, page)).map(member => ({ member }))
        yield listIn(selection.of({ members: records.map(record => memberToJson(record, base)) }))
        after = records.at(-1)?.member.memberId
        if (records.length < MEMBERS_PER_PAGE) return
      }
    },

    async ofGroups(zone, groups) {
      const byGroup = new Map<string, Member[]>()
      let count = 0
      for (let start = 0; start < groups.length; start += GROUPS_AT_ONCE) {
        const ids = groups.slice(start, start + GROUPS_AT_ONCE).map(({ id }) => id)
        const found = await store.groups.listMembersOfGroups(zone.id, ids, MAX_MEMBERS_OF_LIST - count + 1)
        count += found.length
        if (count > MAX_MEMBERS_OF_LIST) {
          throw new ScimError('tooMany', 'The groups have too many members: use excludedAttributes=members')
        }
        for (const { groupId, ...member } of found) {
          const members = byGroup.get(groupId)
          if (members) members.push(member)
          else byGroup.set(groupId, [member])
        }
      }
      return byGroup
    },

    async load(zone, groupId, ids) {
      if (ids === 'all') {
        const members = await store.groups.listMembers(zone.id, groupId, { count: MAX_MEMBERS_TO_FILTER + 1 })
        if (members.length <= MAX_MEMBERS_TO_FILTER) return members
        throw new ScimError(
          'tooMany',
          'The group has too many members for a filter: name them by members[value eq "…"]',
        )
      }
      const found = await mapInBatches(ids, memberId => store.groups.findMember(zone.id, groupId, memberId))
      return found.filter(member => member !== undefined)
    },

    typed: (zone, members) =>
      mapInBatches(members, async ({ memberId, memberType }) => ({
        memberId,
        memberType: memberType ?? ((await store.groups.find(zone.id, memberId)) ? 'GROUP' : 'USER'),
        origin: service.name,
      })),
  }
}

const listIn = ({ members }: Json): readonly unknown[] => (Array.isArray(members) ? members : [])

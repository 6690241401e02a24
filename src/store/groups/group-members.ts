// Reads members of groups, a page at a time: a group may have a hundred thousand.
import type { Member } from '../../model/users/group.ts'
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import { chunks, toGroup, toMember, withList } from './group-rows.ts'
import type { GroupStore, MemberPage } from './group-store.ts'
import { groupIs, nameOfGroup, pairIn, reachedGroups } from './nesting.ts'
import { toUser } from '../users/user-rows.ts'
import { MAX_GROUPS_OF_USER, TooManyDetails } from '../users/user-store.ts'
import { GROUP_COLUMNS, list, USER_COLUMNS } from '../schema.ts'
import type { GroupMemberRow, GroupRow, UserRow } from '../schema.ts'

interface InGroup {
  zone_id: string
  group_id: string
}
type MemberColumns = Pick<GroupMemberRow, 'member_id' | 'member_type' | 'origin'>
interface Range extends InGroup {
  first: string
  last: string
}

const COLUMNS = 'member_id, member_type, origin'
const FIND = statement<InGroup & { member_id: string }, MemberColumns>(
  `select ${COLUMNS} from group_members
   where zone_id = :zone_id and group_id = :group_id and member_id = :member_id`,
)
const PAGE = statement<InGroup & { after: string; most: number }, MemberColumns>(
  `select ${COLUMNS} from group_members where zone_id = :zone_id and group_id = :group_id and member_id > :after
   order by member_id limit :most`,
)
const membersIn = (table: 'users' | 'groups', type: 'USER' | 'GROUP', columns: readonly string[]): string =>
  `select ${columns.map(column => `${table}.${column}`).join(', ')}
   from group_members cross join ${table}
   where ${table}.zone_id = group_members.zone_id and ${table}.id = group_members.member_id
   and group_members.zone_id = :zone_id and group_members.group_id = :group_id and member_type = '${type}'
   and member_id >= :first and member_id <= :last`
const USERS = statement<Range, UserRow>(membersIn('users', 'USER', USER_COLUMNS))
const GROUPS = statement<Range, GroupRow>(membersIn('groups', 'GROUP', GROUP_COLUMNS))
const OF_GROUPS = withList<GroupMemberRow>(
  placeholders => `select group_id, ${COLUMNS} from group_members where zone_id = :zone_id and group_id in (${placeholders})
   order by group_id, member_id limit :most`,
)
const OUTER = statement<{ zone_id: string; id: string }, GroupRow>(
  `select ${list(GROUP_COLUMNS.map(column => `groups.${column}`))} from group_nesting cross join groups
   where ${groupIs(':zone_id', 'outer_id')} and ${pairIn(':zone_id')} and inner_id = :id`,
)
const NAMES_OF_USER = statement<{ zone_id: string; user_id: string }, { display_name: string }>(
  `select display_name from (select ${nameOfGroup(':zone_id', 'reached.group_id')} as display_name
     from (${reachedGroups(':zone_id', ':user_id')}) as reached) as named
   where display_name is not null order by display_name limit ${MAX_GROUPS_OF_USER + 1}`,
)
/**
 * Begins with the groups, which are few; an origin may have a million accounts. The pairs are read first, since PostgreSQL may
 * otherwise look at all pairs of the zone for each account, by statistics as in `pairIn`.
 */
const REACHED = withList<{ group_id: string }>(placeholders => {
  const ofAccounts = `member_type = 'USER' and users.zone_id = group_members.zone_id and users.id = member_id
   and users.origin = :origin and group_members.zone_id = :zone_id`
  const ofMappings = `external_groups.zone_id = :zone_id and origin = :origin`
  return `with nested (inner_id, outer_id) as materialized (
     select inner_id, outer_id from group_nesting where zone_id = :zone_id and outer_id in (${placeholders}))
   select group_id from group_members cross join users where ${ofAccounts} and group_id in (${placeholders})
   union select outer_id from nested cross join group_members cross join users
   where group_members.group_id = inner_id and ${ofAccounts}
   union select group_id from external_groups where ${ofMappings} and group_id in (${placeholders})
   union select outer_id from nested cross join external_groups
   where external_groups.group_id = inner_id and ${ofMappings}`
})

/** The reading part of `GroupStore` that is about members. */
export function createGroupMembers(
  db: Database,
): Pick<
  GroupStore,
  | 'findMember'
  | 'listMembers'
  | 'listMemberRecords'
  | 'listMembersOfGroups'
  | 'namesOfUser'
  | 'listOuter'
  | 'reachedFrom'
> {
  async function listMembers(zoneId: string, groupId: string, page: MemberPage): Promise<readonly Member[]> {
    const { after = '', count } = page
    return (await db.read(PAGE, { zone_id: zoneId, group_id: groupId, after, most: count })).map(toMember)
  }

  return {
    async findMember(zoneId, groupId, memberId) {
      const [row] = await db.read(FIND, { zone_id: zoneId, group_id: groupId, member_id: memberId })
      return row && toMember(row)
    },
    listMembers,
    async listMemberRecords(zoneId, groupId, page) {
      const members = await listMembers(zoneId, groupId, page)
      const [first, last] = [members.at(0)?.memberId, members.at(-1)?.memberId]
      if (first === undefined || last === undefined) return []
      const range = { zone_id: zoneId, group_id: groupId, first, last }
      const [userRows, groupRows] = [await db.read(USERS, range), await db.read(GROUPS, range)]
      const users = new Map(userRows.map(row => [row.id, toUser(row)]))
      const groups = new Map(groupRows.map(row => [row.id, toGroup(row)]))
      return members.map(member => {
        const user = member.memberType === 'USER' ? users.get(member.memberId) : undefined
        const group = member.memberType === 'GROUP' ? groups.get(member.memberId) : undefined
        return { member, ...(user && { user }), ...(group && { group }) }
      })
    },
    async listMembersOfGroups(zoneId, groupIds, count) {
      if (groupIds.length === 0) return []
      const { of, args } = OF_GROUPS(groupIds)
      const rows = await db.read(of, { ...args, zone_id: zoneId, most: count })
      return rows.map(row => ({ ...toMember(row), groupId: row.group_id }))
    },
    async namesOfUser(zoneId, userId) {
      const rows = await db.read(NAMES_OF_USER, { zone_id: zoneId, user_id: userId })
      if (rows.length > MAX_GROUPS_OF_USER) throw new TooManyDetails('user')
      return rows.map(row => row.display_name)
    },
    async reachedFrom(zoneId, groupIds, origin) {
      const reached = new Set<string>()
      for (const part of chunks([...groupIds])) {
        const { of, args } = REACHED(part)
        for (const { group_id } of await db.read(of, { ...args, zone_id: zoneId, origin })) reached.add(group_id)
      }
      return reached
    },
    async listOuter(zoneId, id) {
      return (await db.read(OUTER, { zone_id: zoneId, id })).map(toGroup)
    },
  }
}

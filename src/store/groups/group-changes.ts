// Changes of groups and their members, each in one transaction.
import type { Group, Member, MemberType } from '../../model/users/group.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Statement, Transaction } from '../database.ts'
import { chunks, toGroupRow, toMember, toMemberRow, withList } from './group-rows.ts'
import type { ListArgs } from './group-rows.ts'
import { NoSuchMember } from './group-store.ts'
import type { GroupStore, MemberChange } from './group-store.ts'
import { addNesting, lockNesting, pruneNesting, refuseNesting } from './nesting.ts'
import { GROUP_COLUMNS, GROUP_MEMBER_COLUMNS, insertInto, list, updateByKey } from '../schema.ts'
import type { GroupMemberRow, GroupRow } from '../schema.ts'
import { ChangedMeanwhile } from '../store.ts'

interface Key {
  zone_id: string
  id: string
}
interface InGroup {
  zone_id: string
  group_id: string
}

const FIND = statement<Key, GroupRow>(`select ${list(GROUP_COLUMNS)} from groups where zone_id = :zone_id and id = :id`)
const INSERT = statement<GroupRow>(insertInto('groups', GROUP_COLUMNS))
const INSERT_MISSING = statement<GroupRow>(`${insertInto('groups', GROUP_COLUMNS)} on conflict do nothing`)
const UPDATE = statement<GroupRow>(updateByKey('groups', GROUP_COLUMNS, ['zone_id', 'id']))
const REPLACE = statement<Omit<GroupRow, 'created_at'>>(
  `update groups set display_name = :display_name, display_name_lower = :display_name_lower,
   description = :description, external_id = :external_id, updated_at = :updated_at, version = version + 1
   where zone_id = :zone_id and id = :id and version = :version`,
)
const DELETE = statement<Key & { version: number }>(
  `delete from groups where zone_id = :zone_id and id = :id and version = :version`,
)
const LEAVE_ALL = statement<Key>(
  `delete from group_members where zone_id = :zone_id and member_id = :id and member_type = 'GROUP'`,
)

const ADD_MEMBER = statement<GroupMemberRow>(
  `${insertInto('group_members', GROUP_MEMBER_COLUMNS)} on conflict do nothing`,
)
const removeMember = (condition: string) =>
  statement<InGroup & { member_id: string }, GroupMemberRow>(
    `delete from group_members where zone_id = :zone_id and group_id = :group_id and member_id = :member_id${condition}
     returning member_id, member_type, origin`,
  )
const REMOVE_USER = removeMember(` and member_type = 'USER'`)
const REMOVE_MEMBER = removeMember('')
const COUNT_NESTED = statement<InGroup, { count: number }>(
  `select count(*) as count from group_members
   where zone_id = :zone_id and group_id = :group_id and member_type = 'GROUP'`,
)
const REMOVE_ALL = statement<InGroup>(`delete from group_members where zone_id = :zone_id and group_id = :group_id`)
const REMOVE_SOME = withList<never>(
  placeholders =>
    `delete from group_members where zone_id = :zone_id and group_id = :group_id and member_id in (${placeholders})`,
)
/** Removes members in a range of ids that are not in the list; ids are compared byte by byte. */
const REMOVE_OTHERS = withList<never>(
  placeholders => `delete from group_members where zone_id = :zone_id and group_id = :group_id
   and member_id > :behind and (member_id < :up_to or :is_last = 1) and member_id not in (${placeholders})`,
)
const TABLES = { USER: 'users', GROUP: 'groups' } as const
const addSome = (type: MemberType, placeholders: string): string =>
  `insert into group_members (${list(GROUP_MEMBER_COLUMNS)})
   select zone_id, :group_id, id, '${type}', :origin from ${TABLES[type]}
   where zone_id = :zone_id and id in (${placeholders}) on conflict do nothing`
/** Only what the zone has; the others are noticed by what is missing afterwards. */
const ADD_SOME: Readonly<Record<MemberType, ReturnType<typeof withList<never>>>> = {
  USER: withList(placeholders => addSome('USER', placeholders)),
  GROUP: withList(placeholders => addSome('GROUP', placeholders)),
}
const FIND_SOME = withList<{ member_id: string }>(
  placeholders => `select member_id from group_members
   where zone_id = :zone_id and group_id = :group_id and member_type = :member_type and member_id in (${placeholders})`,
)

/** The writing part of `GroupStore`. */
export function createGroupChanges(
  db: Database,
): Pick<
  GroupStore,
  | 'insert'
  | 'insertMissing'
  | 'update'
  | 'change'
  | 'delete'
  | 'addMember'
  | 'insertMember'
  | 'insertMembers'
  | 'removeMember'
> {
  async function insertMembers(
    zoneId: string,
    groupId: string,
    members: readonly Member[],
  ): Promise<number | 'missing'> {
    const inGroup = { zone_id: zoneId, group_id: groupId }
    try {
      return await db.transaction(async within => {
        if (members.some(({ memberType }) => memberType === 'GROUP')) await lockNesting(within, zoneId)
        if ((await within.run(FIND, { zone_id: zoneId, id: groupId })).rows.length === 0) return 'missing'
        return addMembers(within, inGroup, members)
      })
    } catch (cause) {
      // In PostgreSQL the group may be deleted between the two statements.
      const [group] = await db.read(FIND, { zone_id: zoneId, id: groupId })
      if (group === undefined && !(cause instanceof NoSuchMember)) return 'missing'
      throw cause
    }
  }

  return {
    insert: (zoneId, group, members = []) =>
      db.transaction(async within => {
        if (members.some(({ memberType }) => memberType === 'GROUP')) await lockNesting(within, zoneId)
        await within.run(INSERT, toGroupRow(zoneId, group))
        await addMembers(within, { zone_id: zoneId, group_id: group.id }, members)
      }),
    insertMissing: (zoneId, groups) => db.transaction(within => addMissingGroups(within, zoneId, groups)),
    async update(zoneId, group) {
      await db.write(UPDATE, toGroupRow(zoneId, group))
    },
    change: (zoneId, group, members) =>
      db.transaction(async within => {
        await lockNesting(within, zoneId)
        const { created_at: _, ...row } = toGroupRow(zoneId, group)
        const { changes } = await within.run(REPLACE, row)
        if (changes === 0) throw new ChangedMeanwhile(`group ${group.id}`)
        await changeMembers(within, { zone_id: zoneId, group_id: group.id }, members)
      }),
    delete: (zoneId, id, version) =>
      db.transaction(async within => {
        await lockNesting(within, zoneId)
        const key = { zone_id: zoneId, id }
        // Its own members and its mappings go with the row.
        const { changes } = await within.run(DELETE, { ...key, version })
        if (changes === 0) throw new ChangedMeanwhile(`group ${id}`)
        await within.run(LEAVE_ALL, key)
        await pruneNesting(within, zoneId, { inner: id, outer: id })
      }),
    async addMember(zoneId, membership) {
      const row = toMemberRow(zoneId, membership)
      if (membership.memberType === 'USER') {
        await db.write(ADD_MEMBER, row)
        return
      }
      await db.transaction(async within => {
        await lockNesting(within, zoneId)
        await within.run(ADD_MEMBER, row)
        await addNesting(within, zoneId, { inner: membership.memberId, outer: membership.groupId })
      })
    },
    async insertMember(zoneId, { groupId, ...member }) {
      const added = await insertMembers(zoneId, groupId, [member])
      if (added === 'missing') return added
      return added > 0 ? 'added' : 'same'
    },
    insertMembers,
    removeMember: (zoneId, groupId, memberId) =>
      db.transaction(async within => {
        const key = { zone_id: zoneId, group_id: groupId, member_id: memberId }
        const [user] = (await within.run(REMOVE_USER, key)).rows
        if (user) return toMember(user)
        await lockNesting(within, zoneId) // before the row, as changes of the group do
        const [row] = (await within.run(REMOVE_MEMBER, key)).rows
        if (row?.member_type === 'GROUP') await pruneNesting(within, zoneId, { inner: memberId, outer: groupId })
        return row && toMember(row)
      }),
  }
}

/** Adds the groups whose names the zone does not have yet, inside a transaction. */
export async function addMissingGroups(within: Transaction, zoneId: string, groups: readonly Group[]): Promise<void> {
  // In a fixed order: otherwise two transactions that add the same names could deadlock.
  const rows = groups.map(group => toGroupRow(zoneId, group)).toSorted(byName)
  for (const row of rows) await within.run(INSERT_MISSING, row)
}

const byName = (one: GroupRow, other: GroupRow): number => (one.display_name_lower < other.display_name_lower ? -1 : 1)

async function changeMembers(
  within: Transaction,
  inGroup: InGroup,
  { remove, add, addsNone = false }: MemberChange,
): Promise<void> {
  // Before anything else, since no statement can hold it.
  const odd = add.find(({ memberId }) => !isStorable(memberId))
  if (odd) throw new NoSuchMember(odd)
  const nestedBefore = remove.length > 0 ? await countNested(within, inGroup) : 0
  if (remove === 'others') await removeOthers(within, inGroup, add)
  else {
    for (const ids of chunks(remove.filter(isStorable))) await runList(within, REMOVE_SOME(ids), inGroup)
  }
  if (nestedBefore > 0 && (await countNested(within, inGroup)) < nestedBefore) {
    const [only = ''] = remove.length === 1 ? remove : []
    await pruneNesting(within, inGroup.zone_id, { inner: only || inGroup.group_id, outer: inGroup.group_id })
  }
  if (!addsNone) await addMembers(within, inGroup, add)
}

/** Groups that are directly in the group. */
async function countNested(within: Transaction, inGroup: InGroup): Promise<number> {
  const [row] = (await within.run(COUNT_NESTED, inGroup)).rows
  return row?.count ?? 0
}

async function removeOthers(within: Transaction, inGroup: InGroup, kept: readonly Member[]): Promise<void> {
  if (kept.length === 0) {
    await within.run(REMOVE_ALL, inGroup)
    return
  }
  const ids = kept.map(({ memberId }) => memberId).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const parts = chunks(ids)
  for (const [index, part] of parts.entries()) {
    const upTo = parts[index + 1]?.[0]
    const range = { behind: index === 0 ? '' : (parts[index - 1]?.at(-1) ?? ''), up_to: upTo ?? '' }
    await runList(within, REMOVE_OTHERS(part), { ...inGroup, ...range, is_last: upTo === undefined ? 1 : 0 })
  }
}

/** Adds those that are no members yet, and returns how many; throws for one that the zone does not have as this type. */
async function addMembers(within: Transaction, inGroup: InGroup, members: readonly Member[]): Promise<number> {
  let added = 0
  const odd = members.find(({ memberId }) => !isStorable(memberId))
  if (odd) throw new NoSuchMember(odd)
  for (const type of ['USER', 'GROUP'] as const) {
    const ofType = members.filter(({ memberType }) => memberType === type)
    if (ofType.length === 0) continue
    if (type === 'GROUP') await lockNesting(within, inGroup.zone_id)
    for (const [origin, ids] of Map.groupBy(ofType, each => each.origin)) {
      const memberIds = ids.map(({ memberId }) => memberId)
      for (const part of chunks(memberIds)) {
        if (type === 'GROUP') await nest(within, inGroup, part)
        const { changes } = await runList(within, ADD_SOME[type](part), { ...inGroup, origin })
        if (changes < part.length) await refuseUnknown(within, inGroup, { type, ids: part })
        added += changes
      }
    }
  }
  return added
}

async function refuseUnknown(
  within: Transaction,
  inGroup: InGroup,
  { type, ids }: { readonly type: MemberType; readonly ids: readonly string[] },
): Promise<void> {
  const { rows } = await runList(within, FIND_SOME(ids), { ...inGroup, member_type: type })
  const found = new Set(rows.map(row => row.member_id))
  const unknown = ids.find(id => !found.has(id))
  if (unknown !== undefined) throw new NoSuchMember({ memberId: unknown, memberType: type })
}

/** Adds the pairs of groups that will be members; those that are members already have theirs. */
async function nest(within: Transaction, inGroup: InGroup, ids: readonly string[]): Promise<void> {
  const { zone_id: zoneId, group_id: outer } = inGroup
  const { rows } = await runList(within, FIND_SOME(ids), { ...inGroup, member_type: 'GROUP' })
  const members = new Set(rows.map(row => row.member_id))
  for (const inner of ids) {
    if (members.has(inner)) continue
    await refuseNesting(within, zoneId, { inner, outer })
    await addNesting(within, zoneId, { inner, outer })
  }
}

const runList = <Row>(
  within: Transaction,
  { of, args }: { readonly of: Statement<ListArgs, Row>; readonly args: ListArgs },
  more: ListArgs | InGroup,
) => within.run(of, { ...args, ...more })

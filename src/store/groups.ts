import type { ExternalGroup, Group, Membership } from '../model/group.ts'
import { type Database, isStorable, type Statement, statement, type Transaction } from './database.ts'
import { reachedGroups } from './person.ts'
import { lowerCase, withoutNulls } from './rows.ts'
import {
  EXTERNAL_GROUP_COLUMNS,
  type ExternalGroupRow,
  GROUP_COLUMNS,
  GROUP_MEMBER_COLUMNS,
  type GroupMemberRow,
  type GroupRow,
  insertInto,
  list,
  updateByKey,
} from './schema.ts'
import type { GroupStore } from './store.ts'

const FIND_BY_NAME = statement<{ zone_id: string; display_name_lower: string }, GroupRow>(
  `select ${list(GROUP_COLUMNS)} from groups where zone_id = :zone_id and display_name_lower = :display_name_lower`,
)
const INSERT = statement<GroupRow>(insertInto('groups', GROUP_COLUMNS))
const INSERT_MISSING = statement<GroupRow>(`${insertInto('groups', GROUP_COLUMNS)} on conflict do nothing`)
const UPDATE = statement<GroupRow>(updateByKey('groups', GROUP_COLUMNS, ['zone_id', 'id']))
const ADD_MEMBER = statement<GroupMemberRow>(
  `${insertInto('group_members', GROUP_MEMBER_COLUMNS)} on conflict do nothing`,
)
const ADD_EXTERNAL = statement<ExternalGroupRow>(
  `${insertInto('external_groups', EXTERNAL_GROUP_COLUMNS)} on conflict do nothing`,
)
const NAMES_OF_USER = statement<{ zone_id: string; user_id: string }, { display_name: string }>(
  `${reachedGroups(':zone_id', ':user_id')}
   select display_name from groups join reached on groups.id = reached.group_id
   where zone_id = :zone_id order by display_name`,
)

/** Implements `GroupStore` for both databases. */
export function createGroups(db: Database): GroupStore {
  async function findSome(zoneId: string, lowerNames: readonly string[]): Promise<Group[]> {
    const { of, size } = byNames(lowerNames.length)
    const args: Record<string, string> & { zone_id: string } = { zone_id: zoneId }
    for (let place = 0; place < size; place += 1) args[`name_${place}`] = lowerNames[place] ?? lowerNames[0] ?? ''
    return (await db.read(of, args)).map(toGroup)
  }

  return {
    async findByName(zoneId, displayName) {
      const [row] = await db.read(FIND_BY_NAME, { zone_id: zoneId, display_name_lower: lowerCase(displayName) })
      return row && toGroup(row)
    },
    async findByNames(zoneId, displayNames) {
      const names = [...new Set(displayNames.map(lowerCase))].filter(name => isStorable(name))
      const found: Group[] = []
      for (let start = 0; start < names.length; start += MAX_LIST_SIZE) {
        found.push(...(await findSome(zoneId, names.slice(start, start + MAX_LIST_SIZE))))
      }
      return found
    },
    async insert(zoneId, group) {
      await db.write(INSERT, toRow(zoneId, group))
    },
    async update(zoneId, group) {
      await db.write(UPDATE, toRow(zoneId, group))
    },
    async addMember(zoneId, membership) {
      await db.write(ADD_MEMBER, toMemberRow(zoneId, membership))
    },
    async namesOfUser(zoneId, userId) {
      const rows = await db.read(NAMES_OF_USER, { zone_id: zoneId, user_id: userId })
      return rows.map(row => row.display_name)
    },
    async addExternal(zoneId, mapping) {
      await db.write(ADD_EXTERNAL, toExternalRow(zoneId, mapping))
    },
  }
}

/** Adds the groups whose names the zone does not have yet, inside a transaction. */
export async function addMissingGroups(within: Transaction, zoneId: string, groups: readonly Group[]): Promise<void> {
  for (const group of groups) await within.run(INSERT_MISSING, toRow(zoneId, group))
}

// Lists are padded to one of these sizes by repeating a name, so that three prepared statements suffice.
const LIST_SIZES = [4, 16, 64] as const
const MAX_LIST_SIZE = 64

const BY_NAMES = LIST_SIZES.map(size => {
  const places = Array.from({ length: size }, (_, place) => `:name_${place}`)
  return {
    size,
    of: statement<Readonly<Record<string, string>>, GroupRow>(
      `select ${list(GROUP_COLUMNS)} from groups
       where zone_id = :zone_id and display_name_lower in (${list(places)}) order by display_name`,
    ),
  }
})

function byNames(count: number): { of: Statement<Readonly<Record<string, string>>, GroupRow>; size: number } {
  const fitting = BY_NAMES.find(({ size }) => size >= count)
  if (fitting === undefined) throw new RangeError(`a list of ${count} names`)
  return fitting
}

const toRow = (zoneId: string, group: Group): GroupRow => ({
  zone_id: zoneId,
  id: group.id,
  display_name: group.displayName,
  display_name_lower: lowerCase(group.displayName),
  description: group.description ?? null,
  version: group.version,
  created_at: group.createdAt.getTime(),
  updated_at: group.updatedAt.getTime(),
})

const toGroup = (row: GroupRow): Group =>
  withoutNulls<Group>({
    zoneId: row.zone_id,
    id: row.id,
    displayName: row.display_name,
    description: row.description,
    version: row.version,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  })

const toMemberRow = (zoneId: string, membership: Membership): GroupMemberRow => ({
  zone_id: zoneId,
  group_id: membership.groupId,
  member_id: membership.memberId,
  member_type: membership.memberType,
  origin: membership.origin,
})

const toExternalRow = (zoneId: string, mapping: ExternalGroup): ExternalGroupRow => ({
  zone_id: zoneId,
  group_id: mapping.groupId,
  origin: mapping.origin,
  external_group: mapping.externalGroup,
})

import type { Group } from '../../model/users/group.ts'
import { isStorable, statement } from '../database.ts'
import type { Database } from '../database.ts'
import { createExternalGroups } from './external-groups.ts'
import { createGroupChanges } from './group-changes.ts'
import { createGroupList } from './group-list.ts'
import { createGroupMembers } from './group-members.ts'
import { chunks, toGroup, withList } from './group-rows.ts'
import type { GroupStore } from './group-store.ts'
import { lowerCase } from '../rows.ts'
import { GROUP_COLUMNS, list } from '../schema.ts'
import type { GroupRow } from '../schema.ts'
import { createUserMemberships } from '../users/user-memberships.ts'

const FIND = statement<{ zone_id: string; id: string }, GroupRow>(
  `select ${list(GROUP_COLUMNS)} from groups where zone_id = :zone_id and id = :id`,
)
const FIND_BY_NAME = statement<{ zone_id: string; display_name_lower: string }, GroupRow>(
  `select ${list(GROUP_COLUMNS)} from groups where zone_id = :zone_id and display_name_lower = :display_name_lower`,
)
const FIND_BY_NAMES = withList<GroupRow>(
  placeholders => `select ${list(GROUP_COLUMNS)} from groups
   where zone_id = :zone_id and display_name_lower in (${placeholders}) order by display_name`,
)

/** Implements `GroupStore` for both databases. */
export function createGroups(db: Database): GroupStore {
  return {
    ...createGroupMembers(db),
    ...createGroupChanges(db),
    ...createExternalGroups(db),
    ...createGroupList(db),
    ...createUserMemberships(db),
    async find(zoneId, id) {
      const [row] = await db.read(FIND, { zone_id: zoneId, id })
      return row && toGroup(row)
    },
    async findByName(zoneId, displayName) {
      const [row] = await db.read(FIND_BY_NAME, { zone_id: zoneId, display_name_lower: lowerCase(displayName) })
      return row && toGroup(row)
    },
    async findByNames(zoneId, displayNames) {
      const names = [...new Set(displayNames.map(lowerCase))].filter(name => isStorable(name))
      const found: Group[] = []
      for (const part of chunks(names)) {
        const { of, args } = FIND_BY_NAMES(part)
        found.push(...(await db.read(of, { ...args, zone_id: zoneId })).map(toGroup))
      }
      return found
    },
  }
}

// The direct memberships of one user that a provider owns, and the groups that mappings lead to.
import { isStorable, statement } from '../database.ts'
import type { Database } from '../database.ts'
import { chunks, withList } from '../groups/group-rows.ts'
import type { GroupStore, NamedGroup } from '../groups/group-store.ts'
import { nameOfGroup } from '../groups/nesting.ts'

const NAME_OF_MAPPED = nameOfGroup(':zone_id', 'external_groups.group_id')
const MAPPED = withList<{ id: string; display_name: string }>(
  placeholders => `select distinct group_id as id, ${NAME_OF_MAPPED} as display_name from external_groups
   where zone_id = :zone_id and origin = :origin and external_group in (${placeholders})`,
)
/**
 * Mappings whose text may be a DN that has another canonical form than this text, which `MAPPED` does not find. Two spaces next to
 * each other are written as a concatenation, because statements have single ones.
 */
const ODDLY_MAPPED = statement<
  { zone_id: string; origin: string },
  { id: string; display_name: string; external_group: string }
>(
  `select group_id as id, ${NAME_OF_MAPPED} as display_name, external_group from external_groups
   where zone_id = :zone_id and origin = :origin and (
   external_group like '% ' || ' %'
   or ${['\\', '+', '#', ' ,', ', ', ' =', '= '].map(part => `external_group like '%${part}%' escape '~'`).join(' or ')})`,
)
const OUTER = withList<{ inner_id: string; display_name: string }>(
  placeholders => `select inner_id, display_name from (
     select inner_id, ${nameOfGroup(':zone_id', 'outer_id')} as display_name from group_nesting
     where zone_id = :zone_id and inner_id in (${placeholders})) as named
   where display_name is not null`,
)
const DIRECT = statement<{ zone_id: string; user_id: string }, { group_id: string; origin: string }>(
  `select group_id, origin from group_members
   where zone_id = :zone_id and member_id = :user_id and member_type = 'USER'`,
)
const LEAVE = withList<never>(
  placeholders => `delete from group_members where zone_id = :zone_id and member_id = :user_id and member_type = 'USER'
   and origin = :origin and group_id in (${placeholders})`,
)
/** Only groups that are still there; an existing membership keeps its origin. */
const JOIN = withList<never>(
  placeholders => `insert into group_members (zone_id, group_id, member_id, member_type, origin)
   select groups.zone_id, groups.id, users.id, 'USER', :origin from groups
   join users on users.zone_id = groups.zone_id and users.id = :user_id
   where groups.zone_id = :zone_id and groups.id in (${placeholders}) order by groups.id on conflict do nothing`,
)

/** The part of `GroupStore` that sign-ins at providers use. */
export function createUserMemberships(
  db: Database,
): Pick<GroupStore, 'findMapped' | 'listOddlyMapped' | 'listOuterNames' | 'listDirect' | 'changeOwned'> {
  return {
    async findMapped(zoneId, origin, externalGroups) {
      const found = new Map<string, NamedGroup>()
      for (const part of chunks([...new Set(externalGroups)].filter(isStorable))) {
        const { of, args } = MAPPED(part)
        const rows = await db.read(of, { ...args, zone_id: zoneId, origin })
        for (const { id, display_name: displayName } of rows) found.set(id, { id, displayName })
      }
      return [...found.values()]
    },
    async listOddlyMapped(zoneId, origin) {
      const rows = await db.read(ODDLY_MAPPED, { zone_id: zoneId, origin })
      return rows.map(({ id, display_name: displayName, external_group: externalGroup }) => ({
        id,
        displayName,
        externalGroup,
      }))
    },
    async listOuterNames(zoneId, ids) {
      const names = []
      for (const part of chunks(ids)) {
        const { of, args } = OUTER(part)
        const rows = await db.read(of, { ...args, zone_id: zoneId })
        names.push(...rows.map(row => ({ inner: row.inner_id, displayName: row.display_name })))
      }
      return names
    },
    async listDirect(zoneId, userId) {
      const rows = await db.read(DIRECT, { zone_id: zoneId, user_id: userId })
      return rows.map(({ group_id: groupId, origin }) => ({ groupId, origin }))
    },
    async changeOwned(zoneId, { userId, origin }, { remove, add }) {
      const of = { zone_id: zoneId, user_id: userId, origin }
      await db.transaction(async within => {
        for (const [change, ids] of [
          [LEAVE, remove],
          [JOIN, add],
        ] as const) {
          // In a fixed order: otherwise two concurrent sign-ins of the user could deadlock.
          for (const part of chunks(ids.toSorted())) {
            const { of: statement, args } = change(part)
            await within.run(statement, { ...args, ...of })
          }
        }
      })
    },
  }
}

// The mappings of groups of external providers.
import { statement, statementOnce } from '../database.ts'
import type { Database, Value } from '../database.ts'
import { toExternalGroup, toExternalRow } from './group-rows.ts'
import type { GroupStore } from './group-store.ts'
import { nameOfGroup } from './nesting.ts'
import { EXTERNAL_GROUP_COLUMNS, insertInto, list } from '../schema.ts'
import type { ExternalGroupRow } from '../schema.ts'

type Key = Omit<ExternalGroupRow, 'created_at'>

const WHERE = `where zone_id = :zone_id and origin = :origin and external_group = :external_group and group_id = :group_id`
const ADD = statement<ExternalGroupRow>(
  `${insertInto('external_groups', EXTERNAL_GROUP_COLUMNS)} on conflict do nothing`,
)
const FIND = statement<Key, ExternalGroupRow>(`select ${list(EXTERNAL_GROUP_COLUMNS)} from external_groups ${WHERE}`)
const DELETE = statement<Key>(`delete from external_groups ${WHERE}`)

/** The part of `GroupStore` that is about mappings. */
export function createExternalGroups(
  db: Database,
): Pick<GroupStore, 'addExternal' | 'findExternal' | 'deleteExternal' | 'listExternal'> {
  return {
    async addExternal(zoneId, mapping) {
      await db.write(ADD, toExternalRow(zoneId, mapping))
    },
    async findExternal(zoneId, mapping) {
      const [row] = await db.read(FIND, toExternalRow(zoneId, mapping))
      return row && toExternalGroup(row)
    },
    async deleteExternal(zoneId, mapping) {
      return (await db.write(DELETE, toExternalRow(zoneId, mapping))).changes > 0
    },
    async listExternal(zoneId, { origin, externalGroup, startIndex, count }) {
      const args: Record<string, Value> = { zone_id: zoneId }
      const conditions = ['zone_id = :zone_id']
      if (origin !== undefined) conditions.push('origin = :origin')
      if (externalGroup !== undefined) conditions.push('external_group = :external_group')
      if (origin !== undefined) args['origin'] = origin
      if (externalGroup !== undefined) args['external_group'] = externalGroup
      const from = `from external_groups where ${conditions.join(' and ')}`
      const [total] = await db.scan(statementOnce<{ total: number }>(`select count(*) as total ${from}`), args)
      const page = statementOnce<ExternalGroupRow & { display_name: string }>(
        `select ${list(EXTERNAL_GROUP_COLUMNS)}, ${nameOfGroup(':zone_id', 'external_groups.group_id')} as display_name ${from}
         order by external_group, display_name, origin limit :most offset :passed`,
      )
      const rows = await db.scan(page, { ...args, most: count, passed: startIndex - 1 })
      return {
        records: rows.map(row => ({ ...toExternalGroup(row), displayName: row.display_name })),
        totalResults: total?.total ?? 0,
      }
    },
  }
}

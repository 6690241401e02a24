// Lists of groups: the attributes for filters and sorting, named like UAA's columns.
import { groupFields } from '../records/group.ts'
import { filterAttributes, sortOrders } from '../records/record.ts'
import type { Database } from './database.ts'
import type { Attribute } from './filter-sql.ts'
import { toGroup } from './group-rows.ts'
import type { GroupStore } from './group-store.ts'
import type { Listing } from './listing.ts'
import { readPage } from './listing.ts'
import { lowerCase } from './rows.ts'
import { GROUP_COLUMNS } from './schema.ts'
import type { GroupRow } from './schema.ts'

const FIELDS = filterAttributes(groupFields)
const ORDERS_OF_FIELDS = sortOrders(groupFields)

/** Names that SCIM nests. */
const META = ['created', 'lastmodified', 'version'] as const

const nested = <V>(of: ReadonlyMap<string, V>): readonly (readonly [string, V])[] =>
  META.flatMap(name => {
    const found = of.get(name)
    return found === undefined ? [] : [[`meta.${name}`, found] as const]
  })

const DISPLAY_NAME: Attribute = {
  column: 'display_name',
  type: 'text',
  folded: { column: 'display_name_lower', fold: lowerCase },
}

const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map<string, Attribute>([
  ...FIELDS,
  ...nested(FIELDS),
  ['displayname', DISPLAY_NAME],
  ['identity_zone_id', { column: 'zone_id', type: 'text' }],
])

const ORDERS: ReadonlyMap<string, string> = new Map([
  ...ORDERS_OF_FIELDS,
  ...nested(ORDERS_OF_FIELDS),
  ['identity_zone_id', 'id'], // the same for every group of a zone
])

/** `list` of the groups. */
export function createGroupList(db: Database): GroupStore['list'] {
  const listing: Listing = {
    table: 'groups',
    columns: GROUP_COLUMNS,
    key: 'id',
    attributes: ATTRIBUTES,
    orders: ORDERS,
    outline: (_, load) => load(),
  }
  return async (zoneId, query) => {
    const { rows, totalResults } = await readPage<GroupRow>(db, listing, { ...query, zoneId })
    return { records: rows.map(toGroup), totalResults }
  }
}

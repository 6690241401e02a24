// Lists of groups: the attributes for filters and sorting, named like UAA's columns or as SCIM 2.0 has them.
import { groupFields } from '../../records/group.ts'
import { filterAttributes, sortOrders } from '../../records/record.ts'
import type { Database } from '../database.ts'
import type { Attribute, ValueRows } from '../listing/filter-sql.ts'
import { toGroup } from './group-rows.ts'
import type { GroupStore } from './group-store.ts'
import type { Listing } from '../listing/listing.ts'
import { readFrom } from '../listing/cursor-page.ts'
import { readPage } from '../listing/numbered-page.ts'
import { lowerCase } from '../rows.ts'
import { GROUP_COLUMNS } from '../schema.ts'
import type { GroupRow } from '../schema.ts'
import type { NamedAttributes } from '../store.ts'

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

const UAA: Pick<Listing, 'attributes' | 'orders'> = { attributes: ATTRIBUTES, orders: ORDERS }

const CORE = 'urn:ietf:params:scim:schemas:core:2.0:group:'
const OWN = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0:group:'
const MEMBERS: ValueRows = { from: 'group_members where zone_id = :zone_id', owner: 'group_id' }
const MEMBER: Attribute = { column: 'member_id', type: 'exact', indexed: true }

/** RFC 7643 §4.2; sorting ignores case where comparing does (RFC 7644 §3.4.2.3). */
function scimAttributes(): Pick<Listing, 'attributes' | 'orders' | 'emptyIsAbsent'> {
  const single: readonly (readonly [string, Attribute])[] = [
    ['id', { column: 'id', type: 'exact' }],
    ['externalid', { column: 'external_id', type: 'exact', indexed: true }],
    ['displayname', DISPLAY_NAME],
    ['meta.created', { column: 'created_at', type: 'dateTime' }],
    ['meta.lastmodified', { column: 'updated_at', type: 'dateTime' }],
  ]
  const description: Attribute = { column: 'description', type: 'text' }
  const members: readonly (readonly [string, Attribute])[] = [
    ['members', { ...MEMBER, rows: { ...MEMBERS, members: new Map([['value', MEMBER]]) } }],
    ['members.value', { ...MEMBER, rows: MEMBERS }],
  ]
  const qualified = [...single, ...members].flatMap(([name, attribute]): readonly (readonly [string, Attribute])[] => [
    [name, attribute],
    [CORE + name, attribute],
  ])
  return {
    emptyIsAbsent: true,
    attributes: new Map<string, Attribute>([...qualified, [`${OWN}description`, description]]),
    orders: new Map([
      ...single.flatMap(([name, { column, folded }]): readonly (readonly [string, string])[] => [
        [name, folded?.column ?? column],
        [CORE + name, folded?.column ?? column],
      ]),
      [`${OWN}description`, 'lower(description)'],
    ]),
  }
}

/** `list` and `page` of the groups. */
export function createGroupList(db: Database): Pick<GroupStore, 'list' | 'page'> {
  const attributes = { uaa: UAA, scim: scimAttributes() }
  const listing: Omit<Listing, 'attributes' | 'orders'> = {
    table: 'groups',
    columns: GROUP_COLUMNS,
    key: 'id',
    outline: (_, load) => load(),
  }
  const of = ({ dialect = 'uaa' }: NamedAttributes): Listing => ({
    ...listing,
    ...attributes[dialect],
    ...(dialect === 'scim' && { nulls: 'last' as const }), // RFC 7644 §3.4.2.3
  })
  return {
    async list(zoneId, query) {
      const { rows, totalResults } = await readPage<GroupRow>(db, of(query), { ...query, zoneId })
      return { records: rows.map(toGroup), totalResults }
    },
    async page(zoneId, query) {
      const { rows, ...positions } = await readFrom<GroupRow>(db, of(query), { ...query, zoneId })
      return { ...positions, records: rows.map(toGroup) }
    },
  }
}

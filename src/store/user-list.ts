// Lists of users: the attributes for filters and sorting, named like UAA's columns.
import { userNameKey } from '../model/user.ts'
import { filterAttributes, sortOrders } from '../records/record.ts'
import { userFields } from '../records/user.ts'
import type { Database } from './database.ts'
import type { Attribute } from './filter-sql.ts'
import type { Listing } from './listing.ts'
import { readPage } from './listing.ts'
import { toUser } from './person.ts'
import { USER_COLUMNS } from './schema.ts'
import type { UserRow } from './schema.ts'
import type { UserStore } from './store.ts'

const FIELDS = filterAttributes(userFields)
const ORDERS_OF_FIELDS = sortOrders(userFields)

/** Names that SCIM nests, and UAA's two names for one column. */
const META = [
  ['meta.created', 'created'],
  ['meta.lastmodified', 'lastmodified'],
  ['meta.version', 'version'],
] as const

const nested = <V>(of: ReadonlyMap<string, V>): readonly (readonly [string, V])[] =>
  META.flatMap(([name, field]) => {
    const found = of.get(field)
    return found === undefined ? [] : [[name, found] as const]
  })

const USER_NAME: Attribute = {
  column: 'user_name',
  type: 'text',
  folded: { column: 'user_name_lower', fold: userNameKey },
}
const EMAIL: Attribute = { column: 'email', type: 'text' }
const PHONE_NUMBER: Attribute = { column: 'phone_number', type: 'text' }

const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map<string, Attribute>([
  ...FIELDS,
  ...nested(FIELDS),
  ['username', USER_NAME],
  ['email', EMAIL],
  ['emails.value', EMAIL],
  ['phonenumber', PHONE_NUMBER],
  ['phonenumbers.value', PHONE_NUMBER],
  ['identity_zone_id', { column: 'zone_id', type: 'text' }],
  // UAA: every user has a password as far as a filter knows, and none has this one.
  ['password', { column: `cast('' as text)`, type: 'text' }],
])

const ORDERS: ReadonlyMap<string, string> = new Map([
  ...ORDERS_OF_FIELDS,
  ...nested(ORDERS_OF_FIELDS),
  ['username', 'user_name_lower'],
  ['email', 'email'],
  ['emails.value', 'email'],
  ['phonenumber', 'phone_number'],
  ['phonenumbers.value', 'phone_number'],
  // The same for every user of a zone; ties are in the order of ids.
  ['identity_zone_id', 'id'],
  ['alias_id', 'id'],
  ['alias_zid', 'id'],
])

/** `list` of the users. */
export function createUserList(db: Database): UserStore['list'] {
  const listing: Listing = {
    table: 'users',
    columns: USER_COLUMNS,
    key: 'id',
    attributes: ATTRIBUTES,
    orders: ORDERS,
    outline: (_, load) => load(),
  }
  return async (zoneId, query) => {
    const { rows, totalResults } = await readPage<UserRow>(db, listing, { ...query, zoneId })
    return { records: rows.map(toUser), totalResults }
  }
}

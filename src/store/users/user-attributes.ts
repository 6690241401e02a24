// The attributes of users for filters and sorting: those of UAA, named like its columns, and those of SCIM 2.0.
import type { FilterDialect } from '../../model/filters/filter.ts'
import { userNameKey } from '../../model/users/user.ts'
import { filterAttributes, sortOrders } from '../../records/record.ts'
import { userFields } from '../../records/user.ts'
import type { Database } from '../database.ts'
import type { Attribute, ValueRows } from '../listing/filter-sql.ts'
import type { Listing } from '../listing/listing.ts'
import type { IndexedAttribute } from './user-values.ts'

/** What lists filter and sort by. */
type ListedAttributes = Pick<Listing, 'attributes' | 'orders' | 'emptyIsAbsent'>

/** The attributes of each dialect. */
export const userAttributes = (db: Pick<Database, 'jsonText'>): Readonly<Record<FilterDialect, ListedAttributes>> => ({
  uaa: uaaAttributes(),
  scim: scimAttributes(db),
})

// Ids are made in lower case.
const ID: Attribute = { column: 'id', type: 'text', folded: { column: 'id' } }
const USER_NAME: Attribute = {
  column: 'user_name',
  type: 'text',
  folded: { column: 'user_name_lower', fold: userNameKey },
  indexed: true,
}

const valueRows = (attribute: IndexedAttribute, condition = ''): ValueRows => ({
  from: `user_values where zone_id = :zone_id and attribute = '${attribute}'${condition}`,
  owner: 'user_id',
})
const VALUE: Attribute = { column: 'value', type: 'text', folded: { column: 'value_lower' }, indexed: true }
const TYPE: Attribute = { column: 'type', type: 'text' }
const PRIMARY: Attribute = { column: 'is_primary', type: 'flag' }
const MEMBERS = new Map([
  ['value', VALUE],
  ['type', TYPE],
  ['primary', PRIMARY],
])

// Any origin, but no index has this column: see `Listing.uncovered`. SQLite keeps to the order of a `cross join`.
const USERS_OF_GROUPS = `group_members.zone_id = groups.zone_id and member_type = 'USER' and group_members.origin >= ''
  and groups.zone_id = :zone_id`

const GROUP_ID: Attribute = { column: 'groups.id', type: 'exact', indexed: true }
const GROUP_NAME: Attribute = {
  column: 'groups.display_name',
  type: 'text',
  folded: { column: 'groups.display_name_lower', fold: name => name.toLowerCase() },
  indexed: true,
}
/** The groups that a user is in, directly and through others. */
const GROUPS: ValueRows = {
  from: [
    `groups cross join group_members where ${USERS_OF_GROUPS} and group_id = groups.id`,
    `groups cross join group_nesting cross join group_members where ${USERS_OF_GROUPS}
     and group_nesting.zone_id = groups.zone_id and outer_id = groups.id and group_id = inner_id`,
  ],
  owner: 'member_id',
  unselective: true,
  members: new Map([
    ['value', GROUP_ID],
    ['display', GROUP_NAME],
  ]),
}
const GROUPS_BY_NAME: Attribute = { ...GROUP_NAME, rows: GROUPS }

function uaaAttributes(): ListedAttributes {
  const fields = filterAttributes(userFields)
  const orders = sortOrders(userFields)
  // What /Users shows: the address of the account, and its one number.
  const email: Attribute = { ...VALUE, rows: valueRows('emails', ' and is_primary = 1') }
  const phoneNumber: Attribute = { ...VALUE, rows: valueRows('phoneNumbers', ' and is_primary = 1') }
  return {
    attributes: new Map<string, Attribute>([
      ...fields,
      ...nested(fields),
      ['id', ID],
      ['username', USER_NAME],
      ['email', email],
      ['emails.value', email],
      ['phonenumber', phoneNumber],
      ['phonenumbers.value', phoneNumber],
      ['groups.display', GROUPS_BY_NAME],
      ['identity_zone_id', { column: 'zone_id', type: 'text' }],
      // UAA: in filters, every user has a password, and none equals this one.
      ['password', { column: `cast('' as text)`, type: 'text' }],
    ]),
    orders: new Map([
      ...orders,
      ...nested(orders),
      ['username', 'user_name_lower'],
      ['email', 'email'],
      ['emails.value', 'email'],
      ['phonenumber', 'phone_number'],
      ['phonenumbers.value', 'phone_number'],
      // The same for every user of a zone; ties are in the order of ids.
      ['identity_zone_id', 'id'],
    ]),
  }
}

/** Also under the names that SCIM nests. */
const nested = <V>(of: ReadonlyMap<string, V>): readonly (readonly [string, V])[] =>
  ['created', 'lastmodified', 'version'].flatMap(name => {
    const found = of.get(name)
    return found === undefined ? [] : [[`meta.${name}`, found] as const]
  })

const CORE = 'urn:ietf:params:scim:schemas:core:2.0:user:'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:user:'
const OWN = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0:user:'

/** RFC 7643 §4.1 and §4.3; sorting ignores case where comparing does (RFC 7644 §3.4.2.3). */
function scimAttributes({ jsonText }: Pick<Database, 'jsonText'>): ListedAttributes {
  const text = (column: string): Attribute => ({ column, type: 'text' })
  const profile = (...path: readonly string[]): Attribute => text(jsonText('profile', path))
  const manyValued = (attribute: IndexedAttribute): readonly (readonly [string, Attribute])[] => {
    const name = attribute.toLowerCase()
    const rows = valueRows(attribute)
    return [
      [name, { ...VALUE, rows: { ...rows, members: MEMBERS } }],
      [`${name}.value`, { ...VALUE, rows }],
      [`${name}.type`, { ...TYPE, rows }],
      [`${name}.primary`, { ...PRIMARY, rows }],
    ]
  }
  const inProfile = ['displayName', 'nickName', 'title', 'userType', 'preferredLanguage', 'locale', 'timezone'] as const
  const inName = ['formatted', 'middleName', 'honorificPrefix', 'honorificSuffix'] as const
  const single: readonly (readonly [string, Attribute])[] = [
    ['id', { column: 'id', type: 'exact' }],
    ['externalid', { column: 'external_id', type: 'exact', indexed: true }],
    ['username', USER_NAME],
    ['name.givenname', text('given_name')],
    ['name.familyname', text('family_name')],
    ...inName.map(name => [`name.${name.toLowerCase()}`, profile('name', name)] as const),
    ...inProfile.map(name => [name.toLowerCase(), profile(name)] as const),
    ['profileurl', { ...profile('profileUrl'), type: 'exact' }],
    ['active', { column: 'active', type: 'flag' }],
    ['meta.created', { column: 'created_at', type: 'dateTime' }],
    ['meta.lastmodified', { column: 'updated_at', type: 'dateTime' }],
  ]
  const manager: Attribute = { ...profile('enterprise', 'manager', 'value'), type: 'exact' }
  const enterprise: readonly (readonly [string, Attribute])[] = [
    ...(['employeeNumber', 'costCenter', 'organization', 'division', 'department'] as const).map(
      name => [ENTERPRISE + name.toLowerCase(), profile('enterprise', name)] as const,
    ),
    // Entra ID compares the attribute itself with an id.
    [`${ENTERPRISE}manager`, manager],
    [`${ENTERPRISE}manager.value`, manager],
    [`${ENTERPRISE}manager.displayname`, profile('enterprise', 'manager', 'displayName')],
  ]
  const own: readonly (readonly [string, Attribute])[] = [
    [`${OWN}origin`, { column: 'origin', type: 'exact' }],
    [`${OWN}verified`, { column: 'verified', type: 'flag' }],
    ...(['gender', 'birthdate', 'website'] as const).map(name => [`${OWN}${name}`, profile(name)] as const),
    [`${OWN}passwordlastmodified`, { column: 'password_changed_at', type: 'dateTime' }],
    [`${OWN}lastlogontime`, { column: 'last_logon_at', type: 'dateTime' }],
    [`${OWN}previouslogontime`, { column: 'previous_logon_at', type: 'dateTime' }],
  ]
  const core = [
    ...single,
    ...manyValued('emails'),
    ...manyValued('phoneNumbers'),
    ['groups', { ...GROUP_ID, rows: GROUPS }],
    ['groups.value', { ...GROUP_ID, rows: GROUPS }],
    ['groups.display', GROUPS_BY_NAME],
  ] as const satisfies readonly (readonly [string, Attribute])[]
  const sorted = [...single, ...enterprise, ...own].map(([name, attribute]) => [name, sortedBy(attribute)] as const)
  const byValue: readonly (readonly [string, string])[] = [
    ['emails', 'lower(email)'],
    ['emails.value', 'lower(email)'],
    ['phonenumbers', 'lower(phone_number)'],
    ['phonenumbers.value', 'lower(phone_number)'],
  ]
  return {
    emptyIsAbsent: true,
    attributes: new Map<string, Attribute>([...qualified(core), ...enterprise, ...own]),
    orders: new Map(qualified([...sorted, ...byValue])),
  }
}

/** Under their names, and those of the core schema also with its URN. */
const qualified = <V>(of: readonly (readonly [string, V])[]): readonly (readonly [string, V])[] =>
  of.flatMap(([name, value]) =>
    name.startsWith('urn:')
      ? [[name, value]]
      : [
          [name, value],
          [CORE + name, value],
        ],
  )

const sortedBy = ({ column, type, folded }: Attribute): string =>
  type === 'text' ? (folded?.column ?? `lower(${column})`) : column

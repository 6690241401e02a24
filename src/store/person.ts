// An account as one statement brings it together with the groups that it is in, for whoever needs both on every request.
import type { User } from '../model/user.ts'
import type { UserRow } from './schema.ts'
import { USER_COLUMNS } from './schema.ts'
import { dateOrNull, withoutNulls } from './rows.ts'

/** The columns of an account and its groups, each with this before its name, so that they fit beside any other table's. */
const PREFIX = 'person_'

/** A row with an account in it; every column is null where there is none. */
export type PersonRow = { readonly [K in keyof UserRow as `person_${K}`]: UserRow[K] | null } & {
  readonly person_groups: string | null
}

// Names are joined into one text, in which a bar inside of a name cannot be taken for one between two. `union` drops what
// was reached before, so that a cycle of groups ends.
const GROUPS = `(with recursive reached (group_id) as (
     select group_id from group_members
     where group_members.zone_id = users.zone_id and member_id = users.id and member_type = 'USER'
     union
     select outward.group_id from group_members outward join reached on outward.member_id = reached.group_id
     where outward.zone_id = users.zone_id and outward.member_type = 'GROUP'
   )
   select string_agg(replace(replace(display_name, '\\', '\\\\'), '|', '\\p'), '|')
   from groups join reached on groups.id = reached.group_id where groups.zone_id = users.zone_id)`

/** What to select from `users`, or from a join with it. */
export const PERSON_COLUMNS = [
  ...USER_COLUMNS.map(column => `users.${column} as ${PREFIX}${column}`),
  `${GROUPS} as ${PREFIX}groups`,
].join(', ')

const PREFIXED = USER_COLUMNS.map(column => [column, `${PREFIX}${column}`] as const)

/** The account of a row, with the names of its groups; undefined where the row has none. */
export function toPerson(row: PersonRow): User | undefined {
  if (row.person_id === null) return undefined
  const columns: Record<string, unknown> = {}
  for (const [column, prefixed] of PREFIXED) columns[column] = row[prefixed]
  // A row with an id is a whole one: the table allows nulls only where its type does.
  return { ...toUser(columns as unknown as UserRow), groupNames: namesIn(row.person_groups) }
}

function namesIn(text: string | null): readonly string[] {
  if (text === null) return [] // no group has an empty name
  return text
    .split('|')
    .map(name => name.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'p' ? '|' : escaped)))
    .toSorted((a, b) => (a < b ? -1 : 1))
}

/** The account of a row. */
export const toUser = (row: UserRow): User =>
  withoutNulls<Omit<User, 'groupNames'>>({
    zoneId: row.zone_id,
    id: row.id,
    userName: row.user_name,
    origin: row.origin,
    passwordHash: row.password_hash,
    passwordRevision: row.password_revision,
    email: row.email,
    givenName: row.given_name,
    familyName: row.family_name,
    phoneNumber: row.phone_number,
    externalId: row.external_id,
    active: row.active === 1,
    verified: row.verified === 1,
    salt: row.salt,
    passwordChangedAt: new Date(row.password_changed_at),
    passwordChangeRequired: row.password_change_required === 1,
    lastLogonAt: dateOrNull(row.last_logon_at),
    previousLogonAt: dateOrNull(row.previous_logon_at),
    version: row.version,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  })

// Reads a user and its groups in one statement, for code that needs both on every request.
import type { User } from '../model/user.ts'
import type { UserRow } from './schema.ts'
import { USER_COLUMNS } from './schema.ts'
import { dateOrNull, withoutNulls } from './rows.ts'

/** Prefix of the columns of the user and its groups, so that they do not clash with those of a joined table. */
const PREFIX = 'person_'

/** A row with a joined user; every column is null without one. */
export type PersonRow = { readonly [K in keyof UserRow as `person_${K}`]: UserRow[K] | null } & {
  readonly person_groups: string | null
}

/** SQL that escapes a string for a list separated by bars. */
const escaped = (text: string): string => `replace(replace(${text}, '\\', '\\\\'), '|', '\\p')`

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, character: string) => (character === 'p' ? '|' : character))

/**
 * A recursive CTE `reached` with the ids of the user's groups, direct and nested. `union` drops duplicates, so that a cycle
 * of groups ends.
 */
export const reachedGroups = (zoneId: string, userId: string): string =>
  `with recursive reached (group_id) as (
     select group_id from group_members
     where group_members.zone_id = ${zoneId} and member_id = ${userId} and member_type = 'USER'
     union
     select outward.group_id from group_members outward join reached on outward.member_id = reached.group_id
     where outward.zone_id = ${zoneId} and outward.member_type = 'GROUP'
   )`

const GROUPS = `(${reachedGroups('users.zone_id', 'users.id')}
   select string_agg(${escaped('display_name')}, '|')
   from groups join reached on groups.id = reached.group_id where groups.zone_id = users.zone_id)`

/** Columns to select from `users` or a join with it, for `toPerson`. */
export const PERSON_COLUMNS = [
  ...USER_COLUMNS.map(column => `users.${column} as ${PREFIX}${column}`),
  `${GROUPS} as ${PREFIX}groups`,
].join(', ')

const PREFIXED = USER_COLUMNS.map(column => [column, `${PREFIX}${column}`] as const)

/** The user of a row with `groupNames`; undefined when the row has none. */
export function toPerson(row: PersonRow): User | undefined {
  if (row.person_id === null) return undefined
  const columns: Record<string, unknown> = {}
  for (const [column, prefixed] of PREFIXED) columns[column] = row[prefixed]
  // A row with an id is complete: the table allows nulls only where `UserRow` does.
  return { ...toUser(columns as unknown as UserRow), groupNames: namesIn(row.person_groups) }
}

function namesIn(text: string | null): readonly string[] {
  if (text === null) return [] // no group has an empty name
  return text
    .split('|')
    .map(unescaped)
    .toSorted((a, b) => (a < b ? -1 : 1))
}

/** A user and its groups as two strings, for `returning`, which can return columns of one table only. */
export interface PackedPerson {
  readonly person: string | null
  readonly person_groups: string | null
}

const NUMBERS: ReadonlySet<keyof UserRow> = new Set([
  'active',
  'verified',
  'password_changed_at',
  'password_change_required',
  'last_logon_at',
  'previous_logon_at',
  'version',
  'created_at',
  'updated_at',
])
const NULL = '\\0'

/** SQL for `returning` that yields a `PackedPerson`; the condition selects from `users`. */
export function packedPerson(condition: string): string {
  const columns = USER_COLUMNS.map(column => `coalesce(${escaped(`cast(users.${column} as text)`)}, '${NULL}')`)
  return `(select ${columns.join(` || '|' || `)} from users where ${condition}) as person,
    (select ${GROUPS} from users where ${condition}) as person_groups`
}

/** Reads the result of `packedPerson`; undefined when there is no such user. */
export function unpackPerson({ person, person_groups: groups }: PackedPerson): User | undefined {
  if (person === null) return undefined
  const texts = person.split('|')
  const columns: Record<string, unknown> = {}
  for (const [place, column] of USER_COLUMNS.entries()) {
    const text = texts[place] ?? NULL
    columns[column] = text === NULL ? null : NUMBERS.has(column) ? Number(text) : unescaped(text)
  }
  return { ...toUser(columns as unknown as UserRow), groupNames: namesIn(groups) } // as in toPerson
}

/** The user of a row. */
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

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

/** Texts that are joined by bars: a bar inside of one cannot be taken for one between two. */
const escaped = (text: string): string => `replace(replace(${text}, '\\', '\\\\'), '|', '\\p')`

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, character: string) => (character === 'p' ? '|' : character))

/**
 * Begins a statement: `reached` has the ids of the groups that a user is in, directly or through others. `union` drops what
 * was reached before, so that a cycle of groups ends.
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
    .map(unescaped)
    .toSorted((a, b) => (a < b ? -1 : 1))
}

/** An account and its groups in two texts, for a statement that may answer columns of one table only. */
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

/** Answers a `PackedPerson` in a statement's `returning`; the condition chooses from `users`. */
export function packedPerson(condition: string): string {
  const columns = USER_COLUMNS.map(column => `coalesce(${escaped(`cast(users.${column} as text)`)}, '${NULL}')`)
  return `(select ${columns.join(` || '|' || `)} from users where ${condition}) as person,
    (select ${GROUPS} from users where ${condition}) as person_groups`
}

/** Reads what `packedPerson` answered; undefined where there is no such account. */
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

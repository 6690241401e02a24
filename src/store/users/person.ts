// Reads a user and its groups in one statement, for code that needs both on every request.
import type { User } from '../../model/people/user.ts'
import { reachedGroups } from '../groups/nesting.ts'
import { rowMapping } from '../../records/record.ts'
import { userFields } from '../../records/user.ts'
import { statement } from '../database.ts'
import type { UserRow } from '../schema.ts'
import { USER_COLUMNS } from '../schema.ts'

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

const GROUPS = `(select string_agg(${escaped('display_name')}, '|') from groups
   where groups.zone_id = users.zone_id and groups.id in (${reachedGroups('users.zone_id', 'users.id')}))`

/** Columns to select from `users` or a join with it, for `toPerson`. */
export const PERSON_COLUMNS = [
  ...USER_COLUMNS.map(column => `users.${column} as ${PREFIX}${column}`),
  `${GROUPS} as ${PREFIX}groups`,
].join(', ')

/** A user with `groupNames`, by id. */
export const FIND_WITH_GROUPS = statement<{ zone_id: string; id: string }, PersonRow>(
  `select ${PERSON_COLUMNS} from users where users.zone_id = :zone_id and users.id = :id`,
)

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

/** Map a user to the columns of the record and back; `user_name_lower` is added by the caller on writes. */
export const { toRow: toUserRow, toRecord: toUser } = rowMapping(userFields)

// Reads a user and its groups in one statement, for code that needs both on every request.
import type { User } from '../../model/users/user.ts'
import { nameOfGroup, reachedGroups } from '../groups/nesting.ts'
import { rowMapping } from '../../records/record.ts'
import { userFields } from '../../records/user.ts'
import { statement } from '../database.ts'
import type { UserRow } from '../schema.ts'
import { USER_COLUMNS } from '../schema.ts'
import { MAX_GROUPS_OF_USER, TooManyDetails } from './user-store.ts'

/** Prefix of the columns of the user and its groups, so that they do not clash with those of a joined table. */
const PREFIX = 'joined_'

/** A row with a joined user; every column is null without one. */
export type JoinedUserRow = { readonly [K in keyof UserRow as `joined_${K}`]: UserRow[K] | null } & {
  readonly joined_groups: string | null
}

/** SQL that escapes a string for a list separated by bars. */
const escaped = (text: string): string => `replace(replace(${text}, '\\', '\\\\'), '|', '\\p')`

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, character: string) => (character === 'p' ? '|' : character))

const GROUPS = `(select string_agg(${escaped('display_name')}, '|')
   from (select ${nameOfGroup('users.zone_id', 'reached.group_id')} as display_name
     from (${reachedGroups('users.zone_id', 'users.id')} limit ${MAX_GROUPS_OF_USER + 1}) as reached) as some_groups)`

/** Columns to select from `users` or a join with it, for `toJoinedUser`. */
export const JOINED_USER_COLUMNS = [
  ...USER_COLUMNS.map(column => `users.${column} as ${PREFIX}${column}`),
  `${GROUPS} as ${PREFIX}groups`,
].join(', ')

/** A user with `groupNames`, by id. Code that reads such a row throws `TooManyDetails` for a user in too many groups. */
export const FIND_WITH_GROUPS = statement<{ zone_id: string; id: string }, JoinedUserRow>(
  `select ${JOINED_USER_COLUMNS} from users where users.zone_id = :zone_id and users.id = :id`,
)

const PREFIXED = USER_COLUMNS.map(column => [column, `${PREFIX}${column}`] as const)

/** The user of a row with `groupNames`; undefined when the row has none. */
export function toJoinedUser(row: JoinedUserRow): User | undefined {
  if (row.joined_id === null) return undefined
  const columns: Record<string, unknown> = {}
  for (const [column, prefixed] of PREFIXED) columns[column] = row[prefixed]
  // A row with an id is complete: the table allows nulls only where `UserRow` does.
  return { ...toUser(columns as unknown as UserRow), groupNames: namesIn(row.joined_groups) }
}

function namesIn(text: string | null): readonly string[] {
  if (text === null) return [] // no group has an empty name
  const names = text.split('|')
  if (names.length > MAX_GROUPS_OF_USER) throw new TooManyDetails('user')
  return names.map(unescaped).toSorted((a, b) => (a < b ? -1 : 1))
}

/** Map a user to the columns of the record and back; `user_name_lower` is added by the caller on writes. */
export const { toRow: toUserRow, toRecord: toUser } = rowMapping(userFields)

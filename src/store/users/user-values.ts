// Finds users by any of their e-mail addresses and telephone numbers, and counts them. Both are derived from `users` and
// written in the same transaction.
import { lowerAscii } from '../../model/filters/filter-match.ts'
import type { User } from '../../model/users/user.ts'
import type { ProfileValue } from '../../records/profile.ts'
import { statement } from '../database.ts'
import type { Transaction } from '../database.ts'
import { flag } from '../rows.ts'
import { insertInto, USER_VALUE_COLUMNS } from '../schema.ts'
import type { UserValueRow } from '../schema.ts'

/** The multi-valued attributes that are indexed. */
export type IndexedAttribute = 'emails' | 'phoneNumbers'

const DELETE = statement<{ zone_id: string; user_id: string }>(
  `delete from user_values where zone_id = :zone_id and user_id = :user_id`,
)
const INSERT = statement<UserValueRow>(insertInto('user_values', USER_VALUE_COLUMNS))

/** Indexes the addresses and numbers of a new user, inside the transaction that inserts the row. */
export async function addUserValues(within: Transaction, zoneId: string, user: User): Promise<void> {
  const rows = [
    ...rowsOf('emails', user.email, user.profile?.emails),
    ...rowsOf('phoneNumbers', user.phoneNumber, user.profile?.phoneNumbers),
  ]
  for (const row of rows) await within.run(INSERT, { ...row, zone_id: zoneId, user_id: user.id })
}

/** Replaces what is indexed of a user, inside the transaction that changes the row. */
export async function replaceUserValues(within: Transaction, zoneId: string, user: User): Promise<void> {
  await within.run(DELETE, { zone_id: zoneId, user_id: user.id })
  await addUserValues(within, zoneId, user)
}

/** The value of the column is the primary one and comes first, also where the profile's list lacks it. */
function rowsOf(
  attribute: IndexedAttribute,
  primary: string | undefined,
  listed: readonly ProfileValue[] = [],
): readonly Omit<UserValueRow, 'zone_id' | 'user_id'>[] {
  const primaryIndex = listed.findIndex(({ value }) => value === primary)
  const first = listed[primaryIndex] ?? { value: primary ?? '' }
  const values = [first, ...listed.filter((_, index) => index !== primaryIndex)]
  return values.flatMap(({ value, type }, position) =>
    value === ''
      ? []
      : [
          {
            attribute,
            position,
            value,
            value_lower: lowerAscii(value),
            type: type ?? null,
            is_primary: flag(position === 0),
          },
        ],
  )
}

// Several rows for a zone, so that concurrent insertions of users rarely block each other.
const SLOTS = 16
const ADD = statement<{ zone_id: string; slot: number; total: number; removed: number }>(
  `insert into user_counts (zone_id, slot, total, removed) values (:zone_id, :slot, :total, :removed)
   on conflict (zone_id, slot) do update set
   total = user_counts.total + excluded.total, removed = user_counts.removed + excluded.removed`,
)

/** Counts a new user; the last statement of the transaction, since it locks a counter. */
export async function countAdded(within: Transaction, zoneId: string, userId: string): Promise<void> {
  await within.run(ADD, { zone_id: zoneId, slot: slotOf(userId), total: 1, removed: 0 })
}

/** Counts several, as `countAdded`; in one row, because transactions that lock several rows in different orders can deadlock. */
export async function countAllAdded(within: Transaction, zoneId: string, users: number): Promise<void> {
  if (users > 0) await within.run(ADD, { zone_id: zoneId, slot: 0, total: users, removed: 0 })
}

/** Counts deleted users, as `countAdded`. */
export async function countRemoved(within: Transaction, zoneId: string, users: number): Promise<void> {
  if (users > 0) await within.run(ADD, { zone_id: zoneId, slot: 0, total: -users, removed: users })
}

function slotOf(id: string): number {
  let sum = 0
  for (let index = 0; index < id.length; index += 1) sum += id.charCodeAt(index)
  return sum % SLOTS
}

/** The number of users of a zone, and of those that were ever deleted; no row is a zone without any. */
export const COUNT_USERS = statement<{ zone_id: string }, { total: number; removed: number }>(
  `select cast(coalesce(sum(total), 0) as bigint) as total, cast(coalesce(sum(removed), 0) as bigint) as removed
   from user_counts where zone_id = :zone_id`,
)

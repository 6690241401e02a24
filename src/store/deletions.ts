// Remembers deleted zones and users for a while, and deletes what a request that began before has written after: to lock the zone
// and the user in each transaction that adds a row would cost every sign-in and every token. Until then nothing finds such
// rows, because the zone or the user is looked up first.
import { type Database, statement, type Transaction } from './database.ts'
import { TABLES_OF_USERS } from './origin-deletion.ts'
import { clearZone } from './zone-deletion.ts'

/** `user_id` is empty for a zone. The column is not `zone_id`, since rows of a deleted zone are deleted. */
interface Deleted {
  zone: string
  user_id: string
}

const NOTE = statement<Deleted>(
  `insert into deletions (zone, user_id) values (:zone, :user_id) on conflict (zone, user_id) do update set seen_at = null`,
)
const NOTE_ORIGIN = statement<{ zone_id: string; origin: string }>(
  `insert into deletions (zone, user_id) select zone_id, id from users where zone_id = :zone_id and origin = :origin
   on conflict (zone, user_id) do update set seen_at = null`,
)

/** Inside the transaction that deletes the zone. */
export const noteDeletedZone = async (within: Transaction, zoneId: string): Promise<void> =>
  void (await within.run(NOTE, { zone: zoneId, user_id: '' }))

/** Inside the transaction that deletes the user. */
export const noteDeletedUser = async (within: Transaction, zoneId: string, userId: string): Promise<void> =>
  void (await within.run(NOTE, { zone: zoneId, user_id: userId }))

/** Inside the transaction that deletes the users of the origin, before it. */
export const noteDeletedOrigin = async (within: Transaction, zoneId: string, origin: string): Promise<void> =>
  void (await within.run(NOTE_ORIGIN, { zone_id: zoneId, origin }))

/** No request takes as long. */
const KEPT_MS = 5 * 60_000
const AT_ONCE = 20

// Dated by the process that deletes the rows, so that the clocks of others do not matter.
const SEE = statement<{ seen_at: number }>(
  `update deletions set seen_at = :seen_at where (zone, user_id) in (
     select zone, user_id from deletions where seen_at is null limit 200)`,
)
const DUE = statement<{ before: number }, Deleted>(
  `select zone, user_id from deletions where seen_at < :before order by seen_at limit ${AT_ONCE}`,
)
const FORGET = statement<Deleted>(`delete from deletions where zone = :zone and user_id = :user_id`)
const ZONE = statement<{ id: string }, { id: string }>(`select id from zones where id = :id`)
const USER = statement<{ zone_id: string; id: string }, { id: string }>(
  `select id from users where zone_id = :zone_id and id = :id`,
)
const ROWS_OF_USER = TABLES_OF_USERS.map(([table, user]) =>
  statement<{ zone_id: string; user_id: string }>(
    `delete from ${table} where zone_id = :zone_id and ${user} = :user_id`,
  ),
)

/** Deletes what is left of some deleted zones and users; returns how many. */
export async function purgeDeleted(db: Database, now: Date): Promise<number> {
  const { changes } = await db.write(SEE, { seen_at: now.getTime() })
  const due = await db.read(DUE, { before: now.getTime() - KEPT_MS })
  for (const each of due) await db.transaction(within => purgeOne(within, each))
  return changes + due.length
}

async function purgeOne(within: Transaction, { zone, user_id: userId }: Deleted): Promise<void> {
  await within.run(FORGET, { zone, user_id: userId })
  if (userId !== '') {
    if ((await within.run(USER, { zone_id: zone, id: userId })).rows.length > 0) return
    for (const deleteRows of ROWS_OF_USER) await within.run(deleteRows, { zone_id: zone, user_id: userId })
    return
  }
  // A zone that was created again was cleared then.
  if ((await within.run(ZONE, { id: zone })).rows.length === 0) await clearZone(within, zone)
}

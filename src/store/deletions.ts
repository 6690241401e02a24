// Remembers deleted zones, users and clients for a while, and deletes what a request that began before has written after: to lock
// them in each transaction that adds a row would cost every sign-in and every token. Until then nothing finds such rows, because
// the zone, the user or the client is looked up first.
import { type Database, type Statement, statement, type Transaction } from './database.ts'
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

interface DeletedClient {
  zone: string
  client_id: string
}

const NOTE_CLIENT = statement<DeletedClient>(
  `insert into deleted_clients (zone, client_id) values (:zone, :client_id)
   on conflict (zone, client_id) do update set seen_at = null`,
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

/** Inside the transaction that deletes the client. */
export const noteDeletedClient = async (within: Transaction, zoneId: string, clientId: string): Promise<void> =>
  void (await within.run(NOTE_CLIENT, { zone: zoneId, client_id: clientId }))

/** No request takes as long. */
const KEPT_MS = 5 * 60_000
const AT_ONCE = 20

// Dated by the process that deletes the rows, so that the clocks of others do not matter.
const see = (table: string, keys: string): Statement<{ seen_at: number }, never> =>
  statement(
    `update ${table} set seen_at = :seen_at where (${keys}) in (select ${keys} from ${table} where seen_at is null limit 200)`,
  )
const due = <Row>(table: string, keys: string): Statement<{ before: number }, Row & { seen_at: number }> =>
  statement(`select ${keys}, seen_at from ${table} where seen_at < :before order by seen_at limit ${AT_ONCE}`)

const SEE = see('deletions', 'zone, user_id')
const DUE = due<Deleted>('deletions', 'zone, user_id')
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

const SEE_CLIENTS = see('deleted_clients', 'zone, client_id')
const DUE_CLIENTS = due<DeletedClient>('deleted_clients', 'zone, client_id')
const FORGET_CLIENT = statement<DeletedClient & { seen_at: number }>(
  `delete from deleted_clients where zone = :zone and client_id = :client_id and seen_at = :seen_at`,
)
/** A few milliseconds of work: on SQLite, every other write waits for it. */
const ROWS_AT_ONCE = 200
// Codes and pushed requests expire within minutes. Each statement checks that the client was not created again.
const ROWS_OF_CLIENT = [
  ['tokens', 'id_digest'],
  ['approvals', 'user_id, client_id, scope'],
].map(([table, keys]) =>
  statement<{ zone_id: string; client_id: string }>(
    `delete from ${table} where zone_id = :zone_id and (${keys}) in (
       select ${keys} from ${table} where zone_id = :zone_id and client_id = :client_id limit ${ROWS_AT_ONCE})
     and not exists (select 1 from clients where zone_id = :zone_id and client_id = :client_id)`,
  ),
)

/** Deletes what is left of some deleted zones, users and clients; returns how many. */
export async function purgeDeleted(db: Database, now: Date): Promise<number> {
  const before = now.getTime() - KEPT_MS
  const { changes } = await db.write(SEE, { seen_at: now.getTime() })
  const deleted = await db.read(DUE, { before })
  for (const each of deleted) await db.transaction(within => purgeOne(within, each))
  const seen = await db.write(SEE_CLIENTS, { seen_at: now.getTime() })
  const clients = await db.read(DUE_CLIENTS, { before })
  for (const each of clients) await purgeClient(db, each)
  return changes + deleted.length + seen.changes + clients.length
}

async function purgeClient(db: Database, { seen_at, ...client }: DeletedClient & { seen_at: number }): Promise<void> {
  for (const deleteSome of ROWS_OF_CLIENT) {
    const key = { zone_id: client.zone, client_id: client.client_id }
    while ((await db.write(deleteSome, key)).changes === ROWS_AT_ONCE);
  }
  await db.write(FORGET_CLIENT, { ...client, seen_at })
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

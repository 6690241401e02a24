// Remembers deleted zones, users and clients for a while, and deletes rows that a request in progress wrote after the deletion.
// Locking them in each transaction that adds a row would slow down every sign-in and every token. Until then such rows grant
// nothing, because the zone, the user or the client is looked up first; but a group may list a member that is gone.
import { statement } from '../database.ts'
import type { Database, Statement, Transaction } from '../database.ts'
import { ROWS_AT_ONCE, writeInPortions } from './portions.ts'
import { createZoneClearing } from './zone-deletion.ts'

/** Tables with rows of users, and the column with the user's id. */
export const TABLES_OF_USERS = [
  ['approvals', 'user_id'],
  ['authorization_codes', 'user_id'],
  ['tokens', 'user_id'],
  ['sessions', 'user_id'],
  ['sign_in_failures', 'user_id'],
  ['one_time_codes', 'user_id'],
  ['account_events', 'user_id'],
  ['user_values', 'user_id'],
  ['passkeys', 'user_id'],
  ['totp_secrets', 'user_id'],
  ['factor_codes', 'user_id'],
  ['group_members', `member_type = 'USER' and member_id`],
] as const

/** `user_id` is empty for a zone. The column is not `zone_id`, since rows of a deleted zone are deleted. */
interface Deleted {
  zone: string
  user_id: string
}

const NOTE = statement<Deleted>(
  `insert into deletions (zone, user_id) values (:zone, :user_id) on conflict (zone, user_id) do update set seen_at = null`,
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

/** Inside the transaction that deletes the users, before it; `which` follows `where`. */
export const noteDeletedUsers = <Args extends object>(which: string): Statement<Args, never> =>
  statement(
    `insert into deletions (zone, user_id) select zone_id, id from users where ${which}
     on conflict (zone, user_id) do update set seen_at = null`,
  )

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
type Seen<Row> = Row & { readonly seen_at: number }
const due = <Row>(table: string, keys: string): Statement<{ before: number }, Seen<Row>> =>
  statement(`select ${keys}, seen_at from ${table} where seen_at < :before order by seen_at limit ${AT_ONCE}`)

const SEE = see('deletions', 'zone, user_id')
const DUE = due<Deleted>('deletions', 'zone, user_id')
const FORGET = statement<Deleted & { seen_at: number }>(
  `delete from deletions where zone = :zone and user_id = :user_id and seen_at = :seen_at`,
)
const ZONE = statement<{ zone: string }, Deleted>(
  `select zone, user_id from deletions where zone = :zone and user_id = ''`,
)
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

/** Whether the zone was deleted a while ago, so that there may be rows of it. */
export const isDeletedZone = async (db: Database, zoneId: string): Promise<boolean> =>
  (await db.read(ZONE, { zone: zoneId })).length > 0

/** Deletes what is left of some deleted zones, users and clients; returns how many. */
export function createPurgeOfDeleted(db: Database): (now: Date) => Promise<number> {
  const clearZone = createZoneClearing(db)

  async function purgeOne({ seen_at, ...deleted }: Seen<Deleted>): Promise<void> {
    if (deleted.user_id === '') await clearZone(deleted.zone)
    else await db.transaction(within => purgeUser(within, { zone_id: deleted.zone, user_id: deleted.user_id }))
    await db.write(FORGET, { ...deleted, seen_at })
  }

  async function purgeClient({ seen_at, ...client }: Seen<DeletedClient>): Promise<void> {
    const key = { zone_id: client.zone, client_id: client.client_id }
    for (const deleteSome of ROWS_OF_CLIENT) await writeInPortions(db, deleteSome, key)
    await db.write(FORGET_CLIENT, { ...client, seen_at })
  }

  return async now => {
    const before = now.getTime() - KEPT_MS
    const { changes } = await db.write(SEE, { seen_at: now.getTime() })
    const deleted = await db.read(DUE, { before })
    for (const each of deleted) await purgeOne(each)
    const seen = await db.write(SEE_CLIENTS, { seen_at: now.getTime() })
    const clients = await db.read(DUE_CLIENTS, { before })
    for (const each of clients) await purgeClient(each)
    return changes + deleted.length + seen.changes + clients.length
  }
}

async function purgeUser(within: Transaction, key: { zone_id: string; user_id: string }): Promise<void> {
  if ((await within.run(USER, { zone_id: key.zone_id, id: key.user_id })).rows.length > 0) return
  for (const deleteRows of ROWS_OF_USER) await within.run(deleteRows, key)
}

// Deletes all accounts of an origin with their data when its provider is deleted, and their sessions when it is disabled: in
// portions, because there may be very many, and on SQLite every other write waits for each.
import { statement } from '../database.ts'
import type { Database, Transaction } from '../database.ts'
import { noteDeletedUsers, TABLES_OF_USERS } from './deletions.ts'
import { endSessions, noteEnded } from '../sessions/ended-sessions.ts'
import { chosen, parametersFor, ROWS_AT_ONCE } from './portions.ts'
import type { Chosen } from './portions.ts'
import { countRemoved } from '../users/user-values.ts'

interface Origin {
  zone_id: string
  origin: string
}

const SOME_SESSIONS = statement<Origin, { id_digest: string }>(
  `select id_digest from sessions where zone_id = :zone_id and origin = :origin limit ${ROWS_AT_ONCE}`,
)

/**
 * Ends the sessions of the origin's accounts: its provider is disabled, and may be enabled again before they are used. In portions,
 * since there may be very many.
 */
export async function endSessionsOfOrigin(
  db: Pick<Database, 'transaction'>,
  zoneId: string,
  origin: string,
): Promise<void> {
  while ((await db.transaction(within => endSomeSessions(within, zoneId, origin))) === ROWS_AT_ONCE);
}

/** Ends a portion; returns how many. */
export async function endSomeSessions(within: Transaction, zoneId: string, origin: string): Promise<number> {
  const { rows } = await within.run(SOME_SESSIONS, { zone_id: zoneId, origin })
  await endSessions(within, zoneId, rows)
  return rows.length
}

const USERS_AT_ONCE = 50
const USERS = parametersFor(USERS_AT_ONCE)
const SOME_USERS = statement<Origin, { id: string }>(
  `select id from users where zone_id = :zone_id and origin = :origin limit ${USERS_AT_ONCE}`,
)
const NOTE_USERS = noteDeletedUsers<Chosen>(`zone_id = :zone_id and id in (${USERS})`)
const DELETE_USERS = statement<Chosen>(`delete from users where zone_id = :zone_id and id in (${USERS})`)
const ROWS_OF_USERS = [
  ...noteEnded<Chosen>(`zone_id = :zone_id and user_id in (${USERS})`),
  ...TABLES_OF_USERS.map(([table, user]) =>
    statement<Chosen>(`delete from ${table} where zone_id = :zone_id and ${user} in (${USERS})`),
  ),
]
const DELETE_MAPPINGS = statement<Origin>(`delete from external_groups where zone_id = :zone_id and origin = :origin`)

/**
 * Deletes a portion of the accounts of the origin, with their memberships, decisions, tokens and sessions; with the last portion,
 * the mappings of its groups. Returns whether accounts may be left.
 */
export async function deleteSomeOfOrigin(within: Transaction, zoneId: string, origin: string): Promise<boolean> {
  const { rows } = await within.run(SOME_USERS, { zone_id: zoneId, origin })
  if (rows.length > 0) {
    const ids = rows.map(row => row.id)
    const users = chosen(zoneId, USERS_AT_ONCE, ids)
    await within.run(NOTE_USERS, users)
    const { changes } = await within.run(DELETE_USERS, users) // before their sessions, as other changes of users do
    for (const each of ROWS_OF_USERS) await within.run(each, users)
    await countRemoved(within, zoneId, changes)
  }
  if (rows.length === USERS_AT_ONCE) return true
  await within.run(DELETE_MAPPINGS, { zone_id: zoneId, origin })
  return false
}

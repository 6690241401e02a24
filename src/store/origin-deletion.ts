// Deletes all accounts of an origin with their data when its provider is deleted, and their sessions when it is disabled. Uses
// a fixed number of statements, because there may be many accounts.
import { statement, type Transaction } from './database.ts'
import { noteEnded } from './ended-sessions.ts'
import { countRemoved } from './users/user-values.ts'

interface Origin {
  zone_id: string
  origin: string
}

const USERS = `select id from users where zone_id = :zone_id and origin = :origin`

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

const STATEMENTS = [
  ...TABLES_OF_USERS.map(([table, user]) => `delete from ${table} where zone_id = :zone_id and ${user} in (${USERS})`),
  `delete from external_groups where zone_id = :zone_id and origin = :origin`,
].map(text => statement<Origin>(text))
const NOTE_SESSIONS = noteEnded<Origin>(`zone_id = :zone_id and user_id in (${USERS})`)
const DELETE_USERS = statement<Origin>(`delete from users where zone_id = :zone_id and origin = :origin`)

const OF_ORIGIN = `zone_id = :zone_id and origin = :origin`
const NOTE_SESSIONS_OF_ORIGIN = noteEnded<Origin>(OF_ORIGIN)
const DELETE_SESSIONS = statement<Origin>(`delete from sessions where ${OF_ORIGIN}`)

/** Ends the sessions of the origin's accounts: its provider is disabled, and may be enabled again before they are used. */
export async function endSessionsOfOrigin(within: Transaction, zoneId: string, origin: string): Promise<void> {
  for (const each of [NOTE_SESSIONS_OF_ORIGIN, DELETE_SESSIONS]) await within.run(each, { zone_id: zoneId, origin })
}

/** Deletes the accounts of the origin, their memberships, decisions, tokens and sessions, and the mappings of its groups. */
export async function deleteOrigin(within: Transaction, zoneId: string, origin: string): Promise<void> {
  await within.run(NOTE_SESSIONS, { zone_id: zoneId, origin })
  for (const deleteRows of STATEMENTS) await within.run(deleteRows, { zone_id: zoneId, origin })
  const { changes } = await within.run(DELETE_USERS, { zone_id: zoneId, origin })
  await countRemoved(within, zoneId, changes)
}

// Deletes all accounts of an origin with their data when its provider is deleted, and their sessions when it is disabled. Does
// not read the accounts one by one, because there may be many.
import { type Database, statement, type Transaction } from './database.ts'
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

/** A few milliseconds of work: on SQLite, every other write waits for it. */
const SESSIONS_AT_ONCE = 200
const NAMES = Array.from({ length: SESSIONS_AT_ONCE }, (_, index) => `id_${index}`)
const SOME_SESSIONS = statement<Origin, { id_digest: string }>(
  `select id_digest from sessions where zone_id = :zone_id and origin = :origin limit ${SESSIONS_AT_ONCE}`,
)
type Chosen = Readonly<Record<string, string>>
const CHOSEN = `zone_id = :zone_id and id_digest in (${NAMES.map(name => `:${name}`).join(', ')})`
const NOTE_CHOSEN = noteEnded<Chosen>(CHOSEN)
const DELETE_CHOSEN = statement<Chosen>(`delete from sessions where ${CHOSEN}`)

/**
 * Ends the sessions of the origin's accounts: its provider is disabled, and may be enabled again before they are used. In portions,
 * since there may be very many.
 */
export async function endSessionsOfOrigin(
  db: Pick<Database, 'transaction'>,
  zoneId: string,
  origin: string,
): Promise<void> {
  while ((await db.transaction(within => endSomeSessions(within, zoneId, origin))) === SESSIONS_AT_ONCE);
}

/** Ends a portion; returns how many. */
export async function endSomeSessions(within: Transaction, zoneId: string, origin: string): Promise<number> {
  const { rows } = await within.run(SOME_SESSIONS, { zone_id: zoneId, origin })
  if (rows.length === 0) return 0
  const ids = NAMES.map((name, index) => [name, rows[index]?.id_digest ?? ''])
  const chosen: Chosen = { zone_id: zoneId, ...Object.fromEntries(ids) }
  for (const each of [NOTE_CHOSEN, DELETE_CHOSEN]) await within.run(each, chosen)
  return rows.length
}

/** Deletes the accounts of the origin, their memberships, decisions, tokens and sessions, and the mappings of its groups. */
export async function deleteOrigin(within: Transaction, zoneId: string, origin: string): Promise<void> {
  await within.run(NOTE_SESSIONS, { zone_id: zoneId, origin })
  for (const deleteRows of STATEMENTS) await within.run(deleteRows, { zone_id: zoneId, origin })
  const { changes } = await within.run(DELETE_USERS, { zone_id: zoneId, origin })
  await countRemoved(within, zoneId, changes)
}

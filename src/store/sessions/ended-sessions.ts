// Ended sessions whose clients are still to be notified (OpenID Connect Back-Channel Logout). A row is written in the
// transaction that deletes the session, so that no logout is lost with a process.
import type { EndedSession } from '../../model/sessions/ended-session.ts'
import { statement } from '../database.ts'
import type { Database, Statement, Transaction } from '../database.ts'
import { chosen, parametersFor, ROWS_AT_ONCE } from '../deletion/portions.ts'
import type { Chosen } from '../deletion/portions.ts'
import { clientsIn, lineOf } from './session-clients.ts'
import { fromJson, toJson } from '../rows.ts'
import { insertInto, list } from '../schema.ts'
import type { Flag } from '../schema.ts'
import type { EndedSessionStore } from './session-store.ts'

const FROM_SESSION = [
  'zone_id',
  'id',
  'user_id',
  'session_salt',
  'clients',
  'next_attempt_at',
  'attempts',
  'by_path',
] as const
const COLUMNS = [...FROM_SESSION, 'progress', 'began_at'] as const
interface Row {
  zone_id: string
  id: string
  user_id: string
  session_salt: string
  clients: string
  next_attempt_at: number
  attempts: number
  by_path: Flag | null
  progress: string | null
  began_at: number | null
}

/**
 * Records those of the sessions of which a client is to be notified, before they are deleted; `which` follows `where`. The first
 * statement locks them: a client that one gets in between would not be notified.
 */
export const noteEnded = <P extends object>(which: string): readonly Statement<P, never>[] => [
  statement<P>(`update sessions set tells = tells where ${which}`),
  statement<P>(
    `insert into ended_sessions (${list(FROM_SESSION)})
     select zone_id, id_digest, user_id, session_salt, clients, 0, 0, by_path from sessions where tells = 1 and ${which}
     on conflict (zone_id, id) do nothing`,
  ),
]

const CHOSEN = `zone_id = :zone_id and id_digest in (${parametersFor(ROWS_AT_ONCE)})`
const DELETE_CHOSEN = statement<Chosen>(`delete from sessions where ${CHOSEN}`)
const NOTE_CHOSEN = noteEnded<Chosen>(CHOSEN)

/** Ends a portion of sessions inside a transaction; returns how many were still there. */
export async function endSessions(
  within: Transaction,
  zoneId: string,
  sessions: readonly { readonly id_digest: string }[],
): Promise<number> {
  if (sessions.length === 0) return 0
  const ids = sessions.map(({ id_digest: id }) => id)
  const args = chosen(zoneId, ROWS_AT_ONCE, ids)
  for (const note of NOTE_CHOSEN) await within.run(note, args)
  return (await within.run(DELETE_CHOSEN, args)).changes
}

const DUE = statement<{ now: number }, Row>(
  `select ${list(COLUMNS)} from ended_sessions where next_attempt_at <= :now order by next_attempt_at limit 20`,
)
const IS_DUE = statement<{ now: number }, { id: string }>(
  `select id from ended_sessions where next_attempt_at <= :now limit 1`,
)
interface Claim {
  zone_id: string
  id: string
  before: number
  next: number
}
const CLAIM = statement<Claim & { now: number }>(
  `update ended_sessions
   set next_attempt_at = :next, attempts = attempts + 1, began_at = coalesce(began_at, :now)
   where zone_id = :zone_id and id = :id and next_attempt_at = :before`,
)
const RETRY = statement<Claim & { clients: string; progress: string | null; attempts: number }>(
  `update ended_sessions
   set next_attempt_at = :next, clients = :clients, progress = :progress, attempts = :attempts
   where zone_id = :zone_id and id = :id and next_attempt_at = :before`,
)
const DELETE = statement<{ zone_id: string; id: string }>(
  `delete from ended_sessions where zone_id = :zone_id and id = :id`,
)
const WAITING = statement<object, { count: number; began: number | null }>(
  `select count(*) as count, min(began_at) as began
   from (select began_at from ended_sessions limit 10000) waiting`,
)
/** For tests and imports. */
const INSERT = statement<Row>(insertInto('ended_sessions', COLUMNS))

/** Implements `EndedSessionStore` for both databases. */
export function createEndedSessions(db: Database): EndedSessionStore {
  return {
    async add(ended) {
      await db.write(INSERT, toRow(ended))
    },
    async isDue(now) {
      return (await db.read(IS_DUE, { now: now.getTime() })).length > 0
    },
    async claim(now, until) {
      const due = await db.read(DUE, { now: now.getTime() })
      for (const row of due) {
        const { zone_id, id, next_attempt_at: before } = row
        const next = until.getTime()
        // Another process may have claimed it first.
        if ((await db.write(CLAIM, { zone_id, id, before, next, now: now.getTime() })).changes === 0) continue
        const began_at = row.began_at ?? now.getTime()
        return toEnded({ ...row, next_attempt_at: next, attempts: row.attempts + 1, began_at })
      }
      return undefined
    },
    async retry(claimed, { clients, progress, nextAttemptAt, attempts }) {
      const key = { zone_id: claimed.zoneId, id: claimed.id, before: claimed.nextAttemptAt.getTime() }
      const kept = clients.map(lineOf).join('')
      const next = nextAttemptAt.getTime()
      await db.write(RETRY, { ...key, next, clients: kept, progress: progressText(progress), attempts })
    },
    async delete({ zoneId, id }) {
      await db.write(DELETE, { zone_id: zoneId, id })
    },
    async waiting() {
      const [{ count, began } = { count: 0, began: null }] = await db.read(WAITING, {})
      return { count, ...(began !== null && { beganAt: new Date(began) }) }
    },
  }
}

/** A client id, its attempts, and when the next one is due. */
type ProgressEntry = readonly [clientId: string, attempts: number, nextAttemptAt: number]

function progressText(progress: EndedSession['progress']): string | null {
  if (progress === undefined) return null
  const entries = Array.from(progress, ([clientId, { attempts, nextAttemptAt }]): ProgressEntry => {
    return [clientId, attempts, nextAttemptAt.getTime()]
  })
  return toJson(entries)
}

function progressIn(text: string): NonNullable<EndedSession['progress']> {
  const entries = fromJson<readonly ProgressEntry[]>(text)
  return new Map(entries.map(([clientId, attempts, next]) => [clientId, { attempts, nextAttemptAt: new Date(next) }]))
}

const toRow = (ended: EndedSession): Row => ({
  zone_id: ended.zoneId,
  id: ended.id,
  user_id: ended.userId,
  session_salt: ended.sessionSalt,
  clients: ended.clients.map(lineOf).join(''),
  next_attempt_at: ended.nextAttemptAt.getTime(),
  attempts: ended.attempts,
  by_path: ended.byPath ? 1 : null,
  progress: progressText(ended.progress),
  began_at: ended.beganAt?.getTime() ?? null,
})

const toEnded = (row: Row): EndedSession => ({
  zoneId: row.zone_id,
  id: row.id,
  userId: row.user_id,
  sessionSalt: row.session_salt,
  clients: clientsIn(row.clients),
  nextAttemptAt: new Date(row.next_attempt_at),
  attempts: row.attempts,
  ...(row.progress !== null && { progress: progressIn(row.progress) }),
  ...(row.began_at !== null && { beganAt: new Date(row.began_at) }),
  ...(row.by_path === 1 && { byPath: true as const }),
})

// Deleting what expired, a little at a time and off the request path: each table is a write of its own, so that the
// requests of meanwhile get their turn.
import { type Database, type Statement, statement } from './database.ts'
import { purgeKeys } from './keys.ts'

/** A few milliseconds of work: requests of meanwhile wait for no more than that. */
const ROWS_PER_TABLE = 200
const MINUTE = 60_000
const HOUR = 60 * MINUTE
// What makes a token or an assertion worthless outlives it: a clock that jumps forward, and is put right again, revives none.
const OUTLIVES = 24 * HOUR

interface Rule {
  /** Rows that expired, or happened, longer ago than this go. */
  readonly keptMilliseconds: number
  readonly of: Statement<{ before: number }, never>
}

function rule(table: string, keys: string, time: string, keptMilliseconds = 0, condition = ''): Rule {
  return {
    keptMilliseconds,
    of: statement<{ before: number }>(
      `delete from ${table} where (${keys}) in (
         select ${keys} from ${table} where ${time} < :before ${condition} order by ${time} limit ${ROWS_PER_TABLE})`,
    ),
  }
}

const RULES: readonly Rule[] = [
  rule('tokens', 'zone_id, id_digest', 'expires_at'),
  rule('authorization_codes', 'zone_id, code_digest', 'kept_until', OUTLIVES, 'and used_at is not null'),
  rule('authorization_codes', 'zone_id, code_digest', 'expires_at', 10 * MINUTE, 'and used_at is null'),
  rule('revocations', 'zone_id, revoked_id', 'expires_at', OUTLIVES),
  rule('used_assertions', 'zone_id, id_digest', 'expires_at', OUTLIVES),
  rule('one_time_codes', 'zone_id, purpose, user_id', 'expires_at'),
  rule('sessions', 'zone_id, id_digest', 'expires_at'),
  // An expired one is still told apart from a missing one for a while.
  rule('approvals', 'zone_id, user_id, client_id, scope', 'expires_at', 31 * 24 * HOUR),
  // A lock may last for weeks, and holds only while its failures are known.
  rule('sign_in_failures', 'id', 'failed_at', 31 * 24 * HOUR),
  // Every process has read them within a second; one that slept for longer notices that they are gone.
  rule('changes', 'id', 'changed_at', 5 * MINUTE),
]

/** The purge of the database: at most 200 rows of each table per call; answers how many rows went. */
export function createPurge(db: Database): (now: Date) => Promise<number> {
  return async now => {
    let gone = await purgeKeys(db, now)
    for (const { of, keptMilliseconds } of RULES) {
      gone += (await db.write(of, { before: now.getTime() - keptMilliseconds })).changes
    }
    return gone
  }
}

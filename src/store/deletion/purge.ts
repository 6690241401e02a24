// Deletes expired rows in small batches, off the request path. Each table is a separate write, so that requests can run in
// between.
import { ACCOUNT_EVENT_DAYS } from '../../model/users/account-event.ts'
import { type Database, type Statement, statement } from '../database.ts'
import { createPurgeOfDeleted } from './deletions.ts'
import { purgeKeys } from '../keys/keys.ts'
import { ROWS_AT_ONCE } from './portions.ts'
import { purgeProviders } from '../providers.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
// Revocations and used assertion ids are kept longer than the token lives, in case the clock jumps forward and back.
const OUTLIVES = 24 * HOUR
/** Proofs are many and short-lived. */
const PROOFS_OUTLIVE = 5 * MINUTE

interface Rule {
  /** Rows whose time is longer ago than this are deleted. */
  readonly keptMilliseconds: number
  readonly of: Statement<{ before: number }, never>
}

function rule(table: string, keys: string, time: string, keptMilliseconds = 0, condition = ''): Rule {
  return {
    keptMilliseconds,
    of: statement<{ before: number }>(
      `delete from ${table} where (${keys}) in (
         select ${keys} from ${table} where ${time} < :before ${condition} order by ${time} limit ${ROWS_AT_ONCE})`,
    ),
  }
}

const RULES: readonly Rule[] = [
  rule('tokens', 'zone_id, id_digest', 'expires_at'),
  rule('authorization_codes', 'zone_id, code_digest', 'kept_until', OUTLIVES, 'and used_at is not null'),
  rule('authorization_codes', 'zone_id, code_digest', 'expires_at', 10 * MINUTE, 'and used_at is null'),
  rule('revocations', 'zone_id, revoked_id', 'expires_at', OUTLIVES),
  rule('used_assertions', 'zone_id, id_digest', 'expires_at', OUTLIVES),
  rule('used_proofs', 'zone_id, id_digest', 'expires_at', PROOFS_OUTLIVE),
  // The sender counts those that it gives up.
  rule('outgoing_mails', 'zone_id, id', 'useful_until', 5 * MINUTE),
  rule('pushed_requests', 'zone_id, id_digest', 'kept_until'),
  rule('one_time_codes', 'zone_id, code_digest', 'expires_at'),
  rule('factor_codes', 'zone_id, user_id, code_digest', 'expires_at'),
  // Kept for a while, so that a device that polls too late gets `expired_token`.
  rule('device_codes', 'zone_id, code_digest', 'expires_at', 5 * MINUTE),
  rule('registration_tokens', 'zone_id, id', 'expires_at'),
  rule('sessions', 'zone_id, id_digest', 'expires_at'),
  rule('rate_counts', 'counted', 'ends_at', MINUTE),
  // For a while an expired approval is distinguished from a missing one.
  rule('approvals', 'zone_id, user_id, client_id, scope', 'expires_at', 31 * 24 * HOUR),
  // A lockout may last for weeks and depends on these rows.
  rule('sign_in_failures', 'id', 'failed_at', 31 * 24 * HOUR),
  rule('account_events', 'id', 'happened_at', ACCOUNT_EVENT_DAYS * 24 * HOUR),
]
/** Every process reads them within a second; one that was suspended for longer notices. */
const CHANGES_KEPT_MS = 5 * MINUTE

/** Deletes at most 200 expired rows of each table per call; returns the number of rows. */
export function createPurge(db: Database): (now: Date) => Promise<number> {
  // By the clock that dates them: a node whose clock is ahead must not delete what others have not read.
  const purgeChanges = statement(
    `delete from changes where id in (select id from changes where changed_at < ${db.now} - ${CHANGES_KEPT_MS}
       order by changed_at limit ${ROWS_AT_ONCE})`,
  )
  const purgeDeleted = createPurgeOfDeleted(db)
  return async now => {
    let gone =
      (await purgeKeys(db, now)) +
      (await purgeDeleted(now)) +
      (await purgeProviders(db)) +
      (await db.write(purgeChanges, {})).changes
    for (const { of, keptMilliseconds } of RULES) {
      gone += (await db.write(of, { before: now.getTime() - keptMilliseconds })).changes
    }
    return gone
  }
}

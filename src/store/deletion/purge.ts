// Deletes expired rows in small batches, off the request path. Each table is a separate write, so that requests can run in
// between.
import { ACCOUNT_EVENT_DAYS } from '../../model/users/account-event.ts'
import { statement } from '../database.ts'
import type { Database, Statement } from '../database.ts'
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

interface Expiry {
  readonly table: string
  /** The columns that identify a row. */
  readonly key: string
  /** The column that `keptMilliseconds` is counted from. */
  readonly time: string
  readonly keptMilliseconds?: number
  readonly condition?: string
}

const rule = ({ table, key, time, keptMilliseconds = 0, condition }: Expiry): Rule => ({
  keptMilliseconds,
  of: statement<{ before: number }>(
    `delete from ${table} where (${key}) in (
       select ${key} from ${table} where ${time} < :before ${condition === undefined ? '' : `and ${condition}`} order by ${time} limit ${ROWS_AT_ONCE})`,
  ),
})

const RULES: readonly Rule[] = [
  rule({ table: 'tokens', key: 'zone_id, id_digest', time: 'expires_at' }),
  rule({
    table: 'authorization_codes',
    key: 'zone_id, code_digest',
    time: 'kept_until',
    keptMilliseconds: OUTLIVES,
    condition: 'used_at is not null',
  }),
  rule({
    table: 'authorization_codes',
    key: 'zone_id, code_digest',
    time: 'expires_at',
    keptMilliseconds: 10 * MINUTE,
    condition: 'used_at is null',
  }),
  rule({ table: 'revocations', key: 'zone_id, revoked_id', time: 'expires_at', keptMilliseconds: OUTLIVES }),
  rule({ table: 'used_assertions', key: 'zone_id, id_digest', time: 'expires_at', keptMilliseconds: OUTLIVES }),
  rule({ table: 'used_proofs', key: 'zone_id, id_digest', time: 'expires_at', keptMilliseconds: PROOFS_OUTLIVE }),
  // The sender counts those that it gives up.
  rule({ table: 'outgoing_mails', key: 'zone_id, id', time: 'useful_until', keptMilliseconds: 5 * MINUTE }),
  rule({ table: 'pushed_requests', key: 'zone_id, id_digest', time: 'kept_until' }),
  rule({ table: 'one_time_codes', key: 'zone_id, code_digest', time: 'expires_at' }),
  rule({ table: 'factor_codes', key: 'zone_id, user_id, code_digest', time: 'expires_at' }),
  // Kept for a while, so that a device that polls too late gets `expired_token`.
  rule({ table: 'device_codes', key: 'zone_id, code_digest', time: 'expires_at', keptMilliseconds: 5 * MINUTE }),
  rule({ table: 'registration_tokens', key: 'zone_id, id', time: 'expires_at' }),
  rule({ table: 'sessions', key: 'zone_id, id_digest', time: 'expires_at' }),
  rule({ table: 'rate_counts', key: 'counted', time: 'ends_at', keptMilliseconds: MINUTE }),
  // For a while an expired approval is distinguished from a missing one.
  rule({
    table: 'approvals',
    key: 'zone_id, user_id, client_id, scope',
    time: 'expires_at',
    keptMilliseconds: 31 * 24 * HOUR,
  }),
  // A lockout may last for weeks and depends on these rows.
  rule({ table: 'sign_in_failures', key: 'id', time: 'failed_at', keptMilliseconds: 31 * 24 * HOUR }),
  rule({ table: 'account_events', key: 'id', time: 'happened_at', keptMilliseconds: ACCOUNT_EVENT_DAYS * 24 * HOUR }),
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

import { statement } from './database.ts'
import type { Database } from './database.ts'
import type { EventStore } from './store.ts'

const INSERT = statement<{ zone_id: string; user_id: string; failed_at: number }, { id: number }>(
  `insert into sign_in_failures (zone_id, user_id, failed_at) values (:zone_id, :user_id, :failed_at) returning id`,
)
const FORGET = statement<{ zone_id: string; id: number }>(
  `delete from sign_in_failures where zone_id = :zone_id and id = :id`,
)
const SINCE = statement<{ zone_id: string; user_id: string; since: number }, { failed_at: number }>(
  `select failed_at from sign_in_failures
   where zone_id = :zone_id and user_id = :user_id and failed_at > :since order by failed_at`,
)

/** Clears the failed sign-ins of a user; a successful sign-in runs it in its own transaction. */
export const CLEAR_FAILURES = statement<{ zone_id: string; user_id: string }>(
  `delete from sign_in_failures where zone_id = :zone_id and user_id = :user_id`,
)

// Several rows, so that concurrent writes rarely lock the same one. The first one belongs to `probeWriting`.
const RECORD_NOTHING = statement<{ id: number; probed_at: number }>(
  `insert into probes (id, probed_at) values (:id, :probed_at)
   on conflict (id) do update set probed_at = excluded.probed_at`,
)
const PROBE_ROWS = 64

/** Implements `EventStore` for both databases. */
export function createEvents(db: Database): EventStore {
  return {
    async recordFailure(zoneId, userId, at) {
      const { rows } = await db.write(INSERT, { zone_id: zoneId, user_id: userId, failed_at: at.getTime() })
      return rows[0]?.id ?? 0 // which no row has
    },
    async forgetFailure(zoneId, id) {
      await db.write(FORGET, { zone_id: zoneId, id })
    },
    async recordNothing(at) {
      const milliseconds = at.getTime()
      await db.write(RECORD_NOTHING, { id: 2 + (Math.abs(milliseconds) % PROBE_ROWS), probed_at: milliseconds })
    },
    async failures(zoneId, userId, since) {
      const rows = await db.read(SINCE, { zone_id: zoneId, user_id: userId, since: since.getTime() })
      return rows.map(row => new Date(row.failed_at))
    },
    async clearFailures(zoneId, userId) {
      await db.write(CLEAR_FAILURES, { zone_id: zoneId, user_id: userId })
    },
  }
}

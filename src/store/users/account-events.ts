import { MAX_EVENTS_PER_TYPE } from '../../model/users/account-event.ts'
import type { AccountEvent, AccountEventType } from '../../model/users/account-event.ts'
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import { flag, withoutNulls } from '../rows.ts'
import type { Flag } from '../schema.ts'
import type { AccountEventStore } from '../store.ts'

interface EventRow {
  user_id: string
  type: string
  happened_at: number
  by_other: Flag
  remote_address: string | null
  user_agent: string | null
  client_id: string | null
}
const COLUMNS = `user_id, type, happened_at, by_other, remote_address, user_agent, client_id`

// An account may be deleted before its last events are written, and a failed sign-in may name none.
const ADD = statement<EventRow & { zone_id: string }>(
  `insert into account_events (zone_id, ${COLUMNS})
   select zone_id, id, :type, :happened_at, :by_other, :remote_address, :user_agent, :client_id
   from users where zone_id = :zone_id and id = :user_id`,
)
// A batch has few; events that other processes added at the same instant are trimmed with the next one.
const TRIM = statement<{ zone_id: string; user_id: string; type: string }>(
  `delete from account_events where id in (
     select id from account_events where zone_id = :zone_id and user_id = :user_id and type = :type
     order by id desc limit 1000 offset ${MAX_EVENTS_PER_TYPE})`,
)
const LIST = statement<{ zone_id: string; user_id: string; since: number }, EventRow>(
  `select ${COLUMNS} from account_events
   where zone_id = :zone_id and user_id = :user_id and happened_at > :since order by happened_at desc, id desc`,
)

/** Implements `AccountEventStore` for both databases. */
export function createAccountEvents(db: Database): AccountEventStore {
  return {
    async add(zoneId, events) {
      const byAccount = Map.groupBy(events, ({ userId, type }) => `${type} ${userId}`)
      await db.transaction(async within => {
        // In a fixed order, so that two processes never deadlock.
        for (const [, all] of [...byAccount].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          const newest = all.slice(-MAX_EVENTS_PER_TYPE)
          for (const event of newest) await within.run(ADD, { ...toRow(event), zone_id: zoneId })
          const [{ userId, type }] = newest as [AccountEvent] // no group is empty
          await within.run(TRIM, { zone_id: zoneId, user_id: userId, type })
        }
      })
    },
    async list(zoneId, userId, since) {
      const rows = await db.read(LIST, { zone_id: zoneId, user_id: userId, since: since.getTime() })
      return rows.map(toEvent)
    },
  }
}

const toRow = (event: AccountEvent): EventRow => ({
  user_id: event.userId,
  type: event.type,
  happened_at: event.at.getTime(),
  by_other: flag(event.byOther),
  remote_address: event.remoteAddress ?? null,
  user_agent: event.userAgent ?? null,
  client_id: event.clientId ?? null,
})

const toEvent = (row: EventRow): AccountEvent =>
  withoutNulls<AccountEvent>({
    userId: row.user_id,
    type: row.type as AccountEventType, // written by `toRow`
    at: new Date(row.happened_at),
    byOther: row.by_other === 1,
    remoteAddress: row.remote_address,
    userAgent: row.user_agent,
    clientId: row.client_id,
  })

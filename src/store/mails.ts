import type { WaitingMail } from '../model/mail.ts'
import { statement } from './database.ts'
import type { Database, Statement } from './database.ts'
import { createLeases, takeLease } from './leases.ts'
import type { MailStore } from './mail-store.ts'
import { insertInto, list, MAIL_COLUMNS } from './schema.ts'
import type { MailRow } from './schema.ts'

const LEASE = 'mails'
/** Due at once by the clock of the database: one whose node is ahead must not wait for it. */
const addBy = ({ now }: Database): Statement<MailRow, never> =>
  statement<MailRow>(
    insertInto('outgoing_mails', MAIL_COLUMNS).replace(
      ':next_attempt_at',
      `case when :next_attempt_at < ${now} then :next_attempt_at else ${now} end`,
    ),
  )
const NEWEST = statement<{ count: number }, MailRow>(
  `select ${list(MAIL_COLUMNS)} from outgoing_mails order by created_at desc, id limit :count`,
)

const IS_DUE = statement<{ now: number }, { id: string }>(
  `select id from outgoing_mails where next_attempt_at <= :now limit 1`,
)
const firstDue = (order: 'asc' | 'desc') =>
  statement<{ now: number }, MailRow>(
    `select ${list(MAIL_COLUMNS)} from outgoing_mails where next_attempt_at <= :now
     order by next_attempt_at ${order} limit 1`,
  )
const FIRST_DUE = { oldest: firstDue('asc'), newest: firstDue('desc') }
interface Claim {
  zone_id: string
  id: string
  before: number
  next: number
  attempts: number
}
const SET_ATTEMPT = statement<Claim>(
  `update outgoing_mails set next_attempt_at = :next, attempts = :attempts
   where zone_id = :zone_id and id = :id and next_attempt_at = :before`,
)
const DELETE = statement<{ zone_id: string; id: string }>(
  `delete from outgoing_mails where zone_id = :zone_id and id = :id`,
)
const DELETE_EXPIRED = statement<{ now: number }>(
  `delete from outgoing_mails where (zone_id, id) in (
     select zone_id, id from outgoing_mails where useful_until <= :now order by useful_until limit 200)`,
)
const COUNT = statement<object, { count: number }>(
  `select count(*) as count from (select 1 from outgoing_mails limit 10000) waiting`,
)
const SINCE = statement<object, { since: number | null }>(`select min(created_at) as since from outgoing_mails`)

/** Implements `MailStore` for both databases. */
export function createMails(db: Database): MailStore {
  const leases = createLeases(db)
  const take = takeLease(db)
  const addition = addBy(db)
  return {
    async add(mail) {
      await db.write(addition, toRow(mail))
    },
    async newest(count) {
      return (await db.read(NEWEST, { count })).map(toMail)
    },
    async isDue(now) {
      return (await db.read(IS_DUE, { now: now.getTime() })).length > 0
    },
    claim: ({ holder, now, leaseMilliseconds, mailUntil, end }) =>
      db.transaction(async within => {
        const lease = { name: LEASE, holder, milliseconds: leaseMilliseconds }
        if ((await within.run(take, lease)).changes === 0) return { isHolder: false }
        const [row] = (await within.run(FIRST_DUE[end], { now: now.getTime() })).rows
        if (!row) return { isHolder: true }
        const mail = { ...toMail(row), nextAttemptAt: mailUntil, attempts: row.attempts + 1 }
        await within.run(SET_ATTEMPT, toClaim(mail, row.next_attempt_at))
        return { isHolder: true, mail }
      }),
    renew: (holder, leaseMilliseconds) => leases.take(LEASE, holder, leaseMilliseconds),
    release: holder => leases.release(LEASE, holder),
    async postpone(claimed, nextAttemptAt, attempts) {
      await db.write(SET_ATTEMPT, toClaim({ ...claimed, nextAttemptAt, attempts }, claimed.nextAttemptAt.getTime()))
    },
    async delete({ zoneId, id }) {
      await db.write(DELETE, { zone_id: zoneId, id })
    },
    async deleteExpired(now) {
      return (await db.write(DELETE_EXPIRED, { now: now.getTime() })).changes
    },
    async waiting() {
      const [[counted], [first]] = await Promise.all([db.read(COUNT, {}), db.read(SINCE, {})])
      const since = first?.since ?? undefined
      return { count: counted?.count ?? 0, ...(since !== undefined && { since: new Date(since) }) }
    },
  }
}

const toClaim = ({ zoneId, id, nextAttemptAt, attempts }: WaitingMail, before: number): Claim => ({
  zone_id: zoneId,
  id,
  before,
  next: nextAttemptAt.getTime(),
  attempts,
})

const toRow = (mail: WaitingMail): MailRow => ({
  id: mail.id,
  zone_id: mail.zoneId,
  sealed: mail.sealed,
  created_at: mail.createdAt.getTime(),
  next_attempt_at: mail.nextAttemptAt.getTime(),
  attempts: mail.attempts,
  useful_until: mail.usefulUntil.getTime(),
})

const toMail = (row: MailRow): WaitingMail => ({
  id: row.id,
  zoneId: row.zone_id,
  sealed: row.sealed,
  createdAt: new Date(row.created_at),
  nextAttemptAt: new Date(row.next_attempt_at),
  attempts: row.attempts,
  usefulUntil: new Date(row.useful_until),
})

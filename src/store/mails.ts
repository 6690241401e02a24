import type { WaitingMail } from '../model/mail.ts'
import { type Database, statement } from './database.ts'
import { insertInto, list, MAIL_COLUMNS, type MailRow } from './schema.ts'
import type { MailStore } from './store.ts'

const ADD = statement<MailRow>(insertInto('outgoing_mails', MAIL_COLUMNS))
const NEWEST = statement<{ count: number }, MailRow>(
  `select ${list(MAIL_COLUMNS)} from outgoing_mails order by created_at desc, id limit :count`,
)

/** Implements `MailStore` for both databases. */
export function createMails(db: Database): MailStore {
  return {
    async add(mail) {
      await db.write(ADD, toRow(mail))
    },
    async newest(count) {
      return (await db.read(NEWEST, { count })).map(toMail)
    },
  }
}

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

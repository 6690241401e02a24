// The tables of the audit trail. Owns the order of entries; does not know how they are hashed.
import type { AuditChain, AuditEntry, AuditPosition } from '../../model/audit/audit-entry.ts'
import { findAuditEntries } from './audit-find.ts'
import {
  AUDIT_COLUMNS,
  MAX_ENTRY_NUMBER,
  SELECTED_COLUMNS,
  bounded,
  named,
  placeholders,
  toAuditEntry,
  toAuditRow,
} from './audit-rows.ts'
import type { AuditRow } from './audit-rows.ts'
import type { AuditDelivery, AuditState, AuditStore } from './audit-store.ts'
import { statement, statementOnce } from '../database.ts'
import type { Database, Statement, Transaction, Value } from '../database.ts'
import { insertInto, list } from '../schema.ts'

interface ChainRow {
  zone_id: string
  base_number: number
  base_hash: string
  head_number: number
  head_hash: string
  seal: string
}

/** Rows of one statement: on PostgreSQL each statement is a round trip. */
const ROWS_AT_ONCE = 50
const INSERT = statement<AuditRow>(insertInto('audit_entries', AUDIT_COLUMNS))
const INSERT_MANY = statement<Readonly<Record<string, Value>>>(
  `insert into audit_entries (${list(AUDIT_COLUMNS)}) values ${Array.from(
    { length: ROWS_AT_ONCE },
    (_, row) => `(${AUDIT_COLUMNS.map(column => `:${column}_${row}`).join(', ')})`,
  ).join(', ')}`,
)
/** Names of the parameters of each row, by column. */
const NAMES = Array.from({ length: ROWS_AT_ONCE }, (_, row) =>
  AUDIT_COLUMNS.map(column => [column, `${column}_${row}`] as const),
)
const CHAIN_COLUMNS = ['zone_id', 'base_number', 'base_hash', 'head_number', 'head_hash', 'seal'] as const
const SAVE_CHAIN = statement<ChainRow>(
  `${insertInto('audit_chains', CHAIN_COLUMNS)} on conflict (zone_id) do update set base_number = excluded.base_number,
   base_hash = excluded.base_hash, head_number = excluded.head_number, head_hash = excluded.head_hash, seal = excluded.seal`,
)
/** Absent parts are null. One statement: one round trip while others wait for the chain, and one moment. */
type StateRow = { readonly [Column in keyof ChainRow]: ChainRow[Column] | null } & {
  readonly last_number: number | null
  readonly last_hash: string | null
  readonly impossible: string | null
}
const STATE = statement<{ zone_id: string }, StateRow>(
  `select ${CHAIN_COLUMNS.map(column =>
    column.endsWith('_number')
      ? `case when chain.zone_id is not null then ${bounded(`chain.${column}`, MAX_ENTRY_NUMBER)} end as ${column}`
      : `chain.${column}`,
  ).join(', ')}, last.number as last_number, last.hash as last_hash, cast(coalesce(
     (select max(number) from audit_entries where zone_id = :zone_id and number > ${MAX_ENTRY_NUMBER}),
     (select min(number) from audit_entries where zone_id = :zone_id and number < ${-MAX_ENTRY_NUMBER})) as text) as impossible
   from (select 1 as one) always
   left join audit_chains chain on chain.zone_id = :zone_id
   left join (select number, hash from audit_entries
     where zone_id = :zone_id and number between ${-MAX_ENTRY_NUMBER} and ${MAX_ENTRY_NUMBER}
     order by number desc limit 1) last on true`,
)
const ZONE_EXISTS = statement<{ zone_id: string }, { id: string }>(`select id from zones where id = :zone_id`)
const HAS = statement<{ zone_id: string; number: number; hash: string }, { number: number }>(
  `select number from audit_entries where zone_id = :zone_id and number = :number and hash = :hash`,
)
const ZONES = statement<{ after: string; count: number }, { zone_id: string }>(
  `select zone_id from (select zone_id from audit_chains union select id from zones) known
   where zone_id > :after order by zone_id limit :count`,
)
const READ = statement<{ zone_id: string; after: number; count: number }, AuditRow>(
  `select ${SELECTED_COLUMNS} from audit_entries where zone_id = :zone_id and number > :after
   and number between ${-MAX_ENTRY_NUMBER} and ${MAX_ENTRY_NUMBER} order by number limit :count`,
)
const EXPIRED = statement<{ before: number }, { zone_id: string }>(
  `select chain.zone_id from audit_chains chain join audit_entries entry
   on entry.zone_id = chain.zone_id and entry.number = chain.base_number + 1 where entry.happened_at < :before limit 100`,
)
const DELETE_TO = statement<{ zone_id: string; number: number; before: number }>(
  `delete from audit_entries where zone_id = :zone_id and number <= :number and happened_at < :before`,
)

const PURGED_AT_ONCE = 500

interface DeliveryRow {
  zone_id: string
  number: number
  next_attempt_at: number
  attempts: number
}
/** A value that was not written by this server must not block the other zones. */
const counter = (column: string): string => `${bounded(`coalesce(sent.${column}, 0)`, MAX_ENTRY_NUMBER)} as ${column}`
const DUE = `select chain.zone_id, ${counter('number')}, ${counter('next_attempt_at')}, ${counter('attempts')}
  from audit_chains chain left join audit_deliveries sent on sent.zone_id = chain.zone_id and sent.webhook = :webhook
  where chain.head_number > coalesce(sent.number, 0) and coalesce(sent.next_attempt_at, 0) <= :now`
const DUE_OF_ALL = statement<{ webhook: string; now: number }, DeliveryRow>(`${DUE} limit 20`)
const BEGIN_DELIVERY = statement<{ zone_id: string; webhook: string }>(
  `insert into audit_deliveries (zone_id, webhook, number, next_attempt_at, attempts) values (:zone_id, :webhook, 0, 0, 0)
   on conflict (zone_id, webhook) do nothing`,
)
interface Claim {
  zone_id: string
  webhook: string
  before: number
  next: number
}
const CLAIM = statement<Claim & { number: number }>(
  `update audit_deliveries set next_attempt_at = :next, attempts = attempts + 1
   where zone_id = :zone_id and webhook = :webhook and next_attempt_at = :before and number = :number`,
)
const FINISH = statement<Omit<Claim, 'next'> & { number: number }>(
  `update audit_deliveries set number = :number, next_attempt_at = 0, attempts = 0
   where zone_id = :zone_id and webhook = :webhook and next_attempt_at = :before`,
)
const RETRY = statement<Claim>(
  `update audit_deliveries set next_attempt_at = :next
   where zone_id = :zone_id and webhook = :webhook and next_attempt_at = :before`,
)

/** Entries up to the base of a chain have been deleted. */
const waitingOf = (zones: readonly string[] | undefined): string => `
  select cast(coalesce(sum(behind.head_number - behind.sent), 0) as bigint) as count, min(${bounded('entry.happened_at', MAX_ENTRY_NUMBER)}) as since
  from (select chain.zone_id, chain.head_number,
      case when coalesce(sent.number, 0) > chain.base_number then sent.number else chain.base_number end as sent
    from audit_chains chain left join audit_deliveries sent on sent.zone_id = chain.zone_id and sent.webhook = :webhook
    where chain.head_number > coalesce(sent.number, 0) and chain.head_number <= ${MAX_ENTRY_NUMBER}
    ${zones ? `and chain.zone_id in (${placeholders('zone', zones)})` : ''} limit 1000) behind
  left join audit_entries entry on entry.zone_id = behind.zone_id and entry.number = behind.sent + 1`

/** Implements `AuditStore` for both databases. */
export function createAudit(db: Database): AuditStore {
  return {
    async append(zoneId, link) {
      await db.transaction(async within => {
        await within.lock(lockOf(zoneId))
        if ((await within.run(ZONE_EXISTS, { zone_id: zoneId })).rows.length === 0) return
        const { entries, chain } = link(toState((await within.run(STATE, { zone_id: zoneId })).rows[0]))
        await insertAll(within, entries)
        await within.run(SAVE_CHAIN, toChainRow(chain))
      })
    },
    async has(zoneId, { number, hash }) {
      return (await db.read(HAS, { zone_id: zoneId, number, hash })).length > 0
    },
    async state(zoneId) {
      return toState((await db.read(STATE, { zone_id: zoneId }))[0])
    },
    async listZones({ count, after = '' }) {
      return (await db.scan(ZONES, { after, count })).map(row => row.zone_id)
    },
    async read(zoneId, { after, count }) {
      return (await db.read(READ, { zone_id: zoneId, after, count })).map(toAuditEntry)
    },
    find: (zoneId, query) => findAuditEntries(db, zoneId, query),
    async listExpired(before) {
      return (await db.read(EXPIRED, { before: before.getTime() })).map(row => row.zone_id)
    },
    shorten: (zoneId, before, choose) =>
      db.transaction(async within => {
        await within.lock(lockOf(zoneId))
        const { chain } = toState((await within.run(STATE, { zone_id: zoneId })).rows[0])
        if (!chain) return 0
        const page = { zone_id: zoneId, after: chain.base.number, count: PURGED_AT_ONCE }
        const shortened = choose(chain, (await within.run(READ, page)).rows.map(toAuditEntry))
        if (!shortened) return 0
        await within.run(SAVE_CHAIN, toChainRow(shortened))
        const { number } = shortened.base
        return (await within.run(DELETE_TO, { zone_id: zoneId, number, before: before.getTime() })).changes
      }),
    async claimDelivery({ name: webhook, zones }, now, until) {
      const args = { webhook, now: now.getTime() }
      for (const due of await db.read(zones ? dueOf(zones) : DUE_OF_ALL, { ...args, ...named('zone', zones ?? []) })) {
        const { zone_id, number, next_attempt_at: before, attempts } = due
        if (number === 0 && attempts === 0) await db.write(BEGIN_DELIVERY, { zone_id, webhook })
        const claim = { zone_id, webhook, before, next: until.getTime(), number }
        // Another process may have claimed it first.
        if ((await db.write(CLAIM, claim)).changes === 0) continue
        return { zoneId: zone_id, webhook, number, claimedUntil: until, attempts: attempts + 1 }
      }
      return undefined
    },
    async finishDelivery(claimed, number) {
      await db.write(FINISH, { ...claimKey(claimed), number })
    },
    async retryDelivery(claimed, nextAttemptAt) {
      await db.write(RETRY, { ...claimKey(claimed), next: nextAttemptAt.getTime() })
    },
    async waiting({ name: webhook, zones }) {
      const sql = statementOnce<{ count: number; since: number | null }>(waitingOf(zones))
      const [row] = await db.read(sql, { webhook, ...named('zone', zones ?? []) })
      return { count: row?.count ?? 0, since: row?.since == null ? undefined : new Date(row.since) }
    },
  }
}

const lockOf = (zoneId: string): string => `audit ${zoneId}`

const claimKey = ({ zoneId, webhook, claimedUntil }: AuditDelivery) => ({
  zone_id: zoneId,
  webhook,
  before: claimedUntil.getTime(),
})

const dueOf = (zones: readonly string[]): Statement<Readonly<Record<string, Value>>, DeliveryRow> =>
  statementOnce(`${DUE} and chain.zone_id in (${placeholders('zone', zones)}) limit 20`)

async function insertAll(within: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  let done = 0
  for (; done + ROWS_AT_ONCE <= entries.length; done += ROWS_AT_ONCE) {
    const args: Record<string, Value> = {}
    for (const [index, names] of NAMES.entries()) {
      const entry = entries[done + index]
      if (!entry) break
      const row = toAuditRow(entry)
      for (const [column, name] of names) args[name] = row[column]
    }
    await within.run(INSERT_MANY, args)
  }
  for (const entry of entries.slice(done)) await within.run(INSERT, toAuditRow(entry))
}

/** The state in the only row. */
function toState(row: StateRow | undefined): AuditState {
  const { zone_id: zoneId, base_number, base_hash, head_number, head_hash, seal } = row ?? {}
  const base = positionOf(base_number, base_hash)
  const head = positionOf(head_number, head_hash)
  return {
    chain: zoneId != null && base && head && seal != null ? { zoneId, base, head, seal } : undefined,
    last: positionOf(row?.last_number, row?.last_hash),
    ...(row?.impossible != null && { impossible: row.impossible }),
  }
}

const positionOf = (number: number | null | undefined, hash: string | null | undefined): AuditPosition | undefined =>
  number != null && hash != null ? { number, hash } : undefined

const toChainRow = ({ zoneId, base, head, seal }: AuditChain): ChainRow => ({
  zone_id: zoneId,
  base_number: base.number,
  base_hash: base.hash,
  head_number: head.number,
  head_hash: head.hash,
  seal,
})

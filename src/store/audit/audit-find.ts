// Finds entries of the audit trail.
import { addSeconds } from '../../base/clock.ts'
import { FAILURE_TYPES } from '../../model/audit/audit-entry.ts'
import { MAX_ENTRY_NUMBER, SELECTED_COLUMNS, named, placeholders, toAuditEntry } from './audit-rows.ts'
import type { AuditRow } from './audit-rows.ts'
import type { AuditPage, AuditQuery } from './audit-store.ts'
import { statement, statementOnce } from '../database.ts'
import type { Database } from '../database.ts'

/** Entries of several processes are not in the exact order of their times. */
const DISORDER_SECONDS = 60
/** How many entries a page may examine. */
const WINDOW = 20_000
/**
 * Looks at a bounded number of entries, found by the primary key or by the index of principals or of actors, and leaves the rest
 * to the next page: a search for something rare takes more requests, and none takes long.
 */
export async function findAuditEntries(db: Database, zoneId: string, query: AuditQuery): Promise<AuditPage> {
  const { principal, actor, clientId, outcome, from, to, before = MAX_ENTRY_NUMBER + 1, count } = query
  const types = query.types ?? []
  const lowest = from && (await boundary(db, zoneId, 'first', addSeconds(from, -DISORDER_SECONDS)))
  const highest = to && (await boundary(db, zoneId, 'last', addSeconds(to, DISORDER_SECONDS)))
  if ((from && lowest === undefined) || (to && highest === undefined)) return { entries: [] }
  const args = {
    zone_id: zoneId,
    before: Math.min(before, (highest ?? MAX_ENTRY_NUMBER) + 1),
    lowest: lowest ?? 0,
    ...(principal !== undefined && { principal }),
    ...(actor !== undefined && { actor }),
    ...(clientId !== undefined && { client_id: clientId }),
    ...(from && { from: from.getTime() }),
    ...(to && { to: to.getTime() }),
    ...named('type', types),
    ...(outcome && named('failure', FAILURE_TYPES)),
    window: WINDOW,
    count,
  }
  const seen = `select ${SELECTED_COLUMNS} from audit_entries where zone_id = :zone_id
    ${principal === undefined ? '' : 'and principal = :principal'}
    ${actor === undefined ? '' : 'and actor = :actor'}
    and number < :before and number >= :lowest order by number desc limit :window`
  const wanted = [
    ...(clientId === undefined ? [] : ['client_id = :client_id']),
    ...(from ? ['happened_at >= :from'] : []),
    ...(to ? ['happened_at <= :to'] : []),
    ...(types.length === 0 ? [] : [`type in (${placeholders('type', types)})`]),
    ...(outcome ? [`type ${outcome === 'failure' ? 'in' : 'not in'} (${placeholders('failure', FAILURE_TYPES)})`] : []),
  ]
  const where = wanted.length === 0 ? '' : `where ${wanted.join(' and ')}`
  const rows = await db.search(
    statementOnce<AuditRow>(`select * from (${seen}) seen ${where} order by number desc limit :count`),
    args,
  )
  const entries = rows.map(toAuditEntry)
  if (rows.length >= count) return { entries, next: rows.at(-1)?.number ?? 0 }
  const [looked] = await db.search(
    statementOnce<{ size: number; oldest: number | null }>(
      `select count(*) as size, min(number) as oldest from (${seen}) seen`,
    ),
    args,
  )
  return { entries, ...(looked && looked.size >= WINDOW && looked.oldest !== null && { next: looked.oldest }) }
}

/** The number of the first entry since the time, or of the last one until then. */
async function boundary(db: Database, zoneId: string, end: 'first' | 'last', time: Date): Promise<number | undefined> {
  const of = end === 'first' ? FIRST_SINCE : LAST_UNTIL
  return (await db.read(of, { zone_id: zoneId, time: time.getTime() }))[0]?.number
}
const FIRST_SINCE = statement<{ zone_id: string; time: number }, { number: number }>(
  `select number from audit_entries where zone_id = :zone_id and happened_at >= :time
   and number between 0 and ${MAX_ENTRY_NUMBER}
   order by happened_at, number limit 1`,
)
const LAST_UNTIL = statement<{ zone_id: string; time: number }, { number: number }>(
  `select number from audit_entries where zone_id = :zone_id and happened_at <= :time
   and number between 0 and ${MAX_ENTRY_NUMBER}
   order by happened_at desc, number desc limit 1`,
)

import { statement } from './database.ts'
import type { Database, Statement, Value } from './database.ts'
import { CLOCKS_AGREE_WITHIN_MS } from './rate-count-store.ts'
import type { RateCount, RateCountStore, RateReport } from './rate-count-store.ts'

interface RateCountRow {
  counted: string
  total: number
  began_at: number
  ends_at: number
}

/** Rows of one statement: on PostgreSQL each statement is a round trip. */
const ROWS_AT_ONCE = 50
const GOES_ON = `rate_counts.ends_at > :now and rate_counts.began_at <= :latest_begin`
const SUM = `rate_counts.total + excluded.total`
const notNegative = (sum: string): string => `(case when ${sum} > 0 then ${sum} else 0 end)`

const add = (rows: number): Statement<Readonly<Record<string, Value>>, RateCountRow> =>
  statement(
    `insert into rate_counts (counted, total, began_at, ends_at) values ${Array.from(
      { length: rows },
      (_, row) => `(:counted_${row}, :total_${row}, :began_at_${row}, :ends_at_${row})`,
    ).join(', ')}
     on conflict (counted) do update set
     total = case when ${GOES_ON} then ${notNegative(SUM)} else ${notNegative('excluded.total')} end,
     began_at = case when ${GOES_ON} then rate_counts.began_at else excluded.began_at end,
     ends_at = case when ${GOES_ON} then rate_counts.ends_at else excluded.ends_at end
     returning counted, total, began_at, ends_at`,
  )
const ADD_ONE = add(1)

/** Implements `RateCountStore` for both databases. */
export function createRateCounts(db: Database): RateCountStore {
  async function addBatch(reports: readonly RateReport[], now: Date, counts: Map<string, RateCount>): Promise<void> {
    const args: Record<string, Value> = { now: now.getTime(), latest_begin: now.getTime() + CLOCKS_AGREE_WITHIN_MS }
    for (const [row, { key, added, beganAt, endsAt }] of reports.entries()) {
      args[`counted_${row}`] = key
      args[`total_${row}`] = added
      args[`began_at_${row}`] = beganAt
      args[`ends_at_${row}`] = endsAt
    }
    const statement = reports.length === 1 ? ADD_ONE : { ...add(reports.length), once: true as const }
    for (const row of (await db.write(statement, args)).rows) {
      counts.set(row.counted, { total: row.total, beganAt: row.began_at, endsAt: row.ends_at })
    }
  }

  return {
    async add(reports, now) {
      const counts = new Map<string, RateCount>()
      // In the same order everywhere, against deadlocks: PostgreSQL locks the rows one after the other.
      const sorted = reports.toSorted((a, b) => (a.key < b.key ? -1 : 1))
      for (let first = 0; first < sorted.length; first += ROWS_AT_ONCE) {
        await addBatch(sorted.slice(first, first + ROWS_AT_ONCE), now, counts)
      }
      return reports.map(({ key, added, beganAt, endsAt }) => counts.get(key) ?? { total: added, beganAt, endsAt })
    },
  }
}

// Rows that a filter finds: how they are found, and how many there are. The query planners cannot estimate how many rows a
// filter finds, and that decides how to find a page.
import type { Filter } from '../../model/filters/filter.ts'
import type { Database } from '../database.ts'
import { statementOnce } from '../database.ts'
import { isEverything, isQuick, isSeekable } from './filter-plan.ts'
import { compileFilter } from './filter-sql.ts'
import type { Condition } from './filter-sql.ts'
import type { Listing } from './listing.ts'
import type { Outline } from './outline.ts'

/** Which rows of a zone are found, and how. */
export interface MatchingRows {
  readonly listing: Listing
  readonly zoneId: string
  readonly condition: Condition
  /** Whether every row of the zone matches. */
  readonly isAll: boolean
  /** Whether an index finds them. */
  readonly seeks: boolean
  /** Whether the database looks at few rows only. */
  readonly isQuick: boolean
}

/** How a statement is run: on the main thread, or elsewhere because it may take long. */
export type Way = 'read' | 'scan' | 'search'

/** The condition of all rows. */
const EVERYTHING: Condition = { text: 'true', args: {} }
/** Sorting this few rows is faster than walking an index. */
export const SMALL_LIST = 1000

/** The rows of the filter; throws `InvalidFilter` as `compileFilter` does. */
export function matchingRows(
  listing: Listing,
  { zoneId, filter }: { readonly zoneId: string; readonly filter: Filter },
): MatchingRows {
  const isAll = isEverything(filter, listing)
  return {
    listing,
    zoneId,
    condition: isAll ? EVERYTHING : compileFilter(filter, listing),
    isAll,
    seeks: isSeekable(filter, listing),
    isQuick: isQuick(filter, listing),
  }
}

/**
 * Decisions may depend on what an index finds, such as a user by name, so no replica is asked for it. It would not help either:
 * reading the log position costs the primary as much as the query.
 */
export const longWay = (quick: boolean): Way => (quick ? 'scan' : 'search')

/** The condition in SQL, without `where`; its parameters are those of `condition` and `zone_id`. */
export function whereOf({ listing, condition, seeks }: Pick<MatchingRows, 'listing' | 'condition' | 'seeks'>): string {
  const hint = condition === EVERYTHING ? undefined : seeks ? listing.uncovered : listing.anyRow
  return `zone_id = :zone_id and ${condition.text}${hint === undefined ? '' : ` and ${hint}`}`
}

/** All rows of the zone, counted when they were not before. */
export const outlineOf = async (db: Database, listing: Listing, zoneId: string): Promise<Outline> =>
  listing.outline(zoneId, async () => {
    const all = { listing, zoneId, condition: EVERYTHING, seeks: false }
    return { total: await countRows(db, all, 'scan'), places: new Map() }
  })

/** The number of rows. */
export async function countRows(
  db: Database,
  rows: Pick<MatchingRows, 'listing' | 'zoneId' | 'condition' | 'seeks'>,
  way: Way,
): Promise<number> {
  const text = `select count(*) as total from ${rows.listing.table} where ${whereOf(rows)}`
  const [row] = await db[way](statementOnce<{ total: number }>(text), { ...rows.condition.args, zone_id: rows.zoneId })
  return row?.total ?? 0
}

/** The number of rows; undefined when there are more than the limit. */
export async function countUpTo(
  db: Database,
  rows: MatchingRows,
  { limit, way }: { readonly limit: number; readonly way: Way },
): Promise<number | undefined> {
  const some = `select 1 as one from ${rows.listing.table} where ${whereOf(rows)} limit :most`
  const args = { ...rows.condition.args, zone_id: rows.zoneId, most: limit + 1 }
  const [row] = await db[way](
    statementOnce<{ total: number }>(`select count(*) as total from (${some}) as found`),
    args,
  )
  const total = row?.total ?? 0
  return total > limit ? undefined : total
}

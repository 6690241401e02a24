// Pages of a table's rows, filtered and sorted by request. Rows are counted first, because the number decides how to find
// the page; the query planners cannot estimate it from a filter. For unfiltered lists the count and some positions are
// cached.
import type { Filter } from '../model/filter.ts'
import { InvalidFilter } from '../model/filter.ts'
import type { Database, Value } from './database.ts'
import { statementOnce } from './database.ts'
import type { Attributes, Condition } from './filter-sql.ts'
import { compileFilter } from './filter-sql.ts'
import type { ListQuery } from './store.ts'

/** A table whose rows are listed by zone. */
export interface Listing {
  readonly table: string
  readonly columns: readonly string[]
  /** A column that is unique in a zone, not null, and indexed together with the zone. */
  readonly key: string
  readonly attributes: Attributes
  /** Columns or expressions for sorting, by lower-case attribute name. */
  readonly orders: ReadonlyMap<string, string>
  /** The cached outline of the zone's rows, invalidated by any change; `load` computes it. */
  readonly outline: (zoneId: string, load: () => Promise<Outline>) => Promise<Outline>
}

/** All rows of a zone in the order of their key. */
export interface Outline {
  readonly total: number
  /** Keys by their position; every page read adds its own, so that the next page starts near one. */
  readonly places: Map<number, string>
}

/** A page of rows with the total on all pages. */
export interface RowPage<Row> {
  readonly rows: readonly Row[]
  readonly totalResults: number
}

const EVERYTHING: Condition = { text: 'true', args: {} }
const MAX_REMEMBERED_PAGES = 200
/** Sorting this few rows is faster than walking an index. */
const SMALL_LIST = 1000

/** A page of the matching rows; throws `InvalidFilter` for a filter as `compileFilter` does, or an unknown sort attribute. */
export async function readPage<Row extends object>(
  db: Database,
  listing: Listing,
  query: ListQuery & { readonly zoneId: string },
): Promise<RowPage<Row>> {
  const { table, columns, key, attributes, orders } = listing
  const { zoneId, filter, sortBy, descending, startIndex, count } = query
  const column = orders.get(sortBy.toLowerCase())
  if (column === undefined) throw new InvalidFilter(`there is no attribute ${sortBy} to sort by`)
  const all = isEverything(filter, listing)
  const condition = all ? EVERYTHING : compileFilter(filter, attributes)
  const args: Readonly<Record<string, Value>> = { ...condition.args, zone_id: zoneId }
  const where = `where zone_id = :zone_id and ${condition.text}`

  async function countRows(of: Condition, way: 'read' | 'scan'): Promise<number> {
    const text = `select count(*) as total from ${table} where zone_id = :zone_id and ${of.text}`
    const [row] = await db[way](statementOnce<{ total: number }>(text), { ...of.args, zone_id: zoneId })
    return row?.total ?? 0
  }
  // A row by its key and a page in key order use an index; anything else scans every row.
  const isOne = isOneKey(filter, listing)
  const load = async (): Promise<Outline> => ({ total: await countRows(EVERYTHING, 'read'), places: new Map() })
  const whole = isOne ? undefined : await listing.outline(zoneId, load)
  const isNear = isOne || (all && column === key) || (whole?.total ?? 0) <= SMALL_LIST
  const way = isNear ? 'read' : 'scan'
  const outline = all ? whole : undefined
  const totalResults = outline?.total ?? (await countRows(condition, way))
  const skipped = startIndex - 1
  const most = Math.min(count, totalResults - skipped)
  if (most <= 0) return { rows: [], totalResults }

  // Starts from the nearer end, so that fewer rows are skipped; the result is in ascending order.
  const before = descending ? totalResults - skipped - most : skipped
  const after = totalResults - before - most
  const known = column === key ? outline : undefined
  const place = nearest(known, before)
  const backwards = after < before - place.before
  const order = orderBy(column, key, { descending: backwards, walk: totalResults > SMALL_LIST })
  const from = backwards || place.key === undefined ? '' : ` and ${key} >= :place`
  // Skipped rows are not read, only their keys in the index.
  const keys = `select ${key} from ${table} ${where}${from} order by ${order} limit :most offset :passed`
  const page = statementOnce<Row>(
    `select ${columns.join(', ')} from ${table} where zone_id = :zone_id and ${key} in (${keys}) order by ${order}`,
  )
  const passed = backwards ? after : before - place.before
  const found = await db[way](page, { ...args, most, passed, place: place.key ?? null })
  const rows = backwards ? found.toReversed() : found
  if (known)
    remember(
      known,
      before,
      rows.map(row => String(Reflect.get(row, key))),
    )
  return { rows: descending ? rows.toReversed() : rows, totalResults }
}

/** Whether the filter is just `key eq value`. */
const isOneKey = (filter: Filter, { attributes, key }: Listing): boolean =>
  filter.kind === 'compare' &&
  filter.comparison === 'eq' &&
  attributes.get(filter.attribute.toLowerCase())?.column === key

/** Whether every row of the zone matches: `key pr` is always true. */
const isEverything = (filter: Filter, { attributes, key }: Listing): boolean =>
  filter.kind === 'present' && attributes.get(filter.attribute.toLowerCase())?.column === key

/** The last known position up to `before`; the beginning has no key. */
function nearest(outline: Outline | undefined, before: number): { readonly before: number; readonly key?: string } {
  let found: { before: number; key?: string } = { before: 0 }
  for (const [place, key] of outline?.places ?? []) {
    if (place <= before && place > found.before) found = { before: place, key }
  }
  return found
}

/** Caches the first and the last key of a page; evicts the oldest. */
function remember({ places }: Outline, before: number, keys: readonly string[]): void {
  for (const [index, key] of keys.entries()) {
    if (index !== 0 && index !== keys.length - 1) continue
    places.delete(before + index)
    places.set(before + index, key)
  }
  for (const oldest of places.keys()) {
    if (places.size <= MAX_REMEMBERED_PAGES) return
    places.delete(oldest)
  }
}

/**
 * Ties are ordered by key. Unless the index of the key should be walked, the key is hidden in an expression: SQLite would
 * prefer that index over the one that finds the rows. The databases differ in the position of nulls.
 */
function orderBy(column: string, key: string, { descending, walk }: { descending: boolean; walk: boolean }): string {
  const direction = descending ? 'desc' : 'asc'
  const byKey = `${walk ? key : `${key} || ''`} ${direction}`
  return column === key ? byKey : `${column} ${direction} nulls ${descending ? 'last' : 'first'}, ${byKey}`
}

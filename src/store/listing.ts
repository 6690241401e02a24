// Pages of a table's rows, filtered and sorted as a caller likes. Rows are counted first, because the number says how a
// page is best found, which neither database can know of a filter beforehand. Of whole tables, whose rows are many, the
// number is remembered, and some places among them.
import type { Filter } from '../model/filter.ts'
import { InvalidFilter } from '../model/filter.ts'
import type { Database, Value } from './database.ts'
import { statementOnce } from './database.ts'
import type { Attributes, Condition } from './filter-sql.ts'
import { compileFilter } from './filter-sql.ts'
import type { ListQuery } from './store.ts'

/** A table whose rows are listed zone by zone. */
export interface Listing {
  readonly table: string
  readonly columns: readonly string[]
  /** The column that is unique in a zone, never null, and second to the zone in an index. */
  readonly key: string
  readonly attributes: Attributes
  /** What can be sorted by, in lower case, and the column or expression behind it. */
  readonly orders: ReadonlyMap<string, string>
  /** Remembers what is known of all rows of the zone, until one of them changes; `load` finds it out. */
  readonly outline: (zoneId: string, load: () => Promise<Outline>) => Promise<Outline>
}

/** All rows of a zone in the order of their key. */
export interface Outline {
  readonly total: number
  /** Keys by how many others come before; every page that is read adds its own, so that the next one is near. */
  readonly places: Map<number, string>
}

/** A page of rows, and how many rows there are on all pages. */
export interface RowPage<Row> {
  readonly rows: readonly Row[]
  readonly totalResults: number
}

const EVERYTHING: Condition = { text: 'true', args: {} }
const MAX_REMEMBERED_PAGES = 200
/** So few rows are sorted sooner than found in the order of an index. */
const SMALL_LIST = 1000

/** A page of the rows that match; throws `InvalidFilter` as `compileFilter` does, and for what cannot be sorted by. */
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
  // One row by its key is found in an index, and so is a page in the order of the key; anything else looks at every row.
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

  // Always in ascending order, and from the end that is nearer, so that few rows are passed over.
  const before = descending ? totalResults - skipped - most : skipped
  const after = totalResults - before - most
  const known = column === key ? outline : undefined
  const place = nearest(known, before)
  const backwards = after < before - place.before
  const order = orderBy(column, key, { descending: backwards, walk: totalResults > SMALL_LIST })
  const from = backwards || place.key === undefined ? '' : ` and ${key} >= :place`
  // Rows that are passed over are not read: their keys are in the index.
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

/** Whether the filter names the key of a row, and nothing beside it. */
const isOneKey = (filter: Filter, { attributes, key }: Listing): boolean =>
  filter.kind === 'compare' &&
  filter.comparison === 'eq' &&
  attributes.get(filter.attribute.toLowerCase())?.column === key

/** Whether every row of the zone matches: the key is always present. */
const isEverything = (filter: Filter, { attributes, key }: Listing): boolean =>
  filter.kind === 'present' && attributes.get(filter.attribute.toLowerCase())?.column === key

/** The last place that is known before so many rows; without a key it is the beginning. */
function nearest(outline: Outline | undefined, before: number): { readonly before: number; readonly key?: string } {
  let found: { before: number; key?: string } = { before: 0 }
  for (const [place, key] of outline?.places ?? []) {
    if (place <= before && place > found.before) found = { before: place, key }
  }
  return found
}

/** Keeps the first and the last key of a page; the oldest places make room. */
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
 * Rows of equal rank are in the order of the key. Unless the index of the key is to be walked, it is hidden behind an
 * expression: SQLite would take it before the one that finds the rows. The databases differ in where they put nulls.
 */
function orderBy(column: string, key: string, { descending, walk }: { descending: boolean; walk: boolean }): string {
  const direction = descending ? 'desc' : 'asc'
  const byKey = `${walk ? key : `${key} || ''`} ${direction}`
  return column === key ? byKey : `${column} ${direction} nulls ${descending ? 'last' : 'first'}, ${byKey}`
}

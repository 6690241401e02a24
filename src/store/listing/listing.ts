// Pages of a table's rows, filtered and sorted by request: by number with a total (`readPage`), or from a position on
// (`readFrom`), which costs the same at any depth. The query planners cannot estimate how many rows a filter finds, and that
// decides how to find a page. So rows are counted first, for `readFrom` only as far as it matters.
import type { Filter } from '../../model/filters/filter.ts'
import { InvalidFilter } from '../../model/filters/filter.ts'
import type { Database, Value } from '../database.ts'
import { statementOnce } from '../database.ts'
import type { Attribute, Condition, Filterable } from './filter-sql.ts'
import { compileFilter } from './filter-sql.ts'
import { isEverything, isQuick, isSeekable } from './filter-plan.ts'
import { beyond, hide, orderBy, positionArgs, positionOf } from './listing-order.ts'
import { nearest, remember } from './outline.ts'
import type { Outline } from './outline.ts'
import type { CursorQuery, ListQuery, Position } from '../store.ts'

/** A table whose rows are listed by zone; its key is not null and indexed together with the zone. */
export interface Listing extends Filterable {
  readonly columns: readonly string[]
  /** Columns or expressions for sorting, by lower-case attribute name. */
  readonly orders: ReadonlyMap<string, string>
  /** The order whose places the outline keeps: one of `indexed`; the key unless given. */
  readonly walk?: string
  /**
   * A condition that every row meets, on an index in whose order rows were stored: SQLite scans by it, and would otherwise
   * read rows all over the file in the order of keys.
   */
  readonly anyRow?: string
  /**
   * Another one, on a column without an index: SQLite takes a zone for few rows and would read all of an index that has every
   * column of the query, instead of finding rows by one that has not.
   */
  readonly uncovered?: string
  /** Where rows without the sort column's value stand in ascending order; first unless given. */
  readonly nulls?: 'first' | 'last'
  /** The outline of the zone's rows; `load` counts them. */
  readonly outline: (zoneId: string, load: () => Promise<Outline>) => Promise<Outline>
}

/** A page of rows with the total on all pages. */
interface RowPage<Row> {
  readonly rows: readonly Row[]
  readonly totalResults: number
}

/** Rows from a position on, where they begin, and where the next ones do. */
interface CursorRows<Row> {
  readonly rows: readonly Row[]
  readonly first?: Position
  readonly next?: Position
}

const EVERYTHING: Condition = { text: 'true', args: {} }
/** Sorting this few rows is faster than walking an index. */
const SMALL_LIST = 1000
/** As `SMALL_LIST`, where only a page of the rows is read. */
const SMALL_RESULT = 5000
/** Walking past more rows takes long enough to be noticed by others. */
const MAX_PASSED = 10_000
const MAX_SORT_COLUMNS = 5

/** A page of the matching rows; throws `InvalidFilter` for a filter as `compileFilter` does, or an unknown sort attribute. */
export async function readPage<Row extends object>(
  db: Database,
  listing: Listing,
  query: ListQuery & { readonly zoneId: string },
): Promise<RowPage<Row>> {
  const { table, columns, key, walk = key } = listing
  const { zoneId, filter, descending, startIndex, count } = query
  const [column, ...also] = sortColumns(listing, query.sortBy)
  const isWalk = column === walk && also.length === 0
  const all = isEverything(filter, listing)
  const condition = all ? EVERYTHING : compileFilter(filter, listing)

  // Few rows that an index finds, and pages in the order of an index, are quick; anything else scans every row.
  const seeks = isSeekable(filter, listing)
  const quick = isQuick(filter, listing)
  const found = { listing, condition, zoneId, seeks }
  const fewRows = seeks ? await countUpTo(db, found, { limit: SMALL_LIST, way: quick ? 'read' : 'search' }) : undefined
  const load = async (): Promise<Outline> => ({ total: await countRows(db, { listing, zoneId }), places: new Map() })
  const whole = fewRows === undefined ? await listing.outline(zoneId, load) : undefined
  const isNear = fewRows === undefined ? (all && isWalk) || (whole?.total ?? 0) <= SMALL_LIST : quick
  const long = longWay(quick)
  const way = isNear ? 'read' : long
  const outline = all ? whole : undefined
  const totalResults = fewRows ?? outline?.total ?? (await countRows(db, found, way))
  const skipped = startIndex - 1
  const most = Math.min(count, totalResults - skipped)
  if (most <= 0) return { rows: [], totalResults }

  // Starts from the nearer end, so that fewer rows are skipped; the result is in ascending order.
  const before = descending ? totalResults - skipped - most : skipped
  const after = totalResults - before - most
  const known = isWalk ? outline : undefined
  const place = nearest(known, before)
  const backwards = after < before - place.before
  const order = orderBy(column, listing, {
    descending: backwards,
    walk: also.length === 0 && totalResults > SMALL_LIST,
    also,
  })
  const from = backwards || place.at === undefined ? '' : ` and ${beyond(column, listing, '>=')}`
  // Skipped rows are not read, only their keys in the index.
  const keys = `select ${key} from ${table} where ${whereOf(found)}${from} order by ${order} limit :most offset :passed`
  const page = statementOnce<Row & { readonly sort_value: Value }>(
    `select ${columns.join(', ')}, ${column} as sort_value from ${table}
     where zone_id = :zone_id and ${key} in (${keys})
     order by ${orderBy(column, listing, { descending: backwards, walk: false, also })}`,
  )
  const passed = backwards ? after : before - place.before
  const args = { ...condition.args, zone_id: zoneId, most, passed, ...positionArgs(place.at) }
  const read = await db[passed > MAX_PASSED ? long : way](page, args)
  const rows = backwards ? read.toReversed() : read
  if (known) {
    remember(
      known,
      before,
      rows.map(row => positionOf(row, key)),
    )
  }
  return { rows: descending ? rows.toReversed() : rows, totalResults }
}

/**
 * The matching rows behind a position. Keyset pagination: a row that exists throughout and keeps its sort value is in
 * exactly one page, regardless of other insertions and deletions. Throws as `readPage`.
 */
export async function readFrom<Row extends object>(
  db: Database,
  listing: Listing,
  query: CursorQuery & { readonly zoneId: string },
): Promise<CursorRows<Row>> {
  const { table, columns, key, indexed } = listing
  const { zoneId, filter, descending, count, after } = query
  const column = sortColumn(listing, query.sortBy)
  const all = isEverything(filter, listing)
  const condition = all ? EVERYTHING : compileFilter(filter, listing)
  const seeks = isSeekable(filter, listing)
  const quick = isQuick(filter, listing)
  const isSmall = !quick && !all && (await totalOf(db, listing, zoneId)) <= SMALL_LIST
  const long = longWay(quick)
  const way = quick || isSmall ? 'read' : long
  // Few rows are found and sorted. Of many, a page is found sooner in its own order, where an index has that.
  const found = { listing, condition, zoneId, seeks }
  const fewRows = all ? undefined : await countUpTo(db, found, { limit: SMALL_RESULT, way })
  const walks = fewRows === undefined && (column === key || indexed?.has(column) === true)
  const walked =
    walks && !all && !isOrderOf(filter, listing, column) ? compileFilter(filter, hidden(listing)) : condition
  const order = orderBy(column, listing, { descending, walk: fewRows === undefined })
  const from = after === undefined ? '' : ` and ${beyond(column, listing, descending ? '<' : '>', after.value)}`
  const page = statementOnce<Row & { readonly sort_value: Value }>(
    `select ${columns.join(', ')}, ${column} as sort_value from ${table}
     where ${whereOf({ ...found, condition: walked, seeks: seeks || walks })}${from} order by ${order} limit :most`,
  )
  const args = { ...walked.args, zone_id: zoneId, most: count + 1, ...positionArgs(after) }
  const isNear = all ? walks : way === 'read' && fewRows !== undefined
  const rows = await db[isNear ? 'read' : long](page, args)
  const [first, last] = [rows[0], rows[count - 1]]
  return {
    rows: rows.slice(0, count),
    ...(first && { first: positionOf(first, key) }),
    ...(rows.length > count && last && { next: positionOf(last, key) }),
  }
}

/** UAA: a comma list, of which each orders what the ones before leave equal. */
function sortColumns(listing: Listing, sortBy: string): readonly [first: string, ...others: string[]] {
  const [first = '', ...others] = sortBy.split(',', MAX_SORT_COLUMNS + 1).map(name => name.trim())
  if (others.length >= MAX_SORT_COLUMNS) throw new InvalidFilter('there are too many attributes to sort by')
  const column = sortColumn(listing, first)
  return [column, ...new Set(others.map(name => sortColumn(listing, name)))]
}

function sortColumn({ orders }: Listing, sortBy: string): string {
  const column = orders.get(sortBy.toLowerCase())
  if (column === undefined) throw new InvalidFilter(`there is no attribute ${sortBy} to sort by`)
  return column
}

/** Rows of a zone; all of them without a condition. */
interface Found {
  readonly listing: Listing
  readonly zoneId: string
  readonly condition?: Condition
  /** Whether an index finds them. */
  readonly seeks?: boolean
}

type Way = 'read' | 'scan' | 'search'

/**
 * What an index finds, such as a user by name, may be what something is decided by: no replica is asked for it. Nor would that
 * help, since it costs the primary as much to say how far a replica must be.
 */
const longWay = (quick: boolean): Way => (quick ? 'scan' : 'search')

function whereOf({ listing, condition = EVERYTHING, seeks = false }: Found): string {
  const hint = condition === EVERYTHING ? undefined : seeks ? listing.uncovered : listing.anyRow
  return `zone_id = :zone_id and ${condition.text}${hint === undefined ? '' : ` and ${hint}`}`
}

async function countRows(db: Database, found: Found, way: Way = 'read'): Promise<number> {
  const text = `select count(*) as total from ${found.listing.table} where ${whereOf(found)}`
  const [row] = await db[way](statementOnce<{ total: number }>(text), {
    ...found.condition?.args,
    zone_id: found.zoneId,
  })
  return row?.total ?? 0
}

/** The number of rows; undefined when there are more than the limit. */
async function countUpTo(
  db: Database,
  found: Found,
  { limit, way }: { limit: number; way: Way },
): Promise<number | undefined> {
  const some = `select 1 as one from ${found.listing.table} where ${whereOf(found)} limit :most`
  const args = { ...found.condition?.args, zone_id: found.zoneId, most: limit + 1 }
  const [row] = await db[way](
    statementOnce<{ total: number }>(`select count(*) as total from (${some}) as found`),
    args,
  )
  const total = row?.total ?? 0
  return total > limit ? undefined : total
}

async function totalOf(db: Database, listing: Listing, zoneId: string): Promise<number> {
  const load = async (): Promise<Outline> => ({ total: await countRows(db, { listing, zoneId }), places: new Map() })
  return (await listing.outline(zoneId, load)).total
}

/** Whether the filter is found in the order of the page by the same index. */
const isOrderOf = (filter: Filter, { attributes }: Listing, column: string): boolean => {
  const parts = filter.kind === 'and' ? filter.parts : [filter]
  return parts.some(part => {
    const found = part.kind === 'compare' ? attributes.get(part.attribute.toLowerCase()) : undefined
    return found !== undefined && found.rows === undefined && (found.folded?.column ?? found.column) === column
  })
}

/** The same attributes and key without an index. */
const hidden = ({ table, attributes, key }: Filterable): Filterable => ({
  table,
  key: hide(key),
  attributes: new Map(
    Array.from(attributes, ([name, attribute]): [string, Attribute] => {
      const shown = { ...attribute, indexed: false }
      return [name, attribute.rows ? shown : { ...shown, column: hide(attribute.column), ...hiddenFold(attribute) }]
    }),
  ),
})

const hiddenFold = ({ folded }: Attribute): Partial<Attribute> =>
  folded ? { folded: { ...folded, column: hide(folded.column) } } : {}

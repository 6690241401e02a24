// A page of a table's rows by number, with the total. Rows are counted first; the page is then read from the nearer end, or
// from the nearest position that is known.
import type { Database, Value } from '../database.ts'
import { statementOnce } from '../database.ts'
import type { ListQuery } from '../list-query.ts'
import type { Listing } from './listing.ts'
import { beyond, orderBy, positionArgs, positionOf, sortColumns } from './listing-order.ts'
import { countRows, countUpTo, longWay, matchingRows, outlineOf, SMALL_LIST, whereOf } from './matching-rows.ts'
import type { MatchingRows, Way } from './matching-rows.ts'
import { nearest, remember } from './outline.ts'
import type { Outline } from './outline.ts'

/** A page of rows with the total on all pages. */
interface RowPage<Row> {
  readonly rows: readonly Row[]
  readonly totalResults: number
}

/** The number of the rows. */
interface Size {
  readonly totalResults: number
  /** The outline of all rows of the zone, where they all match. */
  readonly outline: Outline | undefined
  /** How to read a page that is not far inside. */
  readonly way: Way
}

/** The rows of a page among all of them in ascending order. */
interface Span {
  readonly before: number
  readonly most: number
  readonly after: number
}

/** Skipping more rows takes long enough to delay other requests. */
const MAX_PASSED = 10_000

/** A page of the matching rows; throws `InvalidFilter` for a filter as `compileFilter` does, or an unknown sort attribute. */
export async function readPage<Row extends object>(
  db: Database,
  listing: Listing,
  query: ListQuery & { readonly zoneId: string },
): Promise<RowPage<Row>> {
  const { descending, startIndex, count } = query
  const [column, ...also] = sortColumns(listing, query.sortBy)
  const isWalk = column === (listing.walk ?? listing.key) && also.length === 0
  const matching = matchingRows(listing, query)
  const size = await sizeOf(db, matching, isWalk)
  const { totalResults } = size
  const skipped = startIndex - 1
  const most = Math.min(count, totalResults - skipped)
  if (most <= 0) return { rows: [], totalResults }
  const before = descending ? totalResults - skipped - most : skipped
  const span = { before, most, after: totalResults - before - most }
  const rows = await readSpan<Row>(db, matching, { span, size, column, also, isWalk })
  return { rows: descending ? rows.toReversed() : rows, totalResults }
}

/** Few rows that an index finds, and pages in the order of an index, are quick; anything else scans every row. */
async function sizeOf(db: Database, matching: MatchingRows, isWalk: boolean): Promise<Size> {
  const { listing, zoneId, isAll, seeks, isQuick } = matching
  const fewRows = seeks
    ? await countUpTo(db, matching, { limit: SMALL_LIST, way: isQuick ? 'read' : 'search' })
    : undefined
  const whole = fewRows === undefined ? await outlineOf(db, listing, zoneId) : undefined
  const isNear = fewRows === undefined ? (isAll && isWalk) || (whole?.total ?? 0) <= SMALL_LIST : isQuick
  const way = isNear ? 'read' : longWay(isQuick)
  const outline = isAll ? whole : undefined
  return { totalResults: fewRows ?? outline?.total ?? (await countRows(db, matching, way)), outline, way }
}

/** Starts from the nearer end, so that fewer rows are skipped; the result is in ascending order. */
async function readSpan<Row extends object>(
  db: Database,
  matching: MatchingRows,
  {
    span: { before, most, after },
    size: { totalResults, outline, way },
    column,
    also,
    isWalk,
  }: {
    readonly span: Span
    readonly size: Size
    readonly column: string
    readonly also: readonly string[]
    readonly isWalk: boolean
  },
): Promise<readonly Row[]> {
  const { listing, zoneId, condition } = matching
  const { table, columns, key } = listing
  const known = isWalk ? outline : undefined
  const place = nearest(known, before)
  const backwards = after < before - place.before
  const order = orderBy(column, listing, {
    descending: backwards,
    walk: also.length === 0 && totalResults > SMALL_LIST,
    also,
  })
  const from = backwards || place.at === undefined ? '' : ` and ${beyond(column, listing, { sign: '>=' })}`
  // Skipped rows are not read, only their keys in the index.
  const keys = `select ${key} from ${table} where ${whereOf(matching)}${from} order by ${order} limit :most offset :passed`
  const page = statementOnce<Row & { readonly sort_value: Value }>(
    `select ${columns.join(', ')}, ${column} as sort_value from ${table}
     where zone_id = :zone_id and ${key} in (${keys})
     order by ${orderBy(column, listing, { descending: backwards, walk: false, also })}`,
  )
  const passed = backwards ? after : before - place.before
  const args = { ...condition.args, zone_id: zoneId, most, passed, ...positionArgs(place.at) }
  const read = await db[passed > MAX_PASSED ? longWay(matching.isQuick) : way](page, args)
  const rows = backwards ? read.toReversed() : read
  if (known) {
    remember(
      known,
      before,
      rows.map(row => positionOf(row, key)),
    )
  }
  return rows
}

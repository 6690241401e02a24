// A page of a table's rows from a position on, which costs the same at any depth. Rows are counted first, as far as it
// matters for how the page is found.
import type { Filter } from '../../model/filters/filter.ts'
import type { Database, Value } from '../database.ts'
import { statementOnce } from '../database.ts'
import type { CursorQuery, Position } from '../list-query.ts'
import { compileFilter } from './filter-sql.ts'
import type { Attribute, Condition, Filterable } from './filter-sql.ts'
import type { Listing } from './listing.ts'
import { beyond, hide, orderBy, positionArgs, positionOf, sortColumn } from './listing-order.ts'
import { countUpTo, longWay, matchingRows, outlineOf, SMALL_LIST, whereOf } from './matching-rows.ts'
import type { MatchingRows, Way } from './matching-rows.ts'

/** Rows from a position on, where they begin, and where the next ones do. */
interface CursorRows<Row> {
  readonly rows: readonly Row[]
  readonly first?: Position
  readonly next?: Position
}

/** How the page is found. */
interface Plan {
  /** Whether all matching rows are found and sorted, because they are few. */
  readonly isFew: boolean
  /** Whether the page is found in its own order, which an index has. */
  readonly walks: boolean
  readonly way: Way
}

/** As `SMALL_LIST`, where only a page of the rows is read. */
const SMALL_RESULT = 5000

/**
 * The matching rows after a position: as many as `fitting` keeps of a page. Keyset pagination: a row that exists throughout and
 * keeps its sort value is in exactly one page, regardless of other insertions and deletions. Throws as `readPage`.
 */
export async function readFrom<Row extends object>(
  db: Database,
  listing: Listing,
  query: CursorQuery & { readonly zoneId: string },
  fitting: (page: readonly Row[]) => readonly Row[] = page => page,
): Promise<CursorRows<Row>> {
  const { table, columns, key } = listing
  const { zoneId, descending, count, after } = query
  const column = sortColumn(listing, query.sortBy)
  const matching = matchingRows(listing, query)
  const { isFew, walks, way } = await planOf(db, matching, column)
  const condition = walks ? walkedCondition(query.filter, matching, column) : matching.condition
  const order = orderBy(column, listing, { descending, walk: !isFew })
  const sign = descending ? '<' : '>'
  const from = after === undefined ? '' : ` and ${beyond(column, listing, { sign, value: after.value })}`
  const where = whereOf({ listing, condition, seeks: matching.seeks || walks })
  const page = statementOnce<Row & { readonly sort_value: Value }>(
    `select ${columns.join(', ')}, ${column} as sort_value from ${table}
     where ${where}${from} order by ${order} limit :most`,
  )
  const args = { ...condition.args, zone_id: zoneId, most: count + 1, ...positionArgs(after) }
  const rows = await db[way](page, args)
  const kept = fitting(rows.slice(0, count))
  const [first, last] = [rows[0], rows[kept.length - 1]]
  return {
    rows: kept,
    ...(first && { first: positionOf(first, key) }),
    ...(rows.length > kept.length && last && { next: positionOf(last, key) }),
  }
}

/** Few rows are found and sorted. Among many, walking an index in the order of the page is faster, if there is one. */
async function planOf(db: Database, matching: MatchingRows, column: string): Promise<Plan> {
  const { listing, zoneId, isAll, isQuick } = matching
  const isSmall = !isQuick && !isAll && (await outlineOf(db, listing, zoneId)).total <= SMALL_LIST
  const long = longWay(isQuick)
  const counting = isQuick || isSmall ? 'read' : long
  const isFew = !isAll && (await countUpTo(db, matching, { limit: SMALL_RESULT, way: counting })) !== undefined
  const walks = !isFew && (column === listing.key || listing.indexed?.has(column) === true)
  const isNear = isAll ? walks : counting === 'read' && isFew
  return { isFew, walks, way: isNear ? 'read' : long }
}

/** The condition of a page that is found in its own order: no index may find the rows, except that of the order. */
const walkedCondition = (filter: Filter, { listing, isAll, condition }: MatchingRows, column: string): Condition =>
  isAll || isOrderOf(filter, listing, column) ? condition : compileFilter(filter, hidden(listing))

/** Whether the filter is found in the order of the page by the same index. */
const isOrderOf = (filter: Filter, { attributes }: Listing, column: string): boolean => {
  const parts = filter.kind === 'and' ? filter.parts : [filter]
  return parts.some(part => {
    const found = part.kind === 'compare' ? attributes.get(part.attribute.toLowerCase()) : undefined
    return found !== undefined && found.rows === undefined && (found.folded?.column ?? found.column) === column
  })
}

/** The same attributes and key without an index. */
const hidden = ({ table, attributes, key, emptyIsAbsent = false }: Filterable): Filterable => ({
  table,
  emptyIsAbsent,
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

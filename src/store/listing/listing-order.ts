// The order of a page's rows, and where one ends: keyset pagination.
import { InvalidOrder } from '../../model/filters/filter.ts'
import type { Value } from '../database.ts'
import type { Listing } from './listing.ts'
import type { Position } from '../store.ts'

const MAX_SORT_COLUMNS = 5

/** UAA: a list with commas; each column orders the rows that are equal in those before it. Throws as `sortColumn`. */
export function sortColumns(listing: Listing, sortBy: string): readonly [first: string, ...others: string[]] {
  const [first = '', ...others] = sortBy.split(',', MAX_SORT_COLUMNS + 1).map(name => name.trim())
  if (others.length >= MAX_SORT_COLUMNS) throw new InvalidOrder('there are too many attributes to sort by')
  const column = sortColumn(listing, first)
  return [column, ...new Set(others.map(name => sortColumn(listing, name)))]
}

/** The column or expression of the attribute; throws `InvalidOrder` for an unknown one. */
export function sortColumn({ orders }: Listing, sortBy: string): string {
  const column = orders.get(sortBy.toLowerCase())
  if (column === undefined) throw new InvalidOrder(`there is no attribute ${sortBy} to sort by`)
  return column
}

/** The value of a column as an expression that no index serves. */
export const hide = (column: string): string => `coalesce(${column}, ${column})`

/** The position of a row that was read with its `sort_value`. */
export const positionOf = (row: { readonly sort_value: Value }, key: string): Position => ({
  value: row.sort_value,
  key: String(Reflect.get(row, key)),
})

/** The parameters of `beyond`. */
export const positionArgs = (at: Position | undefined): Readonly<Record<string, Value>> =>
  at === undefined ? {} : { place_value: at.value, place_key: at.key }

/**
 * Rows on one side of a position, as a comparison of rows where an index serves it. Elsewhere the column may be null, and
 * nulls sort at one end.
 */
export function beyond(
  column: string,
  { key, indexed, nulls = 'first' }: Listing,
  { sign, value = 0 }: { readonly sign: '>' | '>=' | '<'; readonly value?: Value },
): string {
  if (column === key) return `${key} ${sign} :place_key`
  if (indexed?.has(column) === true) return `(${column}, ${key}) ${sign} (:place_value, :place_key)`
  const forwards = sign !== '<'
  const nullsFollow = forwards === (nulls === 'last')
  if (value === null) {
    const rest = `(${column} is null and ${key} ${sign} :place_key)`
    return nullsFollow ? rest : `(${rest} or ${column} is not null)`
  }
  const direct = `${column} ${forwards ? '>' : '<'} :place_value or (${column} = :place_value and ${key} ${sign} :place_key)`
  return nullsFollow ? `(${direct} or ${column} is null)` : `(${direct})`
}

/**
 * Ties are ordered by the columns of `also`, then by key. Unless an index should be walked, the columns are hidden: SQLite would
 * prefer that index over the one that finds the rows. The databases differ in the position of nulls.
 */
export function orderBy(
  column: string,
  { key, indexed, nulls = 'first' }: Listing,
  { descending, walk, also = [] }: { descending: boolean; walk: boolean; also?: readonly string[] },
): string {
  const direction = descending ? 'desc' : 'asc'
  const end = descending === (nulls === 'first') ? 'last' : 'first'
  const ties = also.map(other => `${hide(other)} ${direction} nulls ${end}, `).join('')
  const byKey = `${ties}${walk ? key : hide(key)} ${direction}`
  if (column === key) return byKey
  if (indexed?.has(column) === true) return `${walk ? column : hide(column)} ${direction}, ${byKey}`
  return `${column} ${direction} nulls ${end}, ${byKey}`
}

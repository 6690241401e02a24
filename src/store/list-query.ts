// The part of the store's interface that lists share: queries and result pages.
import type { Filter, FilterDialect } from '../model/filters/filter.ts'

/** The dialect of attribute names in a list: UAA's unless given. */
export interface NamedAttributes {
  readonly dialect?: FilterDialect
}

/** Filter, order and page of a list. */
export interface ListQuery {
  readonly filter: Filter
  readonly sortBy: string
  readonly descending: boolean
  /** Index of the first record of the page, from 1. */
  readonly startIndex: number
  /** Maximum records on the page; 0 returns only the total. */
  readonly count: number
}

/** A list from a position on. */
export interface CursorQuery extends Pick<ListQuery, 'filter' | 'sortBy' | 'descending'> {
  /** Maximum records on the page; at least 1. */
  readonly count: number
  /** The `next` of the page before, or the `first` of the one behind with the order reversed; both with the same filter. */
  readonly after?: Position | undefined
}

/** Where a page begins or ends. */
export interface Position {
  /** The sort attribute of the record there. */
  readonly value: string | number | null
  readonly key: string
}

/** A page that the next one follows, if there is one. */
export interface CursorPage<T> {
  readonly records: readonly T[]
  /** Where the page begins: in the other direction, what follows this is the page before. */
  readonly first?: Position
  readonly next?: Position
}

/** A page of a list. */
export interface Page<T> {
  readonly records: readonly T[]
  /** Number of matching records on all pages. */
  readonly totalResults: number
}

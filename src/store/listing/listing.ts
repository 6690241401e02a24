import type { Filterable } from './filter-sql.ts'
import type { Outline } from './outline.ts'

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
   * Another such condition, on a column without an index. SQLite assumes that a zone has few rows: it would scan an index that has
   * every column of the query instead of finding the rows by a selective index that lacks some.
   */
  readonly uncovered?: string
  /** The position of rows without a value in the sort column, in ascending order; first unless given. */
  readonly nulls?: 'first' | 'last'
  /** The outline of the zone's rows; `load` counts them. */
  readonly outline: (zoneId: string, load: () => Promise<Outline>) => Promise<Outline>
}

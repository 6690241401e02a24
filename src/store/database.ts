// The interface between the areas of the store and the two databases: statements, writes and transactions. Contains no
// table. Both databases run the same SQL but for the few differences of `Dialect`; engine/sqlite/ and engine/postgres/ implement `Database`.
// Statements are parsed once, when their module is loaded, and prepared by name.
import type { Clock } from '../base/clock.ts'
import { isStorable } from '../base/text/storable-text.ts'
import type { Change, ChangeListener } from './changes.ts'
import type { SearchServer } from './search-servers.ts'

export { isStorable } from '../base/text/storable-text.ts'

/** A column value: flags are 0 or 1, times are milliseconds since 1970, structures are JSON. */
export type Value = string | number | null

/** Static SQL with `:named` parameters, typed by its arguments and rows. Made by `statement` only. */
export interface Statement<Args extends object, Row> {
  /** The SQL around the parameters, one piece more than parameters. */
  readonly pieces: readonly string[]
  /** The name of each parameter, in order. */
  readonly names: readonly string[]
  /** `select` and `delete` only compare their values; other verbs store them. */
  readonly verb: string
  /**
   * Not kept prepared: the SQL was made for one request, so that callers could exhaust the memory, or is to be planned each time.
   */
  readonly once?: true
  /** Set when the statement may take an hour, as a change of a large table does; others time out after seconds. */
  readonly mayBeSlow?: true
  /** Never set; carries the types. */
  readonly shape?: (args: Args) => Row
}

/** Declares a statement in SQL that SQLite and PostgreSQL share; a parameter is `:column_name`. */
export function statement<Args extends object = object, Row = never>(text: string): Statement<Args, Row> {
  const parts = text
    .trim()
    .replace(/\s+/g, ' ')
    .split(/:([a-z_0-9]+)/)
  return {
    pieces: parts.filter((_, index) => index % 2 === 0),
    names: parts.filter((_, index) => index % 2 === 1),
    verb: /^\w+/.exec(text.trim())?.[0] ?? '',
  }
}

/** A statement that is not kept prepared. If its SQL depends on a request, such as a filter, untrusted values must be parameters. */
export const statementOnce = <Row>(text: string): Statement<Readonly<Record<string, Value>>, Row> => ({
  ...statement(text),
  once: true,
})

/** A statement of a migration: made for one start, and given an hour. */
export const migrationStatement = (text: string): Statement<object, never> => ({
  ...statement(text),
  once: true,
  mayBeSlow: true,
})

/** The result of a statement. */
export interface Outcome<Row> {
  /** Rows of a `select` or of `returning`. */
  readonly rows: readonly Row[]
  /** Number of rows written or deleted. */
  readonly changes: number
}

/** An open transaction. */
export interface Transaction {
  run<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<Outcome<Row>>
  /** Invalidates a cached record in every process once the transaction is committed. */
  announce(change: Change): Promise<void>
  /** Takes an exclusive lock by name until the transaction ends; waits an hour for it if `mayBeSlow`, else seconds. */
  lock(name: string, options?: { readonly mayBeSlow: true }): Promise<void>
  /**
   * From now on a statement that waits for a table fails with `StoreLocked` after a moment: statements queued after it
   * wait as well.
   */
  waitBriefly(): Promise<void>
}

/** The SQL in which the databases differ. */
export interface Dialect {
  readonly columnTypes: ColumnTypes
  /** The column that identifies a row of any table, within one statement. */
  readonly rowId: string
  /** SQL for the time of the database in milliseconds since 1970, not that of this process's machine. */
  readonly now: string
  /** SQL for the names of all tables, in a column `name`. */
  readonly tables: string
  /** SQL for the number of rows of a table, in a column `rows`; about, where there are many. */
  rowsOf(table: string): string
  /** The locks of changes of the schema, for an operator; absent where no lock is awaited. */
  readonly locks: Readonly<
    Record<'create table' | 'add column' | 'create index' | 'change rows' | 'replace', string | undefined>
  >
  /** SQL for a string in a column with JSON, at names that are no input; compared byte by byte, null where there is none. */
  jsonText(column: string, path: readonly string[]): string
  /** SQL for whether the first entry of a list in such a column, whose `value` is in the other column, is the `primary` one. */
  isPrimaryEntry(column: string, list: string, valueColumn: string): string
}

/** One of the two databases. */
export interface Database extends Dialect {
  /** Reads committed data outside of any transaction. */
  read<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<readonly Row[]>
  /** As `read`, for a statement that may scan a large table; it does not block others. */
  scan<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<readonly Row[]>
  /**
   * As `scan`, for lists and searches by which nothing is decided: a replica of PostgreSQL may answer, if it has everything
   * that is committed now.
   */
  search<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<readonly Row[]>
  /** Runs a statement in a transaction of its own; durable when the promise resolves. */
  write<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<Outcome<Row>>
  /** `work` must await nothing but its transaction, and may be run again from the start after a conflict. */
  transaction<T>(work: (within: Transaction) => Promise<T>): Promise<T>
  /** Subscribes to the changes of other processes; called once, after the migrations. */
  listen(): Promise<void>
  /** Whether changes of other processes arrive in time; while false, caches must not be used. */
  receivesChanges(): boolean
  /** The servers that have answered searches; absent where there are no replicas. */
  readonly searchServers?: () => readonly SearchServer[]
  /** Whether the database is reachable; absent for one that cannot be unreachable, such as a file. */
  readonly outage?: Outage
  /** Waits for pending writes, then closes every connection. */
  close(): Promise<void>
}

/** State of a database that may be unreachable: stopped, frozen, or cut off. */
export interface Outage {
  /** While true, everything fails at once. */
  isUnreachable(): boolean
  /** Whether cached records may stand in for the database: it is unreachable, and nothing was missed before. */
  mayTrustCaches(): boolean
  /** Resolves when no attempt to reach the database is in progress that other calls have to wait for. */
  decided(): Promise<void>
  /** Calls back each time the connection that receives changes is there again; the caches are empty then. */
  onReturn(act: () => void): void
}

/** Options of both databases. */
export interface DatabaseOptions {
  readonly clock: Clock
  readonly listener: ChangeListener
  /** Receives errors in the background, which have no caller. */
  readonly onError: (error: unknown) => void
  /** How changes of other processes are received from PostgreSQL; by default it listens unless there is a pooler in between. */
  readonly changes?: 'listen' | 'poll' | undefined
}

/** The parts of `create table` in which the databases differ. */
export interface ColumnTypes {
  /** Compared byte by byte on both, so that order and uniqueness agree. */
  readonly text: string
  /** At least 53 bits. */
  readonly integer: string
  /** 0 or 1. */
  readonly flag: string
  /** An auto-incremented primary key. */
  readonly sequence: string
  /** Text after the closing parenthesis of a table. */
  readonly tableEnd: string
}

/**
 * The statement's values in order. Undefined when a `select` or `delete` has a string that no row can hold: it matches
 * nothing. Throws a `TypeError` when such a string would be stored.
 */
export function valuesFor<Args extends object, Row>(of: Statement<Args, Row>, args: Args): Value[] | undefined {
  // Each statement's type parameter lists exactly the names in its text.
  const byName = args as Readonly<Record<string, Value>>
  const values: Value[] = []
  for (const name of of.names) {
    const value = byName[name]
    if (value === undefined) throw new TypeError(`no value for :${name}`)
    if (typeof value === 'string' && !isStorable(value)) {
      if (of.verb === 'insert' || of.verb === 'update') throw new TypeError(`:${name} is no text that can be kept`)
      return undefined
    }
    values.push(value)
  }
  return values
}

/** The outcome without rows and changes. */
export const NOTHING: Outcome<never> = { rows: [], changes: 0 }

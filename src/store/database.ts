// The seam between the areas of the store and the two databases. Owns what a statement, a write and a transaction are;
// refuses to know any table. The SQL in the areas is the same text for both; whatever differs is in sqlite.ts and
// postgres.ts, behind `Database`. Statements are parsed once, when their module is loaded, and prepared by name.
import type { Clock } from '../base/clock.ts'
import type { Change, ChangeListener } from './changes.ts'

/** What a column can hold: flags are 0 or 1, moments are milliseconds since 1970, structures are JSON text. */
export type Value = string | number | null

/** Static SQL with `:named` values, its arguments' and its rows' types. Made by `statement` only. */
export interface Statement<Args extends object, Row> {
  /** The text around the values, one more than there are values. */
  readonly pieces: readonly string[]
  /** The argument that stands at each place. */
  readonly names: readonly string[]
  /** `select` compares its values, `delete` too; the others keep them. */
  readonly verb: string
  /** Set when its text was made for one request: it is kept prepared nowhere, so that callers cannot fill a server. */
  readonly once?: true
  /** Never set; carries the types. */
  readonly shape?: (args: Args) => Row
}

/** Declares a statement. The text is written in the SQL that SQLite and PostgreSQL share; a value is `:column_name`. */
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

/** A statement whose text depends on what a caller asks for, such as a filter: its values by name are the caller's. */
export const statementOnce = <Row>(text: string): Statement<Readonly<Record<string, Value>>, Row> => ({
  ...statement(text),
  once: true,
})

/** What a statement did. */
export interface Outcome<Row> {
  /** What a `select` found or `returning` answered. */
  readonly rows: readonly Row[]
  /** How many rows were written or deleted. */
  readonly changes: number
}

/** A unit of work under way: all of it happens, or nothing. */
export interface Transaction {
  run<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<Outcome<Row>>
  /** Tells every process, once the transaction is committed, that a cached record changed. */
  announce(change: Change): Promise<void>
  /** Keeps other transactions that ask for the same name waiting until this one ends. */
  lock(name: string): Promise<void>
}

/** One of the two databases. */
export interface Database {
  readonly columnTypes: ColumnTypes
  /** Outside of any transaction; sees what is committed. */
  read<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<readonly Row[]>
  /** The same for a statement that may look at every row of a large table: nobody else waits for it. */
  scan<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<readonly Row[]>
  /** A statement that is a transaction of its own; durable when the promise resolves. */
  write<Args extends object, Row>(statement: Statement<Args, Row>, args: Args): Promise<Outcome<Row>>
  /** `work` awaits nothing but the transaction it is given, and may be run again from the start after a conflict. */
  transaction<T>(work: (within: Transaction) => Promise<T>): Promise<T>
  /** Begins to hear of other processes' changes; called once, when the schema is there. */
  listen(): Promise<void>
  /** Whether their news arrive in time; while they do not, nothing may be answered from memory. */
  hearsChanges(): boolean
  /** Waits for writes under way, then closes every connection. */
  close(): Promise<void>
}

/** What opening either database needs. */
export interface DatabaseOptions {
  readonly clock: Clock
  readonly listener: ChangeListener
  /** Hears what goes wrong in the background, where no caller could be told. */
  readonly onError: (error: unknown) => void
}

/** The words of a `create table` in which the databases differ. */
export interface ColumnTypes {
  /** Compared byte by byte on both, so that order and uniqueness agree. */
  readonly text: string
  /** At least 53 bits. */
  readonly integer: string
  /** 0 or 1. */
  readonly flag: string
  /** A primary key that the database counts up. */
  readonly sequence: string
  /** What follows the closing parenthesis of a table. */
  readonly tableEnd: string
}

/** Whether both databases keep the text as it is: PostgreSQL refuses NUL, and lone surrogates are no UTF-8. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/**
 * The statement's values in order, or undefined when one of them is a text that no row can hold, so that there is
 * nothing to find or delete. Throws a `TypeError` when such a text was to be kept.
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

/** An outcome in which nothing was found and nothing happened. */
export const NOTHING: Outcome<never> = { rows: [], changes: 0 }

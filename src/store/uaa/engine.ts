import type { AnyUaaRow, UaaColumn, UaaTable } from './tables.ts'

/** A connection to the database of a UAA, whose rows are all of the moment at which it was opened. */
export interface UaaEngine {
  /** The columns of these tables, as far as the connection's user sees them. */
  columnsOf(tables: readonly string[]): Promise<readonly FoundColumn[]>
  /** Claims the database for one import, until the connection closes; false: another one has it. */
  claim(): Promise<boolean>
  /** Every row, in the order of the table's key. */
  rows(table: UaaTable): AsyncGenerator<AnyUaaRow>
  close(): Promise<void>
}

/** A column that is there, in lower case. */
export interface FoundColumn {
  readonly table: string
  readonly column: string
  readonly isReadable: boolean
}

/** What differs in the SQL of an engine. */
export interface UaaDialect {
  readonly quoted: (name: string) => string
  /** For each kind, an expression cast to what the connection returns. */
  readonly casts: Readonly<Record<UaaColumn['kind'], (expression: string) => string>>
}

/** Time to open the connection. */
export const CONNECT_MS = 10_000

/** Selects a table's members in their order. */
export function selectFrom({ name, columns, key }: UaaTable, { quoted, casts }: UaaDialect): string {
  const own = (column: string): string => `${quoted(name)}.${quoted(column)}`
  const selected = Object.entries(columns).map(([member, { kind, column, of }]) => {
    if (!of) return `${casts[kind](own(column))} as ${quoted(member)}`
    const other = quoted(of.table)
    const value = casts[kind](`${other}.${quoted(column)}`)
    return `(select ${value} from ${other} where ${other}.${quoted(of.key)} = ${own(of.is)} limit 1) as ${quoted(member)}`
  })
  return `select ${selected.join(', ')} from ${quoted(name)} order by ${key.map(own).join(', ')}`
}

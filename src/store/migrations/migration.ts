import type { ColumnTypes, Transaction } from '../database.ts'

/** One step of the schema, in a transaction of its own. */
export interface Migration {
  readonly id: string
  /**
   * `expand`: versions that do not know it keep working, before and after it; `test/store/migrations.test.ts` has the rules.
   * `contract`: they do not, so they are stopped before it.
   */
  readonly kind: 'expand' | 'contract'
  readonly statements: (types: ColumnTypes) => readonly string[]
  /** What SQL cannot do, after the statements. */
  readonly after?: {
    readonly table: string
    readonly run: (within: Transaction) => Promise<void>
  }
}

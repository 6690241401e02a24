// What the pending migrations would do to this database, without doing it.
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import type { Migration } from './migration.ts'
import { MIGRATIONS } from './migrations.ts'
import { schemaState } from './state.ts'
import { stepsOf } from './steps.ts'
import type { MigrationStep } from './steps.ts'

/** A migration that is pending. */
export interface PlannedMigration extends Pick<Migration, 'id' | 'kind'> {
  readonly steps: readonly PlannedStep[]
}

/** One statement of it. */
export interface PlannedStep extends MigrationStep {
  /** In the table; about, where there are many. */
  readonly rows: number
  /** The lock on the table, until the end of the migration; absent where it is not in use yet. */
  readonly lock?: string
  /** Estimated from the rows. */
  readonly milliseconds: number
}

/** The plan of a database. */
export interface MigrationPlan {
  readonly isNew: boolean
  readonly pending: readonly PlannedMigration[]
  /** Migrations of a newer version, with which this one can work. */
  readonly unknown: readonly string[]
}

// Measured with a million rows on two slow cores, and rounded up: see docs/operate.md.
const MILLISECONDS_FOR_EACH_ROW = {
  'create table': 0,
  'add column': 0,
  'create index': 0.003,
  'change rows': 0.03,
  replace: 0,
} as const

/** Reads the number of rows of the tables, and nothing else. */
export async function planMigrations(
  db: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<MigrationPlan> {
  const { isNew, pending, unknown } = await schemaState(db, migrations)
  const existing = new Set((await db.read(statement<object, { name: string }>(db.tables), {})).map(({ name }) => name))
  const counted = new Map<string, number>()

  async function rowsOf(table: string | undefined): Promise<number> {
    if (table === undefined || !existing.has(table)) return 0
    const cached = counted.get(table)
    if (cached !== undefined) return cached
    const [row] = await db.scan(statement<object, { rows: number }>(db.rowsOf(table)), {})
    const rows = row?.rows ?? 0
    counted.set(table, rows)
    return rows
  }

  const planned: PlannedMigration[] = []
  for (const migration of pending) {
    const steps: PlannedStep[] = []
    for (const step of stepsOf(migration, db.columnTypes)) {
      const rows = await rowsOf(step.table)
      const lock = step.table === undefined || existing.has(step.table) ? db.locks[step.kind] : undefined
      const milliseconds = Math.ceil(rows * MILLISECONDS_FOR_EACH_ROW[step.kind])
      steps.push({ ...step, rows, milliseconds, ...(lock !== undefined && { lock }) })
    }
    planned.push({ id: migration.id, kind: migration.kind, steps })
  }
  return { isNew, pending: planned, unknown }
}

// Migrations as a job of their own, without a server.
import type { Clock } from '../../base/clock.ts'
import type { Database } from '../database.ts'
import { openDatabase } from '../engine/open-database.ts'
import { isEmptyFile } from '../engine/sqlite/file.ts'
import { migrate } from './migrate.ts'
import type { Migrated, MigrateOptions } from './migrate.ts'
import type { Migration } from './migration.ts'
import { planMigrations } from './plan.ts'
import type { MigrationPlan } from './plan.ts'

/** Nothing is remembered that could change. */
const IGNORE_CHANGES = { changed: () => {}, missed: () => {} }

async function withDatabase<T>(url: string, clock: Clock, work: (db: Database) => Promise<T>): Promise<T> {
  const db = await openDatabase(url, { clock, listener: IGNORE_CHANGES, onError: () => {} })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Brings the schema of a database up to date. */
export const migrateDatabase = (url: string, options: MigrateOptions): Promise<Migrated> =>
  withDatabase(url, options.clock, db => migrate(db, options))

/** What `migrateDatabase` would do. */
export function planOf(
  url: string,
  { clock, migrations }: { readonly clock: Clock; readonly migrations?: readonly Migration[] },
): Promise<MigrationPlan> {
  const [, path] = /^sqlite:(?!:)(.+)$/.exec(url) ?? []
  const unchanged = path !== undefined && isEmptyFile(path) ? 'sqlite::memory:' : url
  return withDatabase(unchanged, clock, db => planMigrations(db, migrations))
}

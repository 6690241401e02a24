// Applies the migrations, each in a transaction of its own under one lock, so that processes that start at once do not conflict,
// and others use the tables between two of them. On an empty database no other process waits, so one transaction is enough.
import { setTimeout as systemPause } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import { migrationStatement, statement } from '../database.ts'
import type { Database, Transaction } from '../database.ts'
import { StoreLocked, StoreUnavailable } from '../store.ts'
import type { Migration } from './migration.ts'
import { MIGRATIONS } from './migrations.ts'
import { KINDS_ID, schemaState, stateOf } from './state.ts'

/** Messages for the operator about running migrations, which may take minutes. */
export interface MigrationProgress {
  /** Called before the first one, not for an empty database. */
  readonly onPending?: ((ids: readonly string[]) => void) | undefined
  /** Called when others use a table that is to be changed, and at every thirtieth attempt while they do. */
  readonly onLocked?: ((attempts: { readonly made: number; readonly max: number }) => void) | undefined
}

/** How migrations are applied. */
export interface MigrateOptions extends MigrationProgress {
  readonly clock: Clock
  /** Whether a database that lacks some is refused. */
  readonly refusesPending?: boolean | undefined
  /** The migrations of this version unless given, for tests of later versions. */
  readonly migrations?: readonly Migration[] | undefined
  readonly pause?: (milliseconds: number) => Promise<unknown>
}

/** The result of a migration. */
export interface Migrated {
  readonly applied: readonly string[]
  /** Migrations of a newer version, with which this one can work. */
  readonly unknown: readonly string[]
}

const REMEMBER = statement<{ id: string; applied_at: number }>(
  `insert into migrations (id, applied_at) values (:id, :applied_at)`,
)
const SET_KIND = statement<{ id: string; kind: string }>(`update migrations set kind = :kind where id = :id`)

/** While others use a table that is to be changed. */
const LOCKED_PAUSE_MS = 1000
const LOCKED_ATTEMPTS = 300
const ATTEMPTS_PER_REPORT = 30

/** Brings the schema up to date. Throws `StoreUnavailable` for a database that this version cannot work with. */
export async function migrate(db: Database, options: MigrateOptions): Promise<Migrated> {
  const { clock, migrations = MIGRATIONS, pause = systemPause } = options
  const { isNew, pending, unknown } = await schemaState(db, migrations)
  if (pending.length === 0) return { applied: [], unknown }
  if (options.refusesPending) {
    if (isNew) {
      throw new StoreUnavailable(
        'the database is empty: start the server first, or run latchkey migrate where database_options.migrate_at_start is false',
      )
    }
    throw new StoreUnavailable(
      `the database lacks ${pending.length === 1 ? 'a migration' : `${pending.length} migrations`} of this version: run latchkey migrate`,
    )
  }
  if (!isNew) options.onPending?.(pending.map(({ id }) => id))
  const applied: string[] = []
  for (let done = false, attempt = 1; !done; ) {
    try {
      const turn = await db.transaction(within => applyNext(within, { db, clock, migrations, atOnce: isNew }))
      applied.push(...turn)
      done = turn.length === 0
    } catch (error) {
      if (!(error instanceof StoreLocked) || attempt === LOCKED_ATTEMPTS) throw error
      if (attempt % ATTEMPTS_PER_REPORT === 1) options.onLocked?.({ made: attempt, max: LOCKED_ATTEMPTS })
      attempt += 1
      await pause(LOCKED_PAUSE_MS)
    }
  }
  return { applied, unknown }
}

/** Applies the first migration that is pending, or all; returns the ids. */
async function applyNext(
  within: Transaction,
  {
    db,
    clock,
    migrations,
    atOnce,
  }: {
    readonly db: Database
    readonly clock: Clock
    readonly migrations: readonly Migration[]
    readonly atOnce: boolean
  },
): Promise<readonly string[]> {
  const { text, integer, tableEnd } = db.columnTypes
  await within.lock('migrations', { mayBeSlow: true })
  await within.run(
    statement(
      `create table if not exists migrations (id ${text} primary key, applied_at ${integer} not null)${tableEnd}`,
    ),
    {},
  )
  // Another process may have applied it first.
  const { pending } = await stateOf(async (of, args) => (await within.run(of, args)).rows, migrations)
  const next = atOnce ? pending : pending.slice(0, 1)
  if (next.length > 0 && !atOnce) await within.waitBriefly()
  for (const migration of next) await apply(within, { migration, db, clock, migrations })
  return next.map(({ id }) => id)
}

async function apply(
  within: Transaction,
  {
    migration: { id, kind, statements, after },
    db,
    clock,
    migrations,
  }: {
    readonly migration: Migration
    readonly db: Database
    readonly clock: Clock
    readonly migrations: readonly Migration[]
  },
): Promise<void> {
  for (const text of statements(db.columnTypes)) await within.run(migrationStatement(text), {})
  await after?.run(within)
  await within.run(REMEMBER, { id, applied_at: clock.now().getTime() })
  const place = (of: string): number => migrations.findIndex(each => each.id === of)
  if (place(id) >= place(KINDS_ID)) await within.run(SET_KIND, { id, kind })
}

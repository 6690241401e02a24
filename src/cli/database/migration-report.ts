import { systemClock } from '../../base/clock.ts'
import { migrateDatabase, planOf } from '../../store/migrations/maintenance.ts'
import type { MigrationPlan, PlannedMigration, PlannedStep } from '../../store/migrations/plan.ts'
import { programName } from '../program-name.ts'
import { migrationProgress, newerText, refuseMissingDatabase } from './storage.ts'

/** Applies what is pending and reports it; reports on standard error what it waits for. */
export async function applied(database: string): Promise<string> {
  const { onLocked } = migrationProgress(line => process.stderr.write(`${line}\n`))
  const done = await migrateDatabase(database, { clock: systemClock, onLocked })
  const text = done.applied.length === 0 ? UP_TO_DATE : `Applied:\n${done.applied.map(id => `  ${id}\n`).join('')}`
  return `${text}${newerText(done.unknown)}`
}

/** Reports what `applied` would do. */
export async function planned(database: string): Promise<string> {
  refuseMissingDatabase(database)
  return planText(await planOf(database, { clock: systemClock }))
}

const UP_TO_DATE = 'The schema is up to date.\n'

/** For operators. */
export function planText({ isNew, pending, unknown }: MigrationPlan): string {
  if (pending.length === 0) return `${UP_TO_DATE}${newerText(unknown)}`
  if (isNew)
    return `The database is empty: all ${pending.length} migrations are pending, and no other server is affected.\n`
  const total = pending.flatMap(({ steps }) => steps).reduce((sum, { milliseconds }) => sum + milliseconds, 0)
  return `${pending.map(migrationText).join('\n')}
${pending.length === 1 ? 'One migration is' : `${pending.length} migrations are`} pending, each a transaction of its own that keeps its locks to its end. In all ${timeText(total)}.
Times are estimates from the number of rows; on your hardware they may be several times as long. Nothing was changed:
\`${programName()} migrate\` applies them${pending.some(({ kind }) => kind === 'contract') ? ', once the servers of older versions are stopped' : ''}.
${newerText(unknown)}`
}

const KINDS = {
  expand: 'expand: servers of the previous version keep working',
  contract: 'contract: stop servers of older versions first',
} as const

const migrationText = ({ id, kind, steps }: PlannedMigration): string =>
  `${id} (${KINDS[kind]})\n${steps.map(step => `  ${stepText(step)}\n`).join('')}`

const stepText = ({ what, kind, table, rows, lock, milliseconds }: PlannedStep): string =>
  [
    kind === 'create table' || table === undefined ? what : `${table}: ${what}`,
    ...(kind === 'create table' ? [] : [`${rows.toLocaleString('en-US')} rows`]),
    ...(lock === undefined ? [] : [lock]),
    timeText(milliseconds),
  ].join('; ')

function timeText(milliseconds: number): string {
  if (milliseconds < 1000) return 'less than a second'
  if (milliseconds < 120_000) return `about ${Math.ceil(milliseconds / 1000)} s`
  return `about ${Math.ceil(milliseconds / 60_000)} minutes`
}

// One connection of node:sqlite: runs statements, which it prepares once, and translates errors.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { stopwatch } from '../../../base/clock.ts'
import { NOTHING } from '../../database.ts'
import type { Outcome, Statement, Value } from '../../database.ts'
import { nounOf } from '../../schema.ts'
import { AlreadyExists, StoreUnavailable } from '../../store.ts'

/** How long a lock of another process is waited for. */
export const TIMEOUT_MILLISECONDS = 5000

/** A database with its prepared statements. */
export interface Connection {
  readonly database: DatabaseSync
  run<Args extends object, Row>(statement: Statement<Args, Row>, values: Value[] | undefined): Outcome<Row>
}

/**
 * The SQL of a statement. The planner of SQLite 3.54 looks at a parameter that is compared with a column, and the statement is
 * then prepared again at every run, which takes up to ten times as long as running it. The sign hides the parameter from the
 * planner and does nothing else: https://www.sqlite.org/lang_expr.html
 */
export const sqlOf = (of: Statement<never, unknown>): string => of.pieces.join(' +?')

/** Runs statements on the database. */
export function createConnection(database: DatabaseSync): Connection {
  const prepared = new WeakMap<object, { handle: StatementSync; answers: boolean }>()

  function prepare(of: Statement<never, unknown>): { handle: StatementSync; answers: boolean } {
    const handle = database.prepare(sqlOf(of))
    const entry = { handle, answers: handle.columns().length > 0 }
    if (of.once !== true) prepared.set(of, entry)
    return entry
  }

  return {
    database,
    run<Args extends object, Row>(of: Statement<Args, Row>, values: Value[] | undefined): Outcome<Row> {
      if (values === undefined) return NOTHING
      return translated(() => {
        const { handle, answers } = prepared.get(of) ?? prepare(of)
        if (!answers) return { rows: [], changes: Number(handle.run(...values).changes) }
        // A statement's type parameter describes the columns that its text selects.
        const rows = handle.all(...values) as Row[]
        return { rows, changes: rows.length }
      })
    },
  }
}

function errorCode(error: unknown): number | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'errcode') : undefined
  return typeof code === 'number' ? code : undefined
}

// https://www.sqlite.org/rescode.html; the low byte is the primary code.
const UNIQUE = 2067
const PRIMARY_KEY = 1555
const BUSY = 5
const REFUSALS = new Set([BUSY, 6, 7, 8, 10, 11, 13, 14, 15, 26]) // locked, memory, read-only, I/O, corrupt, full, …
const ADVICE: ReadonlyMap<number, string> = new Map([
  [8, 'check the permissions of the file and of its folder'],
  [11, 'restore a backup'],
  [26, 'check the path in database, or restore a backup'],
])

/** Does the work; throws errors of SQLite as `translate` returns them. */
export function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translate(error)
  }
}

/** The error that the store throws in place of one of SQLite. */
export function translate(error: unknown): unknown {
  const code = errorCode(error)
  if (code === undefined || !(error instanceof Error)) return error
  if (code === UNIQUE || code === PRIMARY_KEY) {
    return new AlreadyExists(nounOf(/failed: (\w+)\./.exec(error.message)?.[1]), { cause: error })
  }
  if (REFUSALS.has(code & 0xff)) {
    const advice = ADVICE.get(code & 0xff)
    const reason = advice === undefined ? error.message : `${error.message}; ${advice}`
    return new StoreUnavailable(`the database refuses: ${reason}`, { cause: error })
  }
  return error
}

/** Retries for five seconds while another process holds the lock, without blocking the event loop. */
export async function retryWhileBusy(attempt: () => void): Promise<void> {
  const elapsed = stopwatch()
  for (;;) {
    try {
      translated(attempt)
      return
    } catch (error) {
      const busy = error instanceof StoreUnavailable && ((errorCode(error.cause) ?? 0) & 0xff) === BUSY
      if (!busy || elapsed() > TIMEOUT_MILLISECONDS) throw error
      await pause(10)
    }
  }
}

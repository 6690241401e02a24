// Runs long statements, such as scans of large tables. SQLite's calls block, so a thread with its own connection runs them.
import { createThread, ThreadEnded } from '../../../base/concurrency/thread.ts'
import type { Value } from '../../database.ts'
import { StoreBusy, StoreUnavailable } from '../../store.ts'

/** Settings of the thread. */
export interface ThreadSettings {
  readonly path: string
  /** How long SQLite waits for a lock. */
  readonly timeoutMilliseconds: number
  readonly readOnly: boolean
}

/** A statement sent to the thread. */
export interface Statement {
  readonly text: string
  readonly values: readonly Value[]
}

/** Its result; `errcode` is SQLite's. */
export type Outcome =
  | { readonly rows: readonly unknown[] }
  | { readonly error: { readonly message: string; readonly errcode?: number } }

/** Runs statements off the main thread, one after another. */
interface SqliteThread {
  /**
   * The rows of one statement; errors are those of node:sqlite. Throws `StoreBusy` when too many statements wait, and
   * `StoreUnavailable` when the thread ends unexpectedly.
   */
  run(text: string, values: readonly Value[]): Promise<readonly unknown[]>
  close(): Promise<void>
}

/** Registrations of clients wait here, too: most statements take less than a millisecond. */
const MAX_WAITING = 256

/** Starts no thread before the first statement. The statement `last` runs before an idle thread ends. */
export function createSqliteThread(settings: ThreadSettings, last?: string): SqliteThread {
  const thread = createThread<Statement, Outcome>({
    file: new URL('thread-worker.ts', import.meta.url),
    data: settings,
    last: last === undefined ? undefined : { text: last, values: [] },
  })
  let running = 0

  return {
    async run(text, values) {
      if (running >= MAX_WAITING) throw new StoreBusy('too many long statements are waiting')
      running += 1
      try {
        const outcome = await thread.ask({ text, values })
        if ('rows' in outcome) return outcome.rows
        throw Object.assign(new Error(outcome.error.message), outcome.error)
      } catch (error) {
        if (!(error instanceof ThreadEnded)) throw error
        throw new StoreUnavailable('the thread for long statements has ended', { cause: error.cause })
      } finally {
        running -= 1
      }
    },
    close: () => thread.close(),
  }
}

// Runs long statements, such as scans of large tables. SQLite's calls block, so a thread with its own connection runs
// them. It starts on demand and ends when idle, because it costs 11 MB.
import type { Value } from '../database.ts'
import { StoreUnavailable } from '../store.ts'

/** Settings of the thread. */
export interface ThreadSettings {
  readonly path: string
  /** How long SQLite waits for a lock. */
  readonly timeoutMilliseconds: number
  readonly readOnly: boolean
}

/** A statement sent to the thread. */
export interface Question {
  readonly id: number
  readonly text: string
  readonly values: readonly Value[]
}

/** The thread's response; `errcode` is SQLite's. */
export type Answer =
  | { readonly id: number; readonly rows: readonly unknown[] }
  | { readonly id: number; readonly error: { readonly message: string; readonly errcode?: number } }

/** Runs statements off the main thread, one after another. */
interface SqliteThread {
  /**
   * The rows of one statement; errors are those of node:sqlite. Throws `StoreUnavailable` when too many statements wait or
   * the thread ends unexpectedly.
   */
  run(text: string, values: readonly Value[]): Promise<readonly unknown[]>
  close(): Promise<void>
}

interface Waiting {
  readonly resolve: (rows: readonly unknown[]) => void
  readonly reject: (reason: Error) => void
}

const MAX_WAITING = 32
const IDLE_MILLISECONDS = 10_000

/** Starts no thread before the first statement. The statement `last` runs before an idle thread ends. */
export function createSqliteThread(settings: ThreadSettings, last?: string): SqliteThread {
  let current: Promise<Thread> | undefined
  let idle: NodeJS.Timeout | undefined
  let running = 0

  function begin(): Promise<Thread> {
    const thread = start(settings, () => {
      if (current === thread) current = undefined
    })
    return thread
  }

  async function endIdle(): Promise<void> {
    const ending = current
    current = undefined // the next statement starts another thread
    try {
      const thread = await ending
      if (last !== undefined) await thread?.ask(last, [])
      await thread?.end()
    } catch {
      // a persistent problem also fails the next statement, which reports it
    }
  }

  async function end(): Promise<void> {
    clearTimeout(idle)
    const ending = current
    current = undefined
    await (await ending)?.end()
  }

  return {
    async run(text, values) {
      if (running >= MAX_WAITING) throw new StoreUnavailable('too many long statements are waiting')
      running += 1
      clearTimeout(idle)
      try {
        current ??= begin()
        return await (await current).ask(text, values)
      } finally {
        running -= 1
        if (running === 0) idle = setTimeout(() => void endIdle(), IDLE_MILLISECONDS).unref()
      }
    },
    close: end,
  }
}

interface Thread {
  ask(text: string, values: readonly Value[]): Promise<readonly unknown[]>
  end(): Promise<unknown>
}

async function start(settings: ThreadSettings, onEnd: () => void): Promise<Thread> {
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(new URL('sqlite-thread-worker.ts', import.meta.url), { workerData: settings, env: {} })
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let isEnding = false
  worker.on('message', (answer: Answer) => {
    const asker = waiting.get(answer.id)
    waiting.delete(answer.id)
    // An idle thread keeps no process alive; one that ends does until it has.
    if (waiting.size === 0 && !isEnding) worker.unref()
    if ('rows' in answer) asker?.resolve(answer.rows)
    else asker?.reject(Object.assign(new Error(answer.error.message), answer.error))
  })
  let cause: unknown
  worker.on('error', error => (cause = error)) // `exit` follows
  worker.on('exit', () => {
    onEnd()
    for (const { reject } of waiting.values()) {
      reject(new StoreUnavailable('the thread for long statements has ended', { cause }))
    }
  })
  return {
    ask(text, values) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>()
      lastId += 1
      waiting.set(lastId, { resolve, reject })
      worker.ref()
      worker.postMessage({ id: lastId, text, values } satisfies Question)
      return promise
    },
    end() {
      isEnding = true
      worker.ref()
      return worker.terminate()
    },
  }
}

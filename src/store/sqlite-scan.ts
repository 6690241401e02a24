// Reads that may look at every row of a large table. SQLite's calls block, so these are made in a thread of their own,
// which is started by the first of them and ends when none came for a while: it costs 11 MB.
import type { Value } from './database.ts'
import { StoreUnavailable } from './store.ts'

/** What the thread is started with. */
export interface ScanSettings {
  readonly path: string
  /** How long SQLite waits for a lock. */
  readonly patienceMilliseconds: number
}

/** What the thread is asked. */
export interface ScanQuestion {
  readonly id: number
  readonly text: string
  readonly values: readonly Value[]
}

/** What it answers; `errcode` is SQLite's. */
export type ScanAnswer =
  | { readonly id: number; readonly rows: readonly unknown[] }
  | { readonly id: number; readonly error: { readonly message: string; readonly errcode?: number } }

/** Runs reads beside the thread of the server. */
export interface Scanner {
  /**
   * The rows of one statement; errors are those of node:sqlite. Throws `StoreUnavailable` when too many wait, and when the
   * thread ends on the way.
   */
  run(text: string, values: readonly Value[]): Promise<readonly unknown[]>
  close(): Promise<void>
}

interface Waiting {
  readonly resolve: (rows: readonly unknown[]) => void
  readonly reject: (reason: Error) => void
}

const MOST_WAITING = 32
const IDLE_MILLISECONDS = 10_000

/** Nothing is started before the first read. */
export function createScanner(settings: ScanSettings): Scanner {
  let current: Promise<Thread> | undefined
  let idle: NodeJS.Timeout | undefined
  let running = 0

  function begin(): Promise<Thread> {
    const thread = start(settings, () => {
      if (current === thread) current = undefined
    })
    return thread
  }

  async function end(): Promise<void> {
    clearTimeout(idle)
    const ending = current
    current = undefined // whoever comes now starts another
    await (await ending)?.end()
  }

  return {
    async run(text, values) {
      if (running >= MOST_WAITING) throw new StoreUnavailable('too many large reads are waiting')
      running += 1
      clearTimeout(idle)
      try {
        current ??= begin()
        return await (await current).ask(text, values)
      } finally {
        running -= 1
        if (running === 0) idle = setTimeout(() => void end(), IDLE_MILLISECONDS).unref()
      }
    },
    close: end,
  }
}

interface Thread {
  ask(text: string, values: readonly Value[]): Promise<readonly unknown[]>
  end(): Promise<unknown>
}

async function start(settings: ScanSettings, onEnd: () => void): Promise<Thread> {
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(new URL('sqlite-scan-worker.ts', import.meta.url), { workerData: settings, env: {} })
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  worker.on('message', (answer: ScanAnswer) => {
    const asker = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (waiting.size === 0) worker.unref() // an idle thread keeps no process alive
    if ('rows' in answer) asker?.resolve(answer.rows)
    else asker?.reject(Object.assign(new Error(answer.error.message), answer.error))
  })
  let cause: unknown
  worker.on('error', error => (cause = error)) // `exit` follows
  worker.on('exit', () => {
    onEnd()
    for (const { reject } of waiting.values()) {
      reject(new StoreUnavailable('the thread for large reads has ended', { cause }))
    }
  })
  return {
    ask(text, values) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>()
      lastId += 1
      waiting.set(lastId, { resolve, reject })
      worker.ref()
      worker.postMessage({ id: lastId, text, values } satisfies ScanQuestion)
      return promise
    },
    end: () => worker.terminate(),
  }
}

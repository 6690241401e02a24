// Checkpoints of SQLite's write-ahead log. A checkpoint writes and flushes thousands of pages, which takes tens of
// milliseconds or more: a thread does it in passes, without blocking reads or writes. The log restarts only when all of
// it is in the file, which never happens under load. So a short last pass runs while no batch of writes is open; the
// event loop is not blocked.
import type { DatabaseSync } from 'node:sqlite'
import { createSqliteThread } from './thread.ts'

/** Keeps the log of one file short; safe in several processes at once. */
export interface Checkpoints {
  /** Call after every commit. Never throws: committed data is safe in the log. */
  afterCommit(): void
  /** Await before a batch begins; nearly always undefined. */
  readonly lastPass: Promise<void> | undefined
  close(): Promise<void>
}

/** Pages of the log, and how many are checkpointed; a page has 4 KiB. */
interface Progress {
  readonly log: number
  readonly checkpointed: number
}

/** Thresholds in pages. */
interface CheckpointLimits {
  /** New pages that start a pass. */
  readonly pass: number
  /** Length of the log at which it should restart. */
  readonly restart: number
  /** Maximum pages of the last pass, for which writes wait some milliseconds. */
  readonly last: number
  /** Length at which SQLite checkpoints at every commit, on the main thread, because the thread failed or is blocked. */
  readonly max: number
}

// The last pass is too rare to affect the 99th percentile; recovery of 64 MB after a crash takes 0.2 s.
const LIMITS: CheckpointLimits = { pass: 1000, restart: 16_000, last: 250, max: 32_000 }
const MAX_PASSES = 8
// Only truncating an idle log waits for locks; it holds the write lock meanwhile.
const TIMEOUT_MILLISECONDS = 20

/** Replaces the automatic checkpoints of `writer`, up to the limit. */
export function createCheckpoints({
  path,
  writer,
  limits = LIMITS,
  onError,
}: {
  path: string
  writer: DatabaseSync
  limits?: CheckpointLimits
  onError: (error: unknown) => void
}): Checkpoints {
  writer.exec(`pragma wal_autocheckpoint = ${limits.max}`)
  const look = writer.prepare('pragma wal_checkpoint(noop)')
  const thread = createSqliteThread(
    { path, timeoutMilliseconds: TIMEOUT_MILLISECONDS, readOnly: false },
    'pragma wal_checkpoint(truncate)',
  )
  let running = false
  let closed = false
  let lastPass: Promise<void> | undefined
  // Length of the log at the last attempt. A failed or blocked attempt is repeated when the log has grown.
  let passedAt = 0
  let lastPassAt = 0

  // The columns of the pragma.
  const progress = (): Progress => look.get() as unknown as Progress

  /** Runs passes until few pages are left; each is shorter than the one before. */
  async function run(passes: number): Promise<void> {
    running = true
    try {
      for (let pass = 0; pass < passes; pass += 1) {
        if (closed) return
        await thread.run('pragma wal_checkpoint(passive)', [])
        const { log, checkpointed } = progress()
        if (log < limits.restart || log - checkpointed <= limits.last) return
      }
    } catch (error) {
      if (!closed) onError(error)
    } finally {
      running = false
      lastPass = undefined
    }
  }

  function checkpoint(): void {
    const { log, checkpointed } = progress()
    if (log < passedAt) passedAt = 0 // the log restarted
    if (log < lastPassAt) lastPassAt = 0
    const left = log - checkpointed
    if (log >= limits.restart && left <= limits.last && log - lastPassAt >= limits.pass) {
      lastPassAt = log
      lastPass = run(1)
    } else if (log - Math.max(passedAt, checkpointed) >= limits.pass) {
      passedAt = log
      void run(MAX_PASSES)
    }
  }

  return {
    afterCommit() {
      if (running || closed) return
      try {
        checkpoint()
      } catch (error) {
        onError(error)
      }
    },
    get lastPass() {
      return lastPass
    },
    async close() {
      closed = true
      await thread.close()
    },
  }
}

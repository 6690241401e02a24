// Writing SQLite's log back into its file. A checkpoint writes thousands of pages and flushes them, which takes tens of
// milliseconds and more when the table is large: a thread does it in passes, and neither reads nor writes wait for them.
// The log starts again from its beginning only when all of it is in the file, and under load there always are new pages.
// So the last pass, a short one, is made while no batch of writes is open; the event loop goes on meanwhile.
import type { DatabaseSync } from 'node:sqlite'
import { createSqliteThread } from './sqlite-thread.ts'

/** Keeps the log of one file short; several processes may do so at once. */
export interface Checkpoints {
  /** To be called after every commit. Throws nothing: what was committed is safe in the log. */
  afterCommit(): void
  /** To be awaited before a batch begins; undefined nearly always. */
  readonly lastPass: Promise<void> | undefined
  close(): Promise<void>
}

/** The log and how much of it is in the file, in pages of 4 KiB. */
interface Progress {
  readonly log: number
  readonly checkpointed: number
}

/** When something is done, in pages. */
export interface CheckpointLimits {
  /** So many new pages are worth a pass. */
  readonly pass: number
  /** A log of this length is to start again. */
  readonly restart: number
  /** What writes may have to wait for when it does: some milliseconds of a second's work. */
  readonly last: number
  /** From here on SQLite writes back at every commit, on the serving thread: the thread failed, or a reader holds it up. */
  readonly most: number
}

// Waiting for the last pass is rare enough to be no part of the 99th percentile; 64 MB are read in 0.2 s after a crash.
const LIMITS: CheckpointLimits = { pass: 1000, restart: 16_000, last: 250, most: 32_000 }
const MAX_PASSES = 8
// Only the truncation of an idle log waits for locks, and holds the writer's meanwhile.
const PATIENCE_MILLISECONDS = 20

/** Takes SQLite's own checkpoints away from `writer`, up to the limit. */
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
  writer.exec(`pragma wal_autocheckpoint = ${limits.most}`)
  const look = writer.prepare('pragma wal_checkpoint(noop)')
  const thread = createSqliteThread(
    { path, patienceMilliseconds: PATIENCE_MILLISECONDS, readOnly: false },
    'pragma wal_checkpoint(truncate)',
  )
  let running = false
  let closed = false
  let lastPass: Promise<void> | undefined
  // How long the log was at the last attempt. One that failed, or that a reader held up, is repeated when it has grown.
  let passedAt = 0
  let lastPassAt = 0

  // The columns of the pragma.
  const progress = (): Progress => look.get() as unknown as Progress

  /** As many passes as are needed to leave little; each is shorter than the one before it. */
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
    if (log < passedAt) passedAt = 0 // the log began again
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

// Makes commits durable without blocking the event loop: SQLite writes a commit into the write-ahead log and does not wait
// for the disk (`synchronous=normal`); this flushes the log in the thread pool. See docs/decisions/0003.
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { StoreUnavailable } from '../../store.ts'

/** Flushes the write-ahead log of one file. */
export interface LogFlush {
  /**
   * Resolves when every commit made before the call is on the disk; calls that come while a flush runs share the next one.
   * Rejects with `StoreUnavailable` when a flush fails, and from then on: the kernel may have dropped what it could not
   * write, and would report the next flush as a success.
   */
  flush(): Promise<void>
  /** Throws what the failed flush threw, so that nothing is committed after it. */
  refuseFailed(): void
  /** Waits for the last flush. */
  close(): Promise<void>
}

/** Opens the log at the first flush, because SQLite creates it at the first write. */
export function createLogFlush(logPath: string): LogFlush {
  let file: FileHandle | undefined
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  let failure: StoreUnavailable | undefined

  async function begin(): Promise<void> {
    next = undefined
    try {
      file ??= await open(logPath, 'r+')
      await file.datasync()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const message = `the write-ahead log cannot be flushed to the disk (${reason}): restart the server`
      failure = new StoreUnavailable(message, { cause: error })
      throw failure
    }
  }

  return {
    flush() {
      next ??= running = running.then(begin)
      return next
    },
    refuseFailed() {
      if (failure) throw failure
    },
    async close() {
      await running.catch(() => {}) // the waiting callers got the error
      await file?.close()
    },
  }
}

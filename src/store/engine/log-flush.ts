// Makes commits durable without blocking the event loop. SQLite writes a commit into the write-ahead log and does not wait
// for the disk (`synchronous=normal`); this flushes the log in the thread pool. One flush covers all commits before it.
import { type FileHandle, open } from 'node:fs/promises'

/** Flushes the write-ahead log of one file. */
export interface LogFlush {
  /** Resolves when every commit made before the call is on the disk. Rejects, as every later call does, when a flush fails. */
  flush(): Promise<void>
  /** Waits for a flush that runs. */
  close(): Promise<void>
}

/** Opens the log at the first flush: SQLite makes the file with the first write. */
export function createLogFlush(logPath: string): LogFlush {
  let file: FileHandle | undefined
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  async function begin(): Promise<void> {
    next = undefined
    file ??= await open(logPath, 'r+')
    await file.datasync()
  }

  return {
    flush() {
      // After a failed flush the kernel may report success for pages that it has dropped, so nothing is tried again.
      next ??= running = running.then(begin)
      return next
    },
    async close() {
      await running.catch(() => {})
      await file?.close()
    },
  }
}

// The file of a SQLite database. While a server has it open, its name must not lead to another file: SQLite would not notice,
// and everything written would be gone with the last process that has the old file open.
import { type BigIntStats, closeSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder } from '../../../base/files/private-folder.ts'
import { StoreUnavailable } from '../../store.ts'

/** Makes an empty file for its owner only, unless there is one. */
export function prepareFile(path: string): void {
  makePrivateFolder(dirname(path))
  closeSync(openSync(path, 'a', 0o600)) // SQLite creates its -wal and -shm files with the same mode
}

/** Called when the database has been opened. The result throws `StoreUnavailable` while another file, or none, is in its place. */
export function placeCheck(path: string): () => void {
  const opened = lookAt(path)
  return () => {
    const present = lookAt(path)
    if (present === 'unknown' || opened === 'unknown') return
    if (present?.ino === opened?.ino && present?.dev === opened?.dev) return
    const change = present === undefined ? 'removed' : 'replaced'
    throw new StoreUnavailable(
      `${path} was ${change} while the server runs, so nothing can be written: restart the server; latchkey restore replaces a database that no server uses`,
    )
  }
}

/** Undefined if there is no file; `unknown` in a folder that this account may no longer read: SQLite itself reports what fails. */
function lookAt(path: string): Pick<BigIntStats, 'dev' | 'ino'> | 'unknown' | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return 'unknown'
  }
}

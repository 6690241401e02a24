// The file of a SQLite database, and its write-ahead log. While a server has them open, their names must not lead to other files:
// SQLite would not notice, and everything written would be gone with the last process that has the old ones open.
import { closeSync, openSync, statSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder } from '../../../base/files/private-folder.ts'
import { StoreUnavailable } from '../../store.ts'

/** Makes an empty file for its owner only, unless there is one. */
export function prepareFile(path: string): void {
  makePrivateFolder(dirname(path))
  closeSync(openSync(path, 'a', 0o600)) // SQLite creates its -wal and -shm files with the same mode
}

/** Whether there is a file without contents, which opening a database would change. */
export const isEmptyFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.size === 0

/** Called when the database has been opened. The result throws `StoreUnavailable` while another file, or none, is in its place. */
export function placeCheck(path: string): () => void {
  const log = `${path}-wal`
  const opened = lookAt(path)
  const openedLog = lookAt(log) ?? 'unknown' // a file system without one
  return () => {
    const change = changeOf(path, opened)
    if (change !== undefined) {
      throw new StoreUnavailable(
        `${path} was ${change} while the server runs, so nothing can be written: restart the server; latchkey restore replaces a database that no server uses`,
      )
    }
    const changeOfLog = changeOf(log, openedLog)
    if (changeOfLog === undefined) return
    throw new StoreUnavailable(
      `${log} was ${changeOfLog} while the server runs, so nothing can be written: restart the server by SIGTERM, which saves what was in it`,
    )
  }
}

type Place = Pick<BigIntStats, 'dev' | 'ino'> | 'unknown' | undefined

function changeOf(path: string, opened: Place): 'removed' | 'replaced' | undefined {
  const present = lookAt(path)
  if (present === 'unknown' || opened === 'unknown') return undefined
  if (present?.ino === opened?.ino && present?.dev === opened?.dev) return undefined
  return present === undefined ? 'removed' : 'replaced'
}

/** Undefined if there is no file; `unknown` in a folder that this account may no longer read: SQLite itself reports what fails. */
function lookAt(path: string): Place {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return 'unknown'
  }
}

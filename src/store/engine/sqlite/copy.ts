// Copies of SQLite databases, for backup and restore.
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StoreUnavailable } from '../../unavailable.ts'

const TIMEOUT_MILLISECONDS = 5000
const IN_USE_MILLISECONDS = 1000

/**
 * Writes all that is committed in the database `from` into the new file `to`, which only its owner may read, and checks it;
 * others may read and write `from` meanwhile. Throws `StoreUnavailable` and leaves no file behind when it cannot.
 */
export function copySqlite(from: string, to: string): void {
  closeSync(createFile(to))
  try {
    // Not `readOnly`: such a connection leaves its -wal and -shm files behind, which the server's account may not open.
    const source = new DatabaseSync(from, { timeout: TIMEOUT_MILLISECONDS })
    try {
      source.exec('pragma trusted_schema = off') // a backup may come from anywhere
      refuseOtherTables(source, from)
      // One read transaction. The backup interface of SQLite begins again whenever another process writes.
      source.prepare('vacuum into ?').run(to)
    } finally {
      source.close()
    }
    refuseDamage(to)
    flush(to, 'r+')
  } catch (cause) {
    for (const ending of ['', '-journal']) rmSync(`${to}${ending}`, { force: true })
    if (cause instanceof StoreUnavailable) throw cause
    const problem = SOURCE_PROBLEMS.get(codeOf(cause))
    if (problem !== undefined) throw new StoreUnavailable(`${from} ${problem}`, { cause })
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new StoreUnavailable(`cannot copy ${from} to ${to}: ${reason}`, { cause })
  }
}

// https://www.sqlite.org/rescode.html
const SOURCE_PROBLEMS: ReadonlyMap<number | undefined, string> = new Map([
  [11, 'is damaged'],
  [26, 'is no SQLite database'],
])

/** The primary code of an error of SQLite. */
function codeOf(cause: unknown): number | undefined {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'errcode') : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}

function createFile(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    const message = `${path} exists: another backup or restore runs, or one was interrupted; then delete the file`
    throw new StoreUnavailable(message, { cause })
  }
}

function refuseOtherTables(database: DatabaseSync, path: string): void {
  const names = database.prepare(`select 1 from sqlite_schema where type = 'table' and name in ('migrations', 'zones')`)
  if (names.all().length !== 2) throw new StoreUnavailable(`${path} is not a database of Latchkey`)
}

function refuseDamage(path: string): void {
  const copy = new DatabaseSync(path, { readOnly: true })
  try {
    const [first] = copy.prepare('pragma integrity_check').all()
    if (first?.['integrity_check'] !== 'ok') throw new StoreUnavailable(`${path} is damaged: check the disk`)
  } finally {
    copy.close()
  }
}

/** Renames a complete file; the new name is on disk when this returns. Both paths are in the same folder. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to)
  flush(dirname(to), 'r')
}

/** `vacuum into` and `rename` leave it to the operating system when the file or the folder is on disk. */
function flush(path: string, flags: 'r' | 'r+'): void {
  const file = openSync(path, flags)
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

const BUSY = 5
const DAMAGED = new Set([11, 26]) // https://www.sqlite.org/rescode.html: corrupt, not a database

/**
 * Keeps every other process out of a database until the result is called (again is harmless), and writes its log back, so that it
 * is one file. Throws `StoreUnavailable` while a server has it open. A damaged file cannot be locked; it is left as it is.
 */
export function lockSqlite(path: string): () => void {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: IN_USE_MILLISECONDS })
    database.exec('pragma journal_mode = delete') // fails while another process has the file open
    database.exec('begin exclusive')
    const locked = database
    return () => {
      if (locked.isOpen) locked.close()
    }
  } catch (cause) {
    database?.close()
    const code = codeOf(cause)
    if (code !== undefined && DAMAGED.has(code)) return () => {}
    if (code === BUSY) {
      throw new StoreUnavailable(`${path} is in use: stop the server first`, { cause })
    }
    throw new StoreUnavailable(`cannot open ${path}: ${String(Reflect.get(Object(cause), 'message'))}`, { cause })
  }
}

// The work of `latchkey backup` and `latchkey restore`. A backup is a SQLite file without the master key.
import { chownSync, constants, existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { makePrivateFolder } from '../../base/files/private-folder.ts'
import { isUsableFile } from '../../base/files/usable-file.ts'
import { createRandom } from '../../base/random.ts'
import { refuseForeignDatabase } from '../../bootstrap.ts'
import { openVault } from '../../bootstrap/vault.ts'
import type { Config, StorageConfig } from '../../config.ts'
import { masterKeysFor, missingMasterKeyFile } from '../../config.ts'
import { copySqlite, lockSqlite, renameDurably } from '../../store/engine/sqlite/copy.ts'
import { openStore } from '../../store/open.ts'
import { CommandFailure } from '../command.ts'
import { refuseMissingDatabase } from './storage.ts'

/** Writes the file and returns the lines to print. The file appears under its name once it is complete and checked. */
export function writeBackup(config: Pick<Config, 'database'>, to: string): string {
  const path = sqlitePath(config, 'use pg_dump')
  refuseMissingDatabase(config.database)
  if (existsSync(to)) throw new CommandFailure(`${to} exists already`)
  const draft = `${to}.partial`
  refuseMissingFolder(to)
  copySqlite(path, draft)
  renameDurably(draft, to)
  return `Wrote ${to}, ${statSync(to).size} bytes, and checked it.\nThe master key is not in it: keep a copy of the key elsewhere.\n`
}

function refuseMissingFolder(file: string): void {
  const folder = dirname(resolve(file))
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandFailure(`there is no folder ${folder}`)
}

/**
 * Replaces the database and returns the lines to print. Refuses a backup that the server would refuse to start with, before
 * anything is changed.
 */
export async function restoreBackup(config: StorageConfig, from: string): Promise<string> {
  const path = sqlitePath(config, 'use pg_restore or psql')
  if (!isUsableFile(from)) throw new CommandFailure(`there is no file ${from}`)
  const isThere = isUsableFile(path, constants.R_OK | constants.W_OK)
  const target = isThere ? realpathSync(path) : resolve(path)
  isUsableFile(dirname(target), constants.W_OK)
  const keyFile = missingMasterKeyFile(config)
  if (keyFile !== undefined) {
    throw new CommandFailure(
      `there is no ${keyFile}: put the master key of the backup there, or set LATCHKEY_MASTER_KEY`,
    )
  }
  if (realpathSync(from) === target) throw new CommandFailure(`${from} is the database itself`)
  makePrivateFolder(dirname(target))
  const unlock = isThere ? lockSqlite(target) : () => {}
  const draft = `${target}.restoring`
  try {
    copySqlite(from, draft)
    try {
      await examine(draft, config, from)
      giveToOwner(draft)
      unlock()
      const kept = moveAside(target)
      renameDurably(draft, target)
      return `Restored ${path} from ${from}.\n${kept}`
    } catch (error) {
      for (const ending of ['', '-wal', '-shm']) rmSync(`${draft}${ending}`, { force: true })
      throw error
    }
  } finally {
    unlock()
  }
}

function sqlitePath({ database }: Pick<Config, 'database'>, instead: string): string {
  if (database === 'sqlite::memory:') throw new CommandFailure('a database in memory belongs to one process')
  const path = /^sqlite:(.+)$/.exec(database)?.[1]
  if (path === undefined) throw new CommandFailure(`this is for SQLite only: for PostgreSQL, ${instead}`)
  return path
}

/** Opens the copy as the server would, which brings its schema up to date. */
async function examine(draft: string, config: StorageConfig, from: string): Promise<void> {
  const random = createRandom()
  const masterKeys = await masterKeysFor(config, random)
  const store = await openStore(`sqlite:${draft}`, { clock: systemClock })
  try {
    const vault = await openVault({ store, masterKeys, random, service: config.service })
    await refuseForeignDatabase({ store, vault, config })
    if (!(await store.zones.find(config.service))) throw new CommandFailure(`${from} has no zones`)
  } finally {
    await store.close()
  }
}

/** When root restores, the server's account must still be able to open the file. */
function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  chownSync(path, uid, gid)
}

/**
 * Keeps the database under a name with the time, and returns a line that names it. A WAL file next to it belongs to a damaged
 * database, or to one that is gone: SQLite would write what is in it into the restored one.
 */
function moveAside(path: string): string {
  const stamp = systemClock.now().toISOString().slice(0, 19).replace(/:/g, '-')
  const kept = `${path}.before-${stamp}Z`
  const isThere = existsSync(path)
  const hasLog = existsSync(`${path}-wal`)
  for (const ending of ['-wal', '-shm']) {
    if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${kept}${ending}`)
  }
  if (!isThere) return hasLog ? `The log of the database before is ${kept}-wal.\n` : ''
  try {
    linkSync(path, kept) // so that the database always exists: a server that finds none creates one
  } catch {
    if (existsSync(kept)) throw new CommandFailure(`${kept} exists already: try again in a second`)
    renameSync(path, kept) // a file system without links
  }
  return `The database before is ${kept}.\n`
}

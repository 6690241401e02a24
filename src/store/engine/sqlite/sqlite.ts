// The embedded database: node:sqlite. Owns everything specific to SQLite: two connections (a writer and a reader of
// committed data), one transaction for all writes of an event-loop turn, flushed in the thread pool, and a table of changes that
// other processes poll. Its calls block, so statements are kept small and waiting for a lock does not block the thread.
import { constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf } from '../../../base/files/file-error.ts'
import { isUsableFile } from '../../../base/files/usable-file.ts'
import { writeChange } from '../../changes.ts'
import type { Change } from '../../changes.ts'
import { statement, valuesFor } from '../../database.ts'
import type { Database, DatabaseOptions, Statement, Transaction } from '../../database.ts'
import { StoreUnavailable } from '../../store.ts'
import { createCheckpoints } from './checkpoints.ts'
import type { Checkpoints } from './checkpoints.ts'
import { createLogFlush } from './log-flush.ts'
import type { LogFlush } from './log-flush.ts'
import { createSqliteChanges } from './changes.ts'
import { createConnection, retryWhileBusy, sqlOf, TIMEOUT_MILLISECONDS, translate, translated } from './connection.ts'
import type { Connection } from './connection.ts'
import { SQLITE } from './dialect.ts'
import { placeCheck, prepareFile } from './file.ts'
import { createSqliteThread } from './thread.ts'
import { createWriteQueue } from './write-queue.ts'
import type { BatchConnection } from './write-queue.ts'

// How long SQLite waits for the lock of another process: short, because the wait blocks the whole process.
const WRITER_BUSY_MILLISECONDS = 25

const ANNOUNCE = statement<{ change: string; changed_at: number }>(
  `insert into changes (change, changed_at) values (:change, :changed_at)`,
)

/** Options of `openSqlite`. */
export interface SqliteOptions extends DatabaseOptions {
  /** Used for `:memory:` instead of a new, empty database; closed with the store. */
  readonly memory?: DatabaseSync | undefined
}

/** Opens the file, created with mode 0600 in a folder of mode 0700, or a private database for `:memory:`. */
export async function openSqlite(location: string, options: SqliteOptions): Promise<Database> {
  try {
    return await open(location, options)
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    throw new StoreUnavailable(`cannot open the database ${resolve(location)}: ${reasonOf(error)}`, { cause: error })
  }
}

async function open(location: string, { clock, listener, onError, memory }: SqliteOptions): Promise<Database> {
  const inMemory = location === ':memory:'
  const path = inMemory ? location : resolve(location)
  if (!inMemory) prepareFile(path)
  const { writer, reader } = await openConnections(path, { inMemory, memory, clock }).catch((cause: unknown) => {
    throw folderProblem(path) ?? cause
  })
  const checkpoints = inMemory ? undefined : createCheckpoints({ path, writer: writer.database, onError })
  // `normal` flushes at checkpoints only, which keeps the file intact; the log flush makes each commit durable.
  const log = inMemory ? undefined : createLogFlush(`${path}-wal`)
  const refuseOtherFile = inMemory ? undefined : placeCheck(path)
  const queue = createWriteQueue(batchesOn(writer.database, { checkpoints, log, refuseOtherFile }))
  const changes = inMemory ? undefined : createSqliteChanges(reader, { listener, onError })
  let closed = false
  let isListening = false

  function refuseClosed(): void {
    if (closed) throw new StoreUnavailable('the store is closed')
  }

  const runWithin: Transaction['run'] = async (statement, args) => writer.run(statement, valuesFor(statement, args))

  function within(announced: Change[]): Transaction {
    return {
      run: runWithin,
      async announce(change) {
        announced.push(change)
        await runWithin(ANNOUNCE, { change: writeChange(change), changed_at: clock.now().getTime() })
      },
      lock: () => Promise.resolve(), // `begin immediate` has locked out every other writer
      waitBriefly: () => Promise.resolve(),
    }
  }

  const scanner = inMemory
    ? undefined
    : createSqliteThread({ path, timeoutMilliseconds: TIMEOUT_MILLISECONDS, readOnly: true })

  async function read<Args extends object, Row>(of: Statement<Args, Row>, args: Args): Promise<readonly Row[]> {
    if (inMemory) await queue.whenClosed()
    refuseClosed()
    return reader.run(of, valuesFor(of, args)).rows
  }

  async function scan<Args extends object, Row>(of: Statement<Args, Row>, args: Args): Promise<readonly Row[]> {
    if (!scanner) return read(of, args)
    refuseClosed()
    const values = valuesFor(of, args)
    if (values === undefined) return []
    try {
      // The type parameter of the statement describes the columns that its text selects.
      return (await scanner.run(sqlOf(of), values)) as readonly Row[]
    } catch (error) {
      throw translate(error)
    }
  }

  return {
    ...SQLITE,
    read,
    scan,
    search: scan,
    async write(statement, args) {
      refuseClosed()
      const values = valuesFor(statement, args)
      return queue.addStatement(() => writer.run(statement, values))
    },
    async transaction(work) {
      refuseClosed()
      const announced: Change[] = []
      try {
        return await queue.addTransaction(() => work(within(announced)))
      } finally {
        for (const change of announced) listener.changed(change)
      }
    },
    listen() {
      isListening = true
      changes?.start()
      return Promise.resolve()
    },
    receivesChanges: () => isListening && (changes?.isReceiving() ?? true), // no other process can change it in memory
    async close() {
      if (closed) return
      closed = true
      changes?.stop()
      await queue.drain()
      await log?.close()
      await scanner?.close()
      await checkpoints?.close()
      if (reader !== writer) reader.database.close()
      writer.database.close() // last, so that it can checkpoint the log
    },
  }
}

/** Why no log can be made beside the database: SQLite says only that the database is read-only. */
function folderProblem(path: string): StoreUnavailable | undefined {
  const folder = dirname(path)
  try {
    isUsableFile(folder, constants.W_OK)
    return undefined
  } catch (cause) {
    return new StoreUnavailable(`${folder} cannot be read or written: ${reasonOf(cause)}`, { cause })
  }
}

/** Batches as transactions of the writer. */
function batchesOn(
  writer: DatabaseSync,
  {
    checkpoints,
    log,
    refuseOtherFile,
  }: {
    readonly checkpoints: Checkpoints | undefined
    readonly log: LogFlush | undefined
    readonly refuseOtherFile: (() => void) | undefined
  },
): BatchConnection {
  return {
    async begin() {
      log?.refuseFailed()
      refuseOtherFile?.()
      await checkpoints?.lastPass
      await retryWhileBusy(() => writer.exec('begin immediate'))
    },
    commit() {
      translated(() => writer.exec('commit'))
      checkpoints?.afterCommit()
    },
    flush: () => log?.flush(),
    rollback() {
      if (writer.isTransaction) writer.exec('rollback')
    },
    isOpen: () => writer.isTransaction,
    setSavepoint: () => writer.exec('savepoint job'),
    releaseSavepoint: () => writer.exec('release job'),
    returnToSavepoint: () => writer.exec('rollback to job; release job'),
  }
}

interface Connections {
  readonly writer: Connection
  /** The same one for an in-memory database: its reads wait for an open batch, to see committed rows only. */
  readonly reader: Connection
}

async function openConnections(
  path: string,
  { inMemory, memory, clock }: Pick<SqliteOptions, 'memory' | 'clock'> & { readonly inMemory: boolean },
): Promise<Connections> {
  const writer = createConnection(
    inMemory ? (memory ?? new DatabaseSync(path)) : new DatabaseSync(path, { timeout: WRITER_BUSY_MILLISECONDS }),
  )
  await retryWhileBusy(() => writer.database.exec('pragma journal_mode = wal; pragma synchronous = normal'))
  // Only a connection that has opened the log folds it in and removes it when it closes.
  await retryWhileBusy(() => writer.database.exec('select 1 from sqlite_schema limit 1'))
  // Keys are random, so each batch touches many index pages; this cache holds them.
  writer.database.exec('pragma cache_size = -8000')
  writer.database.exec('pragma trusted_schema = off; pragma journal_size_limit = 67108864')
  const reader = inMemory
    ? writer
    : createConnection(new DatabaseSync(path, { readOnly: true, timeout: TIMEOUT_MILLISECONDS }))
  // Processes that share the file share the machine, and its clock.
  for (const { database } of new Set([writer, reader])) database.function('latchkey_now', () => clock.now().getTime())
  // Holds the inner pages of an index over a million random digests, so that a look-up reads little more than its row.
  if (reader !== writer) reader.database.exec('pragma cache_size = -32000')
  return { writer, reader }
}

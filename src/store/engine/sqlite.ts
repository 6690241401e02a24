// The embedded database: node:sqlite. Owns everything specific to SQLite: two connections (a writer and a reader of
// committed data), one transaction for all writes of an event-loop turn, flushed in the thread pool, and a table of changes that
// other processes poll. Its calls block, so statements are kept small and waiting for a lock does not block the thread.
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { stopwatch } from '../../base/clock.ts'
import { reasonOf } from '../../base/file-error.ts'
import { createCheckpoints } from './checkpoints.ts'
import { type Change, readChange, writeChange } from '../changes.ts'
import {
  type Database,
  type DatabaseOptions,
  NOTHING,
  type Outcome,
  type Statement,
  statement,
  type Transaction,
  type Value,
  valuesFor,
} from '../database.ts'
import { nounOf } from '../schema.ts'
import { createLogFlush } from './log-flush.ts'
import { createSqliteThread } from './sqlite-thread.ts'
import { AlreadyExists, StoreUnavailable } from '../store.ts'
import { createWriteQueue } from './write-queue.ts'

const POLL_MILLISECONDS = 250
const TIMEOUT_MILLISECONDS = 5000
// How long SQLite waits for the lock of another process: short, because the wait blocks the whole process.
const WRITER_BUSY_MILLISECONDS = 25

const SQLITE_LOCK = 'all writes wait'
const ANNOUNCE = statement<{ change: string; changed_at: number }>(
  `insert into changes (change, changed_at) values (:change, :changed_at)`,
)
const NEWS = statement<{ id: number }, { id: number; change: string }>(
  `select id, change from changes where id > :id order by id`,
)
const DATA_VERSION = statement<object, { data_version: number }>(`pragma data_version`)
const LAST_CHANGE = statement<object, { seq: number }>(`select seq from sqlite_sequence where name = 'changes'`)

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
    throw new StoreUnavailable(`cannot open the database ${location}: ${reasonOf(error)}`, { cause: error })
  }
}

async function open(location: string, { clock, listener, onError, memory }: SqliteOptions): Promise<Database> {
  const inMemory = location === ':memory:'
  const path = inMemory ? location : resolve(location)
  if (!inMemory) prepareFile(path)
  const writer = createConnection(
    inMemory ? (memory ?? new DatabaseSync(path)) : new DatabaseSync(path, { timeout: WRITER_BUSY_MILLISECONDS }),
  )
  await retryWhileBusy(() => writer.database.exec('pragma journal_mode = wal; pragma synchronous = normal'))
  // Only a connection that has opened the log folds it in and removes it when it closes.
  await retryWhileBusy(() => writer.database.exec('select 1 from sqlite_schema limit 1'))
  // Keys are random, so each batch touches many index pages; this cache holds them.
  writer.database.exec('pragma cache_size = -8000')
  writer.database.exec('pragma trusted_schema = off; pragma journal_size_limit = 67108864')
  // An in-memory database has one connection; its reads wait for an open batch, to see committed rows only.
  const reader = inMemory
    ? writer
    : createConnection(new DatabaseSync(path, { readOnly: true, timeout: TIMEOUT_MILLISECONDS }))
  // Processes that share the file share the machine, and its clock.
  for (const { database } of new Set([writer, reader])) database.function('latchkey_now', () => clock.now().getTime())
  // Holds the inner pages of an index over a million random digests, so that a look-up reads little more than its row.
  if (reader !== writer) reader.database.exec('pragma cache_size = -32000')
  const checkpoints = inMemory ? undefined : createCheckpoints({ path, writer: writer.database, onError })
  // `normal` flushes at checkpoints only, which keeps the file intact; the log flush makes each commit durable.
  const log = inMemory ? undefined : createLogFlush(`${path}-wal`)
  const queue = createWriteQueue({
    async begin() {
      log?.refuseFailed()
      await checkpoints?.lastPass
      await retryWhileBusy(() => writer.database.exec('begin immediate'))
    },
    commit() {
      translated(() => writer.database.exec('commit'))
      checkpoints?.afterCommit()
    },
    flush: () => log?.flush(),
    rollback() {
      if (writer.database.isTransaction) writer.database.exec('rollback')
    },
    isOpen: () => writer.database.isTransaction,
    setSavepoint: () => writer.database.exec('savepoint job'),
    releaseSavepoint: () => writer.database.exec('release job'),
    returnToSavepoint: () => writer.database.exec('rollback to job; release job'),
  })
  let closed = false
  let isReceiving = false

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

  let dataVersion: number | undefined
  let lastChange = 0
  const newestChange = (): number => reader.run(LAST_CHANGE, []).rows[0]?.seq ?? 0

  // Ids are consecutive, so a gap shows that rows were purged before they were read.
  function poll(): void {
    const version = reader.run(DATA_VERSION, []).rows[0]?.data_version
    if (version === dataVersion) return
    const { rows } = reader.run(NEWS, [lastChange])
    const newest = rows.at(-1)?.id ?? newestChange()
    if (newest - lastChange !== rows.length) listener.missed()
    for (const { change: text } of rows) {
      const change = readChange(text)
      if (change === undefined) listener.missed()
      else listener.changed(change)
    }
    lastChange = newest
    dataVersion = version
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
      // As in createConnection.
      return (await scanner.run(of.pieces.join('?'), values)) as readonly Row[]
    } catch (error) {
      return translated(() => {
        throw error
      })
    }
  }

  let timer: NodeJS.Timeout | undefined
  function pollSafely(): void {
    try {
      poll()
      isReceiving = true
    } catch (error) {
      isReceiving = false
      listener.missed()
      onError(error)
    }
  }

  return {
    columnTypes: {
      text: 'text',
      integer: 'integer',
      flag: 'integer',
      sequence: 'integer primary key autoincrement',
      tableEnd: ' strict',
    },
    rowId: 'rowid',
    now: 'latchkey_now()',
    tables: `select name from sqlite_schema where type = 'table'`,
    rowsOf: table => `select count(*) as rows from ${table}`,
    locks: {
      'create table': undefined,
      'add column': SQLITE_LOCK,
      'create index': SQLITE_LOCK,
      'change rows': SQLITE_LOCK,
      replace: SQLITE_LOCK,
    },
    jsonText: (column, path) => `json_extract(${column}, '$.${path.join('.')}')`,
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
      isReceiving = true
      if (inMemory) return Promise.resolve() // no other process can change it
      lastChange = newestChange()
      timer = setInterval(pollSafely, POLL_MILLISECONDS).unref()
      return Promise.resolve()
    },
    receivesChanges: () => isReceiving,
    async close() {
      if (closed) return
      closed = true
      clearInterval(timer)
      await queue.drain()
      await log?.close()
      await scanner?.close()
      await checkpoints?.close()
      if (reader !== writer) reader.database.close()
      writer.database.close() // last, so that it can checkpoint the log
    },
  }
}

function prepareFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600)) // SQLite creates its -wal and -shm files with the same mode
}

interface Connection {
  readonly database: DatabaseSync
  run<Args extends object, Row>(statement: Statement<Args, Row>, values: Value[] | undefined): Outcome<Row>
}

function createConnection(database: DatabaseSync): Connection {
  const prepared = new WeakMap<object, { handle: StatementSync; answers: boolean }>()

  function prepare(of: Statement<never, unknown>): { handle: StatementSync; answers: boolean } {
    const handle = database.prepare(of.pieces.join('?'))
    const entry = { handle, answers: handle.columns().length > 0 }
    if (of.once !== true) prepared.set(of, entry)
    return entry
  }

  return {
    database,
    run<Args extends object, Row>(of: Statement<Args, Row>, values: Value[] | undefined): Outcome<Row> {
      if (values === undefined) return NOTHING
      return translated(() => {
        const { handle, answers } = prepared.get(of) ?? prepare(of)
        if (!answers) return { rows: [], changes: Number(handle.run(...values).changes) }
        // A statement's type parameter describes the columns that its text selects.
        const rows = handle.all(...values) as Row[]
        return { rows, changes: rows.length }
      })
    },
  }
}

function errorCode(error: unknown): number | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'errcode') : undefined
  return typeof code === 'number' ? code : undefined
}

// https://www.sqlite.org/rescode.html; the low byte is the primary code.
const UNIQUE = 2067
const PRIMARY_KEY = 1555
const BUSY = 5
const REFUSALS = new Set([BUSY, 6, 7, 8, 10, 11, 13, 14, 15, 26]) // locked, memory, read-only, I/O, corrupt, full, …
const ADVICE: ReadonlyMap<number, string> = new Map([
  [8, 'check the permissions of the file and of its folder'],
  [11, 'restore a backup'],
  [26, 'check the path in database, or restore a backup'],
])

function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined || !(error instanceof Error)) throw error
    if (code === UNIQUE || code === PRIMARY_KEY) {
      throw new AlreadyExists(nounOf(/failed: (\w+)\./.exec(error.message)?.[1]), { cause: error })
    }
    if (REFUSALS.has(code & 0xff)) {
      const advice = ADVICE.get(code & 0xff)
      const reason = advice === undefined ? error.message : `${error.message}; ${advice}`
      throw new StoreUnavailable(`the database refuses: ${reason}`, { cause: error })
    }
    throw error
  }
}

/** Retries for five seconds while another process holds the lock, without blocking the event loop. */
async function retryWhileBusy(attempt: () => void): Promise<void> {
  const elapsed = stopwatch()
  for (;;) {
    try {
      translated(attempt)
      return
    } catch (error) {
      const busy = error instanceof StoreUnavailable && ((errorCode(error.cause) ?? 0) & 0xff) === BUSY
      if (!busy || elapsed() > TIMEOUT_MILLISECONDS) throw error
      await pause(10)
    }
  }
}

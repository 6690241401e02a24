// PostgreSQL and compatible databases, through `pg`, which is loaded only with this file. Owns everything specific to it: a
// pool and named statements; postgres-feed.ts has the connection that listens for changes of other processes. While the
// database is away everything fails at once, and what was under way is given up.
import { setTimeout as pause } from 'node:timers/promises'
import { Client, type ClientBase, DatabaseError, Pool, type PoolClient, types } from 'pg'
import { type Change, writeChange } from '../changes.ts'
import {
  type Database,
  type DatabaseOptions,
  NOTHING,
  type Outcome,
  type Statement,
  statement,
  type Transaction,
  valuesFor,
} from '../database.ts'
import { nounOf } from '../schema.ts'
import { AlreadyExists, StoreAway, StoreLocked, StoreUnavailable } from '../store.ts'
import { DATABASE_NOW, MAX_IDLE_MS } from './change-tail.ts'
import { CHANNEL, createFeed, FEED_CONNECT_MS } from './postgres-feed.ts'
import { createSlots } from './slots.ts'

const CONNECTIONS = 10
const CONNECT_MILLISECONDS = 1500
/** Who waits for a connection behind more than these, or longer, is refused. */
const MAX_WAITING = 1000
const MAX_WAIT_MS = 1500
const QUERY_MILLISECONDS = 15_000
const PATIENT_QUERY_MS = 3_600_000
const ATTEMPTS = 4
// Each connection keeps every named statement in the server's memory; statements past the limit are unnamed.
const NAMES_LIMIT = 500
// A notification carries at most 8000 bytes.
const MAX_PAYLOAD_BYTES = 7900

// Both in one round trip. What is announced must be committed while others still look for it, also by a process that hangs.
const ANNOUNCE = statement<{ change: string; channel: string; news: string; closing: string }, { id: number }>(
  `insert into changes (change, changed_at) values (:change, ${DATABASE_NOW})
   returning id, pg_notify(:channel, cast(:news as text) || id || cast(:closing as text)), set_config('idle_in_transaction_session_timeout', '${MAX_IDLE_MS}', true)`,
)
const LOCK = statement<{ name: string }>(`select pg_advisory_xact_lock(hashtextextended(:name, 0))`)
const WAIT_BRIEFLY = statement(`select set_config('lock_timeout', '2000', true)`)
const PATIENT_LOCK = { ...LOCK, patient: true } as const

/** Connects to the URL; throws `StoreUnavailable` when the server does not answer. */
export async function openPostgres(url: string, { listener, onError, changes }: DatabaseOptions): Promise<Database> {
  const config = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    query_timeout: QUERY_MILLISECONDS,
    application_name: 'latchkey',
    keepAlive: true,
    types: { getTypeParser: parserFor },
  }
  let closed = false
  let pool = openPool()
  const slots = createSlots({ slots: CONNECTIONS, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS })
  const busy = new Set<PoolClient>()
  const used = new WeakSet<PoolClient>()
  let textOf = createTexts({ isNamed: false })
  const underWay = new Set<Promise<unknown>>()
  // Its own limits take a stall of this process into account; that of a query would not.
  const feedConfig = { ...config, connectionTimeoutMillis: FEED_CONNECT_MS, query_timeout: undefined }
  const feed = createFeed({ connect: () => new Client(feedConfig), listens, listener, onError, onAway: abandon })

  async function listens(client: Client): Promise<boolean> {
    if (changes) return changes === 'listen'
    return isDirect(client)
  }

  function openPool(): Pool {
    const opened = new Pool({ ...config, max: CONNECTIONS, idleTimeoutMillis: 60_000 })
    // The pool says that it is closed before the server knows; what the server ends until then was given up here.
    opened.on('error', error => {
      if (!closed && opened === pool) onError(error)
    })
    // A connection lost between two statements emits an error without another listener; the next statement fails.
    opened.on('connect', client => client.on('error', () => {}))
    return opened
  }

  /** Fails whatever waits for the database, and leaves every connection: none can be trusted to work again. */
  function abandon(): void {
    const left = pool
    pool = openPool()
    slots.refuseAll(new StoreAway(AWAY))
    for (const client of busy) client.release(true)
    busy.clear()
    void left.end()
  }

  async function run<Args extends object, Row>(
    client: ClientBase,
    of: Statement<Args, Row>,
    args: Args,
  ): Promise<Outcome<Row>> {
    const values = valuesFor(of, args)
    if (values === undefined) return NOTHING
    try {
      // A statement's type parameter describes the columns that its text selects.
      const query = { ...textOf(of), values, ...(of.patient && { query_timeout: PATIENT_QUERY_MS }) }
      const { rows, rowCount } = await client.query<Row & object>(query)
      return { rows, changes: rowCount ?? 0 }
    } catch (error) {
      throw translate(error)
    }
  }

  /** Tracked until it ends, because a closing pool never settles requests that wait for a connection. */
  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (closed) throw new StoreUnavailable('the store is closed')
    if (feed.isAway()) throw new StoreAway(AWAY)
    const working = withOwnClient(work)
    underWay.add(working)
    try {
      return await working
    } finally {
      underWay.delete(working)
    }
  }

  async function withOwnClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const turn = slots.take()
    if (turn) await turn
    try {
      return await withConnection(work)
    } finally {
      slots.give()
    }
  }

  async function withConnection<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
    })
    busy.add(client)
    let broken = false
    try {
      if (!used.has(client)) {
        await run(client, END_IDLE_TRANSACTIONS, {})
        used.add(client)
      }
      return await work(client)
    } catch (error) {
      broken = error instanceof StoreUnavailable // it may hang, or be in the middle of a transaction
      throw error
    } finally {
      if (busy.delete(client)) client.release(broken)
    }
  }

  async function inTransaction<T>(work: (within: Transaction) => Promise<T>, announced: Change[]): Promise<T> {
    const ids: number[] = []
    return withClient(async client => {
      const within: Transaction = {
        run: (of, args) => run(client, of, args),
        async announce(change) {
          announced.push(change)
          const written = writeChange(change)
          // What is too long is sent as its number alone: unreadable, which makes the receivers clear their caches.
          const isLong = Buffer.byteLength(written) > MAX_PAYLOAD_BYTES
          const payload = isLong ? { news: '', closing: '' } : { news: `${written.slice(0, -1)},`, closing: ']' }
          const { rows } = await run(client, ANNOUNCE, { change: written, channel: CHANNEL, ...payload })
          for (const { id } of rows) ids.push(id)
        },
        async lock(name, options) {
          await run(client, options?.patient ? PATIENT_LOCK : LOCK, { name: `latchkey ${name}` })
        },
        async waitBriefly() {
          await run(client, WAIT_BRIEFLY, {})
        },
      }
      await run(client, BEGIN, {})
      try {
        const result = await work(within)
        await run(client, COMMIT, {})
        for (const change of announced) listener.changed(change)
        for (const id of ids) feed.heard(id)
        return result
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) await run(client, ROLLBACK, {})
        throw error
      }
    })
  }

  try {
    if (await withClient(isDirect)) textOf = createTexts({ isNamed: true })
  } catch (error) {
    await pool.end()
    throw error
  }

  const read: Database['read'] = async (statement, args) =>
    (await withRetries(() => withClient(client => run(client, statement, args)))).rows

  return {
    columnTypes: {
      text: 'text collate "C"',
      integer: 'bigint',
      flag: 'smallint',
      sequence: 'bigint generated by default as identity primary key',
      tableEnd: '',
    },
    now: DATABASE_NOW,
    tables: `select table_name as name from information_schema.tables where table_schema = current_schema()`,
    // The estimate may be missing or old while there are few.
    rowsOf: table => `select case when reltuples > 100000 then cast(reltuples as bigint)
      else (select count(*) from ${table}) end as rows from pg_class where oid = cast('${table}' as regclass)`,
    // https://www.postgresql.org/docs/current/explicit-locking.html
    locks: {
      'create table': undefined,
      'add column': 'ACCESS EXCLUSIVE: its reads and writes wait',
      'create index': 'SHARE: its writes wait',
      'change rows': 'ROW EXCLUSIVE: writes of the same rows wait',
      replace: 'ACCESS EXCLUSIVE: its reads and writes wait',
    },
    jsonText: (column, path) => `((cast(${column} as json) #>> '{${path.join(',')}}') collate "C")`,
    read,
    scan: read,
    write: (statement, args) => withRetries(() => withClient(client => run(client, statement, args))),
    async transaction(work) {
      const announced: Change[] = []
      try {
        return await withRetries(() => inTransaction(work, announced))
      } catch (error) {
        // A commit may have succeeded although its response was lost.
        for (const change of announced) listener.changed(change)
        throw error
      }
    },
    listen: () => feed.start(),
    hearsChanges: () => feed.isCurrent(),
    outage: feed,
    async close() {
      if (closed) return
      closed = true
      await Promise.allSettled(underWay)
      // A database that is frozen does not say goodbye.
      await Promise.race([
        Promise.all([feed.stop(), pool.end()]),
        pause(CONNECT_MILLISECONDS, undefined, { ref: false }),
      ])
    },
  }
}

/** Retries what the database ended because of a deadlock, as with a migration, or of a serialization conflict. */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const conflict = error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001')
      if (!conflict || attempt === ATTEMPTS) throw error
    }
  }
}

const AWAY = 'the database is away'
// The locks of a process whose machine vanished would be kept for two hours, until TCP notices. Not as a parameter of the
// connection, which poolers refuse.
const END_IDLE_TRANSACTIONS = { ...statement(`set idle_in_transaction_session_timeout = '10s'`), once: true } as const
const BEGIN = statement(`begin isolation level read committed`)
const COMMIT = statement(`commit`)
const ROLLBACK = statement(`rollback`)

const BIGINT = 20
// Times and counters stay below 2^53.
const parserFor: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format === 'binary' ? 'text' : format)

/**
 * Whether no pooler stands between, which may give each transaction another session: then there are no named statements, and
 * notifications do not arrive. Poolers give connections process ids of their own.
 */
async function isDirect(client: ClientBase): Promise<boolean> {
  try {
    const [row] = (await client.query<{ pid: number }>(`select pg_backend_pid() as pid`)).rows
    return row?.pid === Reflect.get(client, 'processID')
  } catch (error) {
    throw translate(error)
  }
}

/** The SQL and name of each statement; without names where sessions change. */
function createTexts({
  isNamed,
}: {
  readonly isNamed: boolean
}): (of: Statement<never, unknown>) => { readonly text: string; readonly name?: string } {
  const texts = new WeakMap<object, { readonly text: string; readonly name?: string }>()
  let names = 0

  return of => {
    const known = texts.get(of)
    if (known !== undefined) return known
    const text = of.pieces.map((piece, index) => (index === 0 ? piece : `$${index}${piece}`)).join('')
    if (of.once === true) return { text }
    names += 1
    const made = names > NAMES_LIMIT || !isNamed ? { text } : { text, name: `latchkey_${names}` }
    texts.set(of, made)
    return made
  }
}

const UNIQUE_VIOLATION = '23505'
const LOCK_NOT_AVAILABLE = '55P03'
// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, resources, operator, authorization,
// unknown database, read-only (a standby), a lock or an answer that did not come.
const REFUSALS = /^(08|53|57|58|28|3D000|25006|55P03|XX)/

// The connection broke, too many connections, the server stops or starts, a standby that may be promoted.
const PASSING_REFUSALS = /^(08|53|57P0|25006)/

/** An error of the network, or a time that ran out: `pg` has no code for the latter. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string'
    ? /^E[A-Z_]+$/.test(code) && !code.startsWith('ERR_')
    : /time|terminated/.test(error.message)
}

/** Translates an error of `pg` to one of the store; programming errors stay as they are. */
function translate(error: unknown): unknown {
  if (error instanceof TypeError) return error
  if (!(error instanceof DatabaseError)) {
    const reason = error instanceof Error ? error.message : String(error)
    const Kind = isPassing(error) ? StoreAway : StoreUnavailable
    return new Kind(`the database cannot be reached: ${reason}`, { cause: error })
  }
  if (error.code === UNIQUE_VIOLATION) return new AlreadyExists(nounOf(error.table), { cause: error })
  if (REFUSALS.test(error.code ?? '')) {
    if (error.code === LOCK_NOT_AVAILABLE) return new StoreLocked(error.message, { cause: error })
    const Kind = PASSING_REFUSALS.test(error.code ?? '') ? StoreAway : StoreUnavailable
    return new Kind(`the database refuses: ${error.message}`, { cause: error })
  }
  return error
}

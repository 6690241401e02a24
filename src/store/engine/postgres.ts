// PostgreSQL and compatible databases, through `pg`, which is loaded only with this file. Owns everything specific to it:
// a pool, named statements, and a connection that listens for changes of other processes. Notifications arrive in order,
// so an answered heartbeat proves that all earlier ones have arrived: while one is overdue or the connection is lost,
// caches are not used.
import { Client, type ClientBase, DatabaseError, Pool, type PoolClient, types } from 'pg'
import { stopwatch } from '../../base/clock.ts'
import { type Change, type ChangeListener, readChange, writeChange } from '../changes.ts'
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
import { AlreadyExists, StoreUnavailable } from '../store.ts'

const CHANNEL = 'latchkey_changes'
const CONNECTIONS = 10
const CONNECT_MILLISECONDS = 5000
const QUERY_MILLISECONDS = 15_000
const PATIENT_QUERY_MS = 3_600_000
const HEARTBEAT_MILLISECONDS = 400
const OVERDUE_MILLISECONDS = 5000
const MAX_RETRY_MS = 5000
const ATTEMPTS = 4
// Each connection keeps every named statement in the server's memory; statements past the limit are unnamed.
const NAMES_LIMIT = 500
// A notification carries at most 8000 bytes.
const MAX_PAYLOAD_BYTES = 7900

const NOTIFY = statement<{ channel: string; news: string }>(`select pg_notify(:channel, :news)`)
const LOCK = statement<{ name: string }>(`select pg_advisory_xact_lock(hashtextextended(:name, 0))`)
const PATIENT_LOCK = { ...LOCK, patient: true } as const

/** Connects to the URL; throws `StoreUnavailable` when the server does not answer. */
export async function openPostgres(url: string, { listener, onError }: DatabaseOptions): Promise<Database> {
  const config = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    query_timeout: QUERY_MILLISECONDS,
    application_name: 'latchkey',
    keepAlive: true,
    types: { getTypeParser: parserFor },
  }
  const pool = new Pool({ ...config, max: CONNECTIONS, idleTimeoutMillis: 60_000 })
  let closed = false
  // The pool says that it is closed before the server knows; what the server ends until then was given up here.
  pool.on('error', error => {
    if (!closed) onError(error)
  })
  // A connection lost between two statements emits an error without another listener; the next statement fails.
  pool.on('connect', client => client.on('error', () => {}))
  const textOf = createTexts()
  const underWay = new Set<Promise<unknown>>()

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
    const working = withOwnClient(work)
    underWay.add(working)
    try {
      return await working
    } finally {
      underWay.delete(working)
    }
  }

  async function withOwnClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
    })
    let broken = false
    try {
      return await work(client)
    } catch (error) {
      broken = error instanceof StoreUnavailable // it may hang, or be in the middle of a transaction
      throw error
    } finally {
      client.release(broken)
    }
  }

  async function inTransaction<T>(work: (within: Transaction) => Promise<T>, announced: Change[]): Promise<T> {
    return withClient(async client => {
      const within: Transaction = {
        run: (of, args) => run(client, of, args),
        async announce(change) {
          announced.push(change)
          const news = writeChange(change)
          // An empty payload is unreadable and makes the receivers clear their caches.
          await run(client, NOTIFY, { channel: CHANNEL, news: Buffer.byteLength(news) > MAX_PAYLOAD_BYTES ? '' : news })
        },
        async lock(name, options) {
          await run(client, options?.patient ? PATIENT_LOCK : LOCK, { name: `latchkey ${name}` })
        },
      }
      await run(client, BEGIN, {})
      try {
        const result = await work(within)
        await run(client, COMMIT, {})
        return result
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) await run(client, ROLLBACK, {})
        throw error
      }
    })
  }

  const feed = createFeed(() => new Client(config), listener, onError)

  try {
    await withClient(client => run(client, PING, {}))
  } catch (error) {
    await pool.end()
    throw error
  }

  const read: Database['read'] = async (statement, args) =>
    (await withClient(client => run(client, statement, args))).rows

  return {
    columnTypes: {
      text: 'text collate "C"',
      integer: 'bigint',
      flag: 'smallint',
      sequence: 'bigint generated by default as identity primary key',
      tableEnd: '',
    },
    jsonText: (column, path) => `((cast(${column} as json) #>> '{${path.join(',')}}') collate "C")`,
    read,
    scan: read,
    write: (statement, args) => withRetries(() => withClient(client => run(client, statement, args))),
    async transaction(work) {
      const announced: Change[] = []
      try {
        return await withRetries(() => inTransaction(work, announced))
      } finally {
        // Also after a failure: a commit may have succeeded although its response was lost.
        for (const change of announced) listener.changed(change)
      }
    },
    listen: () => feed.start(),
    hearsChanges: () => feed.isCurrent(),
    async close() {
      if (closed) return
      closed = true
      await Promise.allSettled(underWay)
      await Promise.all([feed.stop(), pool.end()])
    },
  }
}

/** Retries a transaction that the database ended because of a deadlock or serialization conflict. */
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

const PING = statement(`select 1`)
const BEGIN = statement(`begin isolation level read committed`)
const COMMIT = statement(`commit`)
const ROLLBACK = statement(`rollback`)

const BIGINT = 20
// Times and counters stay below 2^53.
const parserFor: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format === 'binary' ? 'text' : format)

/** The SQL and name of each statement. */
function createTexts(): (of: Statement<never, unknown>) => { readonly text: string; readonly name?: string } {
  const texts = new WeakMap<object, { readonly text: string; readonly name?: string }>()
  let names = 0

  return of => {
    const known = texts.get(of)
    if (known !== undefined) return known
    const text = of.pieces.map((piece, index) => (index === 0 ? piece : `$${index}${piece}`)).join('')
    if (of.once === true) return { text }
    names += 1
    const made = names > NAMES_LIMIT ? { text } : { text, name: `latchkey_${names}` }
    texts.set(of, made)
    return made
  }
}

interface Feed {
  /** Makes the first connection; a failure is retried in the background, as every later one is. */
  start(): Promise<void>
  isCurrent(): boolean
  stop(): Promise<void>
}

function createFeed(connect: () => Client, listener: ChangeListener, onError: (error: unknown) => void): Feed {
  let client: Client | undefined
  let current = false
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  let retryMilliseconds = 0
  let outstanding: (() => number) | undefined
  let heartbeat: NodeJS.Timeout | undefined

  function lose(lost: Client, error: unknown): void {
    if (lost !== client) return
    client = undefined
    current = false
    outstanding = undefined
    listener.missed()
    void lost.end().catch(() => {}) // already broken
    if (stopped) return
    onError(error)
    retryMilliseconds = Math.min(retryMilliseconds * 2 + 100, MAX_RETRY_MS)
    retry = setTimeout(() => void open(), retryMilliseconds).unref()
  }

  async function open(): Promise<void> {
    const opened = connect()
    client = opened
    opened.on('error', error => lose(opened, error))
    opened.on('end', () => lose(opened, new StoreUnavailable('the connection that hears of changes has ended')))
    opened.on('notification', ({ payload }) => {
      const change = readChange(payload ?? '')
      if (change === undefined) listener.missed()
      else listener.changed(change)
    })
    try {
      await opened.connect()
      await opened.query(`listen ${CHANNEL}`)
    } catch (error) {
      lose(opened, error)
      return
    }
    if (opened !== client) return
    listener.missed() // changes before this moment may be lost
    retryMilliseconds = 0
    current = true
  }

  function beat(): void {
    const asked = client
    if (asked === undefined) return
    if (outstanding !== undefined) {
      current = false
      if (outstanding() > OVERDUE_MILLISECONDS) lose(asked, new StoreUnavailable('no news from the database'))
      return
    }
    if (!current) return // still connecting
    outstanding = stopwatch()
    void ask(asked)
  }

  async function ask(asked: Client): Promise<void> {
    try {
      await asked.query('select 1')
    } catch (error) {
      lose(asked, error)
      return
    }
    if (asked !== client) return
    outstanding = undefined
    current = true
  }

  return {
    async start() {
      heartbeat = setInterval(beat, HEARTBEAT_MILLISECONDS).unref()
      await open()
    },
    isCurrent: () => current,
    async stop() {
      stopped = true
      clearInterval(heartbeat)
      clearTimeout(retry)
      const last = client
      client = undefined
      current = false
      await last?.end()
    },
  }
}

const UNIQUE_VIOLATION = '23505'
// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, resources, operator, authorization,
// unknown database, read-only (a standby), a lock or an answer that did not come.
const REFUSALS = /^(08|53|57|58|28|3D000|25006|55P03|XX)/

/** Translates an error of `pg` to one of the store; programming errors stay as they are. */
function translate(error: unknown): unknown {
  if (error instanceof TypeError) return error
  if (!(error instanceof DatabaseError)) {
    const reason = error instanceof Error ? error.message : String(error)
    return new StoreUnavailable(`the database cannot be reached: ${reason}`, { cause: error })
  }
  if (error.code === UNIQUE_VIOLATION) return new AlreadyExists(nounOf(error.table), { cause: error })
  if (REFUSALS.test(error.code ?? '')) {
    return new StoreUnavailable(`the database refuses: ${error.message}`, { cause: error })
  }
  return error
}

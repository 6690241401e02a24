// The connections to one PostgreSQL server through `pg`: a pool with a bounded number of callers, named statements, and
// errors of the store. Does not detect that the server is away.
import { DatabaseError, Pool, types } from 'pg'
import type { ClientBase, ClientConfig, PoolClient } from 'pg'
import { NOTHING, statement, statementOnce, valuesFor } from '../../database.ts'
import type { Outcome, Statement } from '../../database.ts'
import { nounOf } from '../../schema.ts'
import { AlreadyExists, StoreDenied, StoreUnreachable, StoreLocked, StoreUnavailable } from '../../store.ts'
import { createSlots } from './slots.ts'
import type { SlotBounds } from './slots.ts'

/** Timeout for opening a connection. */
export const CONNECT_MILLISECONDS = 1500
const QUERY_MILLISECONDS = 15_000
const SLOW_QUERY_MS = 3_600_000
// Each connection keeps every named statement in the server's memory; statements past the limit are unnamed.
const NAMES_LIMIT = 500

/** Connections to one server, and the statements that run on them. */
export interface Connections {
  /** Runs a statement on a connection of `withClient`. */
  readonly run: <Args extends object, Row>(
    client: ClientBase,
    of: Statement<Args, Row>,
    args: Args,
  ) => Promise<Outcome<Row>>
  /** Lends a connection; it is closed if the work fails with `StoreUnavailable`. */
  readonly withClient: <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>
  /** Runs work whose statements may read a whole table. */
  readonly mayReadAll: <T>(client: ClientBase, work: () => Promise<T>) => Promise<T>
  /** From now on statements have names, so that they are planned once; only without a pooler in between. */
  nameStatements(): void
  /** Fails all callers, waiting ones too, and drops every connection, because none is certain to work again. */
  abandon(): void
  /** Refuses new work, and waits for work in progress. */
  drain(): Promise<void>
  /** Closes every connection, which a server that is frozen does not answer. */
  end(): Promise<void>
}

/** Options of `pg` for a URL. */
export const clientConfig = (url: string) =>
  ({
    connectionString: verifying(url),
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    query_timeout: QUERY_MILLISECONDS,
    application_name: 'latchkey',
    keepAlive: true,
    types: { getTypeParser: parserFor },
  }) satisfies ClientConfig

/** `pg` takes these modes as `verify-full`, with a warning on standard error that only programmers understand. */
const verifying = (url: string): string =>
  url.includes('uselibpqcompat=true')
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')

/** Opens none before it is needed. */
export function createConnections({
  url,
  bounds,
  isUnreachable,
  onError,
}: {
  readonly url: string
  readonly bounds: SlotBounds
  /** While true, everything fails at once. */
  readonly isUnreachable: () => boolean
  readonly onError: (error: unknown) => void
}): Connections {
  const config = clientConfig(url)
  let closed = false
  let pool = openPool()
  const slots = createSlots(bounds)
  const busy = new Set<PoolClient>()
  let prepared = new WeakSet<PoolClient>()
  let isNamed = false
  let textOf = createTexts({ isNamed: false })
  const underWay = new Set<Promise<unknown>>()

  function openPool(): Pool {
    const opened = new Pool({ ...config, max: bounds.slots, idleTimeoutMillis: 60_000 })
    // The pool reports that it is closed before the server has noticed. Errors of connections that end in between are ignored.
    opened.on('error', error => {
      if (!closed && opened === pool) onError(error)
    })
    // A connection lost between two statements emits an error without another listener; the next statement fails.
    opened.on('connect', client => client.on('error', () => {}))
    return opened
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
      const query = { ...textOf(of), values, ...(of.mayBeSlow && { query_timeout: SLOW_QUERY_MS }) }
      const { rows, rowCount } = await client.query<Row & object>(query)
      return { rows, changes: rowCount ?? 0 }
    } catch (error) {
      throw translate(error)
    }
  }

  async function prepare(client: PoolClient): Promise<void> {
    await run(client, END_IDLE_TRANSACTIONS, {})
    await run(client, END_ORPHANED_STATEMENTS, {}).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) throw error // otherwise the server's machine cannot tell that a client is gone
    })
    if (!isNamed) return
    await run(client, DO_NOT_COMPILE, {})
    await run(client, KEEP_TO_INDEXES, {})
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
      if (!prepared.has(client)) {
        await prepare(client)
        prepared.add(client)
      }
      return await work(client)
    } catch (error) {
      broken = error instanceof StoreUnavailable // it may hang, or be in the middle of a transaction
      throw error
    } finally {
      if (busy.delete(client)) client.release(broken)
    }
  }

  return {
    run,
    async withClient(work) {
      if (closed) throw new StoreUnavailable('the store is closed')
      if (isUnreachable()) throw new StoreUnreachable(UNREACHABLE)
      const working = withOwnClient(work)
      underWay.add(working) // a closing pool never settles requests that wait for a connection
      try {
        return await working
      } finally {
        underWay.delete(working)
      }
    },
    async mayReadAll(client, work) {
      if (!isNamed) return work()
      await run(client, READ_ALL, {})
      const result = await work().catch(async (error: unknown) => {
        if (!(error instanceof StoreUnavailable)) await run(client, KEEP_TO_INDEXES, {})
        throw error
      })
      await run(client, KEEP_TO_INDEXES, {})
      return result
    },
    nameStatements() {
      isNamed = true
      textOf = createTexts({ isNamed })
      prepared = new WeakSet()
    },
    abandon() {
      const left = pool
      pool = openPool()
      slots.refuseAll(new StoreUnreachable(UNREACHABLE))
      for (const client of busy) client.release(true)
      busy.clear()
      void left.end()
    },
    async drain() {
      closed = true
      await Promise.allSettled(underWay)
    },
    end: () => pool.end(),
  }
}

const UNREACHABLE = 'the database is unreachable'
// The locks of a process whose machine vanished would be kept for two hours, until TCP notices. Not as a parameter of the
// connection, which poolers refuse.
const END_IDLE_TRANSACTIONS = statementOnce(`set idle_in_transaction_session_timeout = '10s'`)
/**
 * A statement that was given up, or whose process is gone, would run to its end and keep its locks. Databases that speak
 * PostgreSQL's wire may not know the setting.
 */
const END_ORPHANED_STATEMENTS = statementOnce(
  `select set_config(name, '1s', false) from pg_settings where name = 'client_connection_check_interval'`,
)
/**
 * The server keeps the plan of a named statement. One from when a table had a few rows reads all of them rather than search an
 * index, and does so when there are thousands, until the statistics are refreshed.
 */
const KEEP_TO_INDEXES = statement(`set enable_seqscan = off`)
const READ_ALL = statement(`set enable_seqscan = on`)
/** Plans that cannot do without reading a whole table count as expensive then, and compiling them would take longer than they do. */
const DO_NOT_COMPILE = statementOnce(`select set_config(name, 'off', false) from pg_settings where name = 'jit'`)

const BIGINT = 20
// Times and counters stay below 2^53.
const parserFor: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format === 'binary' ? 'text' : format)

/** The SQL and name of each statement; without names where sessions change. */
function createTexts({
  isNamed,
}: {
  readonly isNamed: boolean
}): (of: Statement<never, unknown>) => { readonly text: string; readonly name?: string } {
  const texts = new WeakMap<object, { readonly text: string; readonly name?: string }>()
  let names = 0

  return of => {
    const cached = texts.get(of)
    if (cached !== undefined) return cached
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
const INSUFFICIENT_PRIVILEGE = '42501'
// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, resources, operator, authorization,
// unknown database, read-only (a standby), rights, a timeout of a lock or a response.
const REFUSALS = /^(08|53|57|58|28|3D000|25006|42501|55P03|XX)/

// The connection broke, too many connections, the server stops or starts, a standby that may be promoted.
const PASSING_REFUSALS = /^(08|53|57P0|25006)/

/** A network error or a timeout: `pg` has no code for the latter. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string'
    ? /^E[A-Z_]+$/.test(code) && !code.startsWith('ERR_')
    : /time|terminated/.test(error.message)
}

/** Some reasons of `pg` and of Node.js are advice for programmers. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (/client password must be/.test(error.message)) return 'it asks for a password, and its URL has none'
  if ('code' in error && UNTRUSTED.has(String(error.code)))
    return 'no authority that this server trusts issued its certificate; name the authority by sslrootcert in its URL'
  return error.message
}

/** Codes of OpenSSL, by way of Node.js. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Translates an error of `pg` to one of the store; programming errors stay as they are. */
export function translate(error: unknown): unknown {
  if (error instanceof TypeError) return error
  if (!(error instanceof DatabaseError)) {
    const reason = reasonOf(error)
    const Kind = isPassing(error) ? StoreUnreachable : StoreUnavailable
    return new Kind(`the database cannot be reached: ${reason}`, { cause: error })
  }
  if (error.code === UNIQUE_VIOLATION) return new AlreadyExists(nounOf(error.table), { cause: error })
  if (REFUSALS.test(error.code ?? '')) {
    if (error.code === LOCK_NOT_AVAILABLE) return new StoreLocked(error.message, { cause: error })
    const message = `the database refuses: ${error.message}`
    if (error.code === INSUFFICIENT_PRIVILEGE) {
      const advice = 'its account has to own the database, or to be granted this right'
      return new StoreDenied(`${message}; ${advice}`, { cause: error })
    }
    const Kind = PASSING_REFUSALS.test(error.code ?? '') ? StoreUnreachable : StoreUnavailable
    return new Kind(message, { cause: error })
  }
  return error
}

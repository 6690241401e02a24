// PostgreSQL and compatible databases, through `pg`, which is loaded only with this file. Owns transactions and what differs
// from SQLite; connections.ts has the pool and statements, feed.ts the connection that listens for changes of
// other processes. While the database is unreachable everything fails at once, including work in progress.
import { setTimeout as pause } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import type { ClientBase } from 'pg'
import { createRandom } from '../../../base/random.ts'
import { writeChange } from '../../changes.ts'
import type { Change } from '../../changes.ts'
import { statement } from '../../database.ts'
import type { Database, DatabaseOptions, Transaction } from '../../database.ts'
import { StoreBusy, StoreUnavailable } from '../../store.ts'
import { DATABASE_NOW, MAX_IDLE_MS } from './change-tail.ts'
import { clientConfig, CONNECT_MILLISECONDS, createConnections, translate } from './connections.ts'
import { POSTGRES } from './dialect.ts'
import { CHANNEL, createFeed, FEED_CONNECT_MS } from './feed.ts'

/** Connections, and the queue for them: callers beyond its length or time are refused. */
const BOUNDS = { slots: 10, maxWaiting: 1000, maxWaitMs: 1500 } as const
const ATTEMPTS = 4
// A notification carries at most 8000 bytes.
const MAX_PAYLOAD_BYTES = 7900

// Both in one round trip. What is announced must be committed while others still look for it, also by a process that hangs.
const ANNOUNCE = statement<{ change: string; channel: string; news: string; closing: string }, { id: number }>(
  `insert into changes (change, changed_at) values (:change, ${DATABASE_NOW})
   returning id, pg_notify(:channel, cast(:news as text) || id || cast(:closing as text)), set_config('idle_in_transaction_session_timeout', '${MAX_IDLE_MS}', true)`,
)
const LOCK = statement<{ name: string }>(`select pg_advisory_xact_lock(hashtextextended(:name, 0))`)
const WAIT_BRIEFLY = statement(`select set_config('lock_timeout', '2000', true)`)
const SLOW_LOCK = { ...LOCK, mayBeSlow: true } as const

/** Connects to the URL; throws `StoreUnavailable` when the server does not answer. */
export async function openPostgres(url: string, { listener, onError, changes }: DatabaseOptions): Promise<Database> {
  const random = createRandom()
  let closed = false
  const connections = createConnections({ url, bounds: BOUNDS, isUnreachable: () => feed.isUnreachable(), onError })
  const { run, withClient, mayReadAll } = connections
  // The feed's own timeouts take a stall of this process into account; a query timeout would not.
  const feedConfig = { ...clientConfig(url), connectionTimeoutMillis: FEED_CONNECT_MS, query_timeout: undefined }
  const feed = createFeed({
    connect: () => new Client(feedConfig),
    listens: async client => (changes ? changes === 'listen' : isDirect(client)),
    listener,
    onError,
    onUnreachable: () => connections.abandon(),
    spread: milliseconds => (milliseconds * (128 + random.bytes(1).readUInt8())) / 256, // half to one and a half of it
  })

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
          await run(client, options?.mayBeSlow ? SLOW_LOCK : LOCK, { name: `latchkey ${name}` })
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
        for (const id of ids) feed.received(id)
        return result
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) await run(client, ROLLBACK, {})
        throw error
      }
    })
  }

  try {
    if (await withClient(isDirect)) connections.nameStatements()
  } catch (error) {
    await connections.end()
    throw error
  }

  const read: Database['read'] = async (statement, args) =>
    (await withRetries(() => withClient(client => run(client, statement, args)))).rows

  const scan: Database['scan'] = async (statement, args) =>
    (await withRetries(() => withClient(client => mayReadAll(client, () => run(client, statement, args))))).rows

  return {
    ...POSTGRES,
    read,
    scan,
    search: scan,
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
    receivesChanges: () => feed.isCurrent(),
    outage: feed,
    async close() {
      if (closed) return
      closed = true
      await connections.drain()
      // A frozen database does not close its connections.
      await Promise.race([
        Promise.all([feed.stop(), connections.end()]),
        pause(CONNECT_MILLISECONDS, undefined, { ref: false }),
      ])
    },
  }
}

/**
 * Retries what the database ended because of a deadlock, as with a migration, or of a serialization conflict. Throws `StoreBusy`
 * when it does so again and again.
 */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const conflict = error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001')
      if (!conflict) throw error
      if (attempt === ATTEMPTS) throw new StoreBusy(`the database refuses: ${error.message}`, { cause: error })
    }
  }
}

const BEGIN = statement(`begin isolation level read committed`)
const COMMIT = statement(`commit`)
const ROLLBACK = statement(`rollback`)

/**
 * Whether there is no pooler in between, which may give each transaction another session: then there are no named statements, and
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

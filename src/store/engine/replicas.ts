// Standby servers of a PostgreSQL that answer searches in its place. One answers only if it is a standby of this very database
// and has replayed everything that was committed when the search was asked for, so that a search finds what was written
// before, by any node. If a replica fails in any way, the primary answers instead.
import { setTimeout as pause } from 'node:timers/promises'
import { Client, type ClientBase } from 'pg'
import { stopwatch } from '../../base/clock.ts'
import { type Database, type Statement, statement } from '../database.ts'
import type { ReplicaOptions } from '../search-servers.ts'
import { StoreUnreachable, StoreUnavailable } from '../store.ts'
import { clientConfig, createConnections } from './postgres-connections.ts'
import { afterStalls, FEED_CONNECT_MS } from './postgres-feed.ts'

/** Concurrent searches on one replica; none is queued, because the primary can answer, too. */
const BOUNDS = { slots: 10, maxWaiting: 0, maxWaitMs: 0 } as const
/** How often each replica is checked, whether it is used or not. */
const WATCH_MS = 1000
const OVERDUE_MS = 700
/** How long a search waits for a replica to replay what was just committed. */
const MAX_REPLAY_MS = 50
const REPLAY_PAUSE_MS = 5
/** A replica that is behind for less is not worth a line in the log. */
const BEHIND_REPORTED_MS = 10_000

interface Position {
  /** The cluster, its timeline, the database and the schema. */
  readonly identity: string
  readonly lsn: string
}

// Without the timeline, a standby of an earlier primary could count as one of the primary that took its place, although it has
// replayed what that one never had. Its own is that of its last restart point, so that it is minutes late, never early.
const identity = (timeline: string): string => `concat_ws(' ', (select system_identifier from pg_control_system()),
  ${timeline}, (select oid from pg_database where datname = current_database()), cast(to_regclass('migrations') as oid))`

// What is committed is on disk, unless the server is configured not to wait for that.
const POSITION = statement<object, { identity: string; lsn: string | null }>(
  `select ${identity(`cast(cast('x' || substr(pg_walfile_name(lsn), 1, 8) as bit(32)) as integer)`)} as identity,
     cast(lsn as text) as lsn
   from (select case when pg_is_in_recovery() then null
     when current_setting('synchronous_commit') = 'off' then pg_current_wal_insert_lsn()
     else pg_current_wal_flush_lsn() end as lsn) as position`,
)
const STATE = statement<{ lsn: string }, { identity: string; is_standby: boolean; has_replayed: boolean | null }>(
  `select ${identity('(select timeline_id from pg_control_checkpoint())')} as identity, pg_is_in_recovery() as is_standby,
     pg_last_wal_replay_lsn() >= cast(:lsn as pg_lsn) as has_replayed`,
)
// Behind a load balancer or pooler, only the statements of one transaction are sure to reach the same server. Each of them
// sees what was replayed when it begins.
const BEGIN = statement(`begin isolation level read committed, read only`)
const COMMIT = statement(`commit`)
const ROLLBACK = statement(`rollback`)

/** Why a replica that works must not answer. */
class UnusableReplica extends Error {}
class LaggingReplica extends UnusableReplica {}

/** A replica of a primary server. */
interface Replica {
  readonly name: string
  isUsed(): boolean
  /** The rows; undefined if the primary has to answer. */
  search<Args extends object, Row>(
    position: Position,
    of: Statement<Args, Row>,
    args: Args,
  ): Promise<readonly Row[] | undefined>
  close(): Promise<void>
}

/** The primary, whose searches replicas answer while they can. Checks them from now on; does not wait for any. */
export function withReplicas(primary: Database, { urls, onChange }: ReplicaOptions): Database {
  const replicas = urls.map(url => openReplica(url, { position, onChange }))
  const counts = new Map(['primary', ...replicas.map(({ name }) => name)].map(name => [name, 0]))
  let turn = 0

  async function position(): Promise<Position | undefined> {
    const [row] = await primary.read(POSITION, {})
    return row?.lsn ? { identity: row.identity, lsn: row.lsn } : undefined
  }

  async function answer<Args extends object, Row>(
    of: Statement<Args, Row>,
    args: Args,
  ): Promise<readonly Row[] | undefined> {
    const used = replicas.filter(replica => replica.isUsed())
    const replica = used[(turn += 1) % used.length]
    if (!replica) return undefined
    // While the primary is unreachable this fails, as everything does.
    const asked = await position()
    const rows = asked && (await replica.search(asked, of, args))
    if (rows) count(replica.name)
    return rows
  }

  const count = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1)

  return {
    ...primary,
    async search(of, args) {
      const rows = await answer(of, args)
      if (rows) return rows
      count('primary')
      return primary.search(of, args)
    },
    searchServers: () =>
      Array.from(counts, ([name, searches]) => ({
        name,
        searches,
        isUsed: replicas.find(replica => replica.name === name)?.isUsed(),
      })),
    async close() {
      await Promise.all(replicas.map(replica => replica.close()))
      await primary.close()
    },
  }
}

function openReplica(
  url: string,
  {
    position,
    onChange,
  }: { readonly position: () => Promise<Position | undefined>; readonly onChange: ReplicaOptions['onChange'] },
): Replica {
  const name = new URL(url).host
  const connections = createConnections({ url, bounds: BOUNDS, isUnreachable: () => !isUsed, onError: () => {} })
  let isUsed = false
  let reported: boolean | undefined
  let behind: (() => number) | undefined
  let watcher: Client | undefined
  let isLooking = false
  let isClosed = false

  /** Throws `UnusableReplica` unless what the next statement reads is at least as new as the position. */
  async function reach(client: ClientBase, { identity, lsn }: Position): Promise<void> {
    const elapsed = stopwatch()
    for (;;) {
      const [state] = (await connections.run(client, STATE, { lsn })).rows
      if (!state?.is_standby) throw new UnusableReplica('it is not a standby; it may have been promoted')
      if (state.identity !== identity) {
        throw new UnusableReplica(
          'it is a standby of another database, or has not come to a restart point since a failover',
        )
      }
      if (state.has_replayed) return
      if (elapsed() > MAX_REPLAY_MS) throw new LaggingReplica('it is behind the primary')
      await pause(REPLAY_PAUSE_MS)
    }
  }

  async function look(): Promise<void> {
    if (isLooking || isClosed) return
    isLooking = true
    try {
      const wanted = await position()
      if (wanted && !isClosed) await lookFor(wanted)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) lose(error) // the primary is there, but may not report its position
    } finally {
      isLooking = false
    }
  }

  async function lookFor(wanted: Position): Promise<void> {
    const previous = watcher
    const client = (watcher ??= new Client({ ...clientConfig(url), query_timeout: undefined }))
    const limit = afterStalls(previous ? OVERDUE_MS : FEED_CONNECT_MS, () =>
      lose(new StoreUnreachable('it does not answer')),
    )
    try {
      if (!previous) {
        client.on('error', error => client === watcher && lose(error))
        await client.connect()
      }
      await reach(client, wanted)
      if (client === watcher) use()
    } catch (error) {
      if (client === watcher) lose(error)
    } finally {
      limit.clear()
    }
  }

  function use(): void {
    if (isClosed) return
    isUsed = true
    behind = undefined
    report()
  }

  function lose(cause: unknown): void {
    isUsed = false
    if (cause instanceof LaggingReplica) {
      behind ??= stopwatch()
      if (behind() > BEHIND_REPORTED_MS) report(cause.message)
      return
    }
    void watcher?.end().catch(() => {}) // it may be broken
    watcher = undefined
    connections.abandon()
    report(reasonOf(cause))
  }

  function report(reason?: string): void {
    if (reported === isUsed || isClosed) return
    reported = isUsed
    onChange({ name, isUsed, ...(reason !== undefined && { reason }) })
  }

  const timer = setInterval(() => void look(), WATCH_MS).unref()
  void look()

  return {
    name,
    isUsed: () => isUsed,
    async search(wanted, of, args) {
      try {
        return await connections.withClient(async client => {
          await connections.run(client, BEGIN, {})
          try {
            await reach(client, wanted)
            const { rows } = await connections.run(client, of, args)
            await connections.run(client, COMMIT, {})
            return rows
          } catch (error) {
            if (!(error instanceof StoreUnavailable)) await connections.run(client, ROLLBACK, {})
            throw error
          }
        })
      } catch (error) {
        // The next look decides, which is at most a second away; it does not end what others are asking.
        if (error instanceof UnusableReplica || error instanceof StoreUnreachable) isUsed = false
        return undefined
      }
    },
    async close() {
      isClosed = true
      isUsed = false
      clearInterval(timer)
      connections.abandon()
      await Promise.race([
        Promise.allSettled([watcher?.end(), connections.drain()]),
        pause(CLOSE_MS, undefined, { ref: false }),
      ])
    },
  }
}

const CLOSE_MS = 500

/** Of an error of the store, that of `pg`. Where a name has several addresses, only the code holds the reason. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const { message = '', code = 'it cannot be used' } = (cause ?? error) as { message?: string; code?: string }
  return message === '' ? code : message
}

// Standby servers of a PostgreSQL that answer searches in its place. One answers only if it is a standby of this very database
// and has replayed everything that was committed when the search was requested, so that a search finds what was written
// before, by any node. If a replica fails in any way, the primary answers instead.
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { stopwatch } from '../../../base/clock.ts'
import { statement } from '../../database.ts'
import type { Database, Statement } from '../../database.ts'
import type { ReplicaOptions } from '../../search-servers.ts'
import { StoreDenied, StoreUnreachable, StoreUnavailable } from '../../store.ts'
import { clientConfig, createConnections } from './connections.ts'
import { afterStalls, FEED_CONNECT_MS } from './feed.ts'
import { LaggingReplica, positionOf, UnusableReplica, waitForReplay } from './replica-position.ts'
import type { Position } from './replica-position.ts'

/** Concurrent searches on one replica; none is queued, because the primary can answer, too. */
const BOUNDS = { slots: 10, maxWaiting: 0, maxWaitMs: 0 } as const
/** How often each replica is checked, whether it is used or not. */
const WATCH_MS = 1000
const OVERDUE_MS = 700
/** A shorter lag of a replica is not logged. */
const BEHIND_REPORTED_MS = 10_000

// Behind a load balancer or pooler, only the statements of one transaction are sure to reach the same server. Each of them
// sees what was replayed when it begins.
const BEGIN = statement(`begin isolation level read committed, read only`)
const COMMIT = statement(`commit`)
const ROLLBACK = statement(`rollback`)

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
  const position = (): Promise<Position | undefined> => positionOf(primary)
  const replicas = urls.map(url => openReplica(url, { position, onChange }))
  const counts = new Map(['primary', ...replicas.map(({ name }) => name)].map(name => [name, 0]))
  let turn = 0

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

  async function look(): Promise<void> {
    if (isLooking || isClosed) return
    isLooking = true
    try {
      const wanted = await position()
      if (wanted && !isClosed) await lookFor(wanted)
    } catch (error) {
      // The primary is there, but may not report its position.
      if (!(error instanceof StoreUnavailable) || error instanceof StoreDenied) lose(error)
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
      await waitForReplay(client, connections, wanted)
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
            await waitForReplay(client, connections, wanted)
            const { rows } = await connections.run(client, of, args)
            await connections.run(client, COMMIT, {})
            return rows
          } catch (error) {
            if (!(error instanceof StoreUnavailable)) await connections.run(client, ROLLBACK, {})
            throw error
          }
        })
      } catch (error) {
        // The next check, at most a second later, decides; until then, other searches on the replica continue.
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

/**
 * The message of the `pg` error behind an error of the store. Where a name has several addresses, only the code holds the
 * reason.
 */
function reasonOf(error: unknown): string {
  const source = (error instanceof Error ? error.cause : undefined) ?? error
  const { message = '', code = 'it cannot be used' } = source as { message?: string; code?: string } // of `pg`
  return message === '' ? code : message
}

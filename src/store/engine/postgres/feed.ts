// The connection to PostgreSQL that receives changes, and by which the store detects whether the database is available. It reads
// the table of changes several times a second; in between it gets notifications of changes, which a pooler may lose.
// When the connection ends or falls silent, another one is opened at once. If that takes more than a moment, the database
// is unreachable until it succeeds.
import { DatabaseError } from 'pg'
import type { Client } from 'pg'
import { stopwatch } from '../../../base/clock.ts'
import { changeNumberOf, readChange } from '../../changes.ts'
import type { ChangeListener } from '../../changes.ts'
import { createChangeTail } from './change-tail.ts'
import type { ChangeTail } from './change-tail.ts'
import type { Outage } from '../../database.ts'
import { StoreUnreachable } from '../../store.ts'

/** What changes are announced to. */
export const CHANNEL = 'latchkey_changes'
/** Timeout of a connection attempt, after which it is repeated. */
export const FEED_CONNECT_MS = 2500
// The time until a change is known without notifications. At most 1.45 s until a silence is known to be an outage. A new
// connection empties the caches, so none is opened rashly.
const HEARTBEAT_MS = 250
const OVERDUE_MS = 700
const VERDICT_MS = 500
const MAX_RETRY_MS = 1000
/** From the return of the database, which all processes see at once, until each opens its other connections. */
const RETURN_MS = 250
/** Longer than this, cached records are not used without the database. */
const MAX_KEPT_MS = 3_600_000

/** The feed of one process. */
interface Feed extends Outage {
  /** Makes the first connection; a failure is retried in the background, as every later one is. */
  start(): Promise<void>
  /** A committed change of this process, which the listener has received already. */
  received(id: number): void
  /** Whether changes of other processes arrive in time. */
  isCurrent(): boolean
  stop(): Promise<void>
}

/** Inputs of `createFeed`. */
interface FeedDeps {
  /** Makes a connection that gives up after `FEED_CONNECT_MS`. */
  readonly connect: () => Client
  /** Whether to listen for notifications on a connection. */
  readonly listens: (client: Client) => Promise<boolean>
  readonly listener: ChangeListener
  readonly onError: (error: unknown) => void
  /** Called when the database is found to be unreachable: waiting for it is pointless. */
  readonly onUnreachable: () => void
  /** Adds jitter to a wait, so that processes do not all reconnect at once after they lose the database together. */
  readonly spread: (milliseconds: number) => number
  /** An hour unless given. */
  readonly maxKeptMs?: number
}

/** Nothing is opened before `start`. */
export function createFeed(deps: FeedDeps): Feed {
  const { connect, listens, listener, onError, onUnreachable, spread, maxKeptMs = MAX_KEPT_MS } = deps
  const tail = createChangeTail(listener)
  const returns: (() => void)[] = []
  let client: Client | undefined
  let current = false
  let isDown = false
  let stopped = false
  /** From the loss of a connection until it is known whether the database is unreachable. */
  let doubt: PromiseWithResolvers<void> | undefined
  let sinceNews: (() => number) | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let isAsking = false
  let retry: NodeJS.Timeout | undefined
  let retryMs = 0

  function lose(lost: Client, error: unknown): void {
    if (lost !== client) return
    client = undefined
    isAsking = false
    void lost.end().catch(() => {}) // already broken
    if (stopped) return
    onError(error)
    if (current) {
      current = false
      sinceNews = stopwatch()
      const asked = (doubt = Promise.withResolvers<void>())
      afterStalls(VERDICT_MS, () => asked === doubt && decide(true))
      void open()
      return
    }
    if (isReachable(error)) {
      listener.missed() // others may be changing records now
      decide(false)
    } else decide(true)
    retryMs = Math.min(retryMs * 2 + 100, MAX_RETRY_MS)
    retry = setTimeout(() => void open(), spread(retryMs)).unref()
  }

  function decide(isUnreachable: boolean): void {
    const before = isDown
    isDown = isUnreachable
    doubt?.resolve()
    doubt = undefined
    if (isUnreachable && !before) onUnreachable()
  }

  async function open(): Promise<void> {
    const opened = connect()
    client = opened
    opened.on('error', error => lose(opened, error))
    opened.on('end', () => lose(opened, new StoreUnreachable('the connection that hears of changes has ended')))
    opened.on('notification', ({ payload = '' }) => hear(payload, listener, tail))
    const timer = afterStalls(FEED_CONNECT_MS, () => lose(opened, new StoreUnreachable('the database does not answer')))
    try {
      await opened.connect()
      if (await listens(opened)) await opened.query(`listen ${CHANNEL}`)
      await tail.begin(opened)
    } catch (error) {
      lose(opened, error)
      return
    } finally {
      timer.clear()
    }
    if (opened !== client) return
    retryMs = 0
    // A database that has just resumed would spend its processor time on hundreds of new connections.
    if (isDown) retry = setTimeout(() => opened === client && resume(), spread(RETURN_MS)).unref()
    else resume()
  }

  /** From now on the database is used: until then, during an outage, the caches stand in. */
  function resume(): void {
    listener.missed() // changes before the connection was made may be lost
    current = true
    decide(false)
    for (const act of returns) act()
  }

  async function beat(): Promise<void> {
    const asked = client
    if (!current || asked === undefined || isAsking) return
    isAsking = true
    const timer = afterStalls(OVERDUE_MS, () => lose(asked, new StoreUnreachable('no news from the database')))
    try {
      await tail.read(asked)
    } catch (error) {
      lose(asked, error)
    } finally {
      timer.clear()
    }
    if (asked === client) isAsking = false
  }

  return {
    async start() {
      heartbeat = setInterval(() => void beat(), HEARTBEAT_MS).unref()
      await open()
    },
    received: id => void tail.received(id),
    isCurrent: () => current,
    isUnreachable: () => isDown,
    mayTrustCaches: () => isDown && sinceNews !== undefined && sinceNews() < maxKeptMs,
    decided: () => doubt?.promise ?? Promise.resolve(),
    onReturn: act => void returns.push(act),
    async stop() {
      stopped = true
      clearInterval(heartbeat)
      clearTimeout(retry)
      doubt?.resolve()
      doubt = undefined
      const last = client
      client = undefined
      current = false
      await last?.end()
    },
  }
}

/** Passes on a notification of a change, or that one was missed because it cannot be read. */
function hear(payload: string, listener: ChangeListener, tail: Pick<ChangeTail, 'received'>): void {
  const id = changeNumberOf(payload)
  if (id !== undefined && !tail.received(id)) return
  const change = readChange(payload)
  if (change === undefined) listener.missed()
  else listener.changed(change)
}

/** Runs the action after so many milliseconds. After a stall of this process, input that arrived meanwhile is read first. */
export function afterStalls(milliseconds: number, act: () => void): { clear(): void } {
  let isCleared = false
  const timer = setTimeout(() => setImmediate(() => isCleared || act()), milliseconds).unref()
  return {
    clear() {
      isCleared = true
      clearTimeout(timer)
    },
  }
}

/** The server stops or starts (57P01 to 57P03), or the connection broke: every other refusal comes from one that works. */
const isReachable = (error: unknown): boolean =>
  error instanceof DatabaseError && !/^(?:57P0|08)/.test(error.code ?? '')

// The connection to PostgreSQL that hears of changes, and by which the store knows whether the database is there. It asks
// for an answer several times a second: notifications arrive in order, so an answer proves that all earlier ones have
// arrived. When the connection ends or falls silent another one is opened at once. If that fails too, the database is away.
import { type Client, DatabaseError } from 'pg'
import { stopwatch } from '../../base/clock.ts'
import { type ChangeListener, readChange } from '../changes.ts'
import type { Outage } from '../database.ts'
import { StoreUnavailable } from '../store.ts'

/** What changes are announced to. */
export const CHANNEL = 'latchkey_changes'
/** How long a connection of the feed may take to open. With the two below: at most 1.55 s until a silence is noticed. */
export const FEED_CONNECT_MS = 800
const HEARTBEAT_MS = 250
const OVERDUE_MS = 500
const MAX_RETRY_MS = 1000
/** Longer than this, cached records are not used without the database. */
const MAX_KEPT_MS = 3_600_000

/** See above. */
export interface Feed extends Outage {
  /** Makes the first connection; a failure is retried in the background, as every later one is. */
  start(): Promise<void>
  /** Whether changes of other processes arrive in time. */
  isCurrent(): boolean
  stop(): Promise<void>
}

/** Inputs of `createFeed`. */
export interface FeedDeps {
  /** Makes a connection that gives up after `FEED_CONNECT_MS`. */
  readonly connect: () => Client
  readonly listener: ChangeListener
  readonly onError: (error: unknown) => void
  /** Called when the database is found to be away: what waits for it waits in vain. */
  readonly onAway: () => void
  /** An hour unless given. */
  readonly maxKeptMs?: number
}

/** Nothing is opened before `start`. */
export function createFeed({ connect, listener, onError, onAway, maxKeptMs = MAX_KEPT_MS }: FeedDeps): Feed {
  let client: Client | undefined
  let current = false
  let away = false
  let stopped = false
  let opening: Promise<void> | undefined
  let sinceNews: (() => number) | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let overdue: NodeJS.Timeout | undefined
  let retry: NodeJS.Timeout | undefined
  let retryMs = 0

  function lose(lost: Client, error: unknown): void {
    if (lost !== client) return
    client = undefined
    clearTimeout(overdue)
    overdue = undefined
    void lost.end().catch(() => {}) // already broken
    if (stopped) return
    onError(error)
    if (current) {
      current = false
      sinceNews = stopwatch()
      open()
      return
    }
    if (isReachable(error)) {
      listener.missed() // others may be changing records now
      away = false
    } else if (!away) {
      away = true
      onAway()
    }
    retryMs = Math.min(retryMs * 2 + 100, MAX_RETRY_MS)
    retry = setTimeout(open, retryMs).unref()
  }

  function open(): void {
    opening = tryOpening().finally(() => (opening = undefined))
  }

  async function tryOpening(): Promise<void> {
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
    retryMs = 0
    away = false
    current = true
  }

  function beat(): void {
    const asked = client
    if (!current || asked === undefined || overdue !== undefined) return
    const timer = setTimeout(() => {
      // After a stall of this process the answer may be there, and is read before this runs.
      setImmediate(() => {
        if (overdue === timer) lose(asked, new StoreUnavailable('no news from the database'))
      })
    }, OVERDUE_MS).unref()
    overdue = timer
    void ask(asked, timer)
  }

  async function ask(asked: Client, timer: NodeJS.Timeout): Promise<void> {
    try {
      await asked.query('select 1')
    } catch (error) {
      lose(asked, error)
      return
    }
    if (overdue !== timer) return
    clearTimeout(timer)
    overdue = undefined
  }

  return {
    async start() {
      heartbeat = setInterval(beat, HEARTBEAT_MS).unref()
      open()
      await opening
    },
    isCurrent: () => current,
    isAway: () => away,
    mayTrustCaches: () => away && sinceNews !== undefined && sinceNews() < maxKeptMs,
    decided: () => opening ?? Promise.resolve(),
    async stop() {
      stopped = true
      clearInterval(heartbeat)
      clearTimeout(overdue)
      clearTimeout(retry)
      const last = client
      client = undefined
      current = false
      await last?.end()
    },
  }
}

/** The server stops or starts (57P01 to 57P03), or the connection broke: every other refusal comes from one that works. */
const isReachable = (error: unknown): boolean =>
  error instanceof DatabaseError && !/^(?:57P0|08)/.test(error.code ?? '')

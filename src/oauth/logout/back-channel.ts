// Notifies applications of ended sessions (OpenID Connect Back-Channel Logout §2.5). The queue is in the database
// (`EndedSession`), so that a process that stops loses nothing, and any process can continue. No request waits for it.
import { addSeconds } from '../../base/clock.ts'
import { pauseUnless } from '../../base/concurrency/pause.ts'
import type { ClientProgress, EndedSession } from '../../model/sessions/ended-session.ts'
import { createClientNotices } from './client-notices.ts'
import type { ClientNoticeDeps, PendingClient } from './client-notices.ts'

/** Longer than an attempt at all clients of a session can last. */
const CLAIM_SECONDS = 300
/** Delays before retrying clients that did not respond; after the last one, about six hours later, delivery is abandoned. */
const DELAYS_SECONDS = [10, 60, 300, 900, 3600, 7200, 10_800]
/** Workers that claim sessions. One that has waited for `PATIENCE_MS` for the clients of a session claims the next one meanwhile. */
const WORKERS = 16
const PATIENCE_MS = 250
/** Sessions whose clients are being notified. */
const MAX_SESSIONS = 1000
/** Delay before retrying clients for which no connection was free; does not count as an attempt. */
const BUSY_SECONDS = 5
/** After this time even those are not retried any more. */
const MAX_SECONDS = DELAYS_SECONDS.reduce((sum, delay) => sum + delay, 0)

/** Delivers due notifications. */
export interface BackChannel {
  /**
   * Notifies the clients of every session that is due now, until `isStopping`; the number of sessions. May be called again
   * meanwhile, for sessions that have ended since.
   */
  deliver(isStopping?: () => boolean): Promise<number>
  /** For metrics: attempts since the start by outcome, and the queue. */
  totals(): Promise<LogoutTotals>
}

/** The outcome of an attempt to notify a client; `failed` is tried again, `given_up` was the last one. */
type LogoutOutcome = 'delivered' | 'failed' | 'refused' | 'given_up'

/** Ended sessions that wait, and attempts by outcome. */
interface LogoutTotals {
  readonly outcomes: Readonly<Record<LogoutOutcome, number>>
  readonly waiting: number
  /** How long ago the first attempt at the oldest pending session was; 0 if none was attempted yet. */
  readonly waitingMilliseconds: number
}

/** One instance serves the process. */
export function createBackChannel(deps: ClientNoticeDeps): BackChannel {
  const { store, log } = deps
  const notices = createClientNotices(deps)
  let atWork = 0
  let underWay = 0
  const unsent = { failed: 0, given_up: 0 }

  async function settle(ended: EndedSession): Promise<void> {
    underWay += 1
    try {
      await notifyOrRetry(ended)
    } finally {
      underWay -= 1
    }
  }

  async function notifyOrRetry(ended: EndedSession): Promise<void> {
    const zone = await store.zones.find(ended.zoneId)
    if (!zone?.active) return store.endedSessions.delete(ended)
    const before = progressOf(ended)
    const begins = await store.now()
    const due = before.filter(({ nextAttemptAt }) => nextAttemptAt <= begins)
    const left = await notices.send({ ...zone, address: ended.byPath ? 'path' : 'host' }, ended, due)
    const now = await store.now()
    const next = [
      ...before.filter(({ nextAttemptAt }) => nextAttemptAt > begins),
      ...left.flatMap(each => nextOf(each, ended, now) ?? []),
    ]
    if (next.length === 0) return store.endedSessions.delete(ended)
    return store.endedSessions.retry(ended, {
      clients: next.map(({ clientId }) => clientId),
      progress: new Map(next.map(each => [each.clientId, each])),
      nextAttemptAt: new Date(Math.min(...next.map(({ nextAttemptAt }) => nextAttemptAt.getTime()))),
      attempts: Math.max(...next.map(({ attempts }) => attempts)),
    })
  }

  /** When the client is tried again; undefined if it is given up, which is counted and logged. */
  function nextOf(tried: PendingClient, { zoneId, beganAt }: EndedSession, now: Date): DueClient | undefined {
    const { clientId, why, isBusy } = tried
    const attempts = tried.attempts + (isBusy ? 0 : 1)
    const isOver = beganAt !== undefined && now > addSeconds(beganAt, MAX_SECONDS)
    // One that was not contacted must not wait as long as those that do not respond.
    const delay = isBusy ? (isOver ? undefined : BUSY_SECONDS) : DELAYS_SECONDS[attempts - 1]
    if (delay !== undefined) {
      if (!isBusy) unsent.failed += 1
      return { clientId, attempts, nextAttemptAt: addSeconds(now, delay) }
    }
    unsent.given_up += 1
    log.warn(`back-channel logout: given up after ${attempts} attempts: ${clientId} (${why}) in zone ${zoneId}`)
    return undefined
  }

  return {
    async deliver(isStopping = () => false) {
      let count = 0
      const unsettled: Promise<void>[] = []
      const work = async (): Promise<void> => {
        atWork += 1
        try {
          while (!isStopping() && underWay < MAX_SESSIONS) {
            const now = await store.now() // which is the same for every node
            const ended = await store.endedSessions.claim(now, addSeconds(now, CLAIM_SECONDS))
            if (!ended) return
            count += 1
            const settled = settle(ended)
            if (!(await isDoneWithin(settled, PATIENCE_MS))) unsettled.push(settled)
          }
        } finally {
          atWork -= 1
        }
      }
      await Promise.all(Array.from({ length: WORKERS - atWork }, work))
      await Promise.all(unsettled)
      return count
    },
    async totals() {
      const { count, beganAt } = await store.endedSessions.waiting()
      const age = beganAt === undefined ? 0 : (await store.now()).getTime() - beganAt.getTime()
      return { outcomes: { ...notices.counts, ...unsent }, waiting: count, waitingMilliseconds: Math.max(0, age) }
    },
  }
}

/** Throws what the work throws. */
async function isDoneWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const done = new AbortController()
  try {
    return await Promise.race([work.then(() => true), pauseUnless(milliseconds, done.signal).then(() => false)])
  } finally {
    done.abort()
  }
}

interface DueClient extends ClientProgress {
  readonly clientId: string
}

/** Each client of the session, with its attempts before this one; an earlier version counted them together. */
function progressOf({ clients, progress, attempts }: EndedSession): readonly DueClient[] {
  const untried = { attempts: progress ? 0 : attempts - 1, nextAttemptAt: new Date(0) }
  return clients.map(clientId => ({ clientId, ...(progress?.get(clientId) ?? untried) }))
}

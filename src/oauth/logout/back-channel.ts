// Notifies applications of ended sessions (OpenID Connect Back-Channel Logout §2.5). The queue is in the database
// (`EndedSession`), so that a process that stops loses nothing, and any process can continue. No request waits for it.
import { addSeconds } from '../../base/clock.ts'
import { pauseUnless } from '../../base/concurrency/pause.ts'
import type { EndedSession } from '../../model/sessions/ended-session.ts'
import { createClientNotices } from './client-notices.ts'
import type { ClientNoticeDeps } from './client-notices.ts'

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
  /** About how long the oldest pending session has been retried; 0 if none was attempted yet. */
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
    const left = zone?.active ? await notices.send({ ...zone, address: ended.byPath ? 'path' : 'host' }, ended) : []
    if (left.length === 0) return store.endedSessions.delete(ended)
    // One that was not contacted must not wait as long as those that do not respond.
    const isCounted = !left.some(({ isBusy }) => isBusy)
    const delay = isCounted ? DELAYS_SECONDS[ended.attempts - 1] : BUSY_SECONDS
    unsent[delay === undefined ? 'given_up' : 'failed'] += left.filter(({ isBusy }) => !isBusy).length
    if (delay === undefined) {
      const pending = left.map(({ clientId, why }) => `${clientId} (${why})`).join(', ')
      log.warn(`back-channel logout: given up after ${ended.attempts} attempts: ${pending} in zone ${ended.zoneId}`)
      return store.endedSessions.delete(ended)
    }
    return store.endedSessions.retry(ended, {
      clients: left.map(({ clientId }) => clientId),
      nextAttemptAt: addSeconds(await store.now(), delay),
      attempts: isCounted ? ended.attempts : ended.attempts - 1,
    })
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
      const { count, tried } = await store.endedSessions.waiting()
      const now = (await store.now()).getTime()
      const ages = tried.map(
        ({ attempts, nextAttemptAt }) => now - nextAttemptAt.getTime() + 1000 * delaysUntil(attempts),
      )
      return { outcomes: { ...notices.counts, ...unsent }, waiting: count, waitingMilliseconds: Math.max(0, ...ages) }
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

/** From the first attempt to the one after this many. */
const delaysUntil = (attempts: number): number =>
  DELAYS_SECONDS.slice(0, attempts).reduce((sum, delay) => sum + delay, 0)

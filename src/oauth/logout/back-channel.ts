// Notifies applications of ended sessions (OpenID Connect Back-Channel Logout §2.5). The queue is in the database
// (`EndedSession`), so that a process that stops loses nothing, and any process can continue. No request waits for it.
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { createBreaker } from '../../base/concurrency/breaker.ts'
import type { Outbound } from '../../base/outbound.ts'
import { OutboundBusy, OutboundError } from '../../base/outbound.ts'
import { outboundShareOf } from '../../clients/outbound-share.ts'
import type { Client } from '../../model/clients/client.ts'
import { isAddress } from '../../model/clients/document-address.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { EndedSession } from '../../model/sessions/ended-session.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { AddressedZone } from '../../model/request.ts'
import { sessionIdFor } from '../../model/sessions/session.ts'
import type { Store } from '../../store/store.ts'
import { NoSigningKey } from '../../token/keys/keys.ts'
import type { ClientDocuments } from '../client-documents/documents.ts'
import type { LogoutTokenDeps } from './logout-token.ts'
import { logoutToken } from './logout-token.ts'

/** Longer than an attempt at all clients of a session can last. */
const CLAIM_SECONDS = 300
/** Delays before retrying clients that did not respond; after the last one, about six hours later, delivery is abandoned. */
const DELAYS_SECONDS = [10, 60, 300, 900, 3600, 7200, 10_800]
const SESSIONS_AT_ONCE = 16
/** Delay before retrying clients for which no connection was free; does not count as an attempt. */
const BUSY_SECONDS = 5
/** Requests to one server that responded to the last one: fewer than base/outbound.ts admits. To any other, one at a time. */
const REQUESTS_AT_ONCE = 3
/**
 * Requests to servers that have not responded yet, in one zone: fewer than base/outbound.ts admits, so that they leave connections
 * to the others. Of those to servers that did not respond to the last one, in one zone and in all.
 */
const MAX_UNPROVEN = 6
const MAX_HANGING = { zone: 2, all: 4 } as const
/** Waiting requests to one server; any number for one that responded within `QUICK_MS`. */
const MAX_QUEUED = 2
const QUICK_MS = 100
/** How long a request waits for the others to its server before it is retried later. */
const MAX_WAIT_MS = 1000
/** Servers whose last response is remembered. */
const MAX_SERVERS = 10_000

/** Dependencies of the sender. */
interface BackChannelDeps extends LogoutTokenDeps {
  readonly store: Store
  readonly documents: Pick<ClientDocuments, 'isGone'>
  readonly outbound: Outbound
  readonly behaviour: Behaviour
  readonly log: { warn(message: string): void; fault(message: string, cause: unknown): void }
}

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

/** A client that is still to be notified. `busy`: not contacted, because no outbound connection was free. */
interface PendingClient {
  readonly clientId: string
  readonly why: string
  readonly isBusy: boolean
}

/** One instance serves the process. A client that does not respond is skipped for a while, and does not delay the others. */
export function createBackChannel(deps: BackChannelDeps): BackChannel {
  const { store, documents, outbound, behaviour, clock, log } = deps
  const breaker = createBreaker({ clock })
  const hostSlots = createHostSlots({ clock })
  let atWork = 0
  const outcomes: Record<LogoutOutcome, number> = { delivered: 0, failed: 0, refused: 0, given_up: 0 }

  /** Undefined if nothing is left to do. */
  async function notify(zone: AddressedZone, ended: EndedSession, client: Client): Promise<PendingClient | undefined> {
    const { clientId, backchannelLogoutUri: uri } = client
    if (uri === undefined || !supportsProtocol(zone, 'backchannelLogout', behaviour)) return undefined
    const share = outboundShareOf(client, 'background')
    const left = (why: string, isBusy = false): PendingClient => ({ clientId, why, isBusy })
    const slot = await hostSlots.enter(share.zoneId, new URL(uri).host)
    if (!slot) return left('too many requests are in progress', true)
    // By client, not by server, so that one client cannot stop notifications to a server of another.
    const key = `${zone.id} ${clientId}`
    try {
      if (!breaker.admits(key)) return left('it did not respond to recent requests')
      const sid = sessionIdFor(ended, clientId)
      const token = await logoutToken(zone, { client, userId: ended.userId, sid }, deps)
      const { status } = await outbound.fetch(uri, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams({ logout_token: token }).toString(),
        ignoreBody: true,
        share,
      })
      breaker.report(key, 'answered')
      slot.noteEnd('in time')
      if (status < 300) return delivered()
      // §2.8: the application refused. Any other status may come from a proxy in front of it.
      if (status === 400) return refused(client, 'it responded with status 400')
      return failed(ended, left(`it responded with status ${status}`))
    } catch (cause) {
      if (cause instanceof OutboundBusy) return left(cause.message, true)
      if (cause instanceof NoSigningKey) return failed(ended, left(cause.message))
      if (!(cause instanceof OutboundError)) throw cause
      if (cause.failure === 'forbidden') return refused(client, cause.message)
      breaker.report(key, 'failed')
      slot.noteEnd(cause.failure === 'timeout' ? 'hung' : 'in time')
      return failed(ended, left(cause.message))
    } finally {
      slot.leave()
    }
  }

  /** Logs the first failure only: the address may be wrong, and the next line about it is hours away. */
  function failed({ attempts }: EndedSession, pending: PendingClient): PendingClient {
    const { clientId, why } = pending
    if (attempts === 1) log.warn(`back-channel logout: ${clientId} was not notified, will retry: ${why}`)
    return pending
  }

  function delivered(): undefined {
    outcomes.delivered += 1
  }

  function refused({ clientId }: Pick<Client, 'clientId'>, why: string): undefined {
    outcomes.refused += 1
    log.warn(`back-channel logout: ${clientId} was not signed out: ${why}`)
  }

  /** A client whose document cannot be read now may have to be notified later; one that is gone needs nothing. */
  function missing(zone: AddressedZone, ended: EndedSession, clientId: string): PendingClient | undefined {
    if (!isAddress(clientId) || !supportsProtocol(zone, 'clientMetadataDocuments', behaviour)) return undefined
    if (documents.isGone(zone.id, clientId)) return refused({ clientId }, 'its metadata document is gone')
    return failed(ended, { clientId, why: 'its metadata document cannot be used', isBusy: false })
  }

  /** Those that are still to be notified. */
  async function notifyAll(zone: AddressedZone, ended: EndedSession): Promise<readonly PendingClient[]> {
    const outcomes = await Promise.all(
      ended.clients.map(async (clientId): Promise<PendingClient | undefined> => {
        try {
          const client = await store.clients.find(zone.id, clientId)
          return client ? await notify(zone, ended, client) : missing(zone, ended, clientId)
        } catch (cause) {
          if (cause instanceof OutboundBusy) return { clientId, why: cause.message, isBusy: true }
          log.fault('back-channel logout', cause)
          return { clientId, why: 'a fault', isBusy: false }
        }
      }),
    )
    return outcomes.filter(each => each !== undefined)
  }

  async function settle(ended: EndedSession): Promise<void> {
    const zone = await store.zones.find(ended.zoneId)
    const left = zone?.active ? await notifyAll({ ...zone, address: ended.byPath ? 'path' : 'host' }, ended) : []
    if (left.length === 0) return store.endedSessions.delete(ended)
    // One that was not contacted must not wait as long as those that do not respond.
    const isCounted = !left.some(({ isBusy }) => isBusy)
    const delay = isCounted ? DELAYS_SECONDS[ended.attempts - 1] : BUSY_SECONDS
    outcomes[delay === undefined ? 'given_up' : 'failed'] += left.filter(({ isBusy }) => !isBusy).length
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
      const work = async (): Promise<void> => {
        atWork += 1
        try {
          while (!isStopping()) {
            const now = await store.now() // which is the same for every node
            const ended = await store.endedSessions.claim(now, addSeconds(now, CLAIM_SECONDS))
            if (!ended) return
            count += 1
            await settle(ended)
          }
        } finally {
          atWork -= 1
        }
      }
      await Promise.all(Array.from({ length: SESSIONS_AT_ONCE - atWork }, work))
      return count
    },
    async totals() {
      const { count, tried } = await store.endedSessions.waiting()
      const now = (await store.now()).getTime()
      const ages = tried.map(
        ({ attempts, nextAttemptAt }) => now - nextAttemptAt.getTime() + 1000 * delaysUntil(attempts),
      )
      return { outcomes: { ...outcomes }, waiting: count, waitingMilliseconds: Math.max(0, ...ages) }
    },
  }
}

/** Between the first attempt and the one after so many. */
const delaysUntil = (attempts: number): number =>
  DELAYS_SECONDS.slice(0, attempts).reduce((sum, delay) => sum + delay, 0)

/** A place among the concurrent requests to a server. */
interface HostSlot {
  /** `hung`: the server did not respond. Not called if no request was sent. */
  noteEnd(outcome: 'in time' | 'hung'): void
  leave(): void
}

/**
 * Limits concurrent requests to one server, so that those that do not respond leave connections to the others. More requests
 * wait for a moment, and are retried later if that is not enough.
 */
function createHostSlots({ clock }: { clock: Clock }) {
  type Pace = 'quick' | 'slow' | 'hanging'
  const paces = new Map<string, Pace>()
  const servers = new Map<string, { running: number; readonly queue: ((mayRun: boolean) => void)[] }>()
  const unproven: { readonly zoneId: string; readonly hasHung: boolean }[] = [] // requests under way

  function note(key: string, pace: Pace): void {
    paces.delete(key)
    const [oldest] = paces.keys()
    if (paces.size >= MAX_SERVERS && oldest !== undefined) paces.delete(oldest)
    paces.set(key, pace)
  }

  const maxRunning = (key: string): number => {
    const pace = paces.get(key)
    return pace === 'quick' || pace === 'slow' ? REQUESTS_AT_ONCE : 1
  }

  function mayRun({ zoneId, hasHung }: (typeof unproven)[number]): boolean {
    const ofZone = unproven.filter(each => each.zoneId === zoneId)
    if (ofZone.length >= MAX_UNPROVEN) return false
    const hung = (requests: typeof unproven): number => requests.filter(each => each.hasHung).length
    return !hasHung || (hung(ofZone) < MAX_HANGING.zone && hung(unproven) < MAX_HANGING.all)
  }

  /** False if it took too long. */
  const turnIn = (queue: ((mayRun: boolean) => void)[]): Promise<boolean> =>
    new Promise(resolve => {
      const settle = (mayRun: boolean): void => {
        clearTimeout(timer)
        resolve(mayRun)
      }
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(settle), 1)
        resolve(false)
      }, MAX_WAIT_MS)
      queue.push(settle)
    })

  return {
    /** Undefined if the request should be retried later. */
    async enter(zoneId: string, host: string): Promise<HostSlot | undefined> {
      const key = `${zoneId} ${host}`
      const pace = paces.get(key)
      const attempt = { zoneId, hasHung: pace === 'hanging' }
      const isProven = pace === 'quick' || pace === 'slow'
      if (!isProven && !mayRun(attempt)) return undefined
      const server = servers.get(key) ?? { running: 0, queue: [] }
      const isFull = server.running >= maxRunning(key)
      if (isFull && (attempt.hasHung || (server.queue.length >= MAX_QUEUED && pace !== 'quick'))) return undefined
      servers.set(key, server)
      if (!isFull) server.running += 1
      else if (!(await turnIn(server.queue))) return undefined
      if (!isProven) unproven.push(attempt)
      const since = clock.now()
      return {
        noteEnd(outcome) {
          const isQuick = clock.now().getTime() - since.getTime() < QUICK_MS
          note(key, outcome === 'hung' ? 'hanging' : isQuick ? 'quick' : 'slow')
        },
        leave() {
          if (!isProven) unproven.splice(unproven.indexOf(attempt), 1)
          server.running -= 1
          const isHanging = paces.get(key) === 'hanging'
          const next = server.queue.splice(0, isHanging ? server.queue.length : maxRunning(key) - server.running)
          if (!isHanging) server.running += next.length
          for (const settle of next) settle(!isHanging)
          if (server.running === 0) servers.delete(key)
        },
      }
    },
  }
}

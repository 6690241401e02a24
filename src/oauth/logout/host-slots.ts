// Limits concurrent requests to the servers of logged-out applications, so that those that do not respond leave connections and time
// to the others.
import { isWithin } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { LatestMap } from '../../base/latest-map.ts'

/** Requests to one server that responded in time to the last one: fewer than base/outbound.ts admits. To any other, one at a time. */
const REQUESTS_AT_ONCE = 3
/**
 * Requests to servers that have not responded yet, in one zone: fewer than base/outbound.ts admits, so that they leave connections
 * to the others. Of those to servers that did not respond in time to the last one, in one zone and in all.
 */
const MAX_UNPROVEN = 6
const MAX_LATE = { zone: 2, all: 12 } as const
/** A zone that got no place among the late ones of all has its turn at its next try, unless that is later than this. */
const TURN_SECONDS = 15
/** A response after this time is late, and one before the other is quick. */
const LATE_MS = 1000
const QUICK_MS = 100
/** Waiting requests to one server; any number for one that is quick. */
const MAX_QUEUED = 2
/** Waiting requests to servers of a zone that have not responded yet: as many as one session has applications. */
const MAX_QUEUED_OF_ZONE = 100
/** How long a request waits for the others to its server, and then for other servers, before it is retried later. */
const MAX_WAIT_MS = 1000
/** Servers whose last response is remembered. */
const MAX_SERVERS = 10_000

/** A place among the concurrent requests to a server. */
interface HostSlot {
  /** `hung`: the server did not respond. Not called if no request was sent. Returns how fast the server was. */
  noteEnd(outcome: 'ended' | 'hung'): Pace
  leave(): void
}

/** Gives places to requests. */
interface HostSlots {
  /** Undefined if the request should be retried later. */
  enter(zoneId: string, host: string): Promise<HostSlot | undefined>
}

/** How fast a server was at its last request. */
type Pace = 'quick' | 'slow' | 'late'

/** A request to a server that is not known to respond in time. */
interface Attempt {
  readonly zoneId: string
  readonly isLate: boolean
}

/** A queue of requests that wait for a place; the first one gets the next place. */
type Queue = ((mayRun: boolean) => void)[]

/** One instance serves the process. */
export function createHostSlots({ clock }: { readonly clock: Clock }): HostSlots {
  const paces = new LatestMap<Pace>(MAX_SERVERS)
  const servers = new Map<string, { running: number; readonly queue: Queue }>()
  const attempts = new Set<Attempt>() // under way
  const firstAttempts = new Map<string, Queue>() // by zone, of servers that have not been late
  const turns = new Map<string, Date>() // zones with a late server that got no place, in their order, and their last try

  const isProven = (key: string): boolean => paces.get(key) === 'quick' || paces.get(key) === 'slow'
  const maxRunning = (key: string): number => (isProven(key) ? REQUESTS_AT_ONCE : 1)

  function mayRun({ zoneId, isLate }: Attempt): boolean {
    const ofZone = [...attempts].filter(each => each.zoneId === zoneId)
    if (ofZone.length >= MAX_UNPROVEN) return false
    const late = (some: readonly Attempt[]): number => some.filter(each => each.isLate).length
    return !isLate || (late(ofZone) < MAX_LATE.zone && hasTurn(zoneId, MAX_LATE.all - late([...attempts])))
  }

  /** Whether one of the free places is for this zone: those that were refused before come first. */
  function hasTurn(zoneId: string, free: number): boolean {
    const now = clock.now()
    for (const [zone, triedAt] of turns) if (!isWithin(TURN_SECONDS, triedAt, now)) turns.delete(zone)
    const place = [...turns.keys()].indexOf(zoneId)
    if ((place < 0 ? turns.size : place) < free) return true
    turns.set(zoneId, now)
    return false
  }

  async function enterServer(key: string): Promise<boolean> {
    const server = servers.get(key) ?? { running: 0, queue: [] }
    if (server.running < maxRunning(key)) {
      servers.set(key, server)
      server.running += 1
      return true
    }
    const pace = paces.get(key)
    if (pace === 'late' || (server.queue.length >= MAX_QUEUED && pace !== 'quick')) return false
    return await turnIn(server.queue)
  }

  function leaveServer(key: string): void {
    const server = servers.get(key)
    if (!server) return
    server.running -= 1
    const isLate = paces.get(key) === 'late'
    const next = server.queue.splice(0, isLate ? server.queue.length : maxRunning(key) - server.running)
    if (!isLate) server.running += next.length
    for (const settle of next) settle(!isLate)
    if (server.running === 0) servers.delete(key)
  }

  /** A server has at most one request here, so that all applications of a zone have their turn. */
  async function enterZone(attempt: Attempt): Promise<boolean> {
    if (mayRun(attempt)) {
      turns.delete(attempt.zoneId)
      attempts.add(attempt)
      return true
    }
    const queue = firstAttempts.get(attempt.zoneId) ?? []
    if (attempt.isLate || queue.length >= MAX_QUEUED_OF_ZONE) return false
    firstAttempts.set(attempt.zoneId, queue)
    return await turnIn(queue, () => attempts.add(attempt))
  }

  function leaveZone(attempt: Attempt): void {
    attempts.delete(attempt)
    const queue = firstAttempts.get(attempt.zoneId)
    queue?.shift()?.(true)
    if (queue?.length === 0) firstAttempts.delete(attempt.zoneId)
  }

  return {
    async enter(zoneId, host) {
      const key = `${zoneId} ${host}`
      if (!(await enterServer(key))) return undefined
      const attempt = isProven(key) ? undefined : { zoneId, isLate: paces.get(key) === 'late' }
      if (attempt && !(await enterZone(attempt))) {
        leaveServer(key)
        return undefined
      }
      const since = clock.now()
      return {
        noteEnd(outcome) {
          const milliseconds = clock.now().getTime() - since.getTime()
          const isLate = outcome === 'hung' || milliseconds > LATE_MS
          const pace = isLate ? 'late' : milliseconds < QUICK_MS ? 'quick' : 'slow'
          paces.set(key, pace)
          return pace
        },
        leave() {
          if (attempt) leaveZone(attempt)
          leaveServer(key)
        },
      }
    },
  }
}

/** False if it took too long. `take` runs at once at its turn, so that no other request gets the place. */
const turnIn = (queue: Queue, take: () => unknown = () => {}): Promise<boolean> =>
  new Promise(resolve => {
    const settle = (mayRun: boolean): void => {
      clearTimeout(timer)
      if (mayRun) take()
      resolve(mayRun)
    }
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(settle), 1)
      resolve(false)
    }, MAX_WAIT_MS)
    queue.push(settle)
  })

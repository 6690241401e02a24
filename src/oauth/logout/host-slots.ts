import type { Clock } from '../../base/clock.ts'

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

/** A place among the concurrent requests to a server. */
interface HostSlot {
  /** `hung`: the server did not respond. Not called if no request was sent. */
  noteEnd(outcome: 'in time' | 'hung'): void
  leave(): void
}

/** The places for concurrent requests to all servers. */
interface HostSlots {
  /** Waits for a place; undefined if the request should be retried later. */
  enter(zoneId: string, host: string): Promise<HostSlot | undefined>
}

/** How a server responded to the last request. */
type Pace = 'quick' | 'slow' | 'hanging'

/**
 * Limits concurrent requests to one server, so that those that do not respond leave connections to the others. More requests
 * wait for a moment, and are retried later if that is not enough.
 */
export function createHostSlots({ clock }: { clock: Clock }): HostSlots {
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
    async enter(zoneId, host) {
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

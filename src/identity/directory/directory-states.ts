// The state of a provider's directory between sign-ins: connections bound as its search account, and its unresponsive servers.
// Providers share no state, and changed settings reset it.
import { isWithin } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { createFairQueue, QueueFull } from '../../base/concurrency/fair-queue.ts'
import type { FairQueue } from '../../base/concurrency/fair-queue.ts'
import type { KeepConnection } from '../../base/outbound.ts'
import { digest } from '../../base/secrets.ts'
import type { KeepableSession } from './session.ts'
import type { DirectorySettings, DirectoryUrl } from '../../providers/directory-settings.ts'

/** The provider's directory. */
export interface DirectoryState {
  /** Sign-ins under way at the directory; the others wait their turn. */
  readonly queue: FairQueue
  /** The servers to try now, in order; an unresponsive one is tried only periodically, by one sign-in. */
  servers(): readonly DirectoryUrl[]
  answered(url: DirectoryUrl): void
  /** There was no connection, or no answer in time. */
  failed(url: DirectoryUrl): void
  /** A connection that was kept; the caller owns it now. */
  take(url: DirectoryUrl): KeepableSession | undefined
  /** Keeps a connection for the next sign-in if there is room, and closes it otherwise. */
  give(url: DirectoryUrl, session: KeepableSession, keep: KeepConnection): void
  /** Closes the kept connections to a server. */
  drop(url: DirectoryUrl): void
}

/** The most recently used directories. */
interface DirectoryStates {
  of(provider: string, settings: DirectorySettings): DirectoryState
  close(): void
}

/** Providers; beyond that the least recently used one is dropped. */
const MAX_DIRECTORIES = 1000
/** Sign-ins at one directory at the same time, and waiting ones: in total, and of one network. */
const MAX_SIGN_INS = 8
const MAX_WAITING = { all: 200, zone: 200, network: 50 }
/** After this many consecutive failures a server is tried only periodically. */
const MAX_FAILURES = 3
const RETRY_SECONDS = 10
/** Directories and firewalls forget connections that are idle for minutes. */
const IDLE_SECONDS = 60
/** Below the idle timeout of firewalls; a dropped connection would cost a sign-in the full time limit. */
const KEEP_ALIVE_MS = 15_000
/** After this time the account is verified again. */
const LIFE_SECONDS = 5 * 60

interface IdleSession {
  readonly session: KeepableSession
  readonly restsSince: Date
  readonly timer: NodeJS.Timeout
}

/** One instance serves the process. */
export function createDirectoryStates({ clock }: { readonly clock: Clock }): DirectoryStates {
  const states = new Map<string, { readonly fingerprint: string; readonly directory: Forgettable }>()

  return {
    of(provider, settings) {
      const fingerprint = digest(JSON.stringify(settings)) // they may have long certificates
      const found = states.get(provider)
      if (found && found.fingerprint !== fingerprint) found.directory.close()
      const directory = found?.fingerprint === fingerprint ? found.directory : createDirectoryState(settings, clock)
      states.delete(provider) // re-inserted, so that the order of the map is that of use
      states.set(provider, { fingerprint, directory })
      const [oldest] = states
      if (states.size > MAX_DIRECTORIES && oldest) {
        states.delete(oldest[0])
        oldest[1].directory.close()
      }
      return directory
    },
    close() {
      for (const { directory } of states.values()) directory.close()
      states.clear()
    },
  }
}

interface Forgettable extends DirectoryState {
  /** Closes every kept connection, now and later. */
  close(): void
}

function createDirectoryState({ urls }: DirectorySettings, clock: Clock): Forgettable {
  const kept = new Map<DirectoryUrl, IdleSession[]>()
  const backoffs = new Map<DirectoryUrl, { readonly failures: number; readonly triedAt: Date }>()
  const openedAt = new WeakMap<KeepableSession, Date>()
  let isClosed = false

  function forget(url: DirectoryUrl, session: KeepableSession): void {
    const resting = kept.get(url) ?? []
    const index = resting.findIndex(each => each.session === session)
    for (const { timer } of index < 0 ? [] : resting.splice(index, 1)) clearTimeout(timer)
  }

  function drop(url: DirectoryUrl): void {
    const resting = kept.get(url) ?? []
    kept.delete(url)
    for (const { session, timer } of resting) {
      clearTimeout(timer)
      session.close()
    }
  }

  return {
    queue: createFairQueue({
      concurrency: MAX_SIGN_INS,
      bounds: MAX_WAITING,
      full: () => new QueueFull('too many sign-ins wait for the directory'),
    }),
    servers: () =>
      urls.filter(url => {
        const backoff = backoffs.get(url)
        if (!backoff || backoff.failures < MAX_FAILURES) return true
        const now = clock.now()
        if (isWithin(RETRY_SECONDS, backoff.triedAt, now)) return false
        backoffs.set(url, { ...backoff, triedAt: now })
        return true
      }),
    answered: url => void backoffs.delete(url),
    failed(url) {
      const failures = (backoffs.get(url)?.failures ?? 0) + 1
      backoffs.set(url, { failures, triedAt: clock.now() })
      drop(url)
    },
    take(url) {
      for (let newest = kept.get(url)?.at(-1); newest; newest = kept.get(url)?.at(-1)) {
        const { session, restsSince } = newest
        forget(url, session)
        const now = clock.now()
        const isFresh = isWithin(IDLE_SECONDS, restsSince, now) && isWithin(LIFE_SECONDS, openedAt.get(session), now)
        if (isFresh && session.wake()) {
          session.socket.ref()
          return session
        }
        session.close()
      }
      return undefined
    },
    give(url, session, keep) {
      if (isClosed) return session.close()
      if (!openedAt.has(session)) {
        if (!keep(session.socket)) return session.close()
        openedAt.set(session, clock.now())
        session.socket.once('close', () => forget(url, session))
      }
      session.rest()
      session.socket.unref() // it keeps no process alive
      session.socket.setKeepAlive(true, KEEP_ALIVE_MS)
      const timer = setTimeout(() => session.close(), IDLE_SECONDS * 1000).unref()
      kept.set(url, [...(kept.get(url) ?? []), { session, restsSince: clock.now(), timer }])
    },
    drop,
    close() {
      isClosed = true
      for (const url of urls) drop(url)
    },
  }
}

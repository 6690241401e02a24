// How often somebody may try in vain, or ask for what costs something. Owns the counts, which each process keeps for
// itself in a bounded piece of memory; refuses to know what is tried. What an operator limits by path and caller is in
// rate-limit.ts: these few are always on, and high enough that no person meets them.
import type { Clock } from '../base/clock.ts'
import { networkOf } from '../base/network-address.ts'
import { digest } from '../base/secrets.ts'

/** Thrown for one attempt too many: the caller answers 429 and says when to come back. */
export class TooManyRequests extends Error {
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number) {
    super('Too many attempts. Wait a minute, then try again.')
    this.name = 'TooManyRequests'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Counts by key in fixed windows, each of which begins with the first count of its key. */
export interface Limiter {
  /** Throws `TooManyRequests` while the key's window is full. */
  check(key: string): void
  /** Seconds until the key has room again; 0 while it has. */
  secondsUntilRoom(key: string): number
  /** Counts one against the key. */
  count(key: string): void
  /**
   * Counts an attempt when it begins, so that those made side by side are not all let through before one is counted, and
   * takes it back unless it failed. Throws `TooManyRequests` while the key's window is full.
   */
  attempt<T>(key: string, work: () => Promise<T>, hasFailed: (result: T) => boolean): Promise<T>
}

/** What a limiter lets through. */
export interface Allowance {
  readonly most: number
  readonly seconds: number
  /** How many keys are remembered; whoever floods it with new ones makes it forget the oldest window, not grow. */
  readonly keys: number
}

interface Window {
  readonly since: number
  count: number
}

/** Costs the same for every call, however many keys there are. */
export function createLimiter(clock: Clock, { most, seconds, keys }: Allowance): Limiter {
  // A window that is opened again moves to the end, so the first one is always the oldest.
  const windows = new Map<string, Window>()

  /** The milliseconds that a window has left; none when it is over, or from before the clock was set back. */
  function remaining(since: number, now: number): number {
    return now < since ? 0 : Math.max(0, since + seconds * 1000 - now)
  }

  function secondsUntilRoom(key: string): number {
    if (most === 0) return seconds
    const window = windows.get(key)
    if (!window || window.count < most) return 0
    return Math.ceil(remaining(window.since, clock.now().getTime()) / 1000)
  }

  function check(key: string): void {
    const left = secondsUntilRoom(key)
    if (left > 0) throw new TooManyRequests(left)
  }

  function count(key: string): Window {
    const now = clock.now().getTime()
    const window = windows.get(key)
    if (window && remaining(window.since, now) > 0) {
      window.count += 1
      return window
    }
    windows.delete(key)
    if (windows.size >= keys) {
      const oldest = windows.keys().next()
      if (!oldest.done) windows.delete(oldest.value)
    }
    const opened = { since: now, count: 1 }
    windows.set(key, opened)
    return opened
  }

  return {
    secondsUntilRoom,
    check,
    count: key => void count(key),
    async attempt(key, work, hasFailed) {
      check(key)
      const window = count(key)
      let isCounted = false
      try {
        const result = await work()
        isCounted = hasFailed(result)
        return result
      } finally {
        if (!isCounted) window.count -= 1
      }
    },
  }
}

/** Everything that is limited. */
export interface Limits {
  /** Wrong passwords, by caller and name: where no lockout guards an account, and for names that have none. */
  readonly wrongPasswords: Limiter
  /** Wrong passcodes, by caller and client. */
  readonly wrongPasscodes: Limiter
  /** Wrong old secrets of clients that change their own, by client. */
  readonly wrongSecrets: Limiter
  /** Passcodes that a person asks for, each of which is a write. */
  readonly newPasscodes: Limiter
}

const KEYS = 10_000

/** The limits of one process. */
export function createLimits(clock: Clock): Limits {
  return {
    wrongPasswords: createLimiter(clock, { most: 100, seconds: 60, keys: KEYS }),
    wrongPasscodes: createLimiter(clock, { most: 100, seconds: 60, keys: KEYS }),
    wrongSecrets: createLimiter(clock, { most: 100, seconds: 60, keys: KEYS }),
    newPasscodes: createLimiter(clock, { most: 60, seconds: 60, keys: KEYS }),
  }
}

/** The key of a caller who tries something: of one length, whatever was sent. */
export const callerKey = (remoteAddress: string | undefined, ...tried: readonly string[]): string =>
  digest(JSON.stringify([networkOf(remoteAddress ?? ''), ...tried]))

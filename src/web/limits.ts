// Limits failed attempts and expensive requests. Counts are per process and bounded in memory. These limits are always on,
// and high enough for people; the limits that operators configure by path and caller are in rate-limit.ts.
import type { Clock } from '../base/clock.ts'
import { networkOf } from '../base/network-address.ts'
import { digest } from '../base/secrets.ts'

/** Thrown for an attempt over the limit; answered with 429 and `Retry-After`. */
export class TooManyRequests extends Error {
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number) {
    super('Too many attempts. Wait a minute, then try again.')
    this.name = 'TooManyRequests'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Counts by key in fixed windows; a window begins with the first count of its key. */
export interface Limiter {
  /** Throws `TooManyRequests` while the key's window is full. */
  check(key: string): void
  /** Seconds until the key has room again; 0 while it has. */
  secondsUntilRoom(key: string): number
  /** Counts one against the key. */
  count(key: string): void
  /**
   * Counts an attempt when it begins, so that parallel attempts cannot pass the limit, and subtracts it again unless it
   * failed. Throws `TooManyRequests` while the key's window is full.
   */
  attempt<T>(key: string, work: () => Promise<T>, hasFailed: (result: T) => boolean): Promise<T>
}

/** At most `max` counts per key in each window of `seconds`. */
export interface Allowance {
  readonly max: number
  readonly seconds: number
  /** Maximum number of keys; beyond it the oldest window is dropped. */
  readonly keys: number
}

interface Window {
  readonly since: number
  count: number
}

/** Every call takes constant time, however many keys there are. */
export function createLimiter(clock: Clock, { max, seconds, keys }: Allowance): Limiter {
  // A reopened window moves to the end, so the first one is always the oldest.
  const windows = new Map<string, Window>()

  /** Milliseconds left of a window; 0 if it is over, or began in the future because the clock was set back. */
  function remaining(since: number, now: number): number {
    return now < since ? 0 : Math.max(0, since + seconds * 1000 - now)
  }

  function secondsUntilRoom(key: string): number {
    if (max === 0) return seconds
    const window = windows.get(key)
    if (!window || window.count < max) return 0
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

/** The limits that are always on. */
export interface Limits {
  /** Wrong passwords, by address and user name: for accounts without lockout, and for unknown names. */
  readonly wrongPasswords: Limiter
  /** Wrong passcodes, by address and client. */
  readonly wrongPasscodes: Limiter
  /** Wrong old secrets in a client's change of its own secret, by client. */
  readonly wrongSecrets: Limiter
  /** Passcodes that a person requests; each is a database write. */
  readonly newPasscodes: Limiter
  /** Mails that strangers can cause to be sent to one address, whether or not it has an account. */
  readonly mailsTo: Limiter
  /** The same by where they are. */
  readonly mailsBy: Limiter
  /** Codes that devices ask for, by where they are. */
  readonly deviceCodes: Limiter
  /** Codes of devices that a person entered and that are none, by the person. */
  readonly wrongUserCodes: Limiter
  /** The same by where they are: more, because one person must not shut out everybody of a network. */
  readonly wrongUserCodesAt: Limiter
  /** Proofs of DPoP that came with a grant that was none, of clients without a credential, by where they are. */
  readonly vainProofs: Limiter
  /** Clients that strangers register, by where they are, and changes of one by itself. */
  readonly registrations: Limiter
}

const KEYS = 10_000

/** Counts in this process only: N processes together allow N times as much. */
export function createLimits(clock: Clock): Limits {
  return {
    wrongPasswords: createLimiter(clock, { max: 100, seconds: 60, keys: KEYS }),
    wrongPasscodes: createLimiter(clock, { max: 100, seconds: 60, keys: KEYS }),
    wrongSecrets: createLimiter(clock, { max: 100, seconds: 60, keys: KEYS }),
    newPasscodes: createLimiter(clock, { max: 60, seconds: 60, keys: KEYS }),
    mailsTo: createLimiter(clock, { max: 10, seconds: 3600, keys: KEYS }),
    mailsBy: createLimiter(clock, { max: 300, seconds: 3600, keys: KEYS }),
    deviceCodes: createLimiter(clock, { max: 100, seconds: 60, keys: KEYS }),
    wrongUserCodes: createLimiter(clock, { max: 10, seconds: 300, keys: KEYS }),
    wrongUserCodesAt: createLimiter(clock, { max: 100, seconds: 300, keys: KEYS }),
    vainProofs: createLimiter(clock, { max: 300, seconds: 60, keys: KEYS }),
    registrations: createLimiter(clock, { max: 60, seconds: 3600, keys: KEYS }),
  }
}

/** A key made of the address, the zone and what was tried, hashed to a fixed length. */
export const callerKey = (
  { zone, remoteAddress }: { readonly zone: { readonly id: string }; readonly remoteAddress: string | undefined },
  ...tried: readonly string[]
): string => digest(JSON.stringify([networkOf(remoteAddress ?? ''), zone.id, ...tried]))

/**
 * The key for guesses at a user's password: the name without case, spaces, accents and invisible characters. Directories take
 * some such spellings for one name, and each must not have guesses of its own; that other names share a count does no harm.
 */
export const guessKey = (from: Parameters<typeof callerKey>[0], userName: string): string =>
  callerKey(
    from,
    userName
      .normalize('NFKD')
      .replace(/[\p{M}\p{Cf}\p{Z}]+/gu, '')
      .toUpperCase(),
  )

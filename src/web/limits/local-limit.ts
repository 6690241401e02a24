// Counts by key in fixed windows, in this process only: for the limits that operators configure.
import type { Clock } from '../../base/clock.ts'
import { LatestMap } from '../../base/latest-map.ts'

/** Counts by key in fixed windows; a window begins with the first count of its key. */
export interface LocalLimit {
  /** Seconds until the key has room again; 0 while it has. */
  secondsUntilRoom(key: string): number
  /** Counts one against the key. */
  count(key: string): void
}

/** At most `max` counts per key in each window of `seconds`. */
interface LocalAllowance {
  readonly max: number
  readonly seconds: number
  /** Maximum number of keys; beyond it the oldest window is dropped. */
  readonly keys: number
}

interface Window {
  readonly since: number
  count: number
}

/** Counts one limit. */
export function createLocalLimit(clock: Clock, { max, seconds, keys }: LocalAllowance): LocalLimit {
  const windows = new LatestMap<Window>(keys)

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

  function count(key: string): void {
    const now = clock.now().getTime()
    const window = windows.get(key)
    if (window && remaining(window.since, now) > 0) window.count += 1
    else windows.set(key, { since: now, count: 1 })
  }

  return { secondsUntilRoom, count }
}

// Counts by key in fixed windows, in this process only: for the limits that operators configure.
import { addSeconds, isWithin } from '../../base/clock.ts'
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
  readonly since: Date
  count: number
}

/** Counts one limit. */
export function createLocalLimit(clock: Clock, { max, seconds, keys }: LocalAllowance): LocalLimit {
  const windows = new LatestMap<Window>(keys)

  function secondsUntilRoom(key: string): number {
    if (max === 0) return seconds
    const window = windows.get(key)
    const now = clock.now()
    if (!window || window.count < max || !isWithin(seconds, window.since, now)) return 0
    return Math.ceil((addSeconds(window.since, seconds).getTime() - now.getTime()) / 1000)
  }

  function count(key: string): void {
    const now = clock.now()
    const window = windows.get(key)
    if (window && isWithin(seconds, window.since, now)) window.count += 1
    else windows.set(key, { since: now, count: 1 })
  }

  return { secondsUntilRoom, count }
}

// A circuit breaker: after several consecutive failures, a server is tried only periodically, so that
// waiting for it does not block other requests or use up connections.
import { isWithin } from '../clock.ts'
import type { Clock } from '../clock.ts'
import { LatestMap } from '../latest-map.ts'

/** The state of one server, by a key that names it. */
interface Breaker {
  /** Whether a request may be sent now. After a pause this admits one caller, whose outcome decides for the next. */
  admits(key: string): boolean
  /** Reports the outcome of a request that was admitted. */
  report(key: string, outcome: 'answered' | 'failed'): void
}

/** Consecutive failures after which requests pause. */
const MAX_FAILURES = 5
const PAUSE_SECONDS = 30
/** Servers that failed recently; others are not kept. */
const MAX_KEYS = 10_000

/** See `Breaker`. */
export function createBreaker({ clock }: { clock: Clock }): Breaker {
  const failing = new LatestMap<{ readonly failures: number; readonly triedAt: Date }>(MAX_KEYS)
  return {
    admits(key) {
      const state = failing.get(key)
      if (!state || state.failures < MAX_FAILURES) return true
      const now = clock.now()
      if (isWithin(PAUSE_SECONDS, state.triedAt, now)) return false
      // Callers that arrive during this attempt are refused instead of waiting.
      failing.set(key, { ...state, triedAt: now })
      return true
    },
    report(key, outcome) {
      if (outcome === 'answered') failing.delete(key)
      else failing.set(key, { failures: (failing.get(key)?.failures ?? 0) + 1, triedAt: clock.now() })
    },
  }
}

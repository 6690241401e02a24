// Measures how often something happens, where the cheapest way to do it depends on that.
import { stopwatch } from './clock.ts'

/** Counts an event, and returns whether events arrive at the rate or faster. */
export type Pace = () => boolean

/** Compares the rate of the last whole period, so that a short burst counts for little. The first period counts as slow. */
export function createPace({
  perMillisecond,
  periodMilliseconds,
  elapsed = stopwatch(),
}: {
  readonly perMillisecond: number
  readonly periodMilliseconds: number
  /** Milliseconds since a fixed moment. */
  readonly elapsed?: () => number
}): Pace {
  let start = elapsed()
  let count = 0
  let isFast = false
  return () => {
    const period = elapsed() - start
    if (period >= periodMilliseconds) {
      isFast = count / period >= perMillisecond
      start += period
      count = 0
    }
    count += 1
    return isFast
  }
}

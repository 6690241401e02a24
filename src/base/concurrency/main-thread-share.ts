// Measures the share of the main thread that a kind of short task takes, which decides where it is cheapest to run.
import { stopwatch } from '../clock.ts'

/** Decides task by task whether to run it here or elsewhere. */
export interface MainThreadShare {
  /** Counts a task, and returns whether such tasks would take the share or more if all of them ran here. */
  isLarge(): boolean
  /** Runs a task here and measures it. */
  run<T>(task: () => T): T
}

/** Decay factor for the measurements of earlier periods. */
const DECAY = 0.9

/**
 * Judges by the last whole period, so that a short burst counts for little; the first period counts as small. While the share is
 * large, the first task of each period still counts as small, so that the cost of a task stays known.
 */
export function createMainThreadShare({
  share,
  periodMilliseconds,
  elapsed = stopwatch(),
}: {
  /** From 0 to 1. */
  readonly share: number
  readonly periodMilliseconds: number
  /** Milliseconds since a fixed moment. */
  readonly elapsed?: () => number
}): MainThreadShare {
  let start = elapsed()
  let count = 0
  const measured = { count: 0, milliseconds: 0 }
  let isLarge = false

  return {
    isLarge() {
      const period = elapsed() - start
      if (period >= periodMilliseconds) {
        const cost = measured.milliseconds / measured.count
        isLarge = count * cost >= share * period
        start += period
        count = 0
        measured.count *= DECAY
        measured.milliseconds *= DECAY
      }
      count += 1
      return isLarge && count > 1
    },
    run(task) {
      const began = elapsed()
      try {
        return task()
      } finally {
        measured.count += 1
        measured.milliseconds += elapsed() - began
      }
    },
  }
}

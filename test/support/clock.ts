import type { Clock } from '../../src/base/clock.ts'

/** A clock that is stopped until it is advanced. */
export interface TestClock extends Clock {
  /** Moves time forward. */
  advance(seconds: number): void
}

/** Starts at a fixed moment, on a full second. */
export function createTestClock(start = Date.UTC(2026, 0, 15, 12, 0, 0)): TestClock {
  let time = start
  return {
    now: () => new Date(time),
    advance(seconds) {
      time += seconds * 1000
    },
  }
}

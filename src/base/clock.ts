/** Time as an argument: the only source of "now", so that a test can hold it still. */
export interface Clock {
  /** The present moment. */
  now(): Date
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => new Date() }

/** Milliseconds of the machine's clock, for measuring how long something took; never for deciding anything. */
export const stopwatch = (): (() => number) => {
  const start = performance.now()
  return () => performance.now() - start
}

/** Adds seconds to a moment. */
export const addSeconds = (moment: Date, seconds: number): Date => new Date(moment.getTime() + seconds * 1000)

/** Seconds since 1970, rounded down: the NumericDate of RFC 7519 §2. */
export const epochSeconds = (moment: Date): number => Math.floor(moment.getTime() / 1000)

/** The present as ISO 8601 text, made anew once per millisecond: a log asks for it thousands of times a second. */
export function createIsoNow(clock: Clock): () => string {
  let made = Number.NaN
  let text = ''
  return () => {
    const now = clock.now()
    if (now.getTime() !== made) {
      made = now.getTime()
      text = now.toISOString()
    }
    return text
  }
}

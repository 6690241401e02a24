/** The only source of the current time, passed as an argument so that tests can control it. */
export interface Clock {
  /** The current time. */
  now(): Date
}

/** The system clock. */
export const systemClock: Clock = { now: () => new Date() }

/** Starts measuring; the returned function gives the elapsed milliseconds. It does not follow when the system clock is set. */
export const stopwatch = (): (() => number) => {
  const start = performance.now()
  return () => performance.now() - start
}

/** Milliseconds since 1970 with their fraction, for spans; it does not follow when the system clock is set. */
export const epochMilliseconds = (): number => performance.timeOrigin + performance.now()

/** Adds seconds to a date. */
export const addSeconds = (moment: Date, seconds: number): Date => new Date(moment.getTime() + seconds * 1000)

/**
 * Whether a moment that this process noted is less than so many seconds ago. Not if it seems to be still to come: the clock was set
 * back since, so nobody knows how long ago it was, and what was noted would count for as long. False without a moment.
 */
export const isWithin = (seconds: number, since: Date | undefined, now: Date): boolean =>
  since !== undefined && since <= now && now < addSeconds(since, seconds)

/** Seconds since 1970, rounded down: the NumericDate of RFC 7519 §2. */
export const epochSeconds = (moment: Date): number => Math.floor(moment.getTime() / 1000)

/** The current time as an ISO 8601 string, formatted once per millisecond: the log needs it thousands of times a second. */
export function createIsoNow(clock: Clock): () => string {
  let formattedAt = Number.NaN
  let text = ''
  return () => {
    const now = clock.now()
    if (now.getTime() !== formattedAt) {
      formattedAt = now.getTime()
      text = now.toISOString()
    }
    return text
  }
}

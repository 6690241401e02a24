// The backoff while the mail server accepts no mail at all: it doubles with each failure and ends with the first response to a mail.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { jittered, untilThen } from './retry-delay.ts'

/** Tracks when to try the server again. */
export interface ServerPause {
  /** Starts or doubles the backoff; returns its milliseconds. */
  begin(reason: string): number
  /** Ends the backoff: the server responded. */
  end(): void
  /** Remaining milliseconds; 0 or less without a backoff. */
  left(): number
}

/** The shortest pause. */
export const MIN_PAUSE_MS = 5000
const MAX_PAUSE_MS = 300_000

/** Logs the start and the end, with the server's `host:port`. */
export function createServerPause({
  server,
  clock,
  random,
  log,
}: {
  readonly server: string
  readonly clock: Clock
  readonly random: Random
  readonly log: { readonly info: (message: string) => void; readonly warn: (message: string) => void }
}): ServerPause {
  /** 0 while the server accepts mails. */
  let pauseMs = 0
  let pausedUntil = 0
  return {
    begin(reason) {
      if (pauseMs === 0) log.warn(`the mail server ${server} is unavailable, mail delivery is paused: ${reason}`)
      pauseMs = Math.min(Math.max(2 * pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS)
      const milliseconds = jittered(pauseMs, random)
      pausedUntil = clock.now().getTime() + milliseconds
      return milliseconds
    },
    end() {
      if (pauseMs > 0) log.info(`the mail server ${server} is available again`)
      pauseMs = 0
    },
    left: () => untilThen(pausedUntil, clock.now().getTime(), 2 * MAX_PAUSE_MS),
  }
}

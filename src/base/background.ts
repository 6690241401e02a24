// Work that an answer does not wait for: what takes longer for an account that exists must not be seen in the time of the
// answer. Bounded, and waited for when the server stops.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Runs tasks after one another; one instance for the server. */
export interface Background {
  /** Runs the task soon; false, and it is never run, while too many wait. A rejection goes to `onError`. */
  run(task: () => Promise<void>): boolean
  /** Resolves when no task is left. */
  idle(): Promise<void>
}

/** At most `max` tasks wait; one runs at a time, so that they never crowd out requests. */
export function createBackground({ max, onError }: { max: number; onError: (cause: unknown) => void }): Background {
  const waiting: (() => Promise<void>)[] = []
  let running: Promise<void> | undefined

  async function runAll(): Promise<void> {
    for (let task = await next(); task; task = await next()) {
      try {
        await task()
      } catch (cause) {
        onError(cause)
      }
    }
    // One may have come between the last look and here.
    running = waiting.length > 0 ? runAll() : undefined
  }

  /** In a separate turn of the event loop: the response that the task belongs to is written first. */
  const next = async (): Promise<(() => Promise<void>) | undefined> => {
    await nextTurn()
    return waiting.shift()
  }

  const self: Background = {
    run(task) {
      if (waiting.length >= max) return false
      waiting.push(task)
      running ??= runAll()
      return true
    },
    async idle() {
      if (!running) return
      await running
      await self.idle()
    },
  }
  return self
}

// Work after the response: work that takes longer for existing accounts must not affect response times. Bounded, and awaited
// when the server stops.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Runs tasks sequentially; one instance for the server. */
export interface Background {
  /** Queues the task; false if the queue is full, and the task is not run. A rejection goes to `onError`. */
  run(task: () => Promise<void>): boolean
  /** Resolves when no task is left. */
  idle(): Promise<void>
}

/** At most `max` tasks are queued; one runs at a time, so that they do not delay requests. */
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
    // A task may have been added since the last check.
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

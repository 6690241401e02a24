import { setTimeout as pause } from 'node:timers/promises'
import { stopwatch } from '../../base/clock.ts'
import type { AuditTrail } from './trail.ts'

const DELIVER_EVERY_MS = 1000
const DELETE_EVERY_MS = 60_000

/** Delivers and deletes at intervals without keeping the process alive; the returned function ends it, after what is under way. */
export function keepAuditTrail(
  trail: AuditTrail,
  log: { fault(message: string, cause: unknown): void },
): () => Promise<void> {
  const stopped = new AbortController()
  const stops = [
    repeat(DELIVER_EVERY_MS, () => trail.deliver(stopped.signal)),
    repeat(DELETE_EVERY_MS, async () => {
      for (;;) {
        const elapsed = stopwatch()
        if (stopped.signal.aborted || (await trail.deleteExpired()) === 0) return
        await pause(elapsed()) // at most half of the time is the deletion's
      }
    }),
  ]

  function repeat(milliseconds: number, work: () => Promise<void>): () => Promise<void> {
    let running: Promise<void> | undefined
    const timer = setInterval(() => {
      running ??= work()
        .catch((cause: unknown) => log.fault('audit trail', cause))
        .finally(() => {
          running = undefined
        })
    }, milliseconds)
    timer.unref()
    return async () => {
      clearInterval(timer)
      await running
    }
  }

  return async () => {
    stopped.abort()
    await Promise.all(stops.map(stop => stop()))
  }
}

import type { AuditTrail } from './trail.ts'

const DELIVER_EVERY_MS = 1000
const DELETE_EVERY_MS = 60_000

/** Delivers and deletes at intervals without keeping the process alive; the returned function ends it, after what is under way. */
export function keepAuditTrail(
  trail: AuditTrail,
  log: { fault(message: string, cause: unknown): void },
): () => Promise<void> {
  let stopped = false
  const stops = [
    repeat(DELIVER_EVERY_MS, () => trail.deliver()),
    repeat(DELETE_EVERY_MS, async () => {
      for (;;) {
        if (stopped || (await trail.deleteExpired()) === 0) return
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
    stopped = true
    await Promise.all(stops.map(stop => stop()))
  }
}

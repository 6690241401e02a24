import type { AuditTrail } from './trail.ts'

const DELIVER_EVERY_MS = 1000

/** Delivers at intervals without keeping the process alive; the returned function stops it, after the current delivery. */
export function deliverContinuously(
  trail: AuditTrail,
  log: { fault(message: string, cause: unknown): void },
): () => Promise<void> {
  const stopped = new AbortController()
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= trail
      .deliver(stopped.signal)
      .catch((cause: unknown) => log.fault('audit trail', cause))
      .finally(() => {
        running = undefined
      })
  }, DELIVER_EVERY_MS)
  timer.unref()
  return async () => {
    stopped.abort()
    clearInterval(timer)
    await running
  }
}

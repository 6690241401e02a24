import type { AuditTrail } from './trail.ts'

const DELIVER_EVERY_MS = 1000

/**
 * Delivers at intervals, also while a slow webhook is still being served, without keeping the process alive; the returned function
 * stops it, after the current deliveries.
 */
export function deliverContinuously(
  trail: Pick<AuditTrail, 'deliver'>,
  log: { fault(message: string, cause: unknown): void },
): () => Promise<void> {
  const stopped = new AbortController()
  const running = new Set<Promise<void>>()
  const timer = setInterval(() => {
    const delivery = trail
      .deliver(stopped.signal)
      .catch((cause: unknown) => log.fault('audit trail', cause))
      .finally(() => running.delete(delivery))
    running.add(delivery)
  }, DELIVER_EVERY_MS)
  timer.unref()
  return async () => {
    stopped.abort()
    clearInterval(timer)
    await Promise.all(running)
  }
}

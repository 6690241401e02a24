import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Maximum number of concurrent database operations of one request, unless a caller needs fewer. An operation that waits 1.5
 * seconds for one of the ten PostgreSQL connections fails, so one request must not queue more than a loaded database completes in
 * that time.
 */
export const MAX_TOGETHER = 32

/**
 * Maps with limited concurrency, keeping order: the parts of one request must not fill a queue that others wait in, nor keep
 * the event loop busy.
 */
export async function mapInBatches<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  size = MAX_TOGETHER,
): Promise<readonly R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await nextTurn() // reads of SQLite wait for nothing
    results.push(...(await Promise.all(items.slice(start, start + size).map(work))))
  }
  return results
}

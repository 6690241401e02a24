import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Maps with limited concurrency, keeping order: the parts of one request must not fill a queue that others wait in, nor keep
 * the event loop busy.
 */
export async function mapInBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += BATCH) {
    if (start > 0) await nextTurn() // reads of SQLite wait for nothing
    results.push(...(await Promise.all(items.slice(start, start + BATCH).map(work))))
  }
  return results
}

const BATCH = 32

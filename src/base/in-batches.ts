/** Maps with limited concurrency, keeping order: the parts of one request must not fill a queue that others wait in. */
export async function mapInBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (let start = 0; start < items.length; start += BATCH) {
    results.push(...(await Promise.all(items.slice(start, start + BATCH).map(work))))
  }
  return results
}

const BATCH = 32

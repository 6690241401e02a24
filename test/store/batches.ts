/** Processes many records in batches; the store rejects a thousand concurrent ones. */
export async function inBatches<T>(items: readonly T[], work: (item: T, index: number) => Promise<unknown>) {
  const size = 100
  for (let start = 0; start < items.length; start += size) {
    await Promise.all(items.slice(start, start + size).map((item, index) => work(item, start + index)))
  }
}

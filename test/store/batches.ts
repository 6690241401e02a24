/** Works on many records as one caller does who is limited, and not as a thousand at once, which the store refuses. */
export async function inBatches<T>(items: readonly T[], work: (item: T, index: number) => Promise<unknown>) {
  const size = 100
  for (let start = 0; start < items.length; start += size) {
    await Promise.all(items.slice(start, start + size).map((item, index) => work(item, start + index)))
  }
}

/** Rows that share a transaction, and the flush to the disk at its end. */
const PORTION_SIZE = 64
/** Concurrent portions; PostgreSQL has ten connections for them. */
const MAX_PORTIONS = 4

/**
 * Processes the rows in portions, so that only a few portions are in memory. No portion is under way any more when it has
 * failed.
 */
export async function inPortions<R>(
  rows: AsyncIterable<R>,
  work: (portion: readonly R[]) => Promise<void>,
): Promise<void> {
  let portion: R[] = []
  let underWay: Promise<void>[] = []
  const begin = async (): Promise<void> => {
    const begun = work(portion)
    begun.catch(() => {}) // also thrown below, when the source has sent more rows
    underWay.push(begun)
    portion = []
    if (underWay.length < MAX_PORTIONS) return
    await Promise.all(underWay)
    underWay = []
  }
  try {
    for await (const row of rows) {
      portion.push(row)
      if (portion.length === PORTION_SIZE) await begin()
    }
    await begin()
    await Promise.all(underWay)
  } finally {
    await Promise.allSettled(underWay)
  }
}

/** Processes each row, several at a time. */
export const oneByOne =
  <R>(work: (row: R) => Promise<void>) =>
  async (portion: readonly R[]): Promise<void> => {
    await Promise.all(portion.map(work))
  }

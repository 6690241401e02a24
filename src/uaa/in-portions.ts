/** Rows that share a transaction, and the flush to the disk at its end. */
const PORTION_SIZE = 64
/** Portions under way at a time; PostgreSQL has ten connections for them. */
const MAX_PORTIONS = 4

/** Works on the rows a portion at a time, so that no more than a few portions are in memory. */
export async function inPortions<R>(
  rows: AsyncIterable<R>,
  work: (portion: readonly R[]) => Promise<void>,
): Promise<void> {
  let portion: R[] = []
  let underWay: Promise<void>[] = []
  const begin = async (): Promise<void> => {
    underWay.push(work(portion))
    portion = []
    if (underWay.length < MAX_PORTIONS) return
    await Promise.all(underWay)
    underWay = []
  }
  for await (const row of rows) {
    portion.push(row)
    if (portion.length === PORTION_SIZE) await begin()
  }
  await begin()
  await Promise.all(underWay)
}

/** Works on each row, some of them at the same time. */
export const oneByOne =
  <R>(work: (row: R) => Promise<void>) =>
  async (portion: readonly R[]): Promise<void> => {
    await Promise.all(portion.map(work))
  }

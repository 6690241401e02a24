/** Together they share a flush to the disk, and a loaded PostgreSQL has done as many before a connection is waited for too long. */
const MAX_TOGETHER = 128

/** Works on the rows a portion at a time, so that no more than a portion is in memory. */
export async function inPortions<R>(rows: AsyncIterable<R>, work: (row: R) => Promise<void>): Promise<void> {
  let portion: R[] = []
  for await (const row of rows) {
    portion.push(row)
    if (portion.length < MAX_TOGETHER) continue
    await Promise.all(portion.map(work))
    portion = []
  }
  await Promise.all(portion.map(work))
}

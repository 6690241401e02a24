import { StoreUnavailable } from '../store/store.ts'

/** Each deletes a few hundred rows. */
const MAX_BATCHES = 20

/** Deletes most rows of tokens that are invalid already; the rest is deleted on expiry. */
export async function freeRows(deleteSome: () => Promise<number>): Promise<void> {
  try {
    for (let batch = 0; batch < MAX_BATCHES; batch += 1) if ((await deleteSome()) === 0) return
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error // the change that made them invalid is stored, and must not be repeated
  }
}

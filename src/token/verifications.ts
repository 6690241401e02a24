import { availableParallelism } from 'node:os'
import { createFairQueue, UNBOUNDED } from '../base/concurrency/fair-queue.ts'

/** Verifies signatures with a bounded part of the thread pool. */
export interface Verifications {
  /** Runs the verification of a signature when few others run; zones take turns. */
  inTurn<T>(zoneId: string, verify: () => Promise<T>): Promise<T>
}

/** Verifications must not fill the thread pool: every write of SQLite waits for a thread of it, too (decision 0006). */
export function createVerifications(): Verifications {
  const queue = createFairQueue({ concurrency: availableParallelism(), bounds: UNBOUNDED })
  return { inTurn: (zoneId, verify) => queue.run({ zoneId, address: undefined }, verify) }
}

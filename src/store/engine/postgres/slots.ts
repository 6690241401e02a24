// Bounds how many callers use the connections at once, how many wait for their turn, and for how long. A queue without
// these bounds would grow while the database is slow, and answer all of them too late.
import { StoreBusy } from '../../store.ts'

/** A fixed number of slots with a bounded queue, first come, first served. */
interface Slots {
  /** Undefined when a slot is free at once, else a promise of one. Throws or rejects with `StoreBusy`. */
  take(): Promise<void> | undefined
  /** Hands a slot to the longest-waiting caller. */
  give(): void
  /** Refuses all waiting callers. */
  refuseAll(reason: Error): void
}

/** The bounds of `createSlots`. */
export interface SlotBounds {
  readonly slots: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
}

interface Waiter {
  readonly begin: () => void
  readonly refuse: (reason: Error) => void
}

/** See `Slots`. */
export function createSlots({ slots, maxWaiting, maxWaitMs }: SlotBounds): Slots {
  const waiting = new Set<Waiter>() // in the order of arrival
  let free = slots

  return {
    take() {
      if (free > 0) {
        free -= 1
        return undefined
      }
      if (waiting.size >= maxWaiting) throw new StoreBusy('too many requests wait for the database')
      return new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(waiter)
          reject(new StoreBusy('waited too long for the database'))
        }, maxWaitMs)
        const waiter: Waiter = {
          begin() {
            clearTimeout(timer)
            resolve()
          },
          refuse(reason) {
            clearTimeout(timer)
            reject(reason)
          },
        }
        waiting.add(waiter)
      })
    },
    give() {
      const [next] = waiting
      if (next === undefined) {
        free += 1
        return
      }
      waiting.delete(next)
      next.begin()
    },
    refuseAll(reason) {
      for (const waiter of waiting) waiter.refuse(reason)
      waiting.clear()
    },
  }
}

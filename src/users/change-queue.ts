// Changes of one record, one after the other. Many changes at a time would each replace a version that another has replaced
// meanwhile, and most would give up. Other processes have queues of their own, so a change may still have to be repeated.
import { QueueFull } from '../base/concurrency/fair-queue.ts'
import { createKeyedQueue } from '../base/concurrency/keyed-queue.ts'
import type { KeyedQueue } from '../base/concurrency/keyed-queue.ts'

/** Changes of one record that wait; each holds the body of its request. */
const MAX_WAITING = 256

/** Attempts of a change that loses against those of other processes, each of which makes one at a time. */
export const MAX_ATTEMPTS = 32

/** Makes it for one kind of record; the key is its id. Throws `QueueFull`. */
export const createChangeQueue = (): KeyedQueue => createKeyedQueue({ max: MAX_WAITING, full: () => new QueueFull() })

import { TooManyHashes } from '../passwords.ts'

/** Maximum queue length of one key. A full queue affects this key only. */
const MAX_QUEUED = 64

/** Runs the tasks of one key in sequence, those of different keys concurrently. */
export type KeyedQueue = <T>(key: string, task: () => Promise<T>) => Promise<T>

/** By default for tasks that compare a password or a code. Throws what `full` makes if a queue is full. */
export function createKeyedQueue({
  max = MAX_QUEUED,
  full = () => new TooManyHashes(),
}: {
  readonly max?: number
  readonly full?: () => Error
} = {}): KeyedQueue {
  const queues = new Map<string, { last: Promise<unknown>; count: number }>()
  return async (key, task) => {
    const queue = queues.get(key) ?? { last: Promise.resolve(), count: 0 }
    if (queue.count >= max) throw full()
    queues.set(key, queue)
    queue.count += 1
    const result = queue.last.then(task, task)
    queue.last = result.then(
      () => undefined,
      () => undefined,
    )
    try {
      return await result
    } finally {
      queue.count -= 1
      if (queue.count === 0) queues.delete(key)
    }
  }
}

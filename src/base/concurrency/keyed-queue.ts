import { TooManyHashes } from '../passwords.ts'

/** Maximum queue length of one key. A full queue affects this key only. */
const MAX_QUEUED = 64

/** Runs the tasks of one key in sequence, those of different keys concurrently. Throws `TooManyHashes` if full. */
export function createKeyedQueue(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { last: Promise<unknown>; count: number }>()
  return async (key, task) => {
    const queue = queues.get(key) ?? { last: Promise.resolve(), count: 0 }
    if (queue.count >= MAX_QUEUED) throw new TooManyHashes()
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

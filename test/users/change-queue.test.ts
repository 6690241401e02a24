import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { QueueFull } from '../../src/base/concurrency/fair-queue.ts'
import { createChangeQueue } from '../../src/users/change-queue.ts'

describe('`createChangeQueue`', () => {
  it('runs up to 256 changes of a record in sequence, without delaying other records', async () => {
    const enqueue = createChangeQueue()
    const first = Promise.withResolvers<void>()
    const order: number[] = []
    const queued = Array.from({ length: 256 }, (_, place) =>
      enqueue('a', async () => {
        if (place === 0) await first.promise
        order.push(place)
      }),
    )
    await assert.rejects(
      enqueue('a', () => Promise.resolve()),
      QueueFull,
    )
    assert.equal(await enqueue('b', () => Promise.resolve('b')), 'b')
    assert.deepEqual(order, [])
    first.resolve()
    await Promise.all(queued)
    assert.deepEqual(order, [...queued.keys()])
    assert.equal(await enqueue('a', () => Promise.resolve('again')), 'again')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { QueueFull } from '../../src/base/concurrency/fair-queue.ts'
import { createChangeQueue } from '../../src/users/change-queue.ts'

describe('changes of one record', () => {
  it('run one after the other, at most 256 of them, without delaying those of another', async () => {
    const inTurn = createChangeQueue()
    const first = Promise.withResolvers<void>()
    const order: number[] = []
    const queued = Array.from({ length: 256 }, (_, place) =>
      inTurn('a', async () => {
        if (place === 0) await first.promise
        order.push(place)
      }),
    )
    await assert.rejects(
      inTurn('a', () => Promise.resolve()),
      QueueFull,
    )
    assert.equal(await inTurn('b', () => Promise.resolve('b')), 'b')
    assert.deepEqual(order, [])
    first.resolve()
    await Promise.all(queued)
    assert.deepEqual(order, [...queued.keys()])
    assert.equal(await inTurn('a', () => Promise.resolve('again')), 'again')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFairQueue } from '../../../src/base/concurrency/fair-queue.ts'
import type { QueueBounds, Requester } from '../../../src/base/concurrency/fair-queue.ts'

const WIDE: QueueBounds = { all: 100, zone: 100, network: 100 }

/** A queue with one slot, taken until `release`; jobs record their names when they run. */
function busyQueue(bounds: QueueBounds) {
  const queue = createFairQueue({ concurrency: 1, bounds, full: () => new Error('full') })
  let free = (): void => {}
  const order: string[] = []
  const first = queue.run({ zoneId: 'first', address: '' }, () => new Promise<void>(resolve => (free = resolve)))
  return {
    /** Queues a job with a name; resolves to its outcome. */
    async wait(name: string, requester: Requester): Promise<string> {
      return queue
        .run(requester, () => Promise.resolve(order.push(name)))
        .then(
          () => 'run',
          (error: unknown) => String(error),
        )
    },
    async release(waiting: readonly Promise<string>[]): Promise<readonly string[]> {
      free()
      await first
      await Promise.all(waiting)
      return order
    },
  }
}

const at = (zoneId: string, network: number): Requester => ({ zoneId, address: `10.0.${network}.1` })

describe('createFairQueue', () => {
  it('serves one requester in order', async () => {
    const queue = busyQueue(WIDE)
    const waiting = ['a', 'b', 'c'].map(name => queue.wait(name, at('z', 1)))
    assert.deepEqual(await queue.release(waiting), ['a', 'b', 'c'])
  })

  it('alternates between zones, and between networks within a zone', async () => {
    const queue = busyQueue(WIDE)
    const waiting = [
      ...['a1', 'a2', 'a3'].map(name => queue.wait(name, at('a', 1))),
      ...['b1', 'b2'].map(name => queue.wait(name, at('b', 1))),
      queue.wait('a4, another network', at('a', 2)),
    ]
    const want = ['a1', 'b1', 'a4, another network', 'b2', 'a2', 'a3']
    assert.deepEqual(await queue.release(waiting), want)
  })

  it('groups neighbouring addresses into a network', async () => {
    const queue = busyQueue(WIDE)
    const waiting = [
      queue.wait('1', { zoneId: 'a', address: '10.0.1.1' }),
      queue.wait('2', { zoneId: 'a', address: '10.0.1.2' }),
      queue.wait('3', { zoneId: 'a', address: '10.0.2.1' }),
    ]
    assert.deepEqual(await queue.release(waiting), ['1', '3', '2'])
  })

  it('limits each network across zones', async () => {
    const queue = busyQueue({ ...WIDE, network: 2 })
    const waiting = [
      queue.wait('a', at('a', 1)),
      queue.wait('b', at('b', 1)),
      queue.wait('c', at('c', 1)),
      queue.wait('other', at('a', 2)),
    ]
    await queue.release(waiting)
    assert.deepEqual(await Promise.all(waiting), ['run', 'run', 'Error: full', 'run'])
  })

  it('drops from the longest queue of a full zone for a network with a shorter one', async () => {
    const queue = busyQueue({ ...WIDE, zone: 3 })
    const waiting = [
      queue.wait('1a', at('a', 1)),
      queue.wait('1b', at('a', 1)),
      queue.wait('1c', at('a', 1)),
      queue.wait('1d', at('a', 1)),
      queue.wait('2', at('a', 2)),
      queue.wait('3', at('a', 3)),
      queue.wait('4', at('a', 4)),
    ]
    await queue.release(waiting)
    const full = 'Error: full'
    assert.deepEqual(await Promise.all(waiting), ['run', full, full, full, 'run', 'run', full])
  })

  it('drops from the largest zone of a full queue for a smaller zone', async () => {
    const queue = busyQueue({ ...WIDE, all: 3 })
    const waiting = [
      queue.wait('1', at('a', 1)),
      queue.wait('2', at('a', 2)),
      queue.wait('3', at('a', 3)),
      queue.wait('more', at('a', 4)),
      queue.wait('small', at('b', 5)),
    ]
    await queue.release(waiting)
    const results = await Promise.all(waiting)
    assert.equal(results[3], 'Error: full')
    assert.equal(results[4], 'run')
    assert.equal(results.filter(result => result === 'run').length, 3)
  })

  it('releases the slot of failed work', async () => {
    const queue = createFairQueue({ concurrency: 1, bounds: WIDE, full: () => new Error('full') })
    await assert.rejects(queue.run(at('a', 1), () => Promise.reject(new Error('failed'))))
    assert.equal(await queue.run(at('a', 1), () => Promise.resolve('done')), 'done')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { createTestClock } from '../support/clock.ts'

describe('Query durations', () => {
  it('are reported for reads, writes and transactions, including failed ones', async () => {
    const clock = createTestClock()
    const times: number[] = []
    const store = await openStore('sqlite::memory:', { clock, onQuery: milliseconds => void times.push(milliseconds) })
    const counted = async (work: () => Promise<unknown>): Promise<number> => {
      times.length = 0
      await work()
      return times.length
    }
    assert.equal(await counted(() => store.ping()), 1)
    assert.ok((await counted(() => store.zones.find('nowhere'))) > 0)
    assert.equal(await counted(() => store.events.recordFailure('svc', 'u-1', clock.now())), 1)
    await store.close()
    assert.equal(await counted(() => store.ping().catch(() => {})), 1)
    assert.ok(times.every(time => time >= 0))
  })
})

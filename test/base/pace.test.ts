import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPace } from '../../src/base/pace.ts'

describe('a pace', () => {
  const at = { now: 0 }
  const pace = () => createPace({ perMillisecond: 6, periodMilliseconds: 10, elapsed: () => at.now })

  /** Whether the last of so many events, evenly spread over 100 ms, counts as fast. */
  function after(events: number): boolean {
    at.now = 0
    const isFast = pace()
    let last = false
    for (let i = 0; i < events; i += 1) {
      at.now = (100 * i) / events
      last = isFast()
    }
    return last
  }

  it('is fast from the rate on, and slow below it', () => {
    assert.equal(after(700), true)
    assert.equal(after(500), false)
  })

  it('is slow at the first events, however dense, and in a short burst', () => {
    at.now = 0
    const isFast = pace()
    for (let i = 0; i < 50; i += 1) assert.equal(isFast(), false)
    at.now = 20
    assert.equal(isFast(), false)
  })

  it('is slow again after a rest', () => {
    at.now = 0
    const isFast = pace()
    for (let i = 0; i < 300; i += 1) {
      at.now = i / 10
      isFast()
    }
    assert.equal(isFast(), true)
    at.now += 5000
    assert.equal(isFast(), false)
  })
})

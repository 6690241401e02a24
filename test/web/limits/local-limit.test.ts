import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocalLimit } from '../../../src/web/limits/local-limit.ts'
import { createTestClock } from '../../support/clock.ts'

const times = (count: number, work: () => void): void => {
  for (let index = 0; index < count; index += 1) work()
}

describe('`createLocalLimit`', () => {
  const allowance = { max: 3, seconds: 10, keys: 4 }

  it('refuses the one request beyond the limit', () => {
    const limit = createLocalLimit(createTestClock(), allowance)
    times(2, () => limit.count('a'))
    assert.equal(limit.secondsUntilRoom('a'), 0)
    limit.count('a')
    assert.equal(limit.secondsUntilRoom('a'), 10)
    assert.equal(limit.secondsUntilRoom('b'), 0)
  })

  it('returns the remaining seconds, and accepts again afterwards', () => {
    const clock = createTestClock()
    const limit = createLocalLimit(clock, allowance)
    limit.count('a')
    clock.advance(6.5)
    times(2, () => limit.count('a'))
    assert.equal(limit.secondsUntilRoom('a'), 4, 'rounded up')
    clock.advance(3.4)
    assert.equal(limit.secondsUntilRoom('a'), 1)
    clock.advance(0.1)
    assert.equal(limit.secondsUntilRoom('a'), 0)
    times(3, () => limit.count('a'))
    assert.equal(limit.secondsUntilRoom('a'), 10, 'a new window')
  })

  it('is not extended by attempts while the limit is reached', () => {
    const clock = createTestClock()
    const limit = createLocalLimit(clock, allowance)
    times(3, () => limit.count('a'))
    clock.advance(9)
    times(50, () => limit.count('a'))
    assert.equal(limit.secondsUntilRoom('a'), 1)
  })

  it('does not limit longer if the clock is set back', () => {
    const clock = createTestClock()
    const limit = createLocalLimit(clock, allowance)
    times(3, () => limit.count('a'))
    clock.advance(-3600)
    assert.equal(limit.secondsUntilRoom('a'), 0)
    times(3, () => limit.count('a'))
    assert.equal(limit.secondsUntilRoom('a'), 10)
  })

  it('evicts the oldest window beyond the maximum number of keys', () => {
    const clock = createTestClock()
    const limit = createLocalLimit(clock, allowance)
    for (const key of ['a', 'b', 'c', 'd']) times(3, () => limit.count(key))
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map(key => limit.secondsUntilRoom(key)),
      [10, 10, 10, 10],
    )
    limit.count('e')
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map(key => limit.secondsUntilRoom(key)),
      [0, 10, 10, 10],
    )
  })

  it('treats a key with a new window as new', () => {
    const clock = createTestClock()
    const limit = createLocalLimit(clock, allowance)
    limit.count('a')
    clock.advance(10)
    for (const key of ['b', 'c', 'd']) limit.count(key)
    times(3, () => limit.count('a'))
    limit.count('e')
    assert.equal(limit.secondsUntilRoom('a'), 10)
  })

  it('supports a limit of one request and one key', () => {
    const limit = createLocalLimit(createTestClock(), { max: 1, seconds: 1, keys: 1 })
    limit.count('a')
    assert.equal(limit.secondsUntilRoom('a'), 1)
    limit.count('b')
    assert.equal(limit.secondsUntilRoom('a'), 0, 'forgotten')
  })
})

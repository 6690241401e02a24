import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBreaker } from '../../../src/base/concurrency/breaker.ts'
import { createTestClock } from '../../support/clock.ts'

describe('createBreaker', () => {
  const fail = (breaker: ReturnType<typeof createBreaker>, times: number): void => {
    for (let index = 0; index < times; index += 1) breaker.report('a', 'failed')
  }

  it('opens for 30 seconds after five consecutive failures', () => {
    const clock = createTestClock()
    const breaker = createBreaker({ clock })
    fail(breaker, 4)
    assert.ok(breaker.admits('a'))
    fail(breaker, 1)
    assert.ok(!breaker.admits('a'))
    assert.ok(breaker.admits('b'))
    clock.advance(29)
    assert.ok(!breaker.admits('a'))
  })

  it('admits one attempt after the pause, and closes on success', () => {
    const clock = createTestClock()
    const breaker = createBreaker({ clock })
    fail(breaker, 5)
    clock.advance(30)
    assert.deepEqual([breaker.admits('a'), breaker.admits('a')], [true, false])
    breaker.report('a', 'failed')
    assert.ok(!breaker.admits('a'))
    clock.advance(30)
    assert.ok(breaker.admits('a'))
    breaker.report('a', 'answered')
    assert.deepEqual([breaker.admits('a'), breaker.admits('a')], [true, true])
  })

  it('pauses no longer when the clock is set back', () => {
    const clock = createTestClock()
    const breaker = createBreaker({ clock })
    fail(breaker, 5)
    clock.advance(-86_400)
    assert.deepEqual([breaker.admits('a'), breaker.admits('a')], [true, false])
    clock.advance(30)
    assert.ok(breaker.admits('a'))
  })

  it('counts only consecutive failures', () => {
    const breaker = createBreaker({ clock: createTestClock() })
    fail(breaker, 4)
    breaker.report('a', 'answered')
    fail(breaker, 4)
    assert.ok(breaker.admits('a'))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMainThreadShare } from '../../../src/base/concurrency/main-thread-share.ts'
import type { MainThreadShare } from '../../../src/base/concurrency/main-thread-share.ts'

describe('createMainThreadShare', () => {
  const at = { now: 0 }
  const newShare = (): MainThreadShare => {
    at.now = 0
    return createMainThreadShare({ share: 0.25, periodMilliseconds: 10, elapsed: () => at.now })
  }

  /** Starts tasks at fixed intervals, each with a cost; returns which ran on the main thread. */
  function run(share: MainThreadShare, tasks: number, { every, cost }: { every: number; cost: number }): boolean[] {
    return Array.from({ length: tasks }, () => {
      const begun = at.now
      const isHere = !share.isLarge()
      if (isHere) share.run(() => (at.now += cost))
      at.now = Math.max(at.now, begun + every)
      return isHere
    })
  }

  it('is large from a quarter, for slow or frequent tasks', () => {
    for (const [every, cost] of [
      [1, 0.3],
      [0.1, 0.03],
    ] as const) {
      assert.equal(run(newShare(), 500, { every, cost }).slice(300).includes(false), true, `${cost} of ${every}`)
    }
    for (const [every, cost] of [
      [1, 0.2],
      [0.1, 0.02],
    ] as const) {
      assert.equal(run(newShare(), 500, { every, cost }).includes(false), false, `${cost} of ${every}`)
    }
  })

  it('is small in the first period', () => {
    assert.equal(run(newShare(), 50, { every: 0.1, cost: 0.1 }).includes(false), false)
  })

  it('runs one task per period on the main thread while large, to detect cheaper tasks', () => {
    const share = newShare()
    run(share, 100, { every: 0.1, cost: 0.05 })
    const here = run(share, 1000, { every: 0.1, cost: 0.05 }).filter(Boolean).length
    assert.ok(here >= 8 && here <= 12, `${here} of 10 periods`)
    assert.equal(run(share, 5000, { every: 0.1, cost: 0.01 }).at(-1), true)
  })

  it('is small again after an idle time', () => {
    const share = newShare()
    assert.equal(run(share, 300, { every: 0.1, cost: 0.05 }).at(-1), false)
    at.now += 5000
    assert.equal(run(share, 1, { every: 0.1, cost: 0.05 })[0], true)
    assert.equal(run(share, 1, { every: 0.1, cost: 0.05 })[0], true)
  })

  it('rethrows the error of a task', () => {
    assert.throws(
      () =>
        newShare().run(() => {
          throw new Error('no key')
        }),
      /no key/,
    )
  })
})

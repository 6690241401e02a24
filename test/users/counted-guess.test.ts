import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { addSeconds } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { countedGuess } from '../../src/users/counted-guess.ts'
import { user } from '../store/records.ts'
import { createTestClock } from '../support/clock.ts'

const policy = { lockoutAfterFailures: 3, countFailuresWithin: 1200, lockoutPeriodSeconds: 300 }

describe('`countedGuess`', () => {
  const clock = createTestClock()
  const now = clock.now()
  let store: Store
  before(async () => (store = await openStore('sqlite::memory:', { clock })))
  after(() => store.close())

  let accounts = 0
  /** An account with `failed` failures, and a function that guesses. */
  async function account(failed: number) {
    accounts += 1
    const someone = user({ id: `u${accounts}` })
    const { zoneId, id } = someone
    const failures = () => store.events.failures(zoneId, id, addSeconds(now, -1200))
    for (let count = 0; count < failed; count += 1) await store.events.recordFailure(zoneId, id, now)
    const seen = await failures()
    const guess = (matches: () => Promise<boolean>) =>
      countedGuess({ user: someone, policy, failures: seen, now, matches }, store)
    return { guess, count: async () => (await failures()).length }
  }

  for (const failed of [0, 1]) {
    it(`counts only wrong guesses, after ${failed} failure(s)`, async () => {
      const { guess, count } = await account(failed)
      assert.equal(await guess(() => Promise.resolve(true)), 'right')
      await assert.rejects(
        guess(() => Promise.reject(new Error('too many hashes wait'))),
        /too many/,
      )
      assert.equal(await count(), failed)
      assert.equal(await guess(() => Promise.resolve(false)), 'wrong')
      assert.equal(await count(), failed + 1)
    })
  }

  it('limits concurrent wrong guesses to those that the policy allows', async () => {
    const { guess, count } = await account(1)
    let made = 0
    const wrong = (): Promise<boolean> => {
      made += 1
      return Promise.resolve(false)
    }
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => guess(wrong)))
    assert.ok(made <= 2, `${made}`)
    assert.equal(outcomes.filter(outcome => outcome === 'wrong').length, made)
    assert.equal(await count(), 1 + made)
  })

  it('does not count itself where failures seem to be still to come, because the clock was set back', async () => {
    const someone = user({ id: 'set-back' })
    const { zoneId, id } = someone
    const failures = [addSeconds(now, 86_400)]
    for (const failure of failures) await store.events.recordFailure(zoneId, id, failure)
    const once = { ...policy, lockoutAfterFailures: 1 }
    const matches = () => Promise.resolve(true)
    assert.equal(await countedGuess({ user: someone, policy: once, failures, now, matches }, store), 'right')
  })

  it('allows concurrent correct guesses', async () => {
    const { guess, count } = await account(0)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => guess(() => Promise.resolve(true))))
    assert.deepEqual(new Set(outcomes), new Set(['right']))
    assert.equal(await count(), 0)
  })
})

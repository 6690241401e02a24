import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { createSharedLimits, unreportedOf } from '../../../src/web/limits/shared-limits.ts'
import type { Allowance, SharedLimit } from '../../../src/web/limits/shared-limits.ts'
import { TooManyRequests } from '../../../src/web/limits/too-many-requests.ts'
import { createTestClock } from '../../support/clock.ts'
import type { TestClock } from '../../support/clock.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import type { TestDatabase } from '../../support/databases.ts'
import { openTables } from '../../support/tables.ts'
import { inOtherProcess } from '../../store/cases.ts'

/** The limit of one process. */
interface Member {
  readonly limit: SharedLimit
  readonly clock: TestClock
  /** Reports released attempts. */
  flush(): Promise<void>
  /** The number of statements sent. */
  readonly reports: number
}

/** Seconds until the key may try again; 0 if accepted. */
async function wait(limit: SharedLimit, key = 'a'): Promise<number> {
  try {
    await limit.take(key)
    return 0
  } catch (error) {
    assert.ok(error instanceof TooManyRequests)
    return error.retryAfterSeconds
  }
}

async function passed(waits: readonly Promise<number>[]): Promise<number> {
  return (await Promise.all(waits)).filter(seconds => seconds === 0).length
}

const times = <T>(count: number, work: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => work(index))

for (const kind of DATABASE_KINDS) {
  describe(`Shared limits on ${kind}`, () => {
    let database: TestDatabase
    const stores: Store[] = []
    before(async () => {
      database = await freshDatabase(kind)
      for (let count = 0; count < 3; count += 1) {
        stores.push(await openStore(database.url, { clock: createTestClock(), onError: assert.ifError }))
      }
    })
    after(async () => {
      for (const store of stores) await store.close()
      await database.drop()
    })

    let names = 0
    /** Three processes with a new limit. */
    function cluster(allowance: Allowance, clocks: readonly TestClock[] = [], refusals: string[] = []): Member[] {
      const clock = clocks[0] ?? createTestClock()
      names += 1
      const name = `limit-${names}`
      return stores.map((store, index) => {
        let reports = 0
        const rateCounts: Store['rateCounts'] = {
          add(rows, now) {
            reports += 1
            return store.rateCounts.add(rows, now)
          },
        }
        const own = clocks[index] ?? clock
        const vault = { keyedDigest: (text: string) => text }
        const onRefusal = (refused: string): void => void refusals.push(refused)
        const shared = createSharedLimits({
          clock: own,
          store: { rateCounts },
          vault,
          onRefusal,
          onError: assert.ifError,
        })
        return {
          limit: shared.open(name, allowance),
          clock: own,
          flush: () => shared.flush(),
          get reports() {
            return reports
          },
        }
      })
    }

    for (const [max, most] of [
      [10, 10],
      [60, 66],
      [100, 112],
      [300, 342],
    ] as const) {
      it(`accept at least 80% of ${max} and at most ${most} concurrent attempts`, async () => {
        const members = cluster({ max, seconds: 60 })
        const waits = times(max, () => members.map(({ limit }) => wait(limit)))
        const count = await passed(waits.flat())
        // A few too many concurrent attempts may be refused.
        assert.ok(count >= max * 0.8 && count <= most, `${count}`)
        assert.equal(most, max + members.length * (unreportedOf({ max, seconds: 60 }) - 1), 'as documented')
      })

      it(`accept ${max} to ${most} sequential attempts`, async () => {
        const members = cluster({ max, seconds: 60 })
        let count = 0
        for (let round = 0; round < max; round += 1) {
          for (const { limit } of members) if ((await wait(limit)) === 0) count += 1
        }
        assert.ok(count >= max && count <= most, `${count}`)
        const statements = members.reduce((sum, { reports }) => sum + reports, 0)
        assert.ok(
          statements <= max / unreportedOf({ max, seconds: 60 }) + 2 * members.length,
          `${statements} statements`,
        )
      })
    }

    it('apply across operating system processes', async () => {
      const counts = await Promise.all(['100', '100'].map(max => inOtherProcess(database.url, 'take', max)))
      const sum = counts.reduce<number>((total, count) => total + Number(count), 0)
      assert.ok(sum >= 90 && sum <= 108, `${sum}`)
    })

    it('send no statement for a few attempts or for successful ones', async () => {
      const [member] = cluster({ max: 100, seconds: 60 })
      assert.ok(member)
      const { limit } = member
      for (let count = 0; count < 4; count += 1) await limit.take('mistyped')
      for (let count = 0; count < 300; count += 1) {
        await limit.attempt(
          'right',
          () => Promise.resolve(true),
          isRight => !isRight,
        )
      }
      limit.check(() => 'mistyped')
      assert.equal(member.reports, 0)
    })

    it('report concurrent attempts in one statement', async () => {
      const [member] = cluster({ max: 100, seconds: 60 })
      assert.ok(member)
      await passed(times(30, index => times(6, () => wait(member.limit, `key-${index}`))).flat())
      assert.ok(member.reports <= 3, `${member.reports} statements`)
    })

    it('count running attempts, and release successful ones', async () => {
      const [one, other, third] = cluster({ max: 10, seconds: 60 })
      assert.ok(one && other && third)
      const ends: ((isRight: boolean) => void)[] = []
      const attempts = times(10, () =>
        one.limit.attempt(
          'a',
          () => new Promise<boolean>(resolve => ends.push(resolve)),
          isRight => !isRight,
        ),
      )
      while (ends.length < 10) await new Promise(resolve => setImmediate(resolve))
      assert.equal(await wait(other.limit), 60, 'the attempts are running')
      for (const end of ends) end(true)
      await Promise.all(attempts)
      await assert.rejects(
        one.limit.attempt(
          'a',
          () => Promise.reject(new Error('busy')),
          () => true,
        ),
        /busy/,
      )
      await one.flush()
      assert.equal(await wait(third.limit), 0)
      assert.equal(await wait(other.limit), 60, 'not refreshed yet')
      other.clock.advance(1)
      assert.equal(await wait(other.limit), 0, 'refreshed')
    })

    it('release attempts that succeed during a report', async () => {
      const [one, other] = cluster({ max: 10, seconds: 60 })
      assert.ok(one && other)
      const ends: (() => void)[] = []
      const attempts = times(2, () =>
        one.limit.attempt(
          'a',
          () => new Promise<void>(resolve => ends.push(resolve)),
          () => false,
        ),
      )
      while (ends.length < 2) await new Promise(resolve => setImmediate(resolve))
      ends[0]?.()
      await attempts[0]
      const flushed = one.flush()
      ends[1]?.()
      await attempts[1]
      await flushed
      await one.flush()
      assert.equal(await passed(times(10, () => wait(other.limit))), 10)
    })

    it('share the start and end of a window', async () => {
      const [one, other] = cluster({ max: 10, seconds: 60 })
      assert.ok(one && other)
      await one.limit.take('a')
      one.clock.advance(20)
      assert.equal(await passed(times(9, () => wait(other.limit))), 9)
      assert.deepEqual([await wait(one.limit), await wait(other.limit)], [40, 40])
      one.clock.advance(39.5)
      assert.deepEqual([await wait(one.limit), await wait(other.limit)], [1, 1])
      one.clock.advance(0.5)
      assert.equal(await passed(times(20, index => wait((index % 2 === 0 ? one : other).limit))), 10)
    })

    it('tolerate clocks that differ by a minute, and reset if a clock is set back further', async () => {
      const clocks = [createTestClock(), createTestClock(), createTestClock()]
      const [one, ahead, back] = cluster({ max: 10, seconds: 300 }, clocks)
      assert.ok(one && ahead && back)
      ahead.clock.advance(59)
      assert.equal(await passed(times(10, () => wait(ahead.limit))), 10)
      assert.equal(await wait(one.limit), 359)
      back.clock.advance(-3600)
      assert.equal(await wait(back.limit), 0)
      one.clock.advance(-3600)
      assert.equal(await passed(times(20, () => wait(one.limit))), 9)
    })

    it('store a limited number of rows, and purge them', async () => {
      const clock = createTestClock()
      clock.advance(86_400)
      const [member] = cluster({ max: 10, seconds: 60, keys: 20 }, [clock])
      assert.ok(member)
      assert.equal(await passed(times(50, index => wait(member.limit, `key-${index}`))), 50)
      const tables = await openTables(database.url)
      const rows = async () =>
        (await tables.run(`select counted from rate_counts where counted like 'limit limit-${names} %'`)).length
      assert.equal(await rows(), 20)
      const store = stores[0]
      const end = clock.now().getTime() + 60_000
      await store?.purge(new Date(end + 60_000))
      assert.equal(await rows(), 20, 'kept for slow clocks')
      await store?.purge(new Date(end + 60_001))
      assert.equal(await rows(), 0)
      clock.advance(60)
      await passed(times(50, index => wait(member.limit, `key-${index}`)))
      assert.equal(await rows(), 20)
      await tables.close()
    })

    it('report the name of the limit on refusal', async () => {
      const refusals: string[] = []
      const [one] = cluster({ max: 1, seconds: 60 }, [], refusals)
      assert.ok(one)
      assert.deepEqual([await wait(one.limit), await wait(one.limit)], [0, 60])
      assert.throws(() => one.limit.check(() => 'a'), TooManyRequests)
      one.limit.check(() => 'b')
      assert.deepEqual(
        refusals,
        times(2, () => `limit-${names}`),
      )
    })
  })
}

describe('Shared limits without a database', () => {
  it('apply per process until the database is available again', async () => {
    const database = await freshDatabase('sqlite')
    const clock = createTestClock()
    const faults: unknown[] = []
    let store = await openStore(database.url, { clock })
    const rateCounts: Store['rateCounts'] = { add: (rows, now) => store.rateCounts.add(rows, now) }
    const open = (): SharedLimit => {
      const vault = { keyedDigest: (text: string) => text }
      const deps = { clock, store: { rateCounts }, vault, onError: (cause: unknown) => void faults.push(cause) }
      return createSharedLimits(deps).open('limit', { max: 20, seconds: 60 })
    }
    const [one, other] = [open(), open()]
    assert.equal(await passed(times(5, () => wait(one))), 5)
    await store.close()
    assert.equal(await passed(times(40, () => wait(one))), 15)
    assert.equal(await passed(times(40, () => wait(other))), 20)
    assert.equal(await wait(one), 60)
    store = await openStore(database.url, { clock })
    clock.advance(2)
    assert.equal(await wait(other), 58)
    assert.equal(await wait(open()), 58, 'attempts counted meanwhile were reported')
    assert.deepEqual(faults, [])
    await store.close()
    await assert.doesNotReject(open().take('a'))
    await database.drop()
  })

  it('report faults, and continue per process', async () => {
    const faults: unknown[] = []
    const fault = new TypeError('no value')
    const shared = createSharedLimits({
      clock: createTestClock(),
      store: { rateCounts: { add: () => Promise.reject(fault) } },
      vault: { keyedDigest: text => text },
      onError: cause => void faults.push(cause),
    })
    assert.equal(await passed(times(20, () => wait(shared.open('limit', { max: 10, seconds: 60 })))), 20)
    const limit = shared.open('limit', { max: 10, seconds: 60 })
    assert.equal(await passed(times(20, () => wait(limit))), 10)
    assert.deepEqual(faults, [fault])
  })
})

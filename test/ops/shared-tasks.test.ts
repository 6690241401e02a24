import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Registry } from 'prom-client'
import { systemClock } from '../../src/base/clock.ts'
import { addTaskMetrics } from '../../src/ops/management.ts'
import { createSharedTasks, expiryTime, leaseMillisecondsOf } from '../../src/ops/shared-tasks.ts'
import { openStore } from '../../src/store/open.ts'
import { inTime } from '../store/cases.ts'
import { createTestClock } from '../support/clock.ts'

const everyMilliseconds = 5

describe('Shared tasks', () => {
  it('are run by one process until it stops, in steps until nothing is left', async t => {
    const store = await openStore('sqlite::memory:', { clock: systemClock })
    const faults: unknown[] = []
    const log = { fault: (_: string, cause: unknown) => void faults.push(cause) }
    const done: string[] = []
    let left = 0
    const [one, two] = ['one', 'two'].map(holder => {
      const tasks = createSharedTasks({ leases: store.leases, holder, log })
      tasks.start({
        name: 'purge',
        everyMilliseconds,
        step: async () => {
          if (left === 0) return 0
          done.push(holder)
          return left--
        },
      })
      return tasks
    })
    assert.ok(one && two)
    t.after(async () => {
      await Promise.all([one.stop(), two.stop()])
      await store.close()
    })
    const holders = (): string => [one, two].map(each => each.leases()[0]?.isHeld).join()
    await inTime(true, async () => holders() === 'true,false' || holders() === 'false,true')
    const [holder, other] = holders() === 'true,false' ? [one, two] : [two, one]
    left = 3
    await inTime(0, async () => left)
    assert.deepEqual([done.length, new Set(done).size], [3, 1])

    const registry = new Registry()
    addTaskMetrics(registry, holder)
    assert.match(await registry.metrics(), /^latchkey_lease_held\{task="purge"\} 1$/m)

    await holder.stop()
    assert.equal(holder.leases()[0]?.isHeld, false)
    left = 2
    await inTime(0, async () => left)
    await inTime(true, async () => other.leases()[0]?.isHeld)
    assert.deepEqual(new Set(done).size, 2)
    assert.deepEqual(faults, [])
  })

  it('continue after the lease of a killed process expires, and after a fault', async t => {
    const store = await openStore('sqlite::memory:', { clock: systemClock })
    await store.leases.take('purge', 'killed', 60)
    const faults: unknown[] = []
    let steps = 0
    const tasks = createSharedTasks({
      leases: store.leases,
      holder: 'next',
      log: { fault: (_, cause) => void faults.push(cause) },
    })
    tasks.start({
      name: 'purge',
      everyMilliseconds,
      step: async () => {
        steps += 1
        if (steps === 1) throw new Error('no database')
        return 0
      },
    })
    t.after(async () => {
      await tasks.stop()
      await store.close()
    })
    await inTime(true, async () => steps > 2)
    assert.deepEqual(
      faults.map(fault => fault instanceof Error && fault.message),
      ['no database'],
    )
  })

  it('hold a lease for longer than their interval', () =>
    assert.equal(leaseMillisecondsOf({ everyMilliseconds: 30_000 }), 75_000))
})

describe('The time for deleting expired rows', () => {
  const DAY = 86_400_000
  const shared = Date.UTC(2026, 0, 15)
  const cases = [
    { name: 'is the database’s if the node’s clock is ahead', own: shared + DAY, want: shared },
    { name: 'is the node’s if its clock is behind', own: shared - DAY, want: shared - DAY },
  ]
  for (const { name, own, want } of cases) {
    it(name, async t => {
      const store = await openStore('sqlite::memory:', { clock: createTestClock(shared) })
      t.after(() => store.close())
      assert.equal((await expiryTime(createTestClock(own), store)).getTime(), want)
    })
  }
})

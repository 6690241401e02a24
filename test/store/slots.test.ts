import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSlots } from '../../src/store/engine/postgres/slots.ts'
import { StoreBusy } from '../../src/store/store.ts'

const BOUNDS = { slots: 1, maxWaiting: 2, maxWaitMs: 1500 }

describe('Database slots', () => {
  it('are granted in order of arrival', async () => {
    const slots = createSlots(BOUNDS)
    assert.equal(slots.take(), undefined)
    const order: string[] = []
    const first = slots.take()?.then(() => order.push('first'))
    const second = slots.take()?.then(() => order.push('second'))
    slots.give()
    await first
    assert.deepEqual(order, ['first'])
    slots.give()
    await second
    assert.deepEqual(order, ['first', 'second'])
    slots.give()
    assert.equal(slots.take(), undefined)
  })

  it('reject callers when the queue is full', async () => {
    const slots = createSlots(BOUNDS)
    void slots.take()
    const waiting = [slots.take(), slots.take()]
    assert.throws(() => slots.take(), StoreBusy)
    slots.give()
    await waiting[0]
    const next = slots.take()
    slots.give()
    slots.give()
    await Promise.all([waiting[1], next])
  })

  it('reject callers that wait too long, and go to the next', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const slots = createSlots(BOUNDS)
    void slots.take()
    const early = slots.take()
    t.mock.timers.tick(1000)
    const late = slots.take()
    t.mock.timers.tick(500)
    await assert.rejects(early ?? Promise.resolve(), StoreBusy)
    slots.give()
    await late
  })

  it('reject every waiting caller when closed', async () => {
    const slots = createSlots(BOUNDS)
    void slots.take()
    const waiting = slots.take()
    slots.refuseAll(new Error('gone'))
    await assert.rejects(waiting ?? Promise.resolve(), /gone/)
    slots.give()
    assert.equal(slots.take(), undefined)
  })
})

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createHostSlots } from '../../../src/oauth/logout/host-slots.ts'
import { createTestClock } from '../../support/clock.ts'

type Slots = ReturnType<typeof createHostSlots>
type Slot = NonNullable<Awaited<ReturnType<Slots['enter']>>>

describe('Request slots per host of clients', () => {
  let clock: ReturnType<typeof createTestClock>
  let slots: Slots
  beforeEach(() => {
    clock = createTestClock()
    slots = createHostSlots({ clock })
  })

  const names = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `app-${index}.example`)
  const enterAll = (zone: string, hosts: readonly string[]) => Promise.all(hosts.map(host => slots.enter(zone, host)))
  const taken = (entered: readonly (Slot | undefined)[]): readonly Slot[] => entered.filter(each => each !== undefined)

  /** A request that takes so many seconds. */
  async function request(zone: string, host: string, seconds: number, outcome: 'ended' | 'hung' = 'ended') {
    const slot = await slots.enter(zone, host)
    assert.ok(slot)
    clock.advance(seconds)
    slot.noteEnd(outcome)
    slot.leave()
  }

  it('limit unknown hosts of a zone to six concurrent requests, and admit others in order', async () => {
    const entered: string[] = []
    const open: Slot[] = []
    const entering = names(40).map(async host => {
      const slot = await slots.enter('one', host)
      assert.ok(slot, host)
      entered.push(host)
      open.push(slot)
    })
    await new Promise(setImmediate)
    assert.equal(entered.length, 6)
    const [other] = taken(await enterAll('two', ['app-0.example'])) // another zone is not affected
    assert.ok(other)
    for (let slot = open.shift(); slot; slot = open.shift()) {
      slot.noteEnd('ended')
      slot.leave()
      await new Promise(setImmediate)
    }
    await Promise.all(entering)
    assert.deepEqual(entered, names(40)) // in order
  })

  it('remain limited to six if several wait', async () => {
    const first = taken(await enterAll('one', names(6)))
    const waiting = slots.enter('one', 'waiting.example')
    first[0]?.leave()
    const late = slots.enter('one', 'late.example')
    assert.ok(await waiting)
    assert.equal(await late, undefined) // refused after a second
  })

  it('refuse requests that waited for a second', async () => {
    taken(await enterAll('one', names(6)))
    assert.deepEqual(taken(await enterAll('one', ['a.example', 'b.example'])), [])
  })

  it('refuse requests immediately if 100 others of the zone wait', async () => {
    const first = taken(await enterAll('one', names(6)))
    const waiting = enterAll('one', names(106).slice(6))
    assert.equal(await slots.enter('one', 'further.example'), undefined)
    for (const slot of first) slot.leave()
    assert.equal(taken(await waiting).length, 6)
  })

  it('limit slow hosts to one concurrent request each and two per zone', async () => {
    for (const host of names(4)) await request('one', host, 4.9)
    const entered = await enterAll('one', [...names(4), 'app-0.example'])
    assert.equal(taken(entered).length, 2)
    assert.ok(await slots.enter('one', 'unknown.example'))
  })

  it('are shared fairly between zones with slow hosts', async () => {
    const zones = Array.from({ length: 20 }, (_, index) => `zone-${index}`)
    for (const zone of zones) for (const host of names(2)) await request(zone, host, 4.9)
    const served = new Map<string, number>()
    for (let round = 0; round < 10; round += 1) {
      const entered: Slot[] = []
      for (const zone of zones) {
        const slots = taken(await enterAll(zone, names(2)))
        if (slots.length > 0) served.set(zone, (served.get(zone) ?? 0) + 1)
        entered.push(...slots)
      }
      assert.equal(entered.length, 12)
      clock.advance(5)
      for (const slot of entered) {
        slot.noteEnd('hung')
        slot.leave()
      }
    }
    for (const zone of zones) assert.ok((served.get(zone) ?? 0) >= 3, zone)
  })

  it('are not reserved for a zone without further requests', async () => {
    const zones = Array.from({ length: 20 }, (_, index) => `zone-${index}`)
    for (const zone of zones) for (const host of names(2)) await request(zone, host, 4.9)
    const entered: Slot[] = []
    for (const zone of zones) entered.push(...taken(await enterAll(zone, names(2))))
    for (const slot of entered) slot.leave()
    assert.equal(taken(await enterAll('zone-0', names(2))).length, 0, 'fourteen other zones wait')
    clock.advance(16)
    assert.equal(taken(await enterAll('zone-0', names(2))).length, 2)
  })

  it('limit a responsive host to three concurrent requests, also after a slow response', async () => {
    for (const seconds of [2, 0.5]) await request('one', 'app.example', seconds)
    assert.equal(taken(await Promise.all([1, 2, 3].map(() => slots.enter('one', 'app.example')))).length, 3)
  })
})

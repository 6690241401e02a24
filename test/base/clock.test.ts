import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { addSeconds, createIsoNow, epochSeconds, isWithin, stopwatch, systemClock } from '../../src/base/clock.ts'

describe('systemClock', () => {
  it('returns the current time', () => {
    const before = Date.now()
    const now = systemClock.now().getTime()
    assert.ok(before <= now && now <= Date.now())
  })

  it('returns a new Date each time', () => {
    assert.notEqual(systemClock.now(), systemClock.now())
  })
})

describe('stopwatch', () => {
  it('measures milliseconds monotonically', () => {
    const elapsed = stopwatch()
    const first = elapsed()
    const second = elapsed()
    assert.ok(first >= 0 && second >= first && second < 60_000)
  })
})

describe('addSeconds', () => {
  const cases = [
    { name: 'adds whole seconds', seconds: 61, want: '2026-03-01T00:01:00.500Z' },
    { name: 'adds fractions of a second', seconds: 0.25, want: '2026-02-28T23:59:59.750Z' },
    { name: 'subtracts seconds', seconds: -86_400, want: '2026-02-27T23:59:59.500Z' },
    { name: 'adds zero seconds', seconds: 0, want: '2026-02-28T23:59:59.500Z' },
  ]
  const moment = new Date('2026-02-28T23:59:59.500Z')
  for (const { name, seconds, want } of cases) {
    it(name, () => assert.equal(addSeconds(moment, seconds).toISOString(), want))
  }

  it('does not change its argument', () => {
    addSeconds(moment, 5)
    assert.equal(moment.toISOString(), '2026-02-28T23:59:59.500Z')
  })
})

describe('isWithin', () => {
  const now = new Date('2026-03-01T00:00:00.000Z')
  const cases = [
    { name: 'is true at the moment itself', since: now, want: true },
    { name: 'is true just before the end', since: new Date('2026-02-28T23:59:50.001Z'), want: true },
    { name: 'is false at the end', since: new Date('2026-02-28T23:59:50.000Z'), want: false },
    { name: 'is false once the clock was set back', since: new Date('2026-03-01T00:00:00.001Z'), want: false },
    { name: 'is false without a moment', since: undefined, want: false },
  ]
  for (const { name, since, want } of cases) it(name, () => assert.equal(isWithin(10, since, now), want))
})

describe('epochSeconds', () => {
  const cases = [
    { name: 'is 0 at the start of 1970', moment: '1970-01-01T00:00:00.000Z', want: 0 },
    { name: 'rounds down within a second', moment: '1970-01-01T00:00:01.999Z', want: 1 },
    { name: 'rounds down before 1970', moment: '1969-12-31T23:59:59.999Z', want: -1 },
    { name: 'exceeds 32 bits', moment: '2106-02-07T06:28:16.000Z', want: 4_294_967_296 },
  ]
  for (const { name, moment, want } of cases) {
    it(name, () => assert.equal(epochSeconds(new Date(moment)), want))
  }

  it('agrees with addSeconds', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), fc.integer({ min: -1e9, max: 1e9 }), (moment, seconds) => {
        fc.pre(!Number.isNaN(addSeconds(moment, seconds).getTime()))
        assert.equal(epochSeconds(addSeconds(moment, seconds)), epochSeconds(moment) + seconds)
      }),
    )
  })
})

describe('createIsoNow', () => {
  it('follows the clock by milliseconds', () => {
    let time = Date.UTC(2026, 0, 15)
    const isoNow = createIsoNow({ now: () => new Date(time) })
    assert.equal(isoNow(), '2026-01-15T00:00:00.000Z')
    assert.equal(isoNow(), '2026-01-15T00:00:00.000Z')
    time += 1
    assert.equal(isoNow(), '2026-01-15T00:00:00.001Z')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SaxesParser } from 'saxes'
import { errorsOf, plotOf, recoveriesOf, slopeOf, summaryOf } from '../../scripts/soak-report.ts'
import type { Minute, Soak } from '../../scripts/soak-report.ts'
import type { Outcome, Tried } from './load.ts'

const at = (seconds: number, outcome: Outcome = 'done'): Tried => ({
  name: 'sign-in',
  outcome,
  begun: seconds * 1000,
  milliseconds: 10,
})

const minuteOf = (tried: readonly Tried[], index: number): Minute => ({
  tried: [...tried],
  nodes: [0, 1].map(node => ({ resident: (100 + index * node) * 2 ** 20, heap: 2 ** 20, openFiles: 30 })),
  cores: 0.1,
  databaseBytes: Number.NaN,
  machineLoad: 1,
})

const soak: Soak = {
  rate: 1,
  begin: 0,
  minutes: [
    [at(1), at(10, 'broken')],
    [at(60), at(62, 'refused'), at(65.2, 'refused'), at(65.9, 'refused'), at(68, 'refused'), at(90, 'refused')],
    [at(150)],
  ].map(minuteOf),
  outages: [{ from: 61_000, until: 65_000 }],
  violations: [],
  skipped: 0,
  lost: [],
  faults: [],
  compared: 'nothing',
}

describe('The soak report', () => {
  it('has the time from an outage to the first second without errors', () => {
    assert.deepEqual(recoveriesOf(soak).map(Math.round), [900])
  })

  it('counts failures as errors, except during an outage and five seconds after', () => {
    assert.deepEqual(
      errorsOf(soak).map(({ begun }) => begun / 1000),
      [10, 90],
    )
  })

  it('computes growth by least squares', () => {
    assert.equal(slopeOf([5, 7, 9, 11]), 2)
    assert.match(summaryOf(soak), /RSS 0\.00 and 1\.00 MiB a minute/)
  })

  it('draws a well-formed plot, also with missing values', () => {
    new SaxesParser().write(plotOf(soak)).close()
    assert.doesNotMatch(plotOf(soak), /NaN|undefined/)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFaultSummary } from '../../src/ops/fault-summary.ts'

function summary() {
  const lines: string[] = []
  const faults = createFaultSummary({
    full: message => lines.push(message),
    summary: message => lines.push(message),
  })
  return { lines, faults }
}

describe('A repeated fault', () => {
  it('is logged in full once for all routes, then counted each minute', () => {
    const { lines, faults } = summary()
    for (let time = 0; time < 500; time += 1) faults.note(`GET /route-${time % 3}`, new Error('database is away'))
    assert.deepEqual(lines, ['GET /route-0'])
    faults.flush()
    faults.note('GET /route-1', new Error('database is away'))
    faults.flush()
    assert.deepEqual(lines.slice(1), [
      '499 more within a minute: Error: database is away',
      '1 more within a minute: Error: database is away',
    ])
  })

  it('is logged in full again after a minute without it', () => {
    const { lines, faults } = summary()
    faults.note('first', new Error('a'))
    faults.flush()
    faults.note('again', new Error('a'))
    assert.deepEqual(lines, ['first', 'again'])
  })

  it('is distinguished by name, code and message', () => {
    const { lines, faults } = summary()
    faults.note('1', new Error('a'))
    faults.note('2', new TypeError('a'))
    faults.note('3', Object.assign(new Error('a'), { code: 'ECONNREFUSED' }))
    faults.note('4', new Error('b'))
    faults.note('5', 'no error')
    assert.deepEqual(lines, ['1', '2', '3', '4', '5'])
  })

  it('is counted together with others beyond 64 kinds', () => {
    const { lines, faults } = summary()
    for (let time = 0; time < 1000; time += 1) faults.note('x', new Error(`fault ${time}`))
    assert.equal(lines.length, 65)
    faults.flush()
    assert.deepEqual(lines.slice(65), ['935 more within a minute: faults of many kinds'])
  })
})

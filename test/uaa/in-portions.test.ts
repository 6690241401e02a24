import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inPortions } from '../../src/uaa/in-portions.ts'

/** The rows of eight portions, with a delay after each portion. */
async function* slowRows(fails = false): AsyncGenerator<number> {
  for (let row = 0; row < 512; row += 1) {
    if (row % 64 === 0) await nextTurn()
    if (fails && row === 100) throw new Error('the source is gone')
    yield row
  }
}

describe('inPortions', () => {
  it('rejects with a portion’s error while the source is slow', async () => {
    const failing = inPortions(slowRows(), async portion => {
      if (portion[0] === 0) throw new Error('the disk is full')
    })
    await assert.rejects(failing, { message: 'the disk is full' })
  })

  it('rejects only after running portions have ended', async () => {
    let underWay = 0
    const failing = inPortions(slowRows(true), async () => {
      underWay += 1
      for (let turn = 0; turn < 10; turn += 1) await nextTurn()
      underWay -= 1
    })
    await assert.rejects(failing, { message: 'the source is gone' })
    assert.equal(underWay, 0)
  })
})

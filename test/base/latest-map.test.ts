import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LatestMap } from '../../src/base/latest-map.ts'

describe('LatestMap', () => {
  it('displaces the entry that was set the longest ago', () => {
    const map = new LatestMap<number>(2).set('a', 1).set('b', 2).set('c', 3)
    assert.deepEqual(
      [...map],
      [
        ['b', 2],
        ['c', 3],
      ],
    )
  })

  it('counts an entry that is set again as the latest, and keeps the others', () => {
    const map = new LatestMap<number>(2).set('a', 1).set('b', 2).set('a', 3)
    assert.deepEqual(
      [...map],
      [
        ['b', 2],
        ['a', 3],
      ],
    )
    assert.deepEqual(
      [...map.set('c', 4)],
      [
        ['a', 3],
        ['c', 4],
      ],
    )
  })

  it('does not count a read', () => {
    const map = new LatestMap<number>(2).set('a', 1).set('b', 2)
    assert.equal(map.get('a'), 1)
    assert.deepEqual([...map.set('c', 3).keys()], ['b', 'c'])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadOnce } from '../../../src/base/concurrency/load-once.ts'

describe('loadOnce', () => {
  it('loads at the first use, once for concurrent callers', async () => {
    let loads = 0
    const load = loadOnce(async () => (loads += 1))
    assert.equal(loads, 0)
    assert.deepEqual(await Promise.all([load(), load()]), [1, 1])
    assert.equal(await load(), 1)
  })

  it('rejects concurrent callers on failure, then loads again', async () => {
    let loads = 0
    const load = loadOnce(async () => {
      loads += 1
      if (loads === 1) throw new Error('out of files')
      return loads
    })
    const [first, second] = await Promise.allSettled([load(), load()])
    assert.deepEqual([first.status, second.status], ['rejected', 'rejected'])
    assert.equal(await load(), 2)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFairCache } from '../../src/base/fair-cache.ts'

describe('createFairCache', () => {
  /** One whose values are their keys. */
  function filled(capacity: number, ...keys: readonly (readonly [owner: string, key: string])[]) {
    const cache = createFairCache<string>(capacity)
    for (const [owner, key] of keys) cache.set(key, owner, key)
    return cache
  }
  const kept = (cache: ReturnType<typeof filled>, keys: string): string =>
    keys.replace(/./g, key => (cache.peek(key) === undefined ? '' : key))

  it('evicts from the owner with the most entries, whoever adds one', () => {
    const cache = filled(4, ['quiet', 'q'], ['loud', 'a'], ['loud', 'b'], ['loud', 'c'])
    cache.set('d', 'loud', 'd')
    assert.equal(kept(cache, 'qabcd'), 'qbcd')
    cache.set('n', 'newcomer', 'n')
    assert.equal(kept(cache, 'qabcdn'), 'qcdn')
  })

  it('evicts what was used least recently', () => {
    const cache = filled(3, ['one', 'a'], ['one', 'b'], ['one', 'c'])
    assert.equal(cache.get('a'), 'a')
    assert.equal(cache.peek('b'), 'b')
    cache.set('d', 'one', 'd')
    assert.equal(kept(cache, 'abcd'), 'acd')
  })

  it('evicts from the owner that was served least recently, where several have as many', () => {
    const cache = filled(3, ['busy', 'a'], ['quiet', 'b'], ['idle', 'c'])
    cache.get('a')
    cache.set('d', 'newcomer', 'd')
    assert.equal(kept(cache, 'abcd'), 'acd')
  })

  it('replaces a value, also with one of another owner, without evicting', () => {
    const cache = filled(3, ['one', 'a'], ['one', 'b'], ['two', 'c'])
    cache.set('b', 'two', 'new')
    assert.equal(cache.get('b'), 'new')
    assert.equal(kept(cache, 'abc'), 'abc')
    cache.set('d', 'three', 'd')
    assert.equal(kept(cache, 'abcd'), 'abd', 'the second owner has two now')
    assert.equal(cache.get('none'), undefined)
  })
})

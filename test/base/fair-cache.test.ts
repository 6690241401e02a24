import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFairCache } from '../../src/base/fair-cache.ts'

describe('createFairCache', () => {
  /** A cache whose values are their keys. */
  function filled(capacity: number, ...keys: readonly (readonly [owner: string, key: string])[]) {
    const cache = createFairCache<string>({ capacity })
    for (const [owner, key] of keys) cache.set(key, owner, key)
    return cache
  }
  const kept = (cache: ReturnType<typeof filled>, keys: string): string =>
    keys.replace(/./g, key => (cache.peek(key) === undefined ? '' : key))

  it('evicts from the owner with the most entries, regardless of who adds one', () => {
    const cache = filled(4, ['quiet', 'q'], ['loud', 'a'], ['loud', 'b'], ['loud', 'c'])
    cache.set('d', 'loud', 'd')
    assert.equal(kept(cache, 'qabcd'), 'qbcd')
    cache.set('n', 'newcomer', 'n')
    assert.equal(kept(cache, 'qabcdn'), 'qcdn')
  })

  it('evicts the least recently used entry', () => {
    const cache = filled(3, ['one', 'a'], ['one', 'b'], ['one', 'c'])
    assert.equal(cache.get('a'), 'a')
    assert.equal(cache.peek('b'), 'b')
    cache.set('d', 'one', 'd')
    assert.equal(kept(cache, 'abcd'), 'acd')
  })

  it('evicts from the least recently used of equal owners', () => {
    const cache = filled(3, ['busy', 'a'], ['quiet', 'b'], ['idle', 'c'])
    cache.get('a')
    cache.set('d', 'newcomer', 'd')
    assert.equal(kept(cache, 'abcd'), 'acd')
  })

  /** A cache for values of a kilobyte, with space for about this many. */
  const ofKilobytes = (kilobytes: number) =>
    createFairCache<string>({ capacity: 1000, bytes: kilobytes * 1000, sizeOf: value => value.length })

  it('keeps within its limit of bytes', () => {
    const cache = ofKilobytes(100)
    for (let index = 0; index < 1000; index += 1) cache.set(`${index}`, 'one', 'x'.repeat(1000))
    assert.ok(cache.size > 50 && cache.size < 100, `${cache.size}`)
    assert.equal(cache.peek('999')?.length, 1000)
    cache.clear()
    assert.equal(cache.size, 0)
    for (let index = 0; index < 80; index += 1) cache.set(`${index}`, 'one', 'x'.repeat(1000))
    assert.equal(cache.size, 80, 'the bytes were given back')
  })

  it('evicts from the owner with the most bytes', () => {
    const cache = ofKilobytes(100)
    for (let index = 0; index < 20; index += 1) cache.set(`small ${index}`, 'small', 'x'.repeat(100))
    for (let index = 0; index < 100; index += 1) cache.set(`large ${index}`, 'large', 'x'.repeat(10_000))
    const small = Array.from({ length: 20 }, (_, index) => cache.peek(`small ${index}`))
    assert.ok(small.every(each => each !== undefined))
    assert.ok(cache.size < 30)
  })

  it('rejects a value of more than half of its bytes, and drops the previous value', () => {
    const cache = ofKilobytes(100)
    cache.set('other', 'one', 'x')
    cache.set('key', 'one', 'old')
    cache.set('key', 'one', 'x'.repeat(60_000))
    assert.equal(cache.peek('key'), undefined)
    assert.equal(cache.peek('other'), 'x')
  })

  it('updates its size when a value is replaced', () => {
    const cache = ofKilobytes(100)
    for (let round = 0; round < 1000; round += 1) cache.set('key', 'one', 'x'.repeat(1000))
    cache.set('other', 'one', 'x')
    assert.equal(cache.size, 2)
    cache.drop('key')
    cache.drop('key')
    assert.equal(cache.size, 1)
  })

  it('evicts like a reference model', () => {
    let state = 7
    const pick = (most: number): number => {
      state = (state * 48_271) % 0x7fff_ffff
      return state % most
    }
    const cache = createFairCache<string>({ capacity: 12 })
    /** Least recently used first. */
    let model: { key: string; owner: string }[] = []
    for (let step = 0; step < 5000; step += 1) {
      const [key, owner, action] = [`k${pick(30)}`, `o${pick(4)}`, pick(5)]
      const known = model.find(each => each.key === key)
      if (action === 0) {
        cache.drop(key)
        model = model.filter(each => each.key !== key)
      } else if (action === 1) {
        assert.equal(cache.get(key), known?.owner)
        if (known) model = [...model.filter(each => each !== known), known]
      } else {
        model = model.filter(each => each.key !== key)
        cache.set(key, owner, owner)
        if (model.length === 12) {
          const counts = Map.groupBy(model, each => each.owner)
          const most = Math.max(...Array.from(counts.values(), each => each.length))
          const evicted = model.find(each => cache.peek(each.key) === undefined)
          const ofOwner = counts.get(evicted?.owner ?? '') ?? []
          assert.equal(ofOwner.length, most, 'evicts from an owner with the most entries')
          assert.equal(ofOwner[0], evicted, 'evicts its least recently used entry')
          model = model.filter(each => each !== evicted)
        }
        model.push({ key, owner })
      }
      assert.equal(cache.size, model.length)
      for (const each of model) assert.equal(cache.peek(each.key), each.owner)
    }
  })

  it('replaces a value without evicting, also for another owner', () => {
    const cache = filled(3, ['one', 'a'], ['one', 'b'], ['two', 'c'])
    cache.set('b', 'two', 'new')
    assert.equal(cache.get('b'), 'new')
    assert.equal(kept(cache, 'abc'), 'abc')
    cache.set('d', 'three', 'd')
    assert.equal(kept(cache, 'abcd'), 'abd', 'the second owner has two now')
    assert.equal(cache.get('none'), undefined)
  })
})

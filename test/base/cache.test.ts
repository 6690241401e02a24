import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createCache } from '../../src/base/cache.ts'
import type { Cache } from '../../src/base/cache.ts'

interface Thing {
  readonly name: string
}

/** A loader that counts its calls and resolves when the test does. */
function controlledLoader() {
  const open: PromiseWithResolvers<Thing | undefined>[] = []
  let calls = 0
  return {
    load: (): Promise<Thing | undefined> => {
      calls += 1
      const answer = Promise.withResolvers<Thing | undefined>()
      open.push(answer)
      return answer.promise
    },
    answer: (value: Thing | undefined): void => open.shift()?.resolve(value),
    fail: (error: Error): void => open.shift()?.reject(error),
    get calls() {
      return calls
    },
  }
}

const thing = (name: string): Thing => ({ name })
const loadOf = (value: Thing | undefined) => (): Promise<Thing | undefined> => Promise.resolve(value)
const mustNotLoad = (): Promise<never> => Promise.reject(new Error('loaded again'))

/** A cache of values named like their keys. */
async function filled(capacity: number, ...keys: readonly string[]): Promise<Cache<Thing>> {
  const cache = createCache<Thing>({ capacity })
  for (const key of keys) await cache.get(key, loadOf(thing(key)))
  return cache
}

const remembered = (cache: Cache<Thing>, keys: string): string =>
  Array.from(keys)
    .filter(key => cache.peek(key) !== undefined)
    .join('')

describe('createCache', () => {
  it('loads a value once and returns the same object', async () => {
    const cache = createCache<Thing>({ capacity: 2 })
    const first = await cache.get('a', loadOf(thing('a')))
    assert.deepEqual(first, thing('a'))
    assert.equal(await cache.get('a', mustNotLoad), first)
    assert.equal(cache.size, 1)
  })

  it('shares one load between concurrent callers of a key', async () => {
    const cache = createCache<Thing>({ capacity: 2 })
    const loader = controlledLoader()
    const both = Promise.all([cache.get('a', loader.load), cache.get('a', loader.load)])
    loader.answer(thing('a'))
    const [left, right] = await both
    assert.equal(left, right)
    assert.equal(loader.calls, 1)
  })

  it('loads different keys separately', async () => {
    const cache = createCache<Thing>({ capacity: 2 })
    assert.deepEqual(await Promise.all([cache.get('a', loadOf(thing('a'))), cache.get('b', loadOf(thing('b')))]), [
      thing('a'),
      thing('b'),
    ])
  })

  it('does not cache a missing value', async () => {
    const cache = createCache<Thing>({ capacity: 2 })
    assert.equal(await cache.get('a', loadOf(undefined)), undefined)
    assert.equal(cache.size, 0)
    assert.deepEqual(await cache.get('a', loadOf(thing('late'))), thing('late'))
  })

  it('rejects every waiting caller and does not cache the failure', async () => {
    const cache = createCache<Thing>({ capacity: 2 })
    const loader = controlledLoader()
    const both = Promise.allSettled([cache.get('a', loader.load), cache.get('a', loader.load)])
    loader.fail(new Error('no database'))
    assert.deepEqual(
      (await both).map(each => each.status),
      ['rejected', 'rejected'],
    )
    assert.deepEqual(await cache.get('a', loadOf(thing('a'))), thing('a'))
  })

  it('peek does not load', async () => {
    const cache = createCache<Thing>({ capacity: 2 })
    assert.equal(cache.peek('a'), undefined)
    const loading = cache.get('a', loadOf(thing('a')))
    assert.equal(cache.peek('a'), undefined)
    await loading
    assert.deepEqual(cache.peek('a'), thing('a'))
  })

  const evictions: readonly { name: string; use: (cache: Cache<Thing>) => unknown; left: string }[] = [
    { name: 'evicts the oldest entry', use: () => undefined, left: 'bcd' },
    { name: 'keeps a recently used entry', use: cache => cache.get('a', mustNotLoad), left: 'acd' },
    { name: 'does not count peek as a use', use: cache => cache.peek('a'), left: 'bcd' },
    { name: 'evicts nothing after a drop', use: cache => cache.drop('b'), left: 'acd' },
  ]
  for (const { name, use, left } of evictions) {
    it(`at capacity, ${name}`, async () => {
      const cache = await filled(3, 'a', 'b', 'c')
      await use(cache)
      await cache.get('d', loadOf(thing('d')))
      assert.equal(remembered(cache, 'abcd'), left)
      assert.equal(cache.size, 3)
    })
  }

  it('is limited to 32 MiB', async () => {
    const cache = createCache<Thing>({ capacity: 10_000 })
    for (let index = 0; index < 1000; index += 1) {
      await cache.get(`${index}`, loadOf(thing(`${index}`.padEnd(65_536, 'x'))))
    }
    assert.ok(cache.size > 400 && cache.size <= 512, `${cache.size}`)
    assert.ok(cache.peek('999'))
  })

  it('evicts only an owner’s own entries for its large values', async () => {
    const cache = createCache<Thing>({ capacity: 10_000, ownerOf: key => key.slice(0, 1) })
    for (let index = 0; index < 100; index += 1) await cache.get(`a${index}`, loadOf(thing('small')))
    for (let index = 0; index < 1000; index += 1) {
      await cache.get(`b${index}`, loadOf(thing(`${index}`.padEnd(65_536, 'x'))))
    }
    for (let index = 0; index < 100; index += 1) assert.ok(cache.peek(`a${index}`), `${index}`)
  })

  it('caches nothing with capacity 0', async () => {
    const cache = await filled(0, 'a')
    assert.equal(cache.size, 0)
    assert.deepEqual(await cache.get('a', loadOf(thing('again'))), thing('again'))
  })
})

describe('Invalidation', () => {
  const cases: readonly { name: string; forget: (cache: Cache<Thing>) => void; left: readonly string[] }[] = [
    { name: 'drop removes one key', forget: cache => cache.drop('z1:a'), left: ['z1:b', 'z2:a'] },
    {
      name: 'drop ignores an unknown key',
      forget: cache => cache.drop('z1'),
      left: ['z1:a', 'z1:b', 'z2:a'],
    },
    { name: 'dropPrefix removes keys with the prefix', forget: cache => cache.dropPrefix('z1:'), left: ['z2:a'] },
    {
      name: 'dropPrefix does not read the prefix as a pattern',
      forget: cache => cache.dropPrefix('.'),
      left: ['z1:a', 'z1:b', 'z2:a'],
    },
    { name: 'clear removes every key', forget: cache => cache.clear(), left: [] },
  ]
  for (const { name, forget, left } of cases) {
    it(name, async () => {
      const cache = await filled(5, 'z1:a', 'z1:b', 'z2:a')
      forget(cache)
      assert.deepEqual(
        ['z1:a', 'z1:b', 'z2:a'].filter(key => cache.peek(key)),
        left,
      )
      assert.equal(cache.size, left.length)
    })
  }

  const duringLoad: readonly { name: string; forget: (cache: Cache<Thing>) => void }[] = [
    { name: 'drop', forget: cache => cache.drop('z1:a') },
    { name: 'dropPrefix', forget: cache => cache.dropPrefix('z1:') },
    { name: 'clear', forget: cache => cache.clear() },
  ]
  for (const { name, forget } of duringLoad) {
    it(`${name} during a load keeps its result out of the cache`, async () => {
      const cache = createCache<Thing>({ capacity: 5 })
      const loader = controlledLoader()
      const stale = cache.get('z1:a', loader.load)
      forget(cache)
      loader.answer(thing('stale'))
      assert.deepEqual(await stale, thing('stale'))
      assert.equal(cache.size, 0)
    })

    it(`${name} during a load makes the next caller load again, whichever load ends first`, async () => {
      for (const order of ['stale first', 'fresh first']) {
        const cache = createCache<Thing>({ capacity: 5 })
        const [old, young] = [controlledLoader(), controlledLoader()]
        const stale = cache.get('z1:a', old.load)
        forget(cache)
        const fresh = cache.get('z1:a', young.load)
        const answers = [() => old.answer(thing('stale')), () => young.answer(thing('fresh'))]
        if (order === 'fresh first') answers.reverse()
        for (const answer of answers) {
          answer()
          await Promise.resolve()
        }
        assert.deepEqual([await stale, await fresh], [thing('stale'), thing('fresh')], order)
        assert.deepEqual(cache.peek('z1:a'), thing('fresh'), order)
      }
    })
  }

  it('a failed stale load does not remove the fresh one', async () => {
    const cache = createCache<Thing>({ capacity: 5 })
    const [old, young] = [controlledLoader(), controlledLoader()]
    const stale = cache.get('a', old.load)
    cache.drop('a')
    const fresh = cache.get('a', young.load)
    old.fail(new Error('no database'))
    await assert.rejects(stale, /no database/)
    assert.equal(young.calls, 1)
    const joined = cache.get('a', mustNotLoad)
    young.answer(thing('fresh'))
    assert.deepEqual([await fresh, await joined], [thing('fresh'), thing('fresh')])
  })
})

describe('Any sequence of reads, writes and drops', () => {
  // A write changes the truth and drops the key, as the store does. Loads take the truth when they start and answer when
  // the schedule says so.
  type Action = { kind: 'get' | 'write' | 'drop-prefix' | 'answer'; key: string; pick: number }
  const action: fc.Arbitrary<Action> = fc.record({
    kind: fc.constantFrom('get', 'get', 'write', 'drop-prefix', 'answer', 'answer'),
    key: fc.constantFrom('a1', 'a2', 'b1'),
    pick: fc.nat({ max: 9 }),
  })

  it('never caches values from before the last write, nor exceeds the capacity', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 40 }),
        fc.integer({ min: 1, max: 3 }),
        async (actions, capacity) => {
          const cache = createCache<Thing>({ capacity })
          const truth = new Map<string, number>()
          const open: { value: Thing; resolve: (value: Thing) => void }[] = []
          const answers: Promise<unknown>[] = []
          const current = (key: string): Thing => thing(`${key}#${truth.get(key) ?? 0}`)
          for (const { kind, key, pick } of actions) {
            if (kind === 'get') {
              const load = (): Promise<Thing> => {
                const { promise, resolve } = Promise.withResolvers<Thing>()
                open.push({ value: current(key), resolve })
                return promise
              }
              answers.push(cache.get(key, load))
            } else if (kind === 'write') {
              truth.set(key, (truth.get(key) ?? 0) + 1)
              cache.drop(key)
            } else if (kind === 'drop-prefix') cache.dropPrefix(key.slice(0, 1))
            else if (open.length > 0) {
              const [done] = open.splice(pick % open.length, 1)
              done?.resolve(done.value)
              // Long enough for everything that waits for this answer to run.
              for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
            }
            for (const known of ['a1', 'a2', 'b1']) {
              const value = cache.peek(known)
              if (value !== undefined) assert.deepEqual(value, current(known))
            }
            assert.ok(cache.size <= capacity)
          }
          for (const { value, resolve } of open) resolve(value)
          await Promise.all(answers)
        },
      ),
      { numRuns: 300 },
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Cache } from '../../src/base/cache.ts'
import { approximateBytes } from '../../src/base/size.ts'
import { createCaches } from '../../src/store/changes.ts'
import { client, provider, zone } from './records.ts'

describe('The caches of the store', () => {
  const MIB = 1024 * 1024

  /** Loads records until the cache has evicted some, or it is full; the bytes of those that it keeps. */
  async function keptBytes<V extends object>(cache: Cache<V>, make: (key: string) => V, keys: number): Promise<number> {
    const all = Array.from({ length: keys }, (_, index) => `zone${index % 50}\0key${index}`)
    for (const key of all) await cache.get(key, () => Promise.resolve(make(key)))
    return all.reduce((sum, key) => sum + approximateBytes(cache.peek(key)), 0)
  }
  const filler = (key: string, length: number): string => key.padEnd(length, 'x')

  it('hold 32 MiB of clients, however large each one is', async () => {
    const { clients } = createCaches()
    const bytes = await keptBytes(clients, key => client({ clientId: key, jwks: filler(key, 60_000) }), 1000)
    assert.ok(bytes > 24 * MIB && bytes <= 32 * MIB, `${bytes}`)
  })

  it('hold 32 MiB of zones', async () => {
    const { zones } = createCaches()
    const large = (key: string) => zone({ id: key, config: { branding: { companyName: filler(key, 500_000) } } })
    const bytes = await keptBytes(zones, large, 100)
    assert.ok(bytes > 24 * MIB && bytes <= 32 * MIB, `${bytes}`)
  })

  it('hold 64 MiB of providers, including the maximum of one zone', async () => {
    const { providers } = createCaches()
    const large = (key: string) => {
      const one = provider({ config: { metaDataLocation: filler(key, 16 * MIB) } })
      return { byOrigin: new Map([['one', one]]), active: [one], deleted: new Set<string>() }
    }
    const bytes = await keptBytes(providers, large, 10)
    assert.ok(bytes >= 3 * 16 * MIB && bytes <= 64 * MIB, `${bytes}`)
  })

  it('hold the providers of a zone whose settings take more memory than text', async () => {
    const { providers } = createCaches()
    const one = provider({ config: { lists: Array.from({ length: 800_000 }, () => []) } })
    assert.ok(approximateBytes(one) > 32 * MIB)
    const load = () => Promise.resolve({ byOrigin: new Map([['one', one]]), active: [one], deleted: new Set<string>() })
    await providers.get('zone', load)
    assert.ok(providers.peek('zone'))
  })

  it('count member names chosen by administrators', async () => {
    const { clients } = createCaches()
    const make = (key: string) => client({ clientId: key, additional: { [filler(key, 60_000)]: 1 } })
    const bytes = await keptBytes(clients, make, 1000)
    assert.ok(clients.size < 700 && bytes > 24 * MIB, `${clients.size} clients of ${bytes} bytes`)
  })

  it('hold 10,000 typical clients', async () => {
    const { clients } = createCaches()
    await keptBytes(clients, key => client({ clientId: key, name: filler(key, 500) }), 10_000)
    assert.equal(clients.size, 10_000)
  })

  it('evict only a zone’s own entries for its large clients', async () => {
    const { clients } = createCaches()
    await clients.get('small\0app', () => Promise.resolve(client()))
    await keptBytes(clients, key => client({ clientId: key, jwks: filler(key, 60_000) }), 1000)
    assert.ok(clients.peek('small\0app'))
  })
})

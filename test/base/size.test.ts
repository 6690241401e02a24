import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { approximateBytes } from '../../src/base/size.ts'

describe('approximateBytes', () => {
  const text = 'x'.repeat(10_000)
  const cases: readonly { name: string; value: unknown; min: number; max: number }[] = [
    { name: 'counts one byte per character of a Latin-1 string', value: text, min: 10_000, max: 10_100 },
    { name: 'counts two bytes per character of other strings', value: 'ж'.repeat(10_000), min: 20_000, max: 20_100 },
    { name: 'counts list items', value: Array.from({ length: 1000 }, () => 1), min: 8000, max: 20_000 },
    { name: 'counts members', value: { a: text, b: { c: [text + 1] } }, min: 20_000, max: 20_500 },
    { name: 'counts a long member name', value: { [text]: 1 }, min: 10_000, max: 10_100 },
    {
      name: 'counts many member names',
      value: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}`, 1])),
      min: 30_000,
      max: 70_000,
    },
    { name: 'does not count the shared names of records', value: { subdomain: 1, name: 2 }, min: 1, max: 70 },
    { name: 'counts keys and values of maps', value: new Map([[text, text + 1]]), min: 20_000, max: 20_500 },
    { name: 'counts values of sets', value: new Set([text]), min: 10_000, max: 10_500 },
    { name: 'counts buffers', value: Buffer.alloc(10_000), min: 10_000, max: 10_500 },
    { name: 'counts dates as small', value: new Date(0), min: 1, max: 100 },
    {
      name: 'counts the native memory of keys',
      value: createPublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
      min: 2000,
      max: 5000,
    },
  ]
  for (const { name, value, min, max } of cases) {
    it(name, () => {
      const bytes = approximateBytes(value)
      assert.ok(bytes >= min && bytes <= max, `${bytes}`)
    })
  }

  it('counts a shared object once, also in a cycle', () => {
    const shared = { text }
    const cycle: { self?: unknown; shared: unknown } = { shared }
    cycle.self = cycle
    assert.ok(approximateBytes([shared, shared, cycle]) < 11_000)
  })
})

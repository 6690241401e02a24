import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { CompactSign, compactVerify } from 'jose'
import type { Outbound, OutboundShare } from '../../src/base/outbound.ts'
import { OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import type { ForeignKeys } from '../../src/token/foreign-keys.ts'
import { createVerifications } from '../../src/token/verifications.ts'
import { createForeignKeys, FOREIGN_ALGORITHMS } from '../../src/token/foreign-keys.ts'
import { UnusableDocument } from '../../src/token/published-documents.ts'
import { createTestClock } from '../support/clock.ts'
import { keyOfLongExponent } from '../support/long-exponent.ts'
import { rsaKeys } from '../support/rsa-keys.ts'

type Jwk = Record<string, unknown>

const pair = {
  rsa: rsaKeys(),
  other: rsaKeys(),
  weak: generateKeyPairSync('rsa', { modulusLength: 1024 }),
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: generateKeyPairSync('ed25519'),
}
type Name = keyof typeof pair

const jwkOf = (name: Name, more: Jwk = {}): Jwk => ({ ...pair[name].publicKey.export({ format: 'jwk' }), ...more })
const setOf = (...keys: readonly unknown[]): string => JSON.stringify({ keys })

const PAIRS: Readonly<Record<string, Name>> = {
  RS256: 'rsa',
  RS384: 'rsa',
  RS512: 'rsa',
  PS256: 'rsa',
  PS384: 'rsa',
  PS512: 'rsa',
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'ed25519',
  Ed25519: 'ed25519',
}

/** JWKS documents of another server; `answers` returns the response to each fetch. */
function jwksServer(
  answers: (share: OutboundShare | undefined) => unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  const clock = createTestClock()
  const fetched: string[] = []
  const outbound: Outbound = {
    fetch: () => assert.fail('only documents are fetched'),
    async getJson(address, share) {
      fetched.push(address)
      return { value: await answers(share), headers: new Headers(headers) }
    },
  }
  return { clock, fetched, keys: createForeignKeys({ outbound, clock, verifications: createVerifications() }) }
}

const inline = jwksServer(() => assert.fail('nothing is fetched')).keys
const isSame = (found: KeyObject | undefined, name: Name): boolean => found?.equals(pair[name].publicKey) === true
const isSameInline = async (jwks: string, alg: string, kid: string | undefined, name: Name): Promise<boolean> =>
  isSame(await inline.find({ jwks }, { alg, kid }), name)

describe('Inline JWKS', () => {
  const all = setOf(...Object.entries(pair).map(([name]) => jwkOf(name as Name, { kid: name }))) // kid is the name in the table

  it('supports the listed algorithms, RS256 first and none of them symmetric', () => {
    assert.deepEqual(FOREIGN_ALGORITHMS, Object.keys(PAIRS))
  })
  for (const [alg, name] of Object.entries(PAIRS)) {
    it(`verifies ${alg}`, async () => {
      const key = await inline.find({ jwks: all }, { alg, kid: name })
      assert.ok(key && isSame(key, name))
      const jws = await new CompactSign(Buffer.from('x')).setProtectedHeader({ alg }).sign(pair[name].privateKey)
      await compactVerify(jws, key, { algorithms: [alg] })
    })
    for (const other of Object.keys(pair)) {
      const fits = other === name || (name === 'rsa' && other === 'other')
      if (fits) continue
      it(`ignores ${other} for ${alg}`, async () => {
        assert.equal(await inline.find({ jwks: all }, { alg, kid: other }), undefined)
      })
    }
  }

  const RS256 = { alg: 'RS256', kid: 'a' }
  const unusableKeys: readonly { name: string; jwk: unknown; wanted?: { alg: string; kid: string | undefined } }[] = [
    { name: 'with another kid', jwk: jwkOf('rsa', { kid: 'b' }) },
    { name: 'without kid, if one is requested', jwk: jwkOf('rsa') },
    { name: 'for encryption', jwk: jwkOf('rsa', { kid: 'a', use: 'enc' }) },
    { name: 'with a use that is not a string', jwk: jwkOf('rsa', { kid: 'a', use: 7 }) },
    { name: 'with other key_ops', jwk: jwkOf('rsa', { kid: 'a', key_ops: ['encrypt'] }) },
    { name: 'with key_ops that are not an array', jwk: jwkOf('rsa', { kid: 'a', key_ops: 'verify' }) },
    { name: 'for another algorithm', jwk: jwkOf('rsa', { kid: 'a', alg: 'PS256' }) },
    { name: 'of 1024 bits', jwk: jwkOf('weak', { kid: 'a' }) },
    {
      name: 'with a long RSA exponent',
      jwk: { ...createPublicKey(keyOfLongExponent()).export({ format: 'jwk' }), kid: 'a' },
    },
    { name: 'with private members', jwk: { ...pair.rsa.privateKey.export({ format: 'jwk' }), kid: 'a' } },
    { name: 'that is symmetric', jwk: { kty: 'oct', k: 'AAAA', kid: 'a' }, wanted: { alg: 'HS256', kid: 'a' } },
    { name: 'for alg none', jwk: jwkOf('rsa', { kid: 'a' }), wanted: { alg: 'none', kid: 'a' } },
    { name: 'for alg constructor', jwk: jwkOf('rsa', { kid: 'a' }), wanted: { alg: 'constructor', kid: 'a' } },
    { name: 'without modulus', jwk: { kty: 'RSA', e: 'AQAB', kid: 'a' } },
    { name: 'off its curve', jwk: { ...jwkOf('P-256', { kid: 'a' }), y: 'AAAA' }, wanted: { alg: 'ES256', kid: 'a' } },
    { name: 'that is not an object', jwk: 'a' },
    { name: 'that is null', jwk: null },
  ]
  for (const { name, jwk, wanted = RS256 } of unusableKeys) {
    it(`ignores a key ${name}`, async () => {
      assert.equal(await inline.find({ jwks: setOf(jwk) }, wanted), undefined)
    })
  }

  // RFC 9864 §2.2 gives the algorithm another name; keys and signatures change over at different times.
  for (const [alg, ofKey] of [
    ['EdDSA', 'Ed25519'],
    ['Ed25519', 'EdDSA'],
  ] as const) {
    it(`verifies ${alg} with a key for ${ofKey}`, async () => {
      const jwks = setOf(jwkOf('ed25519', { kid: 'a', alg: ofKey }))
      assert.ok(await isSameInline(jwks, alg, 'a', 'ed25519'))
    })
  }

  const usableKeys: readonly { name: string; jwks: string; kid: string | undefined }[] = [
    { name: 'with use sig', jwks: setOf(jwkOf('rsa', { kid: 'a', use: 'sig', alg: 'RS256' })), kid: 'a' },
    { name: 'with key_ops verify', jwks: setOf(jwkOf('rsa', { kid: 'a', key_ops: ['verify'] })), kid: 'a' },
    {
      name: 'among unusable ones',
      jwks: setOf(null, jwkOf('weak', { kid: 'a' }), jwkOf('rsa', { kid: 'a' })),
      kid: 'a',
    },
    { name: 'as a single JWK without kid', jwks: JSON.stringify(jwkOf('rsa')), kid: undefined },
    {
      name: 'that is the only one for the algorithm, without kid',
      jwks: setOf(jwkOf('P-256'), jwkOf('rsa', { kid: 'a' })),
      kid: undefined,
    },
  ]
  for (const { name, jwks, kid } of usableKeys) {
    it(`finds a key ${name}`, async () => assert.ok(await isSameInline(jwks, 'RS256', kid, 'rsa')))
  }

  it('finds no key if two match', async () => {
    for (const kid of ['a', undefined]) {
      const jwks = setOf(jwkOf('rsa', { kid: 'a' }), jwkOf('other', { kid: 'a' }))
      assert.equal(await inline.find({ jwks }, { alg: 'RS256', kid }), undefined)
    }
  })

  it('imports only two of many matching keys', async () => {
    const many = Array.from({ length: 280 }, () => jwkOf('P-521'))
    const jwks = setOf(...many)
    const cpuOf = async (work: () => unknown): Promise<number> => {
      const before = process.threadCpuUsage()
      await work()
      return process.threadCpuUsage(before).user
    }
    const all = await cpuOf(() => many.map(key => createPublicKey({ key, format: 'jwk' })))
    const used = await cpuOf(() => inline.find({ jwks }, { alg: 'ES512', kid: undefined }))
    assert.ok(used < all / 2, `${used} of ${all} µs`)
  })

  for (const jwks of ['', '{', 'null', '[]', '5', '{}', '{"keys":{}}']) {
    it(`refuses ${JSON.stringify(jwks)}`, async () => {
      await assert.rejects(inline.find({ jwks }, RS256), UnusableDocument)
    })
  }
  it('refuses more than 500 keys or 64 KiB', async () => {
    const few = Array.from({ length: 500 }, () => ({ kty: 'oct' }))
    const jwks = (keys: readonly object[]): string => JSON.stringify({ keys })
    assert.equal(await inline.find({ jwks: jwks(few) }, RS256), undefined)
    await assert.rejects(inline.find({ jwks: jwks([...few, {}]) }, RS256), UnusableDocument)
    await assert.rejects(inline.find({ jwks: jwks([]) + ' '.repeat(64 * 1024) }, RS256), UnusableDocument)
  })

  it('refuses a missing document', async () => {
    await assert.rejects(inline.find({}, RS256), UnusableDocument)
  })
})

describe('JWKS at a URL', () => {
  const uri = 'https://a.example/keys'
  const MAX_DOCUMENTS = 5000
  const a = jwkOf('rsa', { kid: 'a' })
  const b = jwkOf('other', { kid: 'b' })
  const wanted = (kid: string) => ({ alg: 'RS256', kid })
  const find = (keys: ForeignKeys, kid: string) => keys.find({ jwksUri: uri, jwks: setOf(b) }, wanted(kid))
  const gone = (): never => {
    throw new OutboundError('unreachable', 'https://a.example: cannot be reached')
  }

  it('takes precedence over inline keys, is fetched once for concurrent requests, and cached', async () => {
    const { keys, fetched } = jwksServer(() => ({ keys: [a] }))
    const found = await Promise.all(Array.from({ length: 20 }, () => find(keys, 'a')))
    for (const key of found) assert.ok(isSame(key, 'rsa'))
    await find(keys, 'a')
    assert.deepEqual(fetched, [uri])
  })

  it('is awaited by up to 100 concurrent requests of a zone', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { keys } = jwksServer(() => promise)
    const waiting = Array.from({ length: 100 }, () => find(keys, 'a'))
    const refused = assert.rejects(find(keys, 'a'), OutboundBusy)
    await new Promise(setImmediate)
    resolve({ keys: [a] })
    await refused
    for (const key of await Promise.all(waiting)) assert.ok(isSame(key, 'rsa'))
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
  })

  it('is fetched by each zone on its own: one whose requests fail delays and refuses nobody in another', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { keys } = jwksServer(share => {
      if (share?.zoneId === 'waits') return promise
      if (share?.zoneId === 'fails')
        throw new OutboundError('timeout', 'https://a.example: no complete response in time')
      return { keys: [a] }
    })
    const findIn = (zoneId: string) =>
      keys.find({ jwksUri: uri, share: { zoneId, purpose: 'background' } }, { alg: 'RS256', kid: 'a' })
    const waiting = findIn('waits')
    await assert.rejects(findIn('fails'), { message: /no complete response/ })
    assert.ok(isSame(await findIn('works'), 'rsa'))
    resolve({ keys: [a] })
    assert.ok(isSame(await waiting, 'rsa'))
  })

  it('causes OutboundBusy if no slot is free, unless the key is cached', async () => {
    let isBusy = true
    const { keys, clock } = jwksServer(() => {
      if (isBusy) throw new OutboundBusy('https://a.example')
      return { keys: [a] }
    })
    await assert.rejects(find(keys, 'a'), OutboundBusy)
    isBusy = false
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    isBusy = true
    clock.advance(3600)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'), 'cached keys are used for an hour')
    await assert.rejects(find(keys, 'b'), OutboundBusy, 'the key may be new')
    clock.advance(3600)
    await assert.rejects(find(keys, 'a'), OutboundBusy)
  })

  it('is fetched again for an unknown kid, at most every five seconds', async () => {
    let published = [a]
    const { keys, fetched, clock } = jwksServer(() => ({ keys: published }))
    await find(keys, 'a')
    published = [a, b]
    clock.advance(4)
    for (let attempt = 0; attempt < 50; attempt += 1) assert.equal(await find(keys, 'b'), undefined)
    assert.equal(fetched.length, 1)
    clock.advance(1)
    const found = await Promise.all(Array.from({ length: 20 }, () => find(keys, 'b')))
    for (const key of found) assert.ok(isSame(key, 'other'))
    assert.equal(fetched.length, 2)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
  })

  it('is fetched at most twice in 30 seconds for unknown kids', async () => {
    const { keys, fetched, clock } = jwksServer(() => ({ keys: [a] }))
    for (let second = 0; second < 300; second += 1) {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        assert.equal(await find(keys, `random-${second}-${attempt}`), undefined)
      }
      clock.advance(1)
    }
    assert.ok(fetched.length <= 20, `${fetched.length}`)
  })

  it('is not fetched again early for an unknown kid after a failure', async () => {
    let answer: () => unknown = () => ({ keys: [a] })
    const { keys, fetched, clock } = jwksServer(() => answer())
    await find(keys, 'a')
    answer = gone
    clock.advance(30)
    assert.equal(await find(keys, 'b'), undefined)
    clock.advance(29)
    assert.equal(await find(keys, 'b'), undefined)
    assert.equal(fetched.length, 2)
  })

  // Covers oidc and oauth provider config: cacheJwks
  it('is fetched again with refetch, at most every 30 seconds', async () => {
    const { keys, fetched, clock } = jwksServer(() => ({ keys: [a] }))
    const refetch = (): Promise<unknown> => keys.find({ jwksUri: uri, refetch: true }, wanted('a'))
    for (let attempt = 0; attempt < 5; attempt += 1) assert.ok(await refetch())
    assert.equal(fetched.length, 1)
    clock.advance(30)
    assert.ok(await refetch())
    assert.equal(fetched.length, 2)
  })

  it('loses keys that are no longer published', async () => {
    let published = [a, b]
    const { keys, clock } = jwksServer(() => ({ keys: published }))
    await find(keys, 'a')
    published = [b]
    clock.advance(600)
    assert.equal(await find(keys, 'a'), undefined)
  })

  const lives = [
    { name: 'ten minutes by default', headers: {}, seconds: 600 },
    { name: 'max-age', headers: { 'cache-control': 'public, max-age=3600' }, seconds: 3600 },
    { name: 'at least five minutes', headers: { 'cache-control': 'max-age=0, no-store' }, seconds: 300 },
    { name: 'at most a day', headers: { 'cache-control': 'Max-Age="999999999"' }, seconds: 86_400 },
    {
      name: 'ten minutes with only s-maxage',
      headers: { 'cache-control': 's-max-age=9' },
      seconds: 600,
    },
  ]
  for (const { name, headers, seconds } of lives) {
    it(`is cached for ${name}`, async () => {
      const { keys, fetched, clock } = jwksServer(() => ({ keys: [a] }), headers)
      await find(keys, 'a')
      clock.advance(seconds - 1)
      await find(keys, 'a')
      assert.equal(fetched.length, 1)
      clock.advance(1)
      await find(keys, 'a')
      assert.equal(fetched.length, 2)
    })
  }

  it('is used for another hour during failures, and fetched every 30 seconds', async () => {
    let answer: () => unknown = () => ({ keys: [a] })
    const { keys, fetched, clock } = jwksServer(() => answer())
    await find(keys, 'a')
    answer = gone
    clock.advance(600)
    for (let round = 1; round <= 3; round += 1) {
      for (let attempt = 0; attempt < 5; attempt += 1) assert.ok(isSame(await find(keys, 'a'), 'rsa'))
      assert.equal(fetched.length, 1 + round)
      clock.advance(30)
    }
    clock.advance(3600 - 91)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    clock.advance(31)
    await assert.rejects(find(keys, 'a'), UnusableDocument)
    answer = () => ({ keys: [a] })
    clock.advance(30)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
  })

  const unusable: readonly { name: string; answer: () => unknown }[] = [
    { name: 'cannot be fetched', answer: gone },
    { name: 'is not a key set', answer: () => ({ error: 'no' }) },
    { name: 'is an array', answer: () => [a] },
    { name: 'is null', answer: () => null },
  ]
  for (const { name, answer } of unusable) {
    it(`is not fetched again for 30 seconds if it ${name}`, async () => {
      let current = answer
      const { keys, fetched, clock } = jwksServer(() => current())
      for (let attempt = 0; attempt < 5; attempt += 1) await assert.rejects(find(keys, 'a'), UnusableDocument)
      assert.equal(fetched.length, 1)
      current = () => ({ keys: [a] })
      clock.advance(30)
      assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    })
  }

  it('is fetched immediately if the clock was set back', async () => {
    let answer: () => unknown = () => ({ keys: [a] })
    const { keys, fetched, clock } = jwksServer(() => answer())
    await find(keys, 'a')
    clock.advance(-86_400)
    answer = gone
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    assert.equal(fetched.length, 2)
    answer = () => ({ keys: [b] })
    clock.advance(30)
    assert.ok(isSame(await find(keys, 'b'), 'other'))
  })

  it('is kept if its replacement is malformed', async () => {
    let answer: unknown = { keys: [a] }
    const { keys, clock } = jwksServer(() => answer)
    await find(keys, 'a')
    answer = '<html>'
    clock.advance(600)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
  })

  it('throws internal errors', async () => {
    const { keys } = jwksServer(() => {
      throw new TypeError('a mistake')
    })
    await assert.rejects(find(keys, 'a'), TypeError)
  })

  it('is not fetched for an unsupported algorithm', async () => {
    const { keys, fetched } = jwksServer(() => ({ keys: [a] }))
    assert.equal(await keys.find({ jwksUri: uri }, { alg: 'HS256', kid: 'a' }), undefined)
    assert.deepEqual(fetched, [])
  })

  it('is evicted from a bounded cache', async () => {
    const { keys, fetched } = jwksServer(() => ({ keys: [a] }))
    const at = (number: number) => keys.find({ jwksUri: `https://a.example/${number}` }, wanted('a'))
    for (let number = 0; number <= MAX_DOCUMENTS; number += 1) await at(number)
    assert.equal(fetched.length, MAX_DOCUMENTS + 1)
    await at(MAX_DOCUMENTS)
    assert.equal(fetched.length, MAX_DOCUMENTS + 1)
    await at(0)
    assert.equal(fetched.length, MAX_DOCUMENTS + 2)
  })

  it('is evicted first from the zone with the most documents', async () => {
    const { keys, fetched } = jwksServer(() => ({ keys: [a] }))
    const at = (zoneId: string, number: number) =>
      keys.find(
        { jwksUri: `https://${zoneId}.example/${number}`, share: { zoneId, purpose: 'background' } },
        wanted('a'),
      )
    await at('victim', 0)
    for (let number = 0; number < MAX_DOCUMENTS + 100; number += 1) await at('greedy', number)
    fetched.length = 0
    await at('victim', 0)
    assert.deepEqual(fetched, [])
  })
})

import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { CompactSign, compactVerify } from 'jose'
import type { Outbound } from '../../src/base/outbound.ts'
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

/** Documents of another server: what each fetch answers, and how often was asked. */
function documents(answers: () => unknown, headers: Readonly<Record<string, string>> = {}) {
  const clock = createTestClock()
  const fetched: string[] = []
  const outbound: Outbound = {
    fetch: () => assert.fail('only documents are fetched'),
    async getJson(address) {
      fetched.push(address)
      return { value: await answers(), headers: new Headers(headers) }
    },
  }
  return { clock, fetched, keys: createForeignKeys({ outbound, clock, verifications: createVerifications() }) }
}

const inText = documents(() => assert.fail('nothing is fetched')).keys
const isSame = (found: KeyObject | undefined, name: Name): boolean => found?.equals(pair[name].publicKey) === true
const sameInText = async (jwks: string, alg: string, kid: string | undefined, name: Name): Promise<boolean> =>
  isSame(await inText.find({ jwks }, { alg, kid }), name)

describe('a key of others', () => {
  const all = setOf(...Object.entries(pair).map(([name]) => jwkOf(name as Name, { kid: name }))) // the names of the table

  it('may be of every algorithm that is listed, RS256 first, and none of them is symmetric', () => {
    assert.deepEqual(FOREIGN_ALGORITHMS, Object.keys(PAIRS))
  })
  for (const [alg, name] of Object.entries(PAIRS)) {
    it(`verifies ${alg}`, async () => {
      const key = await inText.find({ jwks: all }, { alg, kid: name })
      assert.ok(key && isSame(key, name))
      const jws = await new CompactSign(Buffer.from('x')).setProtectedHeader({ alg }).sign(pair[name].privateKey)
      await compactVerify(jws, key, { algorithms: [alg] })
    })
    for (const other of Object.keys(pair)) {
      const fits = other === name || (name === 'rsa' && other === 'other')
      if (fits) continue
      it(`of ${other} does not fit ${alg}`, async () => {
        assert.equal(await inText.find({ jwks: all }, { alg, kid: other }), undefined)
      })
    }
  }

  const RS256 = { alg: 'RS256', kid: 'a' }
  const unfit: readonly { name: string; jwk: unknown; wanted?: { alg: string; kid: string | undefined } }[] = [
    { name: 'of another name', jwk: jwkOf('rsa', { kid: 'b' }) },
    { name: 'without a name, where one is asked for', jwk: jwkOf('rsa') },
    { name: 'for encryption', jwk: jwkOf('rsa', { kid: 'a', use: 'enc' }) },
    { name: 'for a use that is not a string', jwk: jwkOf('rsa', { kid: 'a', use: 7 }) },
    { name: 'for other operations', jwk: jwkOf('rsa', { kid: 'a', key_ops: ['encrypt'] }) },
    { name: 'for operations that are not a list', jwk: jwkOf('rsa', { kid: 'a', key_ops: 'verify' }) },
    { name: 'for another algorithm', jwk: jwkOf('rsa', { kid: 'a', alg: 'PS256' }) },
    { name: 'of 1024 bits', jwk: jwkOf('weak', { kid: 'a' }) },
    {
      name: 'with a long exponent',
      jwk: { ...createPublicKey(keyOfLongExponent()).export({ format: 'jwk' }), kid: 'a' },
    },
    { name: 'with its private half', jwk: { ...pair.rsa.privateKey.export({ format: 'jwk' }), kid: 'a' } },
    { name: 'that is symmetric', jwk: { kty: 'oct', k: 'AAAA', kid: 'a' }, wanted: { alg: 'HS256', kid: 'a' } },
    { name: 'of an algorithm that is none', jwk: jwkOf('rsa', { kid: 'a' }), wanted: { alg: 'none', kid: 'a' } },
    { name: 'of an inherited name', jwk: jwkOf('rsa', { kid: 'a' }), wanted: { alg: 'constructor', kid: 'a' } },
    { name: 'without its modulus', jwk: { kty: 'RSA', e: 'AQAB', kid: 'a' } },
    { name: 'off its curve', jwk: { ...jwkOf('P-256', { kid: 'a' }), y: 'AAAA' }, wanted: { alg: 'ES256', kid: 'a' } },
    { name: 'that is not an object', jwk: 'a' },
    { name: 'that is null', jwk: null },
  ]
  for (const { name, jwk, wanted = RS256 } of unfit) {
    it(`is passed over: one ${name}`, async () => {
      assert.equal(await inText.find({ jwks: setOf(jwk) }, wanted), undefined)
    })
  }

  const fitting: readonly { name: string; jwks: string; kid: string | undefined }[] = [
    { name: 'for signatures', jwks: setOf(jwkOf('rsa', { kid: 'a', use: 'sig', alg: 'RS256' })), kid: 'a' },
    { name: 'to verify with', jwks: setOf(jwkOf('rsa', { kid: 'a', key_ops: ['verify'] })), kid: 'a' },
    {
      name: 'beside unusable ones',
      jwks: setOf(null, jwkOf('weak', { kid: 'a' }), jwkOf('rsa', { kid: 'a' })),
      kid: 'a',
    },
    { name: 'that is alone, without a name', jwks: JSON.stringify(jwkOf('rsa')), kid: undefined },
    {
      name: 'that alone fits, without a name',
      jwks: setOf(jwkOf('P-256'), jwkOf('rsa', { kid: 'a' })),
      kid: undefined,
    },
  ]
  for (const { name, jwks, kid } of fitting) {
    it(`is found: one ${name}`, async () => assert.ok(await sameInText(jwks, 'RS256', kid, 'rsa')))
  }

  it('is not guessed where two fit', async () => {
    for (const kid of ['a', undefined]) {
      const jwks = setOf(jwkOf('rsa', { kid: 'a' }), jwkOf('other', { kid: 'a' }))
      assert.equal(await inText.find({ jwks }, { alg: 'RS256', kid }), undefined)
    }
  })

  it('costs little where many fit: two are opened, and not all', async () => {
    const many = Array.from({ length: 280 }, () => jwkOf('P-521'))
    const jwks = setOf(...many)
    const cpuOf = async (work: () => unknown): Promise<number> => {
      const before = process.threadCpuUsage()
      await work()
      return process.threadCpuUsage(before).user
    }
    const all = await cpuOf(() => many.map(key => createPublicKey({ key, format: 'jwk' })))
    const used = await cpuOf(() => inText.find({ jwks }, { alg: 'ES512', kid: undefined }))
    assert.ok(used < all / 2, `${used} of ${all} µs`)
  })

  for (const jwks of ['', '{', 'null', '[]', '5', '{}', '{"keys":{}}']) {
    it(`is not looked for in ${JSON.stringify(jwks)}`, async () => {
      await assert.rejects(inText.find({ jwks }, RS256), UnusableDocument)
    })
  }
  it('is not looked for among more than any party has, or in a text that is longer than a published one may be', async () => {
    const few = Array.from({ length: 500 }, () => ({ kty: 'oct' }))
    const jwks = (keys: readonly object[]): string => JSON.stringify({ keys })
    assert.equal(await inText.find({ jwks: jwks(few) }, RS256), undefined)
    await assert.rejects(inText.find({ jwks: jwks([...few, {}]) }, RS256), UnusableDocument)
    await assert.rejects(inText.find({ jwks: jwks([]) + ' '.repeat(64 * 1024) }, RS256), UnusableDocument)
  })

  it('is not looked for where there is no document', async () => {
    await assert.rejects(inText.find({}, RS256), UnusableDocument)
  })
})

describe('a document of keys at an address', () => {
  const uri = 'https://a.example/keys'
  const a = jwkOf('rsa', { kid: 'a' })
  const b = jwkOf('other', { kid: 'b' })
  const wanted = (kid: string) => ({ alg: 'RS256', kid })
  const find = (keys: ForeignKeys, kid: string) => keys.find({ jwksUri: uri, jwks: setOf(b) }, wanted(kid))
  const gone = (): never => {
    throw new OutboundError('unreachable', 'https://a.example: cannot be reached')
  }

  it('wins over a text, is fetched once for all who come at once, and then remembered', async () => {
    const { keys, fetched } = documents(() => ({ keys: [a] }))
    const found = await Promise.all(Array.from({ length: 20 }, () => find(keys, 'a')))
    for (const key of found) assert.ok(isSame(key, 'rsa'))
    await find(keys, 'a')
    assert.deepEqual(fetched, [uri])
  })

  it('is waited for by a hundred callers of a zone at once, and others have what is known', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { keys } = documents(() => promise)
    const waiting = Array.from({ length: 100 }, () => find(keys, 'a'))
    const refused = assert.rejects(find(keys, 'a'), OutboundBusy)
    await new Promise(setImmediate)
    resolve({ keys: [a] })
    await refused
    for (const key of await Promise.all(waiting)) assert.ok(isSame(key, 'rsa'))
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
  })

  it('is neither unusable nor without a key while there is no slot to fetch it', async () => {
    let isBusy = true
    const { keys, clock } = documents(() => {
      if (isBusy) throw new OutboundBusy('https://a.example')
      return { keys: [a] }
    })
    await assert.rejects(find(keys, 'a'), OutboundBusy)
    isBusy = false
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    isBusy = true
    clock.advance(3600)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'), 'what is known counts for an hour')
    await assert.rejects(find(keys, 'b'), OutboundBusy, 'the key may be new')
    clock.advance(3600)
    await assert.rejects(find(keys, 'a'), OutboundBusy)
  })

  it('is fetched again for a name that it lacks, five seconds after the last time', async () => {
    let published = [a]
    const { keys, fetched, clock } = documents(() => ({ keys: published }))
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

  it('is fetched at most twice in half a minute, whatever names are asked for', async () => {
    const { keys, fetched, clock } = documents(() => ({ keys: [a] }))
    for (let second = 0; second < 300; second += 1) {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        assert.equal(await find(keys, `random-${second}-${attempt}`), undefined)
      }
      clock.advance(1)
    }
    assert.ok(fetched.length <= 20, `${fetched.length}`)
  })

  it('is not fetched early for a name that it lacks while it cannot be fetched', async () => {
    let answer: () => unknown = () => ({ keys: [a] })
    const { keys, fetched, clock } = documents(() => answer())
    await find(keys, 'a')
    answer = gone
    clock.advance(30)
    assert.equal(await find(keys, 'b'), undefined)
    clock.advance(29)
    assert.equal(await find(keys, 'b'), undefined)
    assert.equal(fetched.length, 2)
  })

  // Covers oidc and oauth provider config: cacheJwks
  it('is fetched again for each use where nothing is to be remembered, but only once in half a minute', async () => {
    const { keys, fetched, clock } = documents(() => ({ keys: [a] }))
    const refetch = (): Promise<unknown> => keys.find({ jwksUri: uri, refetch: true }, wanted('a'))
    for (let attempt = 0; attempt < 5; attempt += 1) assert.ok(await refetch())
    assert.equal(fetched.length, 1)
    clock.advance(30)
    assert.ok(await refetch())
    assert.equal(fetched.length, 2)
  })

  it('loses a key that is no longer published', async () => {
    let published = [a, b]
    const { keys, clock } = documents(() => ({ keys: published }))
    await find(keys, 'a')
    published = [b]
    clock.advance(600)
    assert.equal(await find(keys, 'a'), undefined)
  })

  const lives = [
    { name: 'ten minutes when it does not say', headers: {}, seconds: 600 },
    { name: 'as long as it says', headers: { 'cache-control': 'public, max-age=3600' }, seconds: 3600 },
    { name: 'five minutes at least', headers: { 'cache-control': 'max-age=0, no-store' }, seconds: 300 },
    { name: 'a day at most', headers: { 'cache-control': 'Max-Age="999999999"' }, seconds: 86_400 },
    {
      name: 'ten minutes when only shared caches have a limit',
      headers: { 'cache-control': 's-max-age=9' },
      seconds: 600,
    },
  ]
  for (const { name, headers, seconds } of lives) {
    it(`is fresh for ${name}`, async () => {
      const { keys, fetched, clock } = documents(() => ({ keys: [a] }), headers)
      await find(keys, 'a')
      clock.advance(seconds - 1)
      await find(keys, 'a')
      assert.equal(fetched.length, 1)
      clock.advance(1)
      await find(keys, 'a')
      assert.equal(fetched.length, 2)
    })
  }

  it('is used for another hour while it cannot be fetched, and requested every half a minute', async () => {
    let answer: () => unknown = () => ({ keys: [a] })
    const { keys, fetched, clock } = documents(() => answer())
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
    { name: 'is no key set', answer: () => ({ error: 'no' }) },
    { name: 'is a list', answer: () => [a] },
    { name: 'is null', answer: () => null },
  ]
  for (const { name, answer } of unusable) {
    it(`that ${name} is not asked for again within half a minute`, async () => {
      let current = answer
      const { keys, fetched, clock } = documents(() => current())
      for (let attempt = 0; attempt < 5; attempt += 1) await assert.rejects(find(keys, 'a'), UnusableDocument)
      assert.equal(fetched.length, 1)
      current = () => ({ keys: [a] })
      clock.advance(30)
      assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    })
  }

  it('is fetched at once when the clock was set back, and used until then if it cannot be fetched', async () => {
    let answer: () => unknown = () => ({ keys: [a] })
    const { keys, fetched, clock } = documents(() => answer())
    await find(keys, 'a')
    clock.advance(-86_400)
    answer = gone
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
    assert.equal(fetched.length, 2)
    answer = () => ({ keys: [b] })
    clock.advance(30)
    assert.ok(isSame(await find(keys, 'b'), 'other'))
  })

  it('does not replace a good one when it became none', async () => {
    let answer: unknown = { keys: [a] }
    const { keys, clock } = documents(() => answer)
    await find(keys, 'a')
    answer = '<html>'
    clock.advance(600)
    assert.ok(isSame(await find(keys, 'a'), 'rsa'))
  })

  it('does not hide a fault of ours', async () => {
    const { keys } = documents(() => {
      throw new TypeError('a mistake')
    })
    await assert.rejects(find(keys, 'a'), TypeError)
  })

  it('is not fetched for an unsupported algorithm', async () => {
    const { keys, fetched } = documents(() => ({ keys: [a] }))
    assert.equal(await keys.find({ jwksUri: uri }, { alg: 'HS256', kid: 'a' }), undefined)
    assert.deepEqual(fetched, [])
  })

  it('makes room for others: what is remembered is bounded', async () => {
    const { keys, fetched } = documents(() => ({ keys: [a] }))
    const at = (number: number) => keys.find({ jwksUri: `https://a.example/${number}` }, wanted('a'))
    for (let number = 0; number <= 500; number += 1) await at(number)
    assert.equal(fetched.length, 501)
    await at(500)
    assert.equal(fetched.length, 501)
    await at(0)
    assert.equal(fetched.length, 502)
  })

  it('makes room among those of the zone that has the most', async () => {
    const { keys, fetched } = documents(() => ({ keys: [a] }))
    const at = (zoneId: string, number: number) =>
      keys.find(
        { jwksUri: `https://${zoneId}.example/${number}`, share: { zoneId, purpose: 'background' } },
        wanted('a'),
      )
    await at('victim', 0)
    for (let number = 0; number < 600; number += 1) await at('greedy', number)
    fetched.length = 0
    await at('victim', 0)
    assert.deepEqual(fetched, [])
  })
})

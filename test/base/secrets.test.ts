import assert from 'node:assert/strict'
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createRandom } from '../../src/base/random.ts'
import type { Random } from '../../src/base/random.ts'
import { createSecretMemory, createVault, digest, sameSecret } from '../../src/base/secrets.ts'
import { anyCodePoint } from '../support/code-points.ts'

const random = createRandom()
const masterKey = random.bytes(32)
const vault = createVault(masterKey, random)
const text = fc.string({ unit: anyCodePoint })

describe('digest', () => {
  it('is SHA-256 in base64url', () => {
    // FIPS 180-4, the example "abc".
    assert.equal(
      digest('abc'),
      Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'hex').toString('base64url'),
    )
  })

  it('agrees with node:crypto for any string', () => {
    fc.assert(
      fc.property(text, value => assert.equal(digest(value), createHash('sha256').update(value).digest('base64url'))),
    )
  })
})

describe('sameSecret', () => {
  const cases = [
    { name: 'is true for equal strings', left: 'secret', right: 'secret', want: true },
    { name: 'is true for two empty strings', left: '', right: '', want: true },
    { name: 'is false for strings that differ in the last character', left: 'secret', right: 'secreT', want: false },
    { name: 'is false for a prefix', left: 'secret', right: 'secre', want: false },
    { name: 'is false for an empty and another string', left: '', right: 'secret', want: false },
    { name: 'does not normalize Unicode', left: '\u00e9', right: 'e\u0301', want: false },
  ]
  for (const { name, left, right, want } of cases) {
    it(name, () => assert.equal(sameSecret(left, right), want))
  }

  it('agrees with === for any two strings', () => {
    fc.assert(fc.property(text, text, (left, right) => assert.equal(sameSecret(left, right), left === right)))
  })
})

describe('createVault', () => {
  for (const length of [0, 16, 31, 33, 64]) {
    it(`rejects a master key of ${length} bytes`, () => {
      assert.throws(() => createVault(Buffer.alloc(length), random), /32 bytes/)
    })
  }

  it('opens sealed strings, for any string and context', () => {
    fc.assert(
      fc.property(text, text, (plain, context) => {
        assert.equal(vault.open(vault.seal(plain, context), context), plain)
      }),
    )
  })

  it('opens strings sealed by another vault with the same key', () => {
    assert.equal(createVault(masterKey, createRandom()).open(vault.seal('plain', 'zone key'), 'zone key'), 'plain')
  })

  it('seals the same string differently each time', () => {
    assert.notEqual(vault.seal('plain', 'context'), vault.seal('plain', 'context'))
  })

  it('uses a new nonce of 12 bytes for each seal', () => {
    const asked: number[] = []
    const counting: Random = {
      ...random,
      bytes: count => {
        asked.push(count)
        return random.bytes(count)
      },
    }
    const counted = createVault(masterKey, counting)
    counted.seal('a', 'b')
    counted.seal('a', 'b')
    assert.deepEqual(asked, [12, 12])
  })

  it('reveals only the length of the string', () => {
    const sealed = vault.seal('-----BEGIN PRIVATE KEY-----', '')
    const [, text = ''] = /^v2\.[0-9a-f]{8}\.([A-Za-z0-9_-]+)$/.exec(sealed) ?? []
    assert.equal(Buffer.from(text, 'base64url').length, 12 + 27 + 16)
    assert.ok(!Buffer.from(text, 'base64url').includes('BEGIN'))
  })

  it('rejects another context', () => {
    fc.assert(
      fc.property(text, text, (context, other) => {
        fc.pre(context !== other)
        assert.throws(() => vault.open(vault.seal('plain', context), other))
      }),
    )
  })

  it('rejects another master key', () => {
    assert.throws(() => createVault(random.bytes(32), random).open(vault.seal('plain', 'context'), 'context'))
  })

  it('rejects any changed character', () => {
    const sealed = vault.seal('a secret of some length', 'context')
    const character = fc.constantFrom(...Array.from('ABCDwxyz0189-_=. +/'))
    fc.assert(
      fc.property(fc.nat({ max: sealed.length - 1 }), character, (position, replacement) => {
        fc.pre(sealed[position] !== replacement)
        const altered = sealed.slice(0, position) + replacement + sealed.slice(position + 1)
        assert.throws(() => vault.open(altered, 'context'))
      }),
      { numRuns: 1000 },
    )
  })

  it('rejects any flipped bit', () => {
    const [version, keyId, text = ''] = vault.seal('a secret of some length', 'context').split('.')
    const bytes = Buffer.from(text, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const altered = Buffer.from(bytes)
      altered.writeUInt8(altered.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      assert.throws(
        () => vault.open([version, keyId, altered.toString('base64url')].join('.'), 'context'),
        `bit ${bit}`,
      )
    }
  })

  const sealed = vault.seal('plain', 'context')
  const malformed = [
    { name: 'an empty string', value: '' },
    { name: 'an unsealed string', value: 'plain' },
    { name: 'the prefix only', value: 'v1.' },
    { name: 'another version', value: sealed.replace('v2.', 'v3.') },
    { name: 'another key', value: sealed.replace(/\.[^.]+\./, '.00000000.') },
    { name: 'the first version’s prefix', value: sealed.replace(/^v2\.[^.]+\./, 'v1.').slice(0, -1) },
    { name: 'a string without its version', value: sealed.slice(3) },
    { name: 'fewer bytes than nonce and tag', value: `v1.${Buffer.alloc(27).toString('base64url')}` },
    { name: 'nonce and tag of zeros', value: `v1.${Buffer.alloc(28).toString('base64url')}` },
    { name: 'a truncated string', value: sealed.slice(0, -4) },
    { name: 'a string with appended characters', value: `${sealed}AAAA` },
    { name: 'trailing padding', value: `${sealed}=` },
    { name: 'a trailing line break', value: `${sealed}\n` },
    { name: 'an inserted space', value: `${sealed.slice(0, 10)} ${sealed.slice(10)}` },
  ]
  for (const { name, value } of malformed) {
    it(`rejects ${name}`, () => assert.throws(() => vault.open(value, 'context')))
  }

  it('does not reveal the secret in the error', () => {
    assert.throws(
      () => vault.open(vault.seal('hunter2', 'context'), 'other'),
      (error: Error) => !error.message.includes('hunter2'),
    )
  })
})

describe('keyedDigest', () => {
  it('is HMAC-SHA-256 in base64url under a key derived for digests (RFC 5869)', () => {
    const key = Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), 'latchkey digests', 32))
    assert.equal(vault.keyedDigest('text'), createHmac('sha256', key).update('text').digest('base64url'))
  })

  it('is equal only for equal strings', () => {
    fc.assert(
      fc.property(text, text, (left, right) => {
        assert.equal(vault.keyedDigest(left) === vault.keyedDigest(right), left === right)
      }),
    )
  })

  it('differs from the plain digest and from other master keys', () => {
    assert.notEqual(vault.keyedDigest('text'), digest('text'))
    assert.notEqual(vault.keyedDigest('text'), createVault(random.bytes(32), random).keyedDigest('text'))
  })
})

describe('createSecretMemory', () => {
  const record = { clientId: 'app' }

  const cases = [
    { name: 'knows a remembered secret', reported: ['a'], secret: 'a', want: true },
    { name: 'does not know another secret', reported: ['a'], secret: 'b', want: false },
    { name: 'knows no secret initially', reported: [], secret: '', want: false },
    { name: 'knows both of two secrets', reported: ['a', 'b'], secret: 'a', want: true },
    { name: 'forgets the oldest of three secrets', reported: ['a', 'b', 'c'], secret: 'a', want: false },
    { name: 'keeps the newest of three secrets', reported: ['a', 'b', 'c'], secret: 'c', want: true },
  ]
  for (const { name, reported, secret, want } of cases) {
    it(name, () => {
      const memory = createSecretMemory(random)
      for (const each of reported) memory.remember(record, `hash of ${each}`, each)
      assert.equal(memory.knows(record, secret), want)
    })
  }

  it('forgets secrets when the record is read again', () => {
    const memory = createSecretMemory(random)
    memory.remember(record, 'hash of a', 'a')
    assert.equal(memory.knows({ ...record }, 'a'), false)
    assert.equal(memory.hasPassed({ ...record }, 'hash of a'), false)
  })

  it('knows which hash a remembered secret belongs to', () => {
    const memory = createSecretMemory(random)
    assert.equal(memory.hasPassed(record, 'one'), false)
    memory.remember(record, 'one', 'a')
    memory.remember(record, 'one', 'a')
    memory.remember(record, 'other', 'b')
    assert.deepEqual([memory.hasPassed(record, 'one'), memory.hasPassed(record, 'other')], [true, true])
    assert.deepEqual([memory.knows(record, 'a'), memory.knows(record, 'b')], [true, true])
    assert.equal(memory.hasPassed(record, 'third'), false)
  })
})

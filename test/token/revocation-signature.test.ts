import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Client } from '../../src/model/clients/client.ts'
import type { User } from '../../src/model/users/user.ts'
import { isCurrentSignature, murmur3, revocationSignature } from '../../src/token/revocation-signature.ts'
import { bareClient } from '../support/bare-client.ts'
import { anyCodePoint } from '../support/code-points.ts'

const at = new Date(0)
const client = bareClient({ secrets: [{ hash: 'hash-1', revision: 'revision-1' }] })
const user: User = {
  zoneId: 'svc',
  id: 'user-1',
  userName: 'marissa',
  origin: 'svc',
  passwordHash: 'password-hash',
  passwordRevision: 'password-1',
  email: 'marissa@example.org',
  active: true,
  verified: true,
  passwordChangedAt: at,
  passwordChangeRequired: false,
  version: 0,
  createdAt: at,
  updatedAt: at,
}

describe('murmur3', () => {
  // Published results of the x86 32-bit variant, among them those of its author's verification tool.
  const vectors: readonly (readonly [string, number, number])[] = [
    ['', 0, 0],
    ['', 1, 0x514e28b7],
    ['', 0xffffffff, 0x81f16f39],
    ['\0\0\0\0', 0, 0x2362f9de],
    ['aaaa', 0x9747b28c, 0x5a97808a],
    ['aaa', 0x9747b28c, 0x283e0130],
    ['aa', 0x9747b28c, 0x5d211726],
    ['a', 0x9747b28c, 0x7fa09ea6],
    ['abcd', 0x9747b28c, 0xf0478627],
    ['abc', 0x9747b28c, 0xc84a62dd],
    ['ab', 0x9747b28c, 0x74875592],
    ['test', 0, 0xba6bd213],
    ['Hello, world!', 0x9747b28c, 0x24884cba],
    ['ππππππππ', 0x9747b28c, 0xd58063c1],
    ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
    ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
    ['a'.repeat(256), 0x9747b28c, 0x37405bdc],
  ]
  for (const [text, seed, want] of vectors) {
    it(`of ${JSON.stringify(text.slice(0, 24))} with seed ${seed.toString(16)} is ${want.toString(16)}`, () => {
      assert.equal(murmur3(text, seed).toString(16), want.toString(16))
    })
  }

  it('is a 32-bit unsigned integer for any string', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), text => {
        const value = murmur3(text, 0xf0f0)
        assert.ok(Number.isInteger(value) && value >= 0 && value < 2 ** 32)
      }),
    )
  })
})

describe('revocationSignature', () => {
  const chain = (...values: readonly string[]): string =>
    values.reduce((previous, value) => murmur3(`${previous}###${value}`, 0xf0f0).toString(16), '')

  // Covers client authentication: rule: the newest secret feeds `rev_sig`
  it('chains id, newest secret and salt of a client', () => {
    assert.equal(revocationSignature(client, undefined), chain('app', 'revision-1'))
    assert.equal(revocationSignature({ ...client, tokenSalt: 'salt' }, undefined), chain('app', 'revision-1', 'salt'))
    assert.equal(revocationSignature({ ...client, secrets: [] }, undefined), chain('app'))
  })

  // Covers rev_sig: inputs and chain of MurmurHash3
  it('continues with id, password, salt, email address and name of a user', () => {
    const salted = { ...user, salt: 'salt' }
    const values = ['app', 'revision-1', 'user-1', 'password-1', 'salt', 'marissa@example.org', 'marissa']
    assert.equal(revocationSignature(client, salted), chain(...values))
    assert.equal(revocationSignature(client, user), chain(...values.filter(value => value !== 'salt')))
  })

  it('is short lower-case hexadecimal', () =>
    assert.match(revocationSignature(client, user), /^[1-9a-f][0-9a-f]{0,7}$/))

  const changes: readonly { name: string; client?: Partial<Client>; user?: Partial<User>; same: boolean }[] = [
    { name: 'another secret', client: { secrets: [{ hash: 'hash-1', revision: 'revision-2' }] }, same: false },
    { name: 'another client salt', client: { tokenSalt: 'salt' }, same: false },
    { name: 'another password', user: { passwordRevision: 'password-2' }, same: false },
    { name: 'another user salt', user: { salt: 'salt' }, same: false },
    { name: 'another email address', user: { email: 'm@example.org' }, same: false },
    { name: 'another user name', user: { userName: 'mary' }, same: false },
    {
      name: 'a rehash of the same secret',
      client: { secrets: [{ hash: 'hash-2', revision: 'revision-1' }] },
      same: true,
    },
    { name: 'a rehash of the same password', user: { passwordHash: 'other' }, same: true },
    { name: 'another given name', user: { givenName: 'Mary' }, same: true },
    { name: 'another client record with the same id', client: { incarnation: 'second' }, same: false },
    { name: 'other client scopes', client: { scope: ['x'] }, same: true },
  ]
  for (const { name, client: changedClient, user: changedUser, same } of changes) {
    it(`${same ? 'does not depend on' : 'changes with'} ${name}`, () => {
      const signature = revocationSignature(client, user)
      const now = [
        { ...client, ...changedClient },
        { ...user, ...changedUser },
      ] as const
      assert.equal(revocationSignature(...now) === signature, same)
      assert.equal(isCurrentSignature(signature, ...now), same)
    })
  }
})

describe('isCurrentSignature', () => {
  const two = { ...client, secrets: [...client.secrets, { hash: 'hash-2', revision: 'revision-2' }] }

  for (const subject of [user, undefined]) {
    it(`accepts the signature of any current secret (${subject ? 'user' : 'client'})`, () => {
      const [older, newer] = [revocationSignature(client, subject), revocationSignature(two, subject)]
      assert.notEqual(older, newer)
      assert.deepEqual(
        [older, newer].map(each => isCurrentSignature(each, two, subject)),
        [true, true],
      )
    })

    it(`refuses the signature of a deleted secret (${subject ? 'user' : 'client'})`, () => {
      const left = { ...two, secrets: two.secrets.slice(1) }
      assert.equal(isCurrentSignature(revocationSignature(client, subject), left, subject), false)
    })
  }

  it('refuses a client signature for a user, and malformed ones', () => {
    for (const signature of [revocationSignature(client, undefined), '', 'undefined', '0']) {
      assert.equal(isCurrentSignature(signature, client, user), false)
    }
  })
})

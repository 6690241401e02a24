import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hash as bcryptHash } from '@node-rs/bcrypt'
import fc from 'fast-check'
import { createPasswords, TooManyHashes } from '../../src/base/passwords.ts'
import type { HashCost, Passwords } from '../../src/base/passwords.ts'
import { anyCodePoint } from '../support/code-points.ts'

const CHEAP = { memoryKib: 64, passes: 1 }
/** The maximum of waiting hashes of one requester. */
const SHARE = 192

const passwords = createPasswords({ concurrency: 2, cost: CHEAP })

describe('hash', () => {
  // Covers password hashes: argon2id for new ones
  it('returns an argon2id hash in PHC form with the configured parameters', async () => {
    assert.match(
      await passwords.hash('koala'),
      /^\$argon2id\$v=19\$m=64,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    )
  })

  it('uses a new salt for each hash', async () => {
    assert.notEqual(await passwords.hash('koala'), await passwords.hash('koala'))
  })
})

describe('verify', () => {
  it('accepts only the hashed password, for any characters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCodePoint }), fc.string({ unit: anyCodePoint }), async (plain, other) => {
        const stored = await passwords.hash(plain)
        assert.equal(await passwords.verify(stored, plain), true)
        assert.equal(await passwords.verify(stored, other), plain === other)
      }),
      { numRuns: 40 },
    )
  })

  it('distinguishes argon2id passwords beyond 72 bytes', async () => {
    const stored = await passwords.hash(`${'x'.repeat(72)}a`)
    assert.equal(await passwords.verify(stored, `${'x'.repeat(72)}b`), false)
  })

  // The test vectors of Openwall's crypt_blowfish, made by an implementation other than ours.
  const known = [
    { name: 'bcrypt $2a$', stored: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', plain: 'U*U' },
    { name: 'bcrypt $2y$', stored: '$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', plain: 'U*U' },
    { name: 'bcrypt $2b$', stored: '$2b$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK', plain: 'U*U*' },
    {
      name: 'bcrypt of an empty password',
      stored: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy',
      plain: '',
    },
  ]
  for (const { name, stored, plain } of known) {
    for (const prefix of ['', '{bcrypt}']) {
      it(`accepts ${prefix}${name}`, async () => {
        assert.equal(await passwords.verify(prefix + stored, plain), true)
      })

      it(`rejects a wrong password for ${prefix}${name}`, async () => {
        assert.equal(await passwords.verify(prefix + stored, `${plain}x`), false)
      })
    }
  }

  it('accepts a bcrypt hash of this server’s library', async () => {
    assert.equal(await passwords.verify(`{bcrypt}${await bcryptHash('koala', 4)}`, 'koala'), true)
  })

  const unusable = [
    { name: 'an empty hash', stored: '' },
    { name: 'the password itself', stored: 'koala' },
    { name: 'the password with a prefix', stored: '{noop}koala' },
    { name: 'a prefix only', stored: '{bcrypt}' },
    { name: 'a prefix twice', stored: '{bcrypt}{bcrypt}$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW' },
    { name: 'an unknown kind of hash', stored: '$6$salt$hash' },
    {
      name: 'a bcrypt hash of an unknown version',
      stored: '$2c$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
    },
    { name: 'a truncated bcrypt hash', stored: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRG' },
  ]
  for (const { name, stored } of unusable) {
    it(`rejects every password for ${name}`, async () => {
      for (const plain of ['koala', '', stored]) assert.equal(await passwords.verify(stored, plain), false)
    })
  }
})

describe('The time of a rejection', () => {
  // Slow enough to take longer than a few cheap hashes on any machine.
  const stored = '$2a$12$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'

  /** Whether the work takes longer than a few cheap hashes run concurrently. */
  async function isSlow(made: Passwords, work: Promise<boolean>): Promise<boolean> {
    const order: string[] = []
    const hashes = async (): Promise<void> => {
      for (let round = 0; round < 10; round += 1) await made.hash('koala')
    }
    await Promise.all([work.then(() => order.push('work')), hashes().then(() => order.push('hashes'))])
    return order[1] === 'work'
  }

  it('is that of the slowest kind of hash verified before, for any hash', async () => {
    const made = createPasswords({ concurrency: 2, cost: CHEAP })
    const argon2 = await made.hash('koala')
    assert.equal(await isSlow(made, made.verifyPlaceholder('wrong')), false, 'before any slow hash was verified')
    assert.equal(await isSlow(made, made.verify(argon2, 'wrong')), false, 'before any slow hash was verified')
    assert.equal(await isSlow(made, made.verify(stored, 'wrong')), true)
    assert.equal(await isSlow(made, made.verifyPlaceholder('wrong')), true)
    assert.equal(await isSlow(made, made.verify(argon2, 'wrong')), true)
    assert.equal(await isSlow(made, made.verify(argon2, 'koala')), false)
    assert.equal(await made.verify(argon2, 'koala'), true)
  })

  /** Hashes with argon2id at this cost. */
  const argon2Of = (cost: HashCost): Promise<string> => createPasswords({ concurrency: 1, cost }).hash('koala')
  const SLOW = { memoryKib: 65_536, passes: 3 }

  it('is the same for a cheaper, older hash as for an unknown user', async () => {
    const made = createPasswords({ concurrency: 2, cost: SLOW })
    const beside = createPasswords({ concurrency: 2, cost: CHEAP })
    const old = await argon2Of(CHEAP)
    assert.equal(await isSlow(beside, made.verifyPlaceholder('wrong')), true)
    assert.equal(await isSlow(beside, made.verify(old, 'wrong')), true)
    assert.equal(await isSlow(beside, made.verify(old, 'koala')), false)
  })

  it('includes a slower, imported argon2id hash once one was verified', async () => {
    const made = createPasswords({ concurrency: 2, cost: CHEAP })
    const [own, slow] = [await made.hash('koala'), await argon2Of(SLOW)]
    assert.equal(await isSlow(made, made.verify(own, 'wrong')), false, 'before the slow hash was verified')
    assert.equal(await isSlow(made, made.verify(slow, 'wrong')), true)
    assert.equal(await isSlow(made, made.verify(own, 'wrong')), true)
    assert.equal(await isSlow(made, made.verifyPlaceholder('wrong')), true)
    assert.equal(await isSlow(made, made.verify(own, 'koala')), false)
  })

  it('is that of the highest bcrypt cost verified before', async () => {
    const made = createPasswords({ concurrency: 2, cost: CHEAP })
    const low = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
    assert.equal(await isSlow(made, made.verify(stored, 'wrong')), true)
    assert.equal(await isSlow(made, made.verify(low, 'wrong')), true)
  })

  it('ignores argon2id hashes that take more than a quarter of a second', async () => {
    const made = createPasswords({ concurrency: 2, cost: CHEAP })
    const beyond = (await argon2Of(SLOW)).replace('t=3', 't=9')
    await made.verify(beyond, 'wrong')
    assert.equal(await isSlow(made, made.verifyPlaceholder('wrong')), false)
  })

  it('ignores bcrypt hashes of an excessive cost', async () => {
    const made = createPasswords({ concurrency: 2, cost: CHEAP })
    const beyond = stored.replace('$12$', '$99$')
    assert.equal(await made.verify(beyond, 'wrong'), false)
    assert.equal(await made.verifyPlaceholder('wrong'), false)
  })
})

describe('verifyPlaceholder', () => {
  it('rejects every password', async () => {
    for (const plain of ['', 'koala', 'nobody has this password']) {
      assert.equal(await passwords.verifyPlaceholder(plain), false)
    }
  })

  it('takes one slot of the queue, like a verification', async () => {
    const fresh = createPasswords({ concurrency: 1, cost: CHEAP })
    const ends: string[] = []
    const note = (name: string) => (): number => ends.push(name)
    await Promise.all([
      fresh.verifyPlaceholder('koala').then(note('nothing')),
      fresh.hash('koala').then(note('hash')),
      fresh.verifyPlaceholder('koala').then(note('nothing again')),
    ])
    assert.deepEqual(ends, ['nothing', 'hash', 'nothing again'])
  })
})

describe('isOutdated', () => {
  const cases = [
    { name: 'a hash with the current parameters', stored: '$argon2id$v=19$m=64,t=1,p=1$c2FsdA$aGFzaA', want: false },
    { name: 'a hash with more memory', stored: '$argon2id$v=19$m=128,t=1,p=1$c2FsdA$aGFzaA', want: false },
    { name: 'a hash with more passes', stored: '$argon2id$v=19$m=64,t=3,p=4$c2FsdA$aGFzaA', want: false },
    { name: 'a hash with less memory', stored: '$argon2id$v=19$m=63,t=1,p=1$c2FsdA$aGFzaA', want: true },
    {
      name: 'a hash with less memory and more passes',
      stored: '$argon2id$v=19$m=32,t=9,p=1$c2FsdA$aGFzaA',
      want: true,
    },
    { name: 'a hash with fewer passes', stored: '$argon2id$v=19$m=64,t=0,p=1$c2FsdA$aGFzaA', want: true },
    { name: 'an older version of argon2', stored: '$argon2id$v=16$m=64,t=1,p=1$c2FsdA$aGFzaA', want: true },
    { name: 'argon2i', stored: '$argon2i$v=19$m=64,t=1,p=1$c2FsdA$aGFzaA', want: true },
    { name: 'bcrypt', stored: '$2a$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', want: true },
    {
      name: 'bcrypt with its prefix',
      stored: '{bcrypt}$2a$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
      want: true,
    },
    { name: 'an unknown hash', stored: '', want: true },
  ]
  for (const { name, stored, want } of cases) {
    it(`is ${want} for ${name}`, () => assert.equal(passwords.isOutdated(stored), want))
  }

  it('is false for a new hash', async () => {
    assert.equal(passwords.isOutdated(await passwords.hash('koala')), false)
  })
})

describe('Concurrent hashes', () => {
  // Much slower than the queued hashes: one that runs concurrently ends first, one queued behind it does not.
  const slow = '$argon2id$v=19$m=65536,t=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

  const cases = [
    {
      name: 'run two at a time with a concurrency of two',
      concurrency: 2,
      want: ['cheap', 'slow'],
    },
    { name: 'run one at a time with a concurrency of one', concurrency: 1, want: ['slow', 'cheap'] },
  ]
  for (const { name, concurrency, want } of cases) {
    it(name, async () => {
      const limited = createPasswords({ concurrency, cost: CHEAP })
      const ends: string[] = []
      await Promise.all([
        limited.verify(slow, 'koala').then(() => ends.push('slow')),
        limited.hash('koala').then(() => ends.push('cheap')),
      ])
      assert.deepEqual(ends, want)
    })
  }

  it('are served in order of arrival', async () => {
    const limited = createPasswords({ concurrency: 1, cost: CHEAP })
    const ends: number[] = []
    await Promise.all(Array.from({ length: 20 }, (_, index) => limited.hash('koala').then(() => ends.push(index))))
    assert.deepEqual(
      ends,
      Array.from({ length: 20 }, (_, index) => index),
    )
  })

  for (const concurrency of [1, 3]) {
    it(`are rejected beyond ${concurrency} running and a full queue, until some are done`, async () => {
      const limited = createPasswords({ concurrency, cost: CHEAP })
      const accepted = Array.from({ length: concurrency + SHARE }, () => limited.hash('koala'))
      await assert.rejects(limited.hash('koala'), TooManyHashes)
      await assert.rejects(limited.verify(slow, 'koala'), TooManyHashes)
      await assert.rejects(limited.verifyPlaceholder('koala'), TooManyHashes)
      assert.equal((await Promise.all(accepted)).length, concurrency + SHARE)
      assert.equal(await limited.verify(await limited.hash('koala'), 'koala'), true)
    })
  }

  it('release their slot on failure', async () => {
    const limited = createPasswords({ concurrency: 1, cost: CHEAP })
    const damaged = Array.from({ length: 5 }, () => limited.verify('$argon2id$damaged', 'koala'))
    for (const { status } of await Promise.allSettled(damaged)) assert.equal(status, 'rejected')
    assert.equal(await limited.verify(await limited.hash('koala'), 'koala'), true)
  })

  it('need no slot for an unknown kind of hash', async () => {
    const limited = createPasswords({ concurrency: 1, cost: CHEAP })
    const accepted = Array.from({ length: 1 + SHARE }, () => limited.hash('koala'))
    assert.equal(await limited.verify('{noop}koala', 'koala'), false)
    await Promise.all(accepted)
  })
})

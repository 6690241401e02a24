import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLimiter, createLimits, callerKey, TooManyRequests } from '../../src/web/limits.ts'
import { networkOf } from '../../src/base/network-address.ts'
import type { Limiter } from '../../src/web/limits.ts'
import { createTestClock } from '../support/clock.ts'
import { APP, MODES, tokensOf } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const times = (count: number, work: () => void): void => {
  for (let index = 0; index < count; index += 1) work()
}

/** Seconds until the key may try again; 0 when it may now. */
function wait(limiter: Limiter, key: string): number {
  try {
    limiter.check(key)
    return 0
  } catch (error) {
    assert.ok(error instanceof TooManyRequests)
    return error.retryAfterSeconds
  }
}

describe('a limiter', () => {
  const allowance = { max: 3, seconds: 10, keys: 4 }

  it('refuses the one request beyond the limit', () => {
    const limiter = createLimiter(createTestClock(), allowance)
    times(2, () => limiter.count('a'))
    assert.equal(wait(limiter, 'a'), 0)
    limiter.count('a')
    assert.equal(wait(limiter, 'a'), 10)
    assert.equal(wait(limiter, 'b'), 0)
  })

  it('does not count by checking', () => {
    const limiter = createLimiter(createTestClock(), allowance)
    times(20, () => limiter.check('a'))
    assert.equal(wait(limiter, 'a'), 0)
  })

  it('returns the remaining seconds, and accepts again afterwards', () => {
    const clock = createTestClock()
    const limiter = createLimiter(clock, allowance)
    limiter.count('a')
    clock.advance(6.5)
    times(2, () => limiter.count('a'))
    assert.equal(wait(limiter, 'a'), 4, 'rounded up')
    clock.advance(3.4)
    assert.equal(wait(limiter, 'a'), 1)
    clock.advance(0.1)
    assert.equal(wait(limiter, 'a'), 0)
    times(3, () => limiter.count('a'))
    assert.equal(wait(limiter, 'a'), 10, 'a new window')
  })

  it('is not prolonged by what is counted while it is full', () => {
    const clock = createTestClock()
    const limiter = createLimiter(clock, allowance)
    times(3, () => limiter.count('a'))
    clock.advance(9)
    times(50, () => limiter.count('a'))
    assert.equal(wait(limiter, 'a'), 1)
  })

  it('does not limit longer if the clock is set back', () => {
    const clock = createTestClock()
    const limiter = createLimiter(clock, allowance)
    times(3, () => limiter.count('a'))
    clock.advance(-3600)
    assert.equal(wait(limiter, 'a'), 0)
    times(3, () => limiter.count('a'))
    assert.equal(wait(limiter, 'a'), 10)
  })

  it('remembers so many keys and no more: the oldest window makes room', () => {
    const clock = createTestClock()
    const limiter = createLimiter(clock, allowance)
    for (const key of ['a', 'b', 'c', 'd']) times(3, () => limiter.count(key))
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map(key => wait(limiter, key)),
      [10, 10, 10, 10],
    )
    limiter.count('e')
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map(key => wait(limiter, key)),
      [0, 10, 10, 10],
    )
  })

  it('counts a key that opened again as new, whenever it was first seen', () => {
    const clock = createTestClock()
    const limiter = createLimiter(clock, allowance)
    limiter.count('a')
    clock.advance(10)
    for (const key of ['b', 'c', 'd']) limiter.count(key)
    times(3, () => limiter.count('a'))
    limiter.count('e')
    assert.equal(wait(limiter, 'a'), 10)
  })

  it('refuses everything when it allows nothing that was counted', () => {
    const limiter = createLimiter(createTestClock(), { max: 1, seconds: 1, keys: 1 })
    limiter.count('a')
    assert.equal(wait(limiter, 'a'), 1)
    limiter.count('b')
    assert.equal(wait(limiter, 'a'), 0, 'forgotten')
  })
})

describe('an attempt that is limited', () => {
  it('counts from its beginning, and no more when it succeeds or breaks off', async () => {
    const limiter = createLimiter(createTestClock(), { max: 2, seconds: 60, keys: 10 })
    const failed = (result: string) => result === 'wrong'
    const attempt = (work: () => Promise<string>) => limiter.attempt('a', work, failed)
    let end: (result: string) => void = assert.fail
    const first = attempt(() => new Promise<string>(resolve => (end = resolve)))
    assert.equal(await attempt(() => Promise.resolve('right')), 'right')
    await assert.rejects(
      attempt(() => Promise.reject(new Error('busy'))),
      /busy/,
    )
    assert.equal(await attempt(() => Promise.resolve('wrong')), 'wrong')
    await assert.rejects(
      attempt(() => assert.fail('was made')),
      TooManyRequests,
    )
    end('right')
    await first
    assert.equal(await attempt(() => Promise.resolve('right')), 'right')
  })
})

describe('the network of an address', () => {
  const cases: readonly (readonly [address: string, want: string])[] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::', 'fe80:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ]
  for (const [address, want] of cases) {
    it(`is ${want || 'nothing'} for ${address || 'none'}`, () => assert.equal(networkOf(address), want))
  }

  it('and what is tried make keys of one length that nobody can make collide', () => {
    const key = (remoteAddress: string | undefined, ...tried: readonly string[]): string =>
      callerKey({ zone: { id: 'svc' }, remoteAddress }, ...tried)
    const keys = [
      key('192.0.2.7', 'a', 'b'),
      key('192.0.2.7', 'a","b'),
      key('192.0.2.7', 'ab', ''),
      key('192.0.2.8', 'a', 'b'),
      key(undefined, 'a', 'b'),
      key('192.0.2.7', 'x'.repeat(60_000)),
    ]
    assert.equal(new Set(keys).size, keys.length)
    assert.deepEqual(new Set(keys.map(({ length }) => length)), new Set([43]))
    assert.equal(key('2001:db8::1', 'a'), key('2001:db8::2', 'a'))
  })
})

describe('the limits of a process', () => {
  it('are apart from one another', () => {
    const limits = createLimits(createTestClock())
    times(100, () => limits.wrongPasswords.count('a'))
    assert.equal(wait(limits.wrongPasswords, 'a'), 60)
    assert.deepEqual([wait(limits.wrongPasscodes, 'a'), wait(limits.newPasscodes, 'a')], [0, 0])
  })
})

for (const mode of MODES) {
  describe(`a hundred wrong passwords in ${mode}`, () => {
    const withServer = async (test: (server: TestServer) => Promise<void>): Promise<void> => {
      const server = await startServer({ mode })
      try {
        await test(server)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    }
    const grant = (server: TestServer, username: string, password = 'wrong'): Promise<TestAnswer> =>
      server.token({ grant_type: 'password', username, password }, { basic: APP })

    it('for one name are followed by 429, at the token endpoint and on the page, until the minute is over', () =>
      withServer(async server => {
        for (let index = 0; index < 100; index += 1) {
          assert.equal((await grant(server, index % 2 === 0 ? 'nemo' : 'NEMO')).status, mode === 'standard' ? 400 : 401)
        }
        server.clock.advance(15)
        const refusal = await grant(server, 'nemo')
        assert.equal(refusal.status, 429)
        assert.deepEqual(refusal.json(), { error: 'Too many attempts. Wait a minute, then try again.' })
        assert.equal(refusal.headers['retry-after'], '45')
        assert.match(String(refusal.headers['content-type']), /^application\/json/)
        assert.equal(refusal.headers['cache-control'], 'no-store')
        assert.equal(refusal.headers['www-authenticate'], undefined)

        const page = await server.browser().signIn('nemo', 'wrong')
        assert.equal(page.status, 429)
        assert.equal(page.headers['retry-after'], '45')
        assert.match(page.text, /<h1>.*Too many requests/)
        assert.match(page.text, /Too many attempts\. Wait a minute/)

        assert.ok(tokensOf(await grant(server, 'marissa', 'koala')), 'another name')
        server.clock.advance(45)
        assert.notEqual((await grant(server, 'nemo')).status, 429)
      }))

    it('count on the page as at the token endpoint, and a right one does not', () =>
      withServer(async server => {
        for (let index = 0; index < 110; index += 1) tokensOf(await grant(server, 'marissa', 'koala'))
        for (let index = 0; index < 99; index += 1) await grant(server, 'nemo')
        assert.equal((await server.browser().signIn('nemo', 'wrong')).location().search, '?error=login_failure')
        assert.equal((await grant(server, 'nemo')).status, 429)
      }))
  })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { readFile } from 'node:fs/promises'
import { ALLOWANCES, callerKey, createLimits, limitedSignIn, siteKey } from '../../../src/web/limits/limits.ts'
import { networkOf, siteOf } from '../../../src/base/network-address.ts'
import { countMail } from '../../../src/login/accounts/self-service.ts'
import { openStore } from '../../../src/store/open.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createSecretGuesses } from '../../../src/web/limits/secret-guesses.ts'
import { unreportedOf } from '../../../src/web/limits/shared-limits.ts'
import type { Allowance } from '../../../src/web/limits/shared-limits.ts'
import { TooManyRequests } from '../../../src/web/limits/too-many-requests.ts'
import { createTestClock } from '../../support/clock.ts'
import { APP, MODES, tokensOf } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

describe('Network of an address', () => {
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

  it('is /48 for IPv6 in `siteOf` and `siteKey`', () => {
    for (const [address, want] of [
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['2001:db8:1:2::9', '2001:db8:1::/48'],
    ] as const) {
      assert.equal(siteOf(address), want)
    }
    const key = (remoteAddress: string): string => siteKey({ zone: { id: 'svc' }, remoteAddress }, 'a')
    assert.equal(key('2001:db8:1:2::9'), key('2001:db8:1:ffff::1'))
    assert.notEqual(key('2001:db8:1:2::9'), key('2001:db8:2:2::9'))
  })

  it('is part of `callerKey`, which has a fixed length and no collisions', () => {
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

describe('Limits', () => {
  it('are those of docs/operate.md', async () => {
    const page = await readFile(new URL('../../../docs/operate.md', import.meta.url), 'utf8')
    const rows = page.matchAll(/^\|.*\| ([\d,]+) (?:a|an|in) (\w+)(?: minutes)? \| (\d+) \| `(\w+)` \|$/gm)
    const seconds: Readonly<Record<string, number>> = { minute: 60, five: 300, hour: 3600 }
    const reported = new Set<string>()
    for (const [row, max = '', time = '', more, name = ''] of rows) {
      const allowance: Allowance | undefined = Object.entries(ALLOWANCES).find(([each]) => each === name)?.[1]
      assert.ok(allowance, row)
      const expected = [Number(max.replace(',', '')), seconds[time], Number(more)]
      assert.deepEqual(expected, [allowance.max, allowance.seconds, unreportedOf(allowance) - 1], row)
      reported.add(name)
    }
    assert.deepEqual([...reported].toSorted(), Object.keys(ALLOWANCES).toSorted())
  })

  it('refuse mails to all addresses once mailsOfZone is reached, without counting them', async () => {
    const clock = createTestClock()
    const store = await openStore('sqlite::memory:', { clock })
    const deps = { clock, store, vault: { keyedDigest: (text: string) => text }, log: { fault: assert.ifError } }
    const limits = createLimits(deps)
    for (let count = 0; count < ALLOWANCES.mailsOfZone.max - 1; count += 1) await limits.mailsOfZone.take('z1')
    const request = (id: string) => ({ zone: { id }, ip: '192.0.2.7', headers: {} }) as unknown as FastifyRequest // the properties used
    await countMail(request('z1'), 'a@example.org', limits)
    for (let count = 0; count < 20; count += 1) {
      await assert.rejects(countMail(request('z1'), 'a@example.org', limits), TooManyRequests)
    }
    await countMail(request('z2'), 'a@example.org', limits)
    clock.advance(3600)
    for (let count = 0; count < 10; count += 1) await countMail(request('z1'), 'a@example.org', limits)
    await assert.rejects(countMail(request('z1'), 'a@example.org', limits), TooManyRequests)
    await countMail(request('z1'), 'b@example.org', limits)
    await store.close()
  })

  it('limit wrong passwords and client secrets from one network across names and clients', async () => {
    const store = await openStore('sqlite::memory:', { clock: createTestClock() })
    const vault = { keyedDigest: (text: string) => text }
    const limits = createLimits({ clock: createTestClock(), store, vault, log: { fault: assert.ifError } })
    const guesses = createSecretGuesses({ limits, random: createRandom() })
    const from = (remoteAddress: string) =>
      ({ zone: { id: 'z1' }, remoteAddress }) as unknown as Parameters<typeof guesses.check>[0] // the properties used
    const signIn = (name: number, address: string, outcome = 'refused') =>
      limitedSignIn(limits, { from: from(address), userName: `name ${name}` }, () => Promise.resolve({ outcome }))
    const guess = (client: number, address: string) =>
      guesses.attempt(from(address), { clientId: `c${client}`, secret: 'x', client: undefined }, () =>
        Promise.resolve(false),
      )
    for (let count = 0; count < 1000; count += 1) {
      const address = `2001:db8:1:${count.toString(16)}::1`
      await signIn(count, address, 'signed-in')
      await signIn(count, address)
      await guess(count, address)
      if (count % 10 === 0) await guess(count, address) // a repeated guess is not counted
    }
    await assert.rejects(signIn(1000, '2001:db8:1:ffff::1'), TooManyRequests)
    await assert.rejects(guess(1000, '2001:db8:1:ffff::1'), TooManyRequests)
    assert.equal((await signIn(0, '2001:db8:2::1', 'signed-in')).outcome, 'signed-in')
    assert.equal(await guess(0, '2001:db8:2::1'), false)
    guesses.check(from('2001:db8:1:ffff::1'), 'service')
    await store.close()
  })

  it('send no statement for correct credentials and a few mistakes', async () => {
    const server = await startServer()
    const { rateCounts } = server.store
    const add = rateCounts.add.bind(rateCounts)
    let statements = 0
    Object.assign(rateCounts, {
      add(...args: Parameters<typeof add>) {
        statements += 1
        return add(...args)
      },
    })
    const service = { grant_type: 'client_credentials', client_id: 'service' }
    for (const client_secret of ['wrong', 'mistyped', 'other']) await server.token({ ...service, client_secret })
    for (let count = 0; count < 120; count += 1) {
      assert.equal((await server.token({ ...service, client_secret: 'service-secret' })).status, 200)
    }
    for (const password of ['kaola', 'coala', 'koala']) await server.browser().signIn('marissa', password)
    assert.equal(statements, 0)
    await server.stop()
  })
})

for (const mode of MODES) {
  describe(`100 wrong passwords in ${mode}`, () => {
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

    it('lock the user name with 429 at the token endpoint and on the page, for a minute', () =>
      withServer(async server => {
        for (let index = 0; index < 100; index += 1) {
          assert.equal((await grant(server, index % 2 === 0 ? 'nemo' : 'NEMO')).status, mode === 'standard' ? 400 : 401)
        }
        server.clock.advance(15)
        const refusal = await grant(server, 'nemo')
        assert.equal(refusal.status, 429)
        assert.deepEqual(refusal.json(), {
          error: 'too_many_requests',
          error_description: 'Too many attempts. Try again in 45 seconds.',
        })
        assert.equal(refusal.headers['retry-after'], '45')
        assert.match(String(refusal.headers['content-type']), /^application\/json/)
        assert.equal(refusal.headers['cache-control'], 'no-store')
        assert.equal(refusal.headers['www-authenticate'], undefined)

        const page = await server.browser().signIn('nemo', 'wrong')
        assert.equal(page.status, 429)
        assert.equal(page.headers['retry-after'], '45')
        assert.match(page.text, /<h1>.*Too many requests/)
        assert.match(page.text, /Too many attempts\. Try again in 45 seconds\./)

        assert.ok(tokensOf(await grant(server, 'marissa', 'koala')), 'another name')
        server.clock.advance(45)
        assert.notEqual((await grant(server, 'nemo')).status, 429)
      }))

    it('are counted together for page and token endpoint, without correct ones', () =>
      withServer(async server => {
        for (let index = 0; index < 110; index += 1) tokensOf(await grant(server, 'marissa', 'koala'))
        for (let index = 0; index < 99; index += 1) await grant(server, 'nemo')
        assert.equal((await server.browser().signIn('nemo', 'wrong')).location().search, '?error=login_failure')
        assert.equal((await grant(server, 'nemo')).status, 429)
      }))
  })
}

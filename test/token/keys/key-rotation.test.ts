import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { addSeconds } from '../../../src/base/clock.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { SigningAlgorithm } from '../../../src/model/tokens/signing-key.ts'
import type { Zone, ZoneConfig } from '../../../src/model/zones/zone.ts'
import { generateKey } from '../../../src/token/keys/key-generation.ts'
import { sealedKey } from '../../../src/token/keys/zone-key.ts'
import { maxTokenSeconds } from '../../../src/token/lifetimes.ts'
import type { TestClock } from '../../support/clock.ts'
import { createTestClock } from '../../support/clock.ts'
import type { TestDatabase } from '../../support/databases.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import { keysConfig } from '../../support/keys.ts'
import { MODES, SERVICE, isAlive, tokensOf, verified } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const random = createRandom()
const vault = createVault(Buffer.alloc(32, 7), random) // as in the test server

async function add(server: TestServer, keyId: string, algorithm: SigningAlgorithm): Promise<void> {
  const about = { zoneId: 'svc', keyId, active: false, createdAt: server.clock.now() }
  await server.store.keys.insert('svc', sealedKey(about, await generateKey(algorithm, random), vault))
}

const issue = async (server: TestServer): Promise<string> =>
  tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })).access_token
const kidOf = (token: string): unknown => decodeProtectedHeader(token).kid
const published = async (server: TestServer): Promise<readonly string[]> =>
  (await server.send('/token_keys')).json<{ keys: { kid: string }[] }>().keys.map(({ kid }) => kid)

/** Waits until another process reads the change; another test limits the delay. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, 'the other process did not read the change')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

for (const kind of DATABASE_KINDS) {
  describe(`Key rotation with two processes on ${kind}`, () => {
    let database: TestDatabase
    let clock: TestClock
    let one: TestServer
    let two: TestServer
    let old = ''
    let tag = ''
    before(async () => {
      database = await freshDatabase(kind)
      clock = createTestClock()
      one = await startServer({ database: database.url, config: keysConfig('RS256'), clock })
      two = await startServer({ database: database.url, config: keysConfig('RS256'), clock })
    })
    after(async () => {
      for (const server of [one, two]) {
        assert.deepEqual(server.faults, [])
        await server.stop()
      }
      await database.drop()
    })

    it('starts with one active key', async () => {
      assert.deepEqual(await published(two), ['key'])
      tag = String((await two.send('/token_keys')).headers['etag'])
      old = await issue(one)
      assert.equal(kidOf(old), 'key')
    })

    it('publishes the next key in all processes before it signs', async () => {
      await add(one, 'next', 'ES256')
      await eventually(async () => (await published(two)).includes('next'))
      const answer = await two.send('/token_keys', { headers: { 'if-none-match': tag } })
      assert.equal(answer.status, 200)
      assert.notEqual(answer.headers['etag'], tag)
      for (const server of [one, two]) assert.equal(kidOf(await issue(server)), 'key')
    })

    it('signs with the next key in all processes, and accepts tokens of both', async () => {
      assert.equal(await one.store.keys.activate('svc', 'next', clock.now()), true)
      await eventually(async () => kidOf(await issue(two)) === 'next')
      const fresh = await issue(two)
      for (const server of [one, two]) {
        assert.deepEqual(await published(server), ['next', 'key'])
        for (const token of [old, fresh]) {
          await verified(server, token)
          assert.ok(await isAlive(server, token))
        }
      }
    })

    // Covers signing keys: rule: a retired key verifies until its tokens expired
    it('accepts old tokens until the retired key expires', async () => {
      const seconds = 1800 // shorter than the token lifetime
      assert.equal(await one.store.keys.retire('svc', 'key', addSeconds(clock.now(), seconds)), true)
      await eventually(async () => (await two.store.keys.list('svc')).some(({ expiresAt }) => expiresAt !== undefined))
      const fresh = await issue(two)
      clock.advance(seconds - 1)
      for (const server of [one, two]) {
        assert.ok(await isAlive(server, old))
        assert.deepEqual(await published(server), ['next', 'key'])
      }
      clock.advance(1)
      for (const server of [one, two]) {
        assert.ok(!(await isAlive(server, old)))
        assert.equal((await server.send('/userinfo', { bearer: old })).status, 401)
        assert.ok(await isAlive(server, fresh))
        assert.deepEqual(await published(server), ['next'])
        await assert.rejects(verified(server, old), /no applicable key/)
      }
    })

    it('deletes the expired key in the next purge', async () => {
      clock.advance(1)
      assert.ok((await two.store.purge(clock.now())) > 0)
      await eventually(async () => (await one.store.keys.list('svc')).length === 1)
    })

    it('invalidates all tokens of a compromised key immediately', async () => {
      const stolen = await issue(one)
      await add(one, 'third', 'HS256')
      assert.equal(await one.store.keys.activate('svc', 'third', clock.now()), true)
      assert.equal(await one.store.keys.retire('svc', 'next', clock.now()), true)
      await eventually(async () => !(await isAlive(two, stolen)))
      assert.ok(!(await isAlive(one, stolen)))
      assert.deepEqual(await published(two), []) // shared secrets are not published
      assert.ok(await isAlive(two, await issue(one)))
    })
  })
}

describe('maxTokenSeconds', () => {
  const zone = (tokenPolicy: ZoneConfig['tokenPolicy'] = {}): Zone => ({
    id: 'z',
    subdomain: 'z',
    name: 'Z',
    active: true,
    version: 0,
    config: { tokenPolicy },
    createdAt: new Date(0),
    updatedAt: new Date(0),
  })
  const DAY = 86_400
  const cases = [
    { name: 'is the refresh token validity by default', want: 30 * DAY },
    { name: 'is the refresh token validity of the zone', policy: { refreshTokenValidity: 2 * DAY }, want: 2 * DAY },
    {
      name: 'is the access token validity of the zone if it is longer',
      policy: { refreshTokenValidity: 60, accessTokenValidity: 90 },
      want: 90,
    },
    { name: 'treats -1 as unset', policy: { refreshTokenValidity: -1 }, want: 30 * DAY },
    {
      name: 'is the longest access token validity of a client',
      policy: { refreshTokenValidity: 60 },
      clients: [{ accessTokenSeconds: 50 * DAY }],
      want: 50 * DAY,
    },
    {
      name: 'is the longest refresh token validity of a client',
      policy: { refreshTokenValidity: 60 },
      clients: [{ refreshTokenSeconds: 51 * DAY }],
      want: 51 * DAY,
    },
    {
      name: 'includes the default if a client uses it',
      policy: { refreshTokenValidity: 60 },
      clients: [{ refreshTokenSeconds: 60 }, { refreshTokenSeconds: -1 }],
      want: 30 * DAY,
    },
    {
      name: 'is not reduced by shorter validities of clients',
      clients: [{ accessTokenSeconds: 1, refreshTokenSeconds: 1 }],
      want: 30 * DAY,
    },
  ]
  for (const { name, policy, clients = [], want } of cases) {
    it(name, () => {
      for (const mode of MODES) assert.equal(maxTokenSeconds(zone(policy), clients, behaviourOf(mode)), want)
    })
  }
  it('is at least the access token validity of the mode', () => {
    for (const [mode, want] of [
      ['standard', 3600],
      ['uaa', 43_200],
    ] as const) {
      assert.equal(maxTokenSeconds(zone({ refreshTokenValidity: 1 }), [], behaviourOf(mode)), want)
    }
  })
})

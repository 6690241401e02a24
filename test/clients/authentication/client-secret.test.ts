// Counts the slow hashes per attempt, instead of measuring time.
import assert from 'node:assert/strict'
import { before, beforeEach, describe, it } from 'node:test'
import { createPasswords } from '../../../src/base/passwords.ts'
import type { Passwords } from '../../../src/base/passwords.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createSecretMemory } from '../../../src/base/secrets.ts'
import type { SecretMemory } from '../../../src/base/secrets.ts'
import { clientSecretBasic } from '../../../src/clients/authentication/client-secret.ts'
import type { ClientAuthDeps } from '../../../src/clients/authentication/method.ts'
import type { Client } from '../../../src/model/clients/client.ts'
import { at, client as clientRecord } from '../../store/records.ts'

const passwords = createPasswords({ concurrency: 1, cost: { memoryKib: 8, passes: 1 } })

describe('A wrong client secret', () => {
  let hashes: readonly string[]
  let memory: SecretMemory
  let count = 0
  before(async () => {
    hashes = await Promise.all(['old', 'new'].map(secret => passwords.hash(secret)))
  })
  beforeEach(() => {
    memory = createSecretMemory(createRandom())
  })

  const clientWith = (secrets: number): Client =>
    clientRecord({
      clientId: 'app',
      secrets: hashes.slice(0, secrets).map(hash => ({ hash, createdAt: at(0) })) as never,
    })

  /** Whether the secret is accepted, and how many slow hashes that took. */
  async function attempt(client: Client | undefined, secret: string): Promise<readonly [boolean, number]> {
    count = 0
    const counting: Passwords = {
      ...passwords,
      verify(...args) {
        count += 1
        return passwords.verify(...args)
      },
      verifyPlaceholder(...args) {
        count += 1
        return passwords.verifyPlaceholder(...args)
      },
    }
    const guesses = {
      check() {},
      attempt: (_from: unknown, _tried: unknown, verify: () => Promise<boolean>) => verify(),
    }
    const deps = { memory, passwords: counting, guesses } as unknown as ClientAuthDeps // the members that are used
    const header = `Basic ${Buffer.from(`app:${secret}`).toString('base64')}`
    const from = { zone: { id: 'svc' }, remoteAddress: '127.0.0.1' } as never
    const read = clientSecretBasic.read({ authorization: header } as never)
    return [await read.verify(client, from, deps), count]
  }

  it('costs one hash for a client with one or no secret, and for an unknown client', async () => {
    assert.deepEqual(await attempt(clientWith(1), 'wrong'), [false, 1])
    assert.deepEqual(await attempt(clientWith(0), 'wrong'), [false, 1])
    assert.deepEqual(await attempt(undefined, 'wrong'), [false, 1])
  })

  for (const inUse of ['old', 'new']) {
    it(`costs one hash for a client with two secrets if the ${inUse} one was used before`, async () => {
      const client = clientWith(2)
      const [isAccepted] = await attempt(client, inUse)
      assert.equal(isAccepted, true)
      assert.deepEqual(await attempt(client, inUse), [true, 0])
      assert.deepEqual(await attempt(client, 'wrong'), [false, 1])
      const other = inUse === 'old' ? 'new' : 'old'
      assert.deepEqual(await attempt(client, other), [true, 1])
      assert.deepEqual(await attempt(client, 'wrong'), [false, 1])
      assert.deepEqual(await attempt(client, 'old'), [true, 0])
      assert.deepEqual(await attempt(client, 'new'), [true, 0])
    })
  }
})

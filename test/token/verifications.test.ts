import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createTokenCheck } from '../../src/identity/sources/oidc/token.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import type { AddressedZone } from '../../src/model/request.ts'
import { createUrls } from '../../src/model/urls.ts'
import { createTokenReader } from '../../src/token/reader.ts'
import { createVerifications } from '../../src/token/verifications.ts'
import { createTestClock } from '../support/clock.ts'
import { signedText, testKey } from '../fuzz/targets/keys.ts'

describe('Signature verifications', () => {
  it('limit concurrency to the number of CPUs', async () => {
    const own = createVerifications()
    let [running, most, done] = [0, 0, 0]
    await Promise.all(
      Array.from({ length: 100 }, () =>
        own.inTurn('z', async () => {
          running += 1
          most = Math.max(most, running)
          await nextTurn()
          running -= 1
          done += 1
        }),
      ),
    )
    assert.equal(done, 100)
    assert.equal(most, availableParallelism())
  })

  const key = testKey('tokens')
  const token = signedText('{"alg":"EdDSA","kid":"k1"}', '{}', key.privateKey)
  const zones: string[] = []
  const verifications = {
    inTurn<T>(zoneId: string, verify: () => Promise<T>): Promise<T> {
      zones.push(zoneId)
      return verify()
    },
  }
  const clock = createTestClock()

  it("of this server's tokens are queued by zone", async () => {
    type Deps = Parameters<typeof createTokenReader>[0]
    const reader = createTokenReader({
      clock,
      urls: createUrls('https://id.example', behaviourOf('standard')),
      keys: {
        find: () => Promise.resolve({ keyId: 'k1', algorithm: 'EdDSA', verifyKey: key.publicKey }),
      } as unknown as Deps['keys'], // a ring with one key
      store: {} as Deps['store'],
      senders: {} as Deps['senders'],
      verifications,
      behaviour: behaviourOf('standard'),
      groupsOf: () => Promise.reject(new Error('not asked for')),
    })
    const zone = { id: 'own', subdomain: '', address: 'host', config: {} } as unknown as AddressedZone // what is read
    await assert.rejects(reader.readHint(zone, token), { message: /^Invalid issuer/ })
    assert.deepEqual(zones.splice(0), ['own'])
  })

  it('of provider tokens are queued by zone', async () => {
    const check = createTokenCheck({
      foreignKeys: { find: () => Promise.resolve(key.publicKey), ...verifications },
      clock,
    })
    const checked = await check(token, { tokenKey: '{}' }, { zoneId: 'theirs', purpose: 'sign-in' })
    assert.equal(checked.outcome, 'refused')
    assert.deepEqual(zones.splice(0), ['theirs'])
  })
})

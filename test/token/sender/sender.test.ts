import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { AddressedZone } from '../../../src/model/request.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { createDpopNonces } from '../../../src/token/sender/dpop-nonce.ts'
import { createSenders } from '../../../src/token/sender/sender.ts'
import type { Senders } from '../../../src/token/sender/sender.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { dpopKey, proof } from '../../support/dpop.ts'
import type { DpopKey } from '../../support/dpop.ts'
import { loadedAtStart } from '../../support/loaded-at-start.ts'
import { clientNamed } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const refused = (error: string) => (thrown: unknown) => thrown instanceof OAuthError && thrown.error === error

describe('createSenders', () => {
  let server: TestServer
  let senders: Senders
  let key: DpopKey
  let zone: AddressedZone
  before(async () => {
    server = await startServer()
    key = await dpopKey()
    const { store, clock } = server
    const behaviour = behaviourOf('standard')
    const nonces = createDpopNonces({ clock, vault: createVault(Buffer.alloc(32, 7), createRandom()) })
    senders = createSenders({ store, clock, behaviour, nonces, urls: createUrls(server.baseUrl, behaviour) })
    const found = await store.zones.find('svc')
    assert.ok(found)
    zone = { ...found, address: 'host', config: { requireDpopNonce: false } }
  })
  after(() => server.stop())

  const request = (headers: Readonly<Record<string, string>> = {}, config: object = zone.config) => ({
    zone: { ...zone, config: { ...config } },
    method: 'POST',
    originalUrl: '/oauth/par',
    headers,
  })
  const proven = async () => ({
    dpop: await proof(key, { url: 'http://localhost:8080/oauth/par', at: server.clock.now() }),
  })

  describe('keyOfPushed', () => {
    it('returns the key of dpop_jkt or the proof', async () => {
      const client = await clientNamed(server, 'app')
      assert.equal(await senders.keyOfPushed(request(), client, undefined), undefined)
      assert.equal(await senders.keyOfPushed(request(), client, 'named'), 'named')
      assert.equal(await senders.keyOfPushed(request(await proven()), client, undefined), key.jkt)
      assert.equal(await senders.keyOfPushed(request(await proven()), client, key.jkt), key.jkt)
    })

    it('refuses a proof of a key other than dpop_jkt', async () => {
      const client = await clientNamed(server, 'app')
      await assert.rejects(senders.keyOfPushed(request(await proven()), client, 'named'), refused('invalid_dpop_proof'))
    })

    it('requires a nonce unless it is disabled in the zone', async () => {
      const client = await clientNamed(server, 'app')
      const strict = request(await proven(), {})
      await assert.rejects(senders.keyOfPushed(strict, client, undefined), refused('use_dpop_nonce'))
    })

    it('ignores proofs if DPoP is disabled', async () => {
      const client = await clientNamed(server, 'app')
      const off = request({ dpop: 'x' }, { protocols: { dpop: false } })
      assert.equal(await senders.keyOfPushed(off, client, undefined), undefined)
    })
  })

  it('check refuses an unknown cnf, and one with several members of which one is not proven', async () => {
    const sent = request({ authorization: 'DPoP abc', ...(await proven()) })
    const client = await clientNamed(server, 'app')
    for (const cnf of [{}, { jwk: {} }, { jkt: 1 }, 'x', null, [], { jkt: key.jkt, kid: 'x' }]) {
      await assert.rejects(senders.check(sent, { token: 'abc', cnf, client }), refused('invalid_token'))
    }
    const both = { jkt: key.jkt, 'x5t#S256': 'x' }
    const headers = {
      authorization: 'DPoP abc',
      dpop: await proof(key, { url: 'http://localhost:8080/oauth/par', at: server.clock.now(), token: 'abc' }),
    }
    await senders.check(request(headers), { token: 'abc', cnf: { jkt: key.jkt }, client })
    await assert.rejects(senders.check(request(headers), { token: 'abc', cnf: both, client }), refused('invalid_token'))
  })

  it('loads the proof verification with the first proof', () => {
    const loaded = loadedAtStart()
    assert.ok(loaded.some(url => url.endsWith('/src/token/sender/dpop.ts')))
    assert.ok(!loaded.some(url => url.endsWith('/src/token/sender/dpop-proof.ts')))
  })

  it('check requires no proof to inspect a token', async () => {
    const client = await clientNamed(server, 'app')
    await senders.check({ zone, inspected: true }, { token: 'abc', cnf: { jkt: key.jkt }, client })
  })
})

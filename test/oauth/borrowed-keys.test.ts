import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { readKeyMaterial } from '../../src/model/tokens/key-material.ts'
import { sealedKey } from '../../src/token/keys/zone-key.ts'
import { privatePem } from '../support/config.ts'
import { MODES, RESOURCE, SERVICE, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const Z1 = 'z1.localhost:8080'
const FORM = { grant_type: 'client_credentials' }
const SECRET = 'a secret of more than thirty-two bytes'

const zones = [{ id: 'z1', subdomain: 'z1', name: 'One', bootstrap: { clients: defaultBootstrap.clients } }]
const configWith = (signingKeys?: object) => ({
  bootstrap: { ...defaultBootstrap, identity_zones: zones },
  ...(signingKeys && { signing_keys: signingKeys }),
})

for (const mode of MODES) {
  describe(`Zone without signing keys in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: configWith() })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const issue = async (host?: string): Promise<string> =>
      tokensOf(await server.token(FORM, { basic: SERVICE, ...(host !== undefined && { host }) })).access_token
    const isActive = async (token: string, host?: string): Promise<unknown> =>
      (
        await server.send('/introspect', { form: { token }, basic: RESOURCE, ...(host !== undefined && { host }) })
      ).json()['active']
    const keysAt = async (host?: string): Promise<string> =>
      (await server.send('/token_keys', { ...(host !== undefined && { host }) })).text

    // Covers signing keys: zone without keys uses the default zone's
    // Covers Zone config in effect: fallback of signing keys to the default zone
    it('signs with the keys of the default zone, and accepts only its own tokens', async () => {
      const [ofZone, ofDefault] = [await issue(Z1), await issue()]
      assert.equal(decodeProtectedHeader(ofZone).kid, decodeProtectedHeader(ofDefault).kid)
      assert.equal(await keysAt(Z1), await keysAt())
      assert.deepEqual(await server.store.keys.list('z1'), [])
      assert.equal(await isActive(ofZone, Z1), true)
      assert.equal(await isActive(ofZone), false)
      assert.equal(await isActive(ofDefault, Z1), false)
    })

    it('uses its own key once it has one', async () => {
      const before = await issue(Z1)
      const material = readKeyMaterial({ text: privatePem('ec', 'P-256') })
      assert.ok('privateKey' in material)
      const place = { zoneId: 'z1', keyId: 'own', active: true, createdAt: server.clock.now() }
      // With the vault of the test server.
      await server.store.keys.save('z1', sealedKey(place, material, createVault(Buffer.alloc(32, 7), createRandom())))
      const after = await issue(Z1)
      assert.equal(decodeProtectedHeader(after).kid, 'own')
      assert.ok(!(await keysAt(Z1)).includes((await server.app.keys.active('svc')).keyId))
      assert.equal(await isActive(after, Z1), true)
      assert.equal(await isActive(before, Z1), false)
    })
  })

  it(`does not publish the shared secret of the default zone in ${mode}`, async () => {
    const signing = { active: 'hs', keys: { hs: { alg: 'HS256', secret: SECRET } } }
    const server = await startServer({ mode, config: configWith(signing) })
    for (const path of ['/token_key', '/token_keys']) {
      for (const basic of [undefined, SERVICE, RESOURCE] as const) {
        const answer = await server.send(path, { host: Z1, ...(basic && { basic }) })
        assert.ok(!answer.text.includes(SECRET), `${path} ${basic?.[0]}: ${answer.text}`)
        assert.ok(answer.status < 500)
      }
    }
    const own = await server.send('/token_key', { basic: RESOURCE })
    assert.equal(own.text.includes(SECRET), mode === 'uaa', 'in UAA, a resource server of the default zone receives it')
    await server.stop()
  })
}

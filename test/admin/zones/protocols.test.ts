import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memberOf } from '../../../src/base/json.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import type { ZoneAnswer } from '../../support/zones.ts'
import { sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'

for (const mode of MODES) {
  describe(`Zone protocols in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startZoneServer({ mode })
      bearer = await tokenOf(server, 'writer')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    it('are kept if omitted, and removed by null', async () => {
      const zone = { id: 'protocols', subdomain: 'protocols', name: 'x' }
      const config = {
        protocols: { dpop: false, deviceGrant: true },
        requirePushedRequests: true,
        requireDpopNonce: false,
      }
      const made = await sendJson(server, 'POST', '/identity-zones', { ...zone, config }, { bearer })
      assert.equal(made.status, 201, made.text)
      const after = async (change: unknown): Promise<readonly unknown[]> => {
        const answer = await sendJson(
          server,
          'PUT',
          `/identity-zones/${zone.id}`,
          { ...zone, config: change },
          { bearer },
        )
        assert.equal(answer.status, 200, answer.text)
        const { config: changed } = answer.json<ZoneAnswer>()
        return [changed['protocols'], changed['requirePushedRequests'], changed['requireDpopNonce']]
      }
      assert.deepEqual(await after({}), [config.protocols, true, false])
      assert.deepEqual(await after({ protocols: { dpop: true } }), [{ dpop: true }, true, false])
      const none = { protocols: null, requirePushedRequests: null, requireDpopNonce: null }
      assert.deepEqual(await after(none), [undefined, undefined, undefined])
    })

    it('are kept like other settings unknown to UAA', async () => {
      const zone = { id: 'newer', subdomain: 'newer', name: 'x' }
      const tokenPolicy = { accessTokenType: 'at+jwt', accessTokenValidity: 60 }
      const config = { require_nonce: true, tokenPolicy }
      assert.equal((await sendJson(server, 'POST', '/identity-zones', { ...zone, config }, { bearer })).status, 201)
      const after = async (change: unknown): Promise<readonly unknown[]> => {
        const body = { ...zone, config: change }
        const answer = await sendJson(server, 'PUT', `/identity-zones/${zone.id}`, body, { bearer })
        assert.equal(answer.status, 200, answer.text)
        const { require_nonce, tokenPolicy } = answer.json<ZoneAnswer>().config
        return [require_nonce, memberOf(tokenPolicy, 'accessTokenType'), memberOf(tokenPolicy, 'accessTokenValidity')]
      }
      assert.deepEqual(await after({}), [true, 'at+jwt', -1])
      assert.deepEqual(await after({ tokenPolicy: { accessTokenValidity: 90 } }), [true, 'at+jwt', 90])
      assert.deepEqual(await after({ require_nonce: false, tokenPolicy: null }), [false, 'at+jwt', -1])
      const none = { require_nonce: null, tokenPolicy: { accessTokenType: null } }
      assert.deepEqual(await after(none), [undefined, undefined, -1])
    })

    for (const protocols of [{ dpoop: false }, { dpop: 'false' }, [], true]) {
      it(`reject ${JSON.stringify(protocols)}`, async () => {
        const body = { id: 'wrong', subdomain: 'wrong', name: 'x', config: { protocols } }
        const answer = await sendJson(server, 'POST', '/identity-zones', body, { bearer })
        assert.equal(Math.floor(answer.status / 100), 4, answer.text)
      })
    }
  })
}

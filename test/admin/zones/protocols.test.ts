import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import type { ZoneAnswer } from '../../support/zones.ts'
import { sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'

for (const mode of MODES) {
  describe(`the protocols of a zone in ${mode}`, () => {
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

    it('stay as they were where a change does not name them, and go with null', async () => {
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

    for (const protocols of [{ dpoop: false }, { dpop: 'false' }, [], true]) {
      it(`refuses ${JSON.stringify(protocols)}`, async () => {
        const body = { id: 'wrong', subdomain: 'wrong', name: 'x', config: { protocols } }
        const answer = await sendJson(server, 'POST', '/identity-zones', body, { bearer })
        assert.equal(Math.floor(answer.status / 100), 4, answer.text)
      })
    }
  })
}

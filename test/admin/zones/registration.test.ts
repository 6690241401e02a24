import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'
import type { ZoneAnswer } from '../../support/zones.ts'

for (const mode of MODES) {
  describe(`Zone registration policy in ${mode}`, () => {
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

    it('is kept if omitted, and removed by null', async () => {
      const zone = { id: 'shop', subdomain: 'shop', name: 'x' }
      const registration = { mode: 'token', maxClients: 5, scopes: ['openid'] }
      const made = await sendJson(server, 'POST', '/identity-zones', { ...zone, config: { registration } }, { bearer })
      assert.equal(made.status, 201, made.text)
      const after = async (config: unknown): Promise<unknown> => {
        const answer = await sendJson(server, 'PUT', '/identity-zones/shop', { ...zone, config }, { bearer })
        assert.equal(answer.status, 200, answer.text)
        return answer.json<ZoneAnswer>().config['registration']
      }
      assert.deepEqual(await after({}), registration)
      assert.deepEqual(await after({ registration: { mode: 'off' } }), { mode: 'off' })
      assert.equal(await after({ registration: null }), undefined)
    })

    for (const registration of [
      { mode: 'everybody' },
      { scopes: ['openid', 'svc.admin'] },
      { scopes: ['*'] },
      { grantTypes: ['client_credentials'] },
      { maxClients: -1 },
      { maxclients: 1 },
    ]) {
      it(`rejects ${JSON.stringify(registration)}`, async () => {
        const body = { id: 'wrong', subdomain: 'wrong', name: 'x', config: { registration } }
        const answer = await sendJson(server, 'POST', '/identity-zones', body, { bearer })
        assert.equal(Math.floor(answer.status / 100), 4, answer.text)
      })
    }
  })
}

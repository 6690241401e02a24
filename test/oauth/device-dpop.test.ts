import assert from 'node:assert/strict'
import { it } from 'node:test'
import { dpopKey, provenToken } from '../support/dpop.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

it('forty devices of one network polling with DPoP proofs are not rate-limited', async () => {
  const tv = { client_id: 'tv', allowpublic: true, authorized_grant_types: [GRANT], scope: ['openid'] }
  const server = await startServer({ config: { bootstrap: { ...defaultBootstrap, clients: [tv] } } })
  const key = await dpopKey()
  const begin = async () => {
    const answer = await server.send('/oauth/device_authorization', { form: { client_id: 'tv' } })
    return answer.json<{ device_code: string }>().device_code
  }
  const codes = await Promise.all(Array.from({ length: 40 }, begin))
  for (let round = 0; round < 8; round += 1) {
    for (const code of codes) {
      const answer = await provenToken(server, key, { grant_type: GRANT, client_id: 'tv', device_code: code })
      assert.equal(answer.json()['error'], 'authorization_pending', `round ${round}`)
    }
    server.clock.advance(6)
  }
  assert.deepEqual(server.faults, [])
  await server.stop()
})

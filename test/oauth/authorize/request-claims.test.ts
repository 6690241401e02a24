import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import {
  AUTO,
  exchange,
  insertCode,
  MODES,
  passwordTokens,
  refresh,
  RESOURCE,
  SERVICE,
  tokensOf,
} from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const AZ_ATTR = { team: 'blue', 'cost-centre': '42' }
const authorities = JSON.stringify({ az_attr: AZ_ATTR })

for (const mode of MODES) {
  describe(`what a token request gives along, ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(() => server.stop())

    // Covers POST /oauth/token: authorities (`az_attr`); response: az_attr
    // Covers access token claims: az_attr
    // Covers POST /check_token: response: az_attr
    it('puts the attributes into the access token and the answer', async () => {
      const answer = await server.token({ grant_type: 'client_credentials', authorities }, { basic: SERVICE })
      const { access_token: token } = tokensOf(answer)
      assert.deepEqual(answer.json()['az_attr'], AZ_ATTR)
      assert.deepEqual(decodeJwt(token)['az_attr'], AZ_ATTR)
      const seen = await server.send('/introspect', { form: { token }, basic: RESOURCE })
      assert.deepEqual(seen.json()['az_attr'], AZ_ATTR)
    })

    // Covers refresh token: az_attr
    it('keeps them through a refresh, which cannot change them', async () => {
      const { refresh_token: token } = await passwordTokens(server, { authorities })
      const answer = await refresh(server, token, { authorities: '{"az_attr":{"team":"red"}}' })
      assert.deepEqual(decodeJwt(tokensOf(answer).access_token)['az_attr'], AZ_ATTR)
    })

    it('uses those of the code unless the exchange has its own', async () => {
      const kept = await exchange(server, await insertCode(server, { azAttr: AZ_ATTR }))
      assert.deepEqual(kept.json()['az_attr'], AZ_ATTR)
      const own = await exchange(server, await insertCode(server, { azAttr: AZ_ATTR }), {
        authorities: '{"az_attr":{"team":"red"}}',
      })
      assert.deepEqual(own.json()['az_attr'], { team: 'red' })
    })

    const ignored = [
      { name: 'no JSON', value: '{az_attr' },
      { name: 'no object', value: '"az_attr"' },
      { name: 'null', value: 'null' },
      { name: 'attributes that are a list', value: '{"az_attr":["a"]}' },
      { name: 'attributes that are null', value: '{"az_attr":null}' },
      { name: 'a value that is not a string', value: '{"az_attr":{"a":"b","n":1}}' },
      { name: 'a value that is an object', value: '{"az_attr":{"a":{"b":"c"}}}' },
      { name: 'another member', value: '{"ext_attr":{"a":"b"}}' },
      { name: 'a member of the prototype', value: '{"__proto__":{"az_attr":{"a":"b"}}}' },
      { name: 'more than a token can carry', value: JSON.stringify({ az_attr: { a: 'x'.repeat(3000) } }) },
    ]
    for (const { name, value } of ignored) {
      it(`ignores ${name}`, async () => {
        const answer = await server.token({ grant_type: 'client_credentials', authorities: value }, { basic: SERVICE })
        assert.equal(Object.hasOwn(answer.json(), 'az_attr'), false)
        assert.equal(Object.hasOwn(decodeJwt(tokensOf(answer).access_token), 'az_attr'), false)
      })
    }

    // Covers POST /oauth/token: nonce; response: nonce
    it('repeats a nonce in uaa, and ignores it in standard (C5)', async () => {
      const answer = await server.token({ grant_type: 'client_credentials', nonce: 'n-1' }, { basic: SERVICE })
      const want = mode === 'uaa' ? 'n-1' : undefined
      assert.equal(answer.json()['nonce'], want)
      assert.equal(decodeJwt(tokensOf(answer).access_token)['nonce'], want)
    })

    it('does not repeat it after a refresh', async () => {
      const { refresh_token: token } = await passwordTokens(server, { nonce: 'n-1' })
      const answer = await refresh(server, token, { nonce: 'n-2' })
      assert.equal(Object.hasOwn(answer.json(), 'nonce'), false)
      assert.equal(Object.hasOwn(decodeJwt(tokensOf(answer).id_token), 'nonce'), false)
    })

    it('keeps the nonce of the authorization request in the ID token', async () => {
      const answer = await exchange(server, await insertCode(server, { nonce: 'n-3' }), {}, AUTO)
      assert.equal(decodeJwt(tokensOf(answer).id_token)['nonce'], 'n-3')
      assert.equal(answer.json()['nonce'], mode === 'uaa' ? 'n-3' : undefined)
    })
  })
}

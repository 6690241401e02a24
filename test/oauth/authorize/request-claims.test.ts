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
  describe(`az_attr and nonce of a token request in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(() => server.stop())

    // Covers POST /oauth/token: authorities (`az_attr`); response: az_attr
    // Covers access token claims: az_attr
    // Covers POST /check_token: response: az_attr
    it('returns the attributes in access token and response', async () => {
      const answer = await server.token({ grant_type: 'client_credentials', authorities }, { basic: SERVICE })
      const { access_token: token } = tokensOf(answer)
      assert.deepEqual(answer.json()['az_attr'], AZ_ATTR)
      assert.deepEqual(decodeJwt(token)['az_attr'], AZ_ATTR)
      const seen = await server.send('/introspect', { form: { token }, basic: RESOURCE })
      assert.deepEqual(seen.json()['az_attr'], AZ_ATTR)
    })

    // Covers refresh token: az_attr
    it('keeps the attributes on refresh, and ignores new ones', async () => {
      const { refresh_token: token } = await passwordTokens(server, { authorities })
      const answer = await refresh(server, token, { authorities: '{"az_attr":{"team":"red"}}' })
      assert.deepEqual(decodeJwt(tokensOf(answer).access_token)['az_attr'], AZ_ATTR)
    })

    it('uses attributes of the authorization request unless the token request has its own', async () => {
      const kept = await exchange(server, await insertCode(server, { azAttr: AZ_ATTR }))
      assert.deepEqual(kept.json()['az_attr'], AZ_ATTR)
      const own = await exchange(server, await insertCode(server, { azAttr: AZ_ATTR }), {
        authorities: '{"az_attr":{"team":"red"}}',
      })
      assert.deepEqual(own.json()['az_attr'], { team: 'red' })
    })

    const ignored = [
      { name: 'malformed JSON', value: '{az_attr' },
      { name: 'a JSON string', value: '"az_attr"' },
      { name: 'null', value: 'null' },
      { name: 'an attribute list', value: '{"az_attr":["a"]}' },
      { name: 'null attributes', value: '{"az_attr":null}' },
      { name: 'attributes with a number', value: '{"az_attr":{"a":"b","n":1}}' },
      { name: 'attributes with an object', value: '{"az_attr":{"a":{"b":"c"}}}' },
      { name: 'another member', value: '{"ext_attr":{"a":"b"}}' },
      { name: 'a member of __proto__', value: '{"__proto__":{"az_attr":{"a":"b"}}}' },
      { name: 'a value with half of a surrogate pair', value: String.raw`{"az_attr":{"a":"\ud800"}}` },
      { name: 'a name with half of a surrogate pair', value: String.raw`{"az_attr":{"\ud800":"a"}}` },
      { name: 'attributes that are too long', value: JSON.stringify({ az_attr: { a: 'x'.repeat(3000) } }) },
    ]
    for (const { name, value } of ignored) {
      it(`ignores ${name}`, async () => {
        const answer = await server.token({ grant_type: 'client_credentials', authorities: value }, { basic: SERVICE })
        assert.equal(Object.hasOwn(answer.json(), 'az_attr'), false)
        assert.equal(Object.hasOwn(decodeJwt(tokensOf(answer).access_token), 'az_attr'), false)
      })
    }

    // Covers POST /oauth/token: nonce; response: nonce
    it('returns nonce in uaa, and ignores it in standard (C5)', async () => {
      const answer = await server.token({ grant_type: 'client_credentials', nonce: 'n-1' }, { basic: SERVICE })
      const want = mode === 'uaa' ? 'n-1' : undefined
      assert.equal(answer.json()['nonce'], want)
      assert.equal(decodeJwt(tokensOf(answer).access_token)['nonce'], want)
    })

    it('does not return nonce after a refresh', async () => {
      const { refresh_token: token } = await passwordTokens(server, { nonce: 'n-1' })
      const answer = await refresh(server, token, { nonce: 'n-2' })
      assert.equal(Object.hasOwn(answer.json(), 'nonce'), false)
      assert.equal(Object.hasOwn(decodeJwt(tokensOf(answer).id_token), 'nonce'), false)
    })

    it('returns the nonce of the authorization request in the ID token', async () => {
      const answer = await exchange(server, await insertCode(server, { nonce: 'n-3' }), {}, AUTO)
      assert.equal(decodeJwt(tokensOf(answer).id_token)['nonce'], 'n-3')
      assert.equal(answer.json()['nonce'], mode === 'uaa' ? 'n-3' : undefined)
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { leftHalf } from '../../src/token/issuer.ts'
import { authorize, signedIn } from '../support/authorize.ts'
import { KEYS } from '../support/keys.ts'
import { exchange, passwordTokens, tokensOf, verified } from '../support/oauth.ts'
import { responseOf } from '../support/openapi.ts'
import type { OpenApi } from '../support/openapi.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { sendJson } from '../support/zones.ts'

const signingKeys = { active: 'rsa', keys: { rsa: KEYS.RS256, ps: KEYS.PS256, ec: KEYS.ES256 } }
const client = (id: string, more: object) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
  scope: ['openid', 'profile'],
  redirect_uri: ['https://app.example/cb'],
  autoapprove: true,
  ...more,
})
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('ps', { id_token_signed_response_alg: 'PS256', userinfo_signed_response_alg: 'ES256' }),
    client('lost', { id_token_signed_response_alg: 'ES512', userinfo_signed_response_alg: 'ES512' }),
    {
      client_id: 'admin',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['clients.admin', 'clients.read', 'clients.write'],
    },
  ],
}

describe('Signing algorithm of a client', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { bootstrap, signing_keys: signingKeys } })
  })
  after(() => server.stop())

  // Covers later standards: algorithm of ID tokens per client
  it('applies to ID tokens, including at_hash', async () => {
    const browser = await signedIn(server)
    const request = { response_type: 'code', client_id: 'ps', redirect_uri: 'https://app.example/cb', scope: 'openid' }
    const code = (await authorize(browser, request)).location().searchParams.get('code') ?? ''
    const issued = tokensOf(await exchange(server, code, { redirect_uri: request.redirect_uri }, ['ps', 'secret']))
    const { payload, header } = await verified(server, issued.id_token, { algorithms: ['PS256'] })
    assert.equal(header.kid, 'ps')
    assert.equal(payload['at_hash'], leftHalf(issued.access_token, 'PS256'))
    assert.equal((await verified(server, issued.access_token)).header.alg, 'RS256')
  })

  const userinfo = async (zone?: TestServer): Promise<TestAnswer> => {
    const { access_token: bearer } = await passwordTokens(zone ?? server, {}, ['ps', 'secret'])
    return (zone ?? server).send('/userinfo', { bearer })
  }

  // Covers later standards: signed userinfo
  it('applies to userinfo responses of this client', async () => {
    const answer = await userinfo()
    assert.equal(answer.status, 200)
    assert.match(String(answer.headers['content-type']), /^application\/jwt/)
    const keys = createLocalJWKSet((await server.send('/token_keys')).json<JSONWebKeySet & Record<string, unknown>>())
    const { payload, protectedHeader } = await jwtVerify(answer.text, keys, {
      algorithms: ['ES256'],
      audience: 'ps',
      issuer: 'http://localhost:8080',
      typ: 'userinfo+jwt',
    })
    assert.equal(protectedHeader.kid, 'ec')
    assert.equal(payload['user_name'], 'marissa')
    const document = (await server.send('/openapi.json')).json<OpenApi & Record<string, unknown>>()
    const operation = document.paths['/userinfo']?.['get'] ?? assert.fail()
    const { content = {} } = responseOf(document, operation, 200) ?? assert.fail()
    assert.deepEqual(Object.keys(content), ['application/json', 'application/jwt'])
  })

  it('does not make userinfo responses valid as bearer token or id_token_hint', async () => {
    const { text: jwt } = await userinfo()
    assert.equal((await server.send('/userinfo', { bearer: jwt })).status, 401)
    const browser = await signedIn(server)
    assert.equal((await browser.send('/logout.do', { query: { id_token_hint: jwt } })).status, 400)
    const inspected = await server.send('/introspect', { form: { token: jwt }, basic: ['resource', 'resource-secret'] })
    assert.deepEqual(inspected.json(), { active: false })
  })

  it('is ignored for userinfo if signedUserinfo is disabled in the zone', async () => {
    const zone_config = { protocols: { signedUserinfo: false } }
    const plain = await startServer({ config: { bootstrap, signing_keys: signingKeys, zone_config } })
    const answer = await userinfo(plain)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    const tells = (await plain.send('/.well-known/openid-configuration')).json()
    assert.equal(tells['userinfo_signing_alg_values_supported'], undefined)
    await plain.stop()
  })

  it('requires a key of the zone for new clients, and causes server_error for existing ones', async () => {
    const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
    const lost = await server.token(form, { basic: ['lost', 'secret'] })
    assert.equal(lost.status, 500)
    assert.equal(lost.json()['error'], 'server_error')
    assert.match(inspect(server.faults), /no key for ES512/)
    const { access_token: bearer } = tokensOf(
      await server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'secret'] }),
    )
    for (const name of ['id_token_signed_response_alg', 'userinfo_signed_response_alg']) {
      const record = client('new', { [name]: 'ES384' })
      const refused = await sendJson(server, 'POST', '/oauth/clients', record, { bearer })
      assert.equal(refused.status, 400, refused.text)
      assert.match(refused.text, /no key for ES384/)
    }
    const change = { client_id: 'lost', name: 'Lost', authorized_grant_types: ['password'] }
    const changed = await sendJson(server, 'PUT', '/oauth/clients/lost', change, { bearer })
    assert.equal(changed.status, 200, changed.text)
  })
})

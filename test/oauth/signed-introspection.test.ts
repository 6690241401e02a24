import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet, JWTVerifyResult } from 'jose'
import { KEYS } from '../support/keys.ts'
import { MODES, passwordTokens, RESOURCE, SERVICE, tokensOf } from '../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { sendJson } from '../support/zones.ts'

const TYPE = 'application/token-introspection+jwt'
const inspector = (id: string, more: object) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['svc.resource', 'clients.admin'],
  ...more,
})
const bootstrap = {
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, inspector('es', { introspection_signed_response_alg: 'ES256' })],
}
const signing_keys = { active: 'ps', keys: { ps: KEYS.PS256, rsa: KEYS.RS256, ec: KEYS.ES256 } }

describe('Signed introspection (RFC 9701)', () => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startServer({ config: { bootstrap, signing_keys } })
    token = (await passwordTokens(server, { scope: 'openid cloud.read' })).access_token
  })
  after(() => server.stop())

  const send = (request: TestRequest = {}, at = server): Promise<TestAnswer> =>
    at.send('/introspect', { form: { token }, basic: RESOURCE, headers: { accept: TYPE }, ...request })
  async function read(answer: TestAnswer, audience: string, at = server): Promise<JWTVerifyResult> {
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers['content-type'], TYPE)
    const keys = createLocalJWKSet((await at.send('/token_keys')).json<JSONWebKeySet & Record<string, unknown>>())
    return jwtVerify(answer.text, keys, { issuer: 'http://localhost:8080', audience, typ: 'token-introspection+jwt' })
  }

  // Covers later standards: signed introspection
  it('returns the response in a JWT for the caller without other claims (§5)', async () => {
    const { payload, protectedHeader } = await read(await send(), 'resource')
    const plain = await send({ headers: {} })
    assert.match(String(plain.headers['content-type']), /^application\/json/)
    assert.deepEqual(payload, {
      iss: 'http://localhost:8080',
      aud: 'resource',
      iat: server.clock.now().getTime() / 1000,
      token_introspection: plain.json(),
    })
    assert.equal(protectedHeader.alg, 'RS256', 'the default of §6, even if another key is active')
  })

  it('uses the registered algorithm of the caller, also with a bearer token', async () => {
    const { access_token: bearer } = tokensOf(
      await server.token({ grant_type: 'client_credentials' }, { basic: ['es', 'secret'] }),
    )
    const answer = await server.send('/introspect', { form: { token }, bearer, headers: { accept: TYPE } })
    assert.equal((await read(answer, 'es')).protectedHeader.alg, 'ES256')
    const listed = (await server.send('/.well-known/openid-configuration')).json()
    assert.deepEqual([...(listed['introspection_signing_alg_values_supported'] as string[])].sort(), [
      'ES256',
      'PS256',
      'RS256',
    ])
  })

  it('returns only active=false for an invalid token (§5)', async () => {
    const { payload } = await read(await send({ form: { token: 'nonsense' } }), 'resource')
    assert.deepEqual(payload['token_introspection'], { active: false })
  })

  for (const accept of ['application/json', '*/*', `${TYPE};q=0`, 'application/jwt']) {
    it(`returns JSON for Accept: ${accept}`, async () => {
      assert.match(String((await send({ headers: { accept } })).headers['content-type']), /^application\/json/)
    })
  }
  it('accepts the media type in a list and in any case', async () => {
    await read(await send({ headers: { accept: `application/json;q=0.5, ${TYPE.toUpperCase()}` } }), 'resource')
  })

  it('answers 400 to unauthenticated callers (§5), and JSON errors to others', async () => {
    const unknown = await server.send('/introspect', { form: { token }, headers: { accept: TYPE } })
    assert.deepEqual([unknown.status, unknown.json()['error']], [400, 'invalid_request'])
    const wrong = await send({ basic: ['resource', 'wrong'] })
    assert.deepEqual([wrong.status, wrong.json()['error']], [401, 'invalid_client'])
    const named = await server.send('/introspect', {
      form: { token, client_id: 'resource' },
      headers: { accept: TYPE },
    })
    assert.deepEqual([named.status, named.json()['error']], [401, 'invalid_client'])
    const lacking = await send({ basic: SERVICE })
    assert.deepEqual([lacking.status, lacking.json()['error']], [403, 'insufficient_scope'])
    const empty = await send({ form: {} })
    assert.deepEqual([empty.status, empty.json()['error']], [400, 'invalid_request'])
  })

  it('returns a JWT that is not accepted as a token', async () => {
    const { text: jwt } = await send()
    assert.equal((await server.send('/userinfo', { bearer: jwt })).status, 401)
    assert.deepEqual((await send({ form: { token: jwt }, headers: {} })).json(), { active: false })
    const hint = await server.send('/logout.do', { query: { id_token_hint: jwt } })
    assert.equal(hint.status, 400)
  })

  it('requires a key of the zone for the algorithm of a client', async () => {
    const { access_token: bearer } = tokensOf(
      await server.token({ grant_type: 'client_credentials' }, { basic: ['es', 'secret'] }),
    )
    const record = inspector('new', { introspection_signed_response_alg: 'ES384' })
    const refused = await sendJson(server, 'POST', '/oauth/clients', record, { bearer })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, /introspection_signed_response_alg: the zone has no key for ES384/)
  })

  for (const mode of MODES) {
    it(`answers server_error if the zone has only a symmetric key, in ${mode}`, async () => {
      const secret = { alg: 'HS256', secret: 's'.repeat(40) }
      const signing = { active: 'hs', keys: { hs: secret } }
      const zone_config = { protocols: { signedIntrospection: true } }
      const config = { bootstrap: defaultBootstrap, signing_keys: signing, zone_config }
      const symmetric = await startServer({ mode, config })
      const answer = await send({}, symmetric)
      assert.deepEqual([answer.status, answer.json()['error']], [500, 'server_error'])
      assert.equal(answer.headers['www-authenticate'], undefined)
      await symmetric.stop()
    })
  }

  it('can be disabled in standard, and enabled in uaa', async () => {
    const off = await startServer({ config: { zone_config: { protocols: { signedIntrospection: false } } } })
    assert.match(String((await send({}, off)).headers['content-type']), /^application\/json/)
    const listed = (await off.send('/.well-known/openid-configuration')).json()
    assert.equal(listed['introspection_signing_alg_values_supported'], undefined)
    await off.stop()
    const uaa = await startServer({ mode: 'uaa' })
    assert.match(String((await send({}, uaa)).headers['content-type']), /^application\/json/)
    await uaa.stop()
    const on = await startServer({
      mode: 'uaa',
      config: { zone_config: { protocols: { signedIntrospection: true } } },
    })
    const answer = await send({}, on)
    assert.equal(answer.headers['content-type'], TYPE)
    const [, claims = ''] = answer.text.split('.')
    const { token_introspection } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
    assert.deepEqual(token_introspection, { active: false }, 'only active (§5)')
    await on.stop()
  })
})

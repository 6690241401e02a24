import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import type { JSONWebKeySet, JWTPayload } from 'jose'
import { authorize, responseOf, signedIn } from '../../support/authorize.ts'
import { hiddenFields } from '../../support/forms.ts'
import { KEYS } from '../../support/keys.ts'
import { exchange, tokensOf } from '../../support/oauth.ts'
import { BANK, BANK_REQUEST, CALLBACK, ISSUER, bankClient, withBanks } from '../../support/request-objects.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const bootstrap = withBanks(
  bankClient('ec', { authorization_signed_response_alg: 'ES256' }),
  bankClient('rsa', { authorization_signed_response_alg: 'RS256' }),
  bankClient('keyless', { authorization_signed_response_alg: 'ES512' }),
  bankClient('signing', { profile: 'fapi2-message-signing', client_secret: undefined }),
)
const signingKeys = { active: 'rsa', keys: { rsa: KEYS.RS256, ec: KEYS.ES256 } }

describe('Signed authorization responses (JARM)', () => {
  let server: TestServer
  let browser: Browser
  before(async () => {
    server = await startServer({ config: { bootstrap, signing_keys: signingKeys } })
    browser = await signedIn(server)
  })
  after(() => server.stop())

  const verified = async (jwt: string | undefined, algorithm = 'RS256'): Promise<JWTPayload> => {
    const keys = (await server.send('/token_keys')).json<JSONWebKeySet & Record<string, unknown>>()
    const { payload, protectedHeader } = await jwtVerify(jwt ?? '', createLocalJWKSet(keys), {
      issuer: ISSUER,
      audience: 'bank',
      algorithms: [algorithm],
      currentDate: server.clock.now(),
    })
    assert.equal(protectedHeader.kid, algorithm === 'RS256' ? 'rsa' : 'ec')
    return payload
  }
  const ask = (mode: string, query: Readonly<Record<string, string | undefined>> = {}): Promise<TestAnswer> =>
    authorize(browser, { ...BANK_REQUEST, response_mode: mode, ...query })

  for (const mode of ['jwt', 'query.jwt']) {
    // Covers later standards: JARM
    it(`are one query parameter for a code, with response_mode=${mode}`, async () => {
      const { query, fragment } = responseOf(await ask(mode))
      assert.deepEqual([Object.keys(query), fragment], [['response'], {}])
      const { code, state, iss, aud, exp = 0, ...others } = await verified(query['response'])
      assert.deepEqual([state, iss, aud], ['signed-state', ISSUER, 'bank'])
      assert.equal(exp, Math.floor(server.clock.now().getTime() / 1000) + 300)
      assert.deepEqual(Object.keys(others), ['session_state'])
      assert.ok(tokensOf(await exchange(server, String(code), { redirect_uri: CALLBACK }, BANK)).access_token)
    })
  }

  for (const mode of ['jwt', 'fragment.jwt']) {
    it(`are one fragment parameter for tokens, with response_mode=${mode}`, async () => {
      const { query, fragment } = responseOf(await ask(mode, { response_type: 'code id_token' }))
      assert.deepEqual([Object.keys(fragment), query], [['response'], {}])
      const claims = await verified(fragment['response'])
      assert.ok(claims['code'])
      assert.ok(claims['id_token'])
    })
  }

  it('are one form field with response_mode=form_post.jwt', async () => {
    const page = await ask('form_post.jwt')
    const fields = hiddenFields(page.text)
    assert.deepEqual(Object.keys(fields), ['response'])
    assert.ok((await verified(fields['response']))['code'])
  })

  it('include errors', async () => {
    const { query } = responseOf(await ask('jwt', { scope: 'cloud.write' }))
    assert.deepEqual(Object.keys(query), ['response'])
    const { error, error_description: description, state } = await verified(query['response'])
    assert.deepEqual([error, state], ['invalid_scope', 'signed-state'])
    assert.ok(description)
    const silent = await authorize(server.browser(), { ...BANK_REQUEST, response_mode: 'jwt', prompt: 'none' })
    assert.equal((await verified(responseOf(silent).query['response']))['error'], 'login_required')
  })

  it('include all errors of a client whose profile requires them', async () => {
    for (const [query, expected] of [
      [{}, 'invalid_request'],
      [{ response_mode: 'query' }, 'invalid_request'],
      [{ response_type: 'code id_token' }, 'invalid_request'],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:unknown' }, 'invalid_request_uri'],
    ] as const) {
      const answer = responseOf(await authorize(browser, { ...BANK_REQUEST, client_id: 'signing', ...query }))
      const sent = { ...answer.query, ...answer.fragment }
      assert.deepEqual(Object.keys(sent), ['response'])
      const keys = (await server.send('/token_keys')).json<JSONWebKeySet & Record<string, unknown>>()
      const { payload } = await jwtVerify(sent['response'] ?? '', createLocalJWKSet(keys), {
        audience: 'signing',
        algorithms: ['ES256'],
        currentDate: server.clock.now(),
      })
      assert.deepEqual([payload['error'], payload['state']], [expected, 'signed-state'])
    }
  })

  it('refuse tokens in the query and unknown modes', async () => {
    for (const [mode, type] of [
      ['query.jwt', 'code id_token'],
      ['cookie.jwt', 'code'],
      ['.jwt', 'code'],
      ['JWT', 'code'],
    ] as const) {
      const { query, fragment } = responseOf(await ask(mode, { response_type: type }))
      const reported = type === 'code' ? query : fragment
      assert.equal(reported['error'], 'invalid_request', mode)
      assert.match(reported['error_description'] ?? '', /response_mode/)
    }
  })

  it('use the algorithm that the client registered', async () => {
    const { query } = responseOf(await ask('jwt', { client_id: 'ec' }))
    const keys = (await server.send('/token_keys')).json<JSONWebKeySet & Record<string, unknown>>()
    const { protectedHeader } = await jwtVerify(query['response'] ?? '', createLocalJWKSet(keys), {
      audience: 'ec',
      currentDate: server.clock.now(),
    })
    assert.equal(protectedHeader.alg, 'ES256')
    assert.equal((await ask('jwt', { client_id: 'keyless' })).status, 500)
  })
})

describe('Zone with signed responses', () => {
  it('uses no algorithm that its FAPI 2.0 profile forbids, regardless of the client', async () => {
    const config = { bootstrap, signing_keys: signingKeys, zone_config: { profile: 'fapi2-security' } } as const
    const server = await startServer({ config })
    try {
      const asked = { ...BANK_REQUEST, client_id: 'rsa', response_mode: 'jwt' }
      const { query } = responseOf(await authorize(server.browser(), asked))
      assert.equal(decodeProtectedHeader(query['response'] ?? '').alg, 'ES256')
    } finally {
      await server.stop()
    }
  })

  it('does not sign with a shared secret', async () => {
    for (const [keys, status, alg] of [
      [{ mac: KEYS.HS256, ec: KEYS.ES256 }, 302, 'ES256'],
      [{ mac: KEYS.HS256 }, 500, undefined],
    ] as const) {
      const server = await startServer({ config: { bootstrap, signing_keys: { active: 'mac', keys } } })
      try {
        const answer = await authorize(await signedIn(server), { ...BANK_REQUEST, response_mode: 'jwt' })
        assert.equal(answer.status, status)
        if (alg) assert.equal(decodeProtectedHeader(responseOf(answer).query['response'] ?? '').alg, alg)
      } finally {
        await server.stop()
      }
    }
  })

  it('refuses the mode if the protocol is disabled', async () => {
    const config = { bootstrap, zone_config: { protocols: { signedResponses: false } } }
    const server = await startServer({ config })
    try {
      const { query } = responseOf(await authorize(await signedIn(server), { ...BANK_REQUEST, response_mode: 'jwt' }))
      assert.equal(query['error'], 'invalid_request')
    } finally {
      await server.stop()
    }
  })

  for (const supportsProtocol of [false, true]) {
    it(`${supportsProtocol ? 'signs responses' : 'ignores the mode'} in uaa`, async () => {
      const config = { bootstrap, zone_config: { protocols: { signedResponses: supportsProtocol } } }
      const server = await startServer({ mode: 'uaa', config })
      try {
        const asked = { ...BANK_REQUEST, response_mode: 'jwt' }
        const { query } = responseOf(await authorize(await signedIn(server), asked))
        assert.equal(query['response'] !== undefined, supportsProtocol)
        assert.equal(query['code'] === undefined, supportsProtocol)
        const refused = await authorize(server.browser(), { ...asked, prompt: 'none' })
        assert.equal(responseOf(refused).query['response'] !== undefined, supportsProtocol)
      } finally {
        await server.stop()
      }
    })
  }
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { CryptoKey } from 'jose'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import { KEYS } from '../support/keys.ts'
import { MODES } from '../support/oauth.ts'
import { pkce } from '../support/request-objects.ts'
import { rsaCryptoKeys } from '../support/rsa-keys.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'

const ISSUER = 'http://localhost:8080'
const es256 = await generateKeyPair('ES256', { extractable: true })
const rs256 = await rsaCryptoKeys()
const jwks = {
  keys: [
    { ...(await exportJWK(es256.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
    { ...(await exportJWK(rs256.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
  ],
}

const client = (id: string, more: object = {}) => ({
  client_id: id,
  authorized_grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: ['openid'],
  authorities: ['jobs.run'],
  redirect_uri: ['https://bank.example/cb'],
  autoapprove: true,
  jwks,
  ...more,
})
const strict = (id: string, more: object = {}) => client(id, { profile: 'fapi2-security', ...more })
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    strict('bank'),
    strict('secretive', { client_secret: 'secret' }),
    strict('classic', { authorized_grant_types: ['password', 'implicit'], client_secret: 'secret', allowpublic: true }),
    strict('lettered', { authorized_grant_types: ['authorization_code', 'password'] }),
    strict('open', { redirect_uri: ['http://bank.example/cb', 'http://127.0.0.1/cb'] }),
    client('plain'),
    client('one-way', { token_endpoint_auth_method: 'private_key_jwt', client_secret: 'secret' }),
    client('one-algorithm', { token_endpoint_auth_signing_alg: 'ES256' }),
    {
      client_id: 'admin',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['clients.admin', 'clients.read', 'clients.write'],
    },
  ],
}

for (const mode of MODES) {
  describe(`Client with a FAPI 2.0 profile in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({
        mode,
        config: { bootstrap, signing_keys: { active: 'rsa', keys: { rsa: KEYS.RS256, ec: KEYS.ES256 } } },
      })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    async function assertion(
      id: string,
      { alg = 'ES256', aud = ISSUER }: { alg?: 'ES256' | 'RS256'; aud?: string | string[] } = {},
    ): Promise<Record<string, string>> {
      const now = Math.floor(server.clock.now().getTime() / 1000)
      const key: CryptoKey = alg === 'ES256' ? es256.privateKey : rs256.privateKey
      const jwt = await new SignJWT({ iss: id, sub: id, aud, jti: randomUUID(), iat: now, exp: now + 60 })
        .setProtectedHeader({ alg, kid: alg === 'ES256' ? 'ec' : 'rsa' })
        .sign(key)
      return {
        client_assertion: jwt,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_id: id,
      }
    }
    const credentials = (form: Record<string, string>): Promise<TestAnswer> =>
      server.token({ grant_type: 'client_credentials', ...form })
    const refusedAs = (answer: TestAnswer, error: string, about: RegExp): void => {
      assert.equal(answer.json()['error'], error, answer.text)
      assert.match(String(answer.json()['error_description']), about)
    }

    // Partly covers later standards: FAPI 2.0
    it('receives no bearer token', async () => {
      const audience = mode === 'uaa' ? `${ISSUER}/oauth/token` : ISSUER
      refusedAs(
        await credentials(await assertion('bank', { aud: audience })),
        'invalid_request',
        /must bind its tokens/,
      )
      assert.equal((await credentials(await assertion('plain', { aud: audience }))).status, 200)
    })

    it('must authenticate with a key, not a secret', async () => {
      const answer = await server.token({ grant_type: 'client_credentials' }, { basic: ['secretive', 'secret'] })
      refusedAs(answer, 'invalid_client', /must authenticate by private_key_jwt or tls_client_auth/)
      assert.equal(answer.status, 401)
    })

    it('must sign assertions with an allowed algorithm and the issuer as audience', async () => {
      for (const wrong of [
        await assertion('bank', { alg: 'RS256' }),
        await assertion('bank', { aud: [ISSUER] }),
        await assertion('bank', { aud: `${ISSUER}/oauth/token` }),
      ]) {
        const answer = await credentials(wrong)
        if (mode === 'uaa' && wrong['client_assertion'] !== undefined && answer.json()['error'] === 'invalid_request') {
          continue // the issuer in uaa is the token endpoint
        }
        assert.equal(answer.json()['error'], 'invalid_client', answer.text)
      }
    })

    // FAPI 2.0 Security Profile §5.3.2.2: a record may be older than the profile, so that nothing refused it.
    it('gets no code at a redirect URI over http, except on the device', async () => {
      await changeZone(server, { protocols: { pushedRequests: true } })
      const audience = mode === 'uaa' ? `${ISSUER}/oauth/token` : ISSUER
      const proof = { code_challenge: pkce().challenge, code_challenge_method: 'S256' }
      const push = async (redirect_uri: string): Promise<TestAnswer> => {
        const form = { response_type: 'code', redirect_uri, ...proof, ...(await assertion('open', { aud: audience })) }
        return server.send('/oauth/par', { form })
      }
      refusedAs(await push('http://bank.example/cb'), 'invalid_request', /redirect_uri of this client must be https/)
      assert.equal((await push('http://127.0.0.1/cb')).status, 201)
      await changeZone(server, { protocols: {} })
    })

    it('gets no code for a user name and password beside a pushed request', async () => {
      await changeZone(server, { protocols: { pushedRequests: true } })
      const audience = mode === 'uaa' ? `${ISSUER}/oauth/token` : ISSUER
      const asked = {
        response_type: 'code',
        redirect_uri: 'https://bank.example/cb',
        state: 's',
        code_challenge: pkce().challenge,
        code_challenge_method: 'S256',
      }
      const form = { ...(await assertion('lettered', { aud: audience })), ...asked }
      const { request_uri } = (await server.send('/oauth/par', { form })).json<{ request_uri: string }>()
      const typed = { source: 'credentials', username: 'marissa', password: 'koala' }
      const answer = await server.send('/oauth/authorize', {
        form: { response_type: 'token', client_id: 'lettered', request_uri, ...typed },
        headers: { accept: 'application/json' },
      })
      await changeZone(server, { protocols: {} })
      assert.equal(responseOf(answer).query['error'], 'unauthorized_client', answer.text)
      assert.equal(responseOf(answer).query['code'], undefined)
    })

    it('cannot use the password grant', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala', client_id: 'classic' }
      const answer = await server.token({ ...form, client_secret: 'secret' })
      assert.equal(answer.json()['error'], 'invalid_client', answer.text)
    })

    const badRequests: readonly (readonly [string, Record<string, string | undefined>])[] = [
      ['response_type=token', { response_type: 'token' }],
      ['a hybrid response type', { response_type: 'code id_token', nonce: 'n' }],
      ['no code_challenge', {}],
      ['a plain code_challenge', { code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }],
      ['no redirect_uri', { redirect_uri: undefined, code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }],
    ]
    for (const [name, change] of badRequests) {
      it(`receives no code for ${name}`, async () => {
        const browser = await signedIn(server)
        const usual = { response_type: 'code', client_id: 'bank', redirect_uri: 'https://bank.example/cb', state: 's' }
        const answer = await authorize(browser, { ...usual, ...change })
        assert.doesNotMatch(String(answer.headers['location'] ?? ''), /[?&#](?:code|access_token|id_token)=/)
      })
    }

    // Covers GET /oauth/clients/{client_id}/profile: response: profile; missing; error: not found; unauthorized
    it('is checked by GET /oauth/clients/:id/profile and on creation', async () => {
      const { access_token: bearer } = (
        await server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'secret'] })
      ).json<{ access_token: string }>()
      const report = async (id: string) =>
        (await server.send(`/oauth/clients/${id}/profile`, { bearer })).json<{
          profile: string | null
          missing: readonly { of: string; key: string }[]
        }>()
      assert.deepEqual(await report('plain'), { client_id: 'plain', profile: null, missing: [] })
      const bank = await report('bank')
      assert.equal(bank.profile, 'fapi2-security')
      assert.deepEqual(
        bank.missing.map(({ key }) => key),
        mode === 'uaa' ? ['protocols.pushedRequests', 'protocols.dpop'] : [],
      )
      const classic = (await report('classic')).missing.filter(each => each.of === 'client').map(({ key }) => key)
      assert.deepEqual(classic, ['allowpublic', 'authorized_grant_types', 'authorized_grant_types'])
      assert.equal((await server.send('/oauth/clients/nobody/profile', { bearer })).status, 404)
      assert.equal((await server.send('/oauth/clients/bank/profile')).status, 401)
      const records: readonly (readonly [object, RegExp])[] = [
        [{ jwks: undefined, client_secret: 'secret' }, /profile: jwks/],
        [{ allowpublic: true }, /profile: allowpublic/],
        [{ authorized_grant_types: ['password'], client_secret: 'secret' }, /does not allow password/],
        [{ redirect_uri: ['http://bank.example/cb'] }, /must be https/],
        [{ token_endpoint_auth_method: 'client_secret_basic' }, /is not allowed/],
        [{ id_token_signed_response_alg: 'RS256' }, /RS256 is not one of/],
      ]
      for (const [change, about] of records) {
        const record = { ...strict('new'), client_secret: 'x', ...change }
        const answer = await sendJson(server, 'POST', '/oauth/clients', record, { bearer })
        assert.equal(answer.status, 400, answer.text)
        assert.match(answer.text, about)
      }
    })

    it('receives the issuer in each response (FAPI 2.0 Security Profile §5.3.2.2, RFC 9207)', async () => {
      await changeZone(server, { protocols: { pushedRequests: true } })
      const issuer = mode === 'uaa' ? `${ISSUER}/oauth/token` : ISSUER
      const browser = await signedIn(server)
      const outcome = async (request: Record<string, string>): Promise<Record<string, string>> => {
        const form = {
          response_type: 'code',
          redirect_uri: 'https://bank.example/cb',
          state: 's',
          code_challenge: 'a'.repeat(43),
          code_challenge_method: 'S256',
          ...request,
          ...(await assertion('bank', { aud: issuer })),
        }
        const pushed = await server.send('/oauth/par', { method: 'POST', form })
        assert.equal(pushed.status, 201, pushed.text)
        const reference = { client_id: 'bank', request_uri: String(pushed.json()['request_uri']) }
        const { query } = responseOf(await authorize(browser, reference))
        return query
      }
      const success = await outcome({})
      assert.deepEqual([success['iss'], success['state']], [issuer, 's'])
      assert.match(String(success['code']), /./)
      const silent = { prompt: 'none', max_age: '0' }
      const { error, iss, state } = await outcome(silent)
      assert.deepEqual([error, iss, state], ['login_required', issuer, 's'])
    })

    it('is not the only client that can restrict method and algorithm', async () => {
      const secret = await server.token({ grant_type: 'client_credentials' }, { basic: ['one-way', 'secret'] })
      refusedAs(secret, 'invalid_client', /must authenticate by private_key_jwt/)
      const aud = mode === 'uaa' ? `${ISSUER}/oauth/token` : ISSUER
      assert.equal((await credentials(await assertion('one-way', { aud }))).status, 200)
      assert.equal((await credentials(await assertion('one-algorithm', { aud }))).status, 200)
      assert.equal((await credentials(await assertion('one-algorithm', { aud, alg: 'RS256' }))).status, 401)
    })
  })
}

describe('Zone with a FAPI 2.0 profile', () => {
  const headers = { 'x-identity-zone-id': 'strict' }
  const secretive = (id: string) => ({ ...client(id), jwks: undefined, client_secret: 'secret' })
  const root = {
    client_id: 'root',
    client_secret: 'secret',
    authorized_grant_types: ['client_credentials'],
    authorities: ['zones.strict.admin'],
  }
  let server: TestServer
  let bearer: string
  before(async () => {
    const strictZone = {
      id: 'strict',
      subdomain: 'strict',
      name: 'Strict',
      config: { profile: 'fapi2-security', registration: { mode: 'open' } },
      bootstrap: {
        clients: [
          secretive('older'),
          {
            ...secretive('lenient'),
            authorized_grant_types: ['authorization_code', 'password', 'implicit'],
            redirect_uri: ['https://bank.example/cb', 'http://bank.example/1', 'http://bank.example/2'],
          },
        ],
      },
    }
    const clients = [...defaultBootstrap.clients, root]
    server = await startServer({
      config: {
        bootstrap: { ...defaultBootstrap, clients, identity_zones: [strictZone] },
        signing_keys: { active: 'ec', keys: { ec: KEYS.ES256 } },
      },
    })
    const answer = await server.token({ grant_type: 'client_credentials' }, { basic: ['root', 'secret'] })
    bearer = answer.json<{ access_token: string }>().access_token
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('refuses new clients that violate the profile', async () => {
    const create = (record: object) => sendJson(server, 'POST', '/oauth/clients', record, { bearer, headers })
    assert.equal((await create(client('keyed'))).status, 201)
    const native = ['com.example.bank:/cb', 'http://127.0.0.1/cb', 'http://[::1]:80/cb']
    const onDevices = await create(client('native', { redirect_uri: native }))
    assert.equal(onDevices.status, 201, onDevices.text)
    for (const [record, about] of [
      [secretive('secretive'), /profile: jwks: it has no key/],
      [client('classic', { authorized_grant_types: ['password'], client_secret: 's' }), /does not allow password/],
      [client('plain', { redirect_uri: ['http://bank.example/cb'] }), /must be https/],
      [client('named', { redirect_uri: ['http://localhost/cb'] }), /must be https/],
      [client('dotless', { redirect_uri: ['bank:/cb'] }), /must be https/],
    ] as const) {
      const answer = await create(record)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.text, about)
    }
  })

  it('allows updates of existing clients unless they add violations', async () => {
    const change = (record: object) => sendJson(server, 'PUT', '/oauth/clients/older', record, { bearer, headers })
    const { client_secret: _, ...older } = secretive('older')
    assert.equal((await change({ ...older, name: 'Older' })).status, 200)
    const answer = await change({ ...older, redirect_uri: ['http://bank.example/cb'] })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, /redirect_uri: http:\/\/bank\.example\/cb must be https/)
  })

  it('allows removing some violations of a client', async () => {
    const { client_secret: _, ...lenient } = secretive('lenient')
    const change = (record: object) =>
      sendJson(server, 'PUT', '/oauth/clients/lenient', { ...lenient, ...record }, { bearer, headers })
    const grants = ['authorization_code', 'password']
    const uris = ['https://bank.example/cb', 'http://bank.example/2']
    const less = await change({ authorized_grant_types: grants, redirect_uri: uris })
    assert.equal(less.status, 200, less.text)
    const more = await change({ authorized_grant_types: [...grants, 'implicit'], redirect_uri: uris })
    assert.match(more.text, /does not allow implicit/)
    assert.match((await change({ redirect_uri: [...uris, 'http://bank.example/3'] })).text, /example\/3 must be https/)
  })

  it('registers only clients that authenticate with an allowed key', async () => {
    const register = (more: object) =>
      sendJson(
        server,
        'POST',
        '/connect/register',
        { redirect_uris: ['https://new.example/cb'], ...more },
        { host: 'strict.localhost:8080' },
      )
    for (const method of [undefined, 'client_secret_post', 'none']) {
      const answer = await register({ token_endpoint_auth_method: method })
      assert.equal(answer.status, 400, answer.text)
      assert.equal(answer.json()['error'], 'invalid_client_metadata')
    }
    const signing = { token_endpoint_auth_method: 'private_key_jwt' }
    const barred = await register({ ...signing, jwks: { keys: [jwks.keys[1]] } })
    assert.match(barred.text, /no key of jwks can verify signatures by PS256, ES256, EdDSA, Ed25519;/)
    const answer = await register({ ...signing, jwks: { keys: [jwks.keys[0]] } })
    assert.equal(answer.status, 201, answer.text)
  })
})

describe('GET /oauth/clients/:id/profile', () => {
  it('reports a missing signing key of a client with a certificate', async () => {
    const signing = client('signing', {
      jwks: undefined,
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: 'CN=bank',
      profile: 'fapi2-message-signing',
    })
    const server = await startServer({
      config: {
        bootstrap: {
          ...defaultBootstrap,
          clients: [...defaultBootstrap.clients, signing, caller('root', 'clients.admin')],
        },
      },
    })
    const answer = await server.send('/oauth/clients/signing/profile', { bearer: await tokenOf(server, 'root') })
    const { missing } = answer.json<{ missing: readonly { of: string; key: string; message: string }[] }>()
    assert.deepEqual(
      missing.filter(each => each.of === 'client').map(({ key, message }) => [key, message]),
      [['jwks', 'it has no key to sign authorization requests with']],
    )
    await server.stop()
  })

  it('reports missing mutual TLS settings of the server', async () => {
    const bank = {
      client_id: 'by-certificate',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: 'CN=bank',
      profile: 'fapi2-security',
    }
    const reader = {
      client_id: 'reader',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['clients.admin'],
    }
    const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, reader, bank] }
    const mutual_tls = { header: 'Client-Cert' }
    for (const [more, key] of [
      [{}, 'mutual_tls'],
      [{ listen: { trusted_proxies: ['127.0.0.1'] }, mutual_tls }, 'mutual_tls.trusted_ca'],
    ] as const) {
      const server = await startServer({ config: { bootstrap, ...more } })
      const bearer = await server.token({ grant_type: 'client_credentials' }, { basic: ['reader', 'secret'] })
      const answer = await server.send('/oauth/clients/by-certificate/profile', {
        bearer: bearer.json<{ access_token: string }>().access_token,
      })
      const { missing } = answer.json<{ missing: readonly { of: string; key: string }[] }>()
      assert.deepEqual(
        missing.filter(each => each.of === 'server').map(each => each.key),
        [key],
        answer.text,
      )
      await server.stop()
    }
  })
})

/** Adds to the configuration of the default zone. */
async function changeZone(server: TestServer, config: object): Promise<void> {
  const zone = await server.store.zones.find('svc')
  assert.ok(zone)
  await server.store.zones.update({ ...zone, config: { ...zone.config, ...config } })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loadedAtStart } from '../../support/loaded-at-start.ts'
import { behindProxy, certificateClients, certificates, shown } from '../../support/mutual-tls.ts'
import type { TestCertificate } from '../../support/client-certificates.ts'
import { insertCode, MODES, refused, RESOURCE, tokensOf, verified } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const BOUND = ['bound-secret', 'secret'] as const
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const S256 = { codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', codeChallengeMethod: 'S256' } as const

for (const mode of MODES) {
  describe(`Certificate-bound token in ${mode} (RFC 8705 §3)`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer(behindProxy(mode))
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const password = (certificate: TestCertificate | undefined, more: object = {}): Promise<TestAnswer> =>
      server.token(
        { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'openid', ...more },
        { basic: BOUND, ...(certificate && { headers: shown(certificate) }) },
      )
    const userinfo = (bearer: string, certificate?: TestCertificate): Promise<TestAnswer> =>
      server.send('/userinfo', {
        headers: { authorization: `Bearer ${bearer}`, ...(certificate && shown(certificate)) },
      })

    it('has the certificate thumbprint in cnf, and type bearer', async () => {
      const tokens = tokensOf(await password(certificates.client))
      const { payload } = await verified(server, tokens.access_token)
      assert.deepEqual(payload['cnf'], { 'x5t#S256': certificates.client.thumbprint })
      assert.equal(tokens.token_type.toLowerCase(), 'bearer')
      const own = tokensOf(
        await server.token(
          { grant_type: 'client_credentials', client_id: 'bound' },
          { headers: shown(certificates.client) },
        ),
      )
      assert.deepEqual((await verified(server, own.access_token)).payload['cnf'], payload['cnf'])
    })

    it('is not issued without a valid certificate', async () => {
      const want = { want: '400 invalid_request', description: /must send a certificate/, challenge: null }
      await refused(server, mode, () => password(undefined), want)
      const form = { grant_type: 'client_credentials' }
      const headers = { 'client-cert': 'nonsense' }
      await refused(server, mode, () => server.token(form, { basic: BOUND, headers }), want)
    })

    it('is not replaced by a bearer token if mutual TLS is disabled in the zone', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const protocols = { ...zone.config.protocols, mutualTls: false }
      await server.store.zones.update({ ...zone, config: { ...zone.config, protocols } })
      for (const certificate of [undefined, certificates.client]) {
        const answer = await password(certificate)
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'unauthorized_client'])
      }
      await server.store.zones.update(zone)
    })

    // Covers later standards: mTLS
    it('is accepted only with its certificate', async () => {
      const { access_token: token } = tokensOf(await password(certificates.client))
      assert.equal((await userinfo(token, certificates.client)).status, 200)
      for (const certificate of [undefined, certificates.renewed, certificates.other]) {
        const answer = await userinfo(token, certificate)
        assert.equal(answer.status, 401)
        assert.equal(answer.json()['error'], 'invalid_token')
        assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="SVC\/oauth", error="invalid_token"/)
      }
    })

    it('is accepted only with its certificate as an opaque token and at the management API', async () => {
      const { access_token: opaque } = tokensOf(await password(certificates.client, { token_format: 'opaque' }))
      assert.equal((await userinfo(opaque, certificates.client)).status, 200)
      assert.equal((await userinfo(opaque)).status, 401)
      const form = { grant_type: 'client_credentials' }
      const headers = shown(certificates.client)
      const { access_token: token } = tokensOf(await server.token(form, { basic: BOUND, headers }))
      const list = (more: object) =>
        server.send('/oauth/clients', { headers: { authorization: `Bearer ${token}`, ...more } })
      assert.equal((await list(headers)).status, 200)
      assert.equal((await list(shown(certificates.other))).status, 401)
      assert.equal((await list({})).status, 401)
    })

    it('returns cnf on introspection', async () => {
      const { access_token: token } = tokensOf(await password(certificates.client))
      const reported = (await server.send('/introspect', { form: { token }, basic: RESOURCE })).json()
      assert.deepEqual([reported['active'], reported['cnf']], [true, { 'x5t#S256': certificates.client.thumbprint }])
    })

    it('is bound to the certificate of the refresh request', async () => {
      const first = tokensOf(await password(certificates.client))
      const refreshing = (headers: object) =>
        server.token(
          { grant_type: 'refresh_token', refresh_token: first.refresh_token },
          { basic: BOUND, headers: { ...headers } },
        )
      assert.equal((await refreshing({})).json()['error'], 'invalid_request')
      const second = tokensOf(await refreshing(shown(certificates.renewed)))
      assert.deepEqual((await verified(server, second.access_token)).payload['cnf'], {
        'x5t#S256': certificates.renewed.thumbprint,
      })
    })
  })
}

describe('Certificate-bound tokens of a public client (RFC 8705 §4)', () => {
  it('include the refresh token', async () => {
    const server = await startServer(behindProxy())
    const ask = (form: Readonly<Record<string, string>>, certificate?: TestCertificate) =>
      server.token({ client_id: 'bound-public', ...form }, { headers: certificate ? shown(certificate) : {} })
    const redeem = async (certificate?: TestCertificate): Promise<TestAnswer> => {
      const redirectUri = 'https://spa.example/cb'
      const code = await insertCode(server, { clientId: 'bound-public', redirectUri, scopes: ['openid'], ...S256 })
      const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: VERIFIER }
      return ask(form, certificate)
    }
    assert.equal((await redeem()).json()['error'], 'invalid_request')
    const first = tokensOf(await redeem(certificates.other))
    const bound = { 'x5t#S256': certificates.other.thumbprint }
    assert.deepEqual((await verified(server, first.access_token)).payload['cnf'], bound)
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    assert.equal((await ask(form, certificates.client)).json()['error'], 'invalid_grant')
    assert.equal((await ask(form)).json()['error'], 'invalid_request')
    const second = tokensOf(await ask(form, certificates.other))
    assert.deepEqual((await verified(server, second.access_token)).payload['cnf'], bound)
    await server.stop()
  })
})

describe('Certificate modules', () => {
  it('are loaded with the first certificate', () => {
    const loaded = loadedAtStart()
    for (const file of [
      'base/client-certificate',
      'base/certificate-chain',
      'clients/authentication/certificate-check',
    ]) {
      assert.ok(!loaded.some(url => url.endsWith(`/src/${file}.ts`)), file)
    }
  })
})

describe('Discovery with mutual TLS', () => {
  const reported = async (config: object, mode: 'standard' | 'uaa' = 'standard', host?: string) => {
    const server = await startServer(behindProxy(mode, { ...config }))
    const answer = await server.send('/.well-known/openid-configuration', host === undefined ? {} : { host })
    await server.stop()
    return answer.json()
  }
  const METHODS = ['tls_client_auth', 'self_signed_tls_client_auth']

  it('lists the authentication methods and certificate-bound tokens', async () => {
    const metadata = await reported({})
    assert.equal(metadata['tls_client_certificate_bound_access_tokens'], true)
    for (const endpoint of ['token', 'introspection', 'revocation']) {
      const methods = metadata[`${endpoint}_endpoint_auth_methods_supported`]
      assert.deepEqual(Array.isArray(methods) && methods.slice(-2), METHODS)
    }
    assert.equal(metadata['mtls_endpoint_aliases'], undefined)
  })

  it('lists only self-signed certificates without a trusted CA', async () => {
    const methods = (await reported({ mutual_tls: {} }))['token_endpoint_auth_methods_supported']
    assert.ok(Array.isArray(methods))
    assert.deepEqual(
      methods.filter(name => METHODS.includes(String(name))),
      ['self_signed_tls_client_auth'],
    )
  })

  it('lists nothing if it is disabled in the zone or not configured, or in uaa', async () => {
    for (const metadata of [
      await reported({ zone_config: { protocols: { mutualTls: false } } }),
      await reported({ mutual_tls: undefined }),
      await reported({ mutualTls: { endpoint_base_url: 'https://mtls.example' } }, 'uaa'),
    ]) {
      assert.equal(metadata['tls_client_certificate_bound_access_tokens'], undefined)
      assert.equal(metadata['mtls_endpoint_aliases'], undefined)
      assert.doesNotMatch(JSON.stringify(metadata), /tls_client_auth/)
    }
  })

  it('lists mtls_endpoint_aliases that are served', async () => {
    const config = { mutualTls: { endpoint_base_url: 'https://mtls.example/' } }
    const metadata = await reported(config)
    const aliases = {
      token_endpoint: 'https://mtls.example/oauth/token',
      userinfo_endpoint: 'https://mtls.example/userinfo',
      introspection_endpoint: 'https://mtls.example/introspect',
      revocation_endpoint: 'https://mtls.example/oauth/revoke',
      pushed_authorization_request_endpoint: 'https://mtls.example/oauth/par',
    }
    assert.deepEqual({ ...aliases, ...Object(metadata['mtls_endpoint_aliases']) }, metadata['mtls_endpoint_aliases'])
    assert.equal(metadata['token_endpoint'], 'http://localhost:8080/oauth/token')
    assert.deepEqual(await reported(config, 'standard', 'mtls.example'), metadata)
  })

  it('lists aliases of zones by host and path, where their clients are found', async () => {
    const zone = { id: 'z1', subdomain: 'z1', name: 'Zone one', bootstrap: { clients: certificateClients } }
    const options = {
      mutualTls: { endpoint_base_url: 'https://mtls.example' },
      bootstrap: { ...defaultBootstrap, identity_zones: [zone] },
    }
    const server = await startServer(behindProxy('standard', options))
    const form = { grant_type: 'client_credentials', client_id: 'bound' }
    for (const [host, path, base, issuer] of [
      ['z1.mtls.example', '', 'https://z1.mtls.example', 'http://z1.localhost:8080'],
      ['mtls.example', '/z/z1', 'https://mtls.example/z/z1', 'http://localhost:8080/z/z1'],
    ] as const) {
      const metadata = (await server.send(`${path}/.well-known/openid-configuration`, { host })).json()
      const aliases = metadata['mtls_endpoint_aliases'] as Readonly<Record<string, string>> // as tested above
      assert.equal(aliases['token_endpoint'], `${base}/oauth/token`)
      assert.equal(metadata['issuer'], issuer)
      const answer = await server.send(`${path}/oauth/token`, { host, form, headers: shown(certificates.client) })
      assert.equal(
        (await verified(server, tokensOf(answer).access_token, { host: 'z1.localhost:8080' })).payload.iss,
        issuer,
      )
      const other = await server.send('/oauth/token', { form, headers: shown(certificates.client) })
      assert.equal(other.status, 401, 'the client is unknown in the default zone')
    }
    assert.deepEqual(server.faults, [])
    await server.stop()
  })
})

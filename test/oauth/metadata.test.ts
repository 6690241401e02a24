import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestAnswer } from '../support/server.ts'
import { PROTOCOLS } from '../../src/records/protocols.ts'
import { withServer } from '../support/server.ts'
import { MODES } from '../support/oauth.ts'
import { setPolicy } from '../support/second-factor.ts'

const CLAIMS =
  'sub user_name origin iss auth_time amr acr client_id aud zid grant_type user_id azp scope exp iat jti rev_sig cid given_name family_name phone_number email'.split(
    ' ',
  )
const CONFIGURATION = '/.well-known/openid-configuration'
const PROVEN = ['client_secret_basic', 'client_secret_post', 'private_key_jwt']
const ASSERTION_ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

const ALL_OFF = Object.fromEntries(Object.keys(PROTOCOLS).map(name => [name, false]))

/** The specified members that do not depend on the mode, in order. */
const specified = (base: string) => ({
  authorization_endpoint: `${base}/oauth/authorize`,
  token_endpoint: `${base}/oauth/token`,
  userinfo_endpoint: `${base}/userinfo`,
  jwks_uri: `${base}/token_keys`,
  end_session_endpoint: `${base}/logout.do`,
  scopes_supported: ['openid', 'profile', 'email', 'phone', 'roles', 'user_attributes'],
  subject_types_supported: ['public'],
  response_types_supported: ['code', 'code id_token', 'id_token', 'token id_token'],
  id_token_encryption_alg_values_supported: ['none'],
  claim_types_supported: ['normal'],
  claims_parameter_supported: false,
  service_documentation: `${base}/`,
  ui_locales_supported: ['en-US'],
  code_challenge_methods_supported: ['S256', 'plain'],
})

describe(`GET ${CONFIGURATION}`, () => {
  // Covers GET /.well-known/openid-configuration: issuer; authorization_endpoint; token_endpoint; userinfo_endpoint
  // Covers GET /.well-known/openid-configuration: jwks_uri; end_session_endpoint; scopes_supported
  // Covers GET /.well-known/openid-configuration: subject_types_supported; token_endpoint_auth_methods_supported
  // Covers GET /.well-known/openid-configuration: token_endpoint_auth_signing_alg_values_supported
  // Covers GET /.well-known/openid-configuration: response_types_supported; id_token_signing_alg_values_supported
  // Covers GET /.well-known/openid-configuration: id_token_encryption_alg_values_supported; claim_types_supported
  // Covers GET /.well-known/openid-configuration: claims_supported; claims_parameter_supported; service_documentation
  // Covers GET /.well-known/openid-configuration: ui_locales_supported; code_challenge_methods_supported
  // Covers GET /.well-known/openid-configuration: response_modes_supported; grant_types_supported
  // Covers GET /.well-known/openid-configuration: introspection_endpoint; revocation_endpoint; check_session_iframe
  // Covers GET /.well-known/openid-configuration: authorization_response_iss_parameter_supported
  // Covers GET /.well-known/openid-configuration: request_parameter_supported; request_uri_parameter_supported
  // Partly covers compatibility: metadata: M4 members
  it('returns the specified members and those of enabled features in standard (M4)', () =>
    // Members of newer protocols are tested in protocol-metadata.test.ts.
    withServer({ mode: 'standard', config: { zone_config: { protocols: ALL_OFF } } }, async server => {
      const answer = await server.send(CONFIGURATION)
      assert.equal(answer.status, 200)
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      const base = server.baseUrl
      assert.deepEqual(answer.json(), {
        issuer: base,
        ...specified(base),
        token_endpoint_auth_methods_supported: [...PROVEN, 'none'],
        token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
        id_token_signing_alg_values_supported: ['RS256'],
        claims_supported: [
          ...CLAIMS,
          'name',
          'middle_name',
          'nickname',
          'preferred_username',
          'profile',
          'picture',
          'website',
          'gender',
          'birthdate',
          'zoneinfo',
          'locale',
          'updated_at',
          'email_verified',
          'phone_number_verified',
          'address',
          'user_attributes',
          'sid',
        ],
        scopes_supported: [...specified(base).scopes_supported, 'address'],
        grant_types_supported: [
          'authorization_code',
          'client_credentials',
          'password',
          'refresh_token',
          'user_token',
          'urn:ietf:params:oauth:grant-type:saml2-bearer',
          'urn:ietf:params:oauth:grant-type:jwt-bearer',
          'implicit',
        ],
        response_types_supported: [
          ...specified(base).response_types_supported,
          'token',
          'code token',
          'code id_token token',
        ],
        ui_locales_supported: ['en-US', 'de', 'fr', 'es', 'ja', 'zh'],
        acr_values_supported: ['1', '2', 'phr'],
        response_modes_supported: ['query', 'fragment', 'form_post'],
        introspection_endpoint: `${base}/introspect`,
        introspection_endpoint_auth_methods_supported: PROVEN,
        introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
        revocation_endpoint: `${base}/oauth/revoke`,
        revocation_endpoint_auth_methods_supported: [...PROVEN, 'none'],
        revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
        check_session_iframe: `${base}/check_session`,
        authorization_response_iss_parameter_supported: true,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
      })
    }))

  it('returns exactly the specified members in uaa (M4)', () =>
    withServer({ mode: 'uaa' }, async server => {
      assert.deepEqual((await server.send(CONFIGURATION)).json(), {
        issuer: `${server.baseUrl}/oauth/token`,
        ...specified(server.baseUrl),
        token_endpoint_auth_methods_supported: PROVEN,
        token_endpoint_auth_signing_alg_values_supported: ['RS256', 'HS256'],
        id_token_signing_alg_values_supported: ['RS256', 'HS256'],
        claims_supported: CLAIMS,
      })
    }))

  for (const mode of MODES) {
    // Covers GET /oauth/token/.well-known/openid-configuration: same document
    // Covers GET /.well-known/oauth-authorization-server: same document
    // Covers compatibility: metadata: M2 discovery
    it(`is identical at all well-known paths (M2, M3) in ${mode}`, () =>
      withServer({ mode }, async server => {
        const { text } = await server.send(CONFIGURATION)
        for (const path of [`/oauth/token${CONFIGURATION}`, '/.well-known/oauth-authorization-server']) {
          const answer = await server.send(path)
          assert.deepEqual([answer.status, answer.text], [200, text], path)
        }
      }))

    // Covers compatibility: metadata: M1 issuer
    // Covers every answer in standard: metadata: issuer fits the URL
    it(`is found at the well-known path of its issuer (M1) in ${mode}`, () =>
      withServer({ mode }, async server => {
        const { issuer } = (await server.send(CONFIGURATION)).json()
        const path = new URL(`${String(issuer)}${CONFIGURATION}`).pathname
        assert.equal((await server.send(path)).json()['issuer'], issuer)
      }))

    // Covers GET /.well-known/oauth-authorization-server: rule: at the origin with the issuer path
    // Covers compatibility: metadata: M3 authorization server metadata
    it(`is found below the path of the base URL, and for RFC 8414 also at the origin (M3), in ${mode}`, () =>
      withServer({ mode, config: { base_url: 'https://id.example:8443/sso' } }, async server => {
        const base = 'https://id.example:8443/sso'
        const answer = await server.send(`/sso${CONFIGURATION}`)
        const issuer = mode === 'standard' ? base : `${base}/oauth/token`
        assert.equal(answer.json()['issuer'], issuer)
        assert.equal(answer.json()['token_endpoint'], `${base}/oauth/token`)
        const atOrigin = `/.well-known/oauth-authorization-server${new URL(issuer).pathname}`
        for (const path of [atOrigin, '/sso/.well-known/oauth-authorization-server']) {
          assert.equal((await server.send(path)).text, answer.text, path)
        }
        assert.notEqual((await server.send(CONFIGURATION)).status, 200)
      }))

    it(`returns the configured issuer of the zone (M1) in ${mode}`, () =>
      withServer({ mode, config: { zone_config: { issuer: 'https://login.example/tenant' } } }, async server => {
        const reported = (await server.send(CONFIGURATION)).json()
        assert.equal(reported['issuer'], `https://login.example/tenant${mode === 'uaa' ? '/oauth/token' : ''}`)
        assert.equal(reported['token_endpoint'], `${server.baseUrl}/oauth/token`)
      }))

    it(`ignores Host and forwarding headers in ${mode}`, () =>
      withServer({ mode }, async server => {
        const { text } = await server.send(CONFIGURATION)
        for (const host of ['localhost:9999', 'LOCALHOST', 'localhost.']) {
          assert.equal((await server.send(CONFIGURATION, { host })).text, text, host)
        }
        const forged = {
          'x-forwarded-host': 'evil.example',
          'x-forwarded-proto': 'https',
          forwarded: 'host=evil.example',
        }
        assert.equal((await server.send(CONFIGURATION, { headers: forged })).text, text)
      }))
  }

  it('lists only existing endpoints', () =>
    withServer({ mode: 'standard' }, async server => {
      const reported = (await server.send(CONFIGURATION)).json()
      const urls = Object.entries(reported).filter(([name]) => /_endpoint$|_uri$/.test(name))
      assert.ok(urls.length >= 6)
      for (const [name, url] of urls) {
        const answer: TestAnswer = await server.send(new URL(String(url)).pathname)
        assert.notEqual(answer.status, 404, name)
      }
    }))

  it('supports HEAD, and refuses POST', () =>
    withServer({ mode: 'standard' }, async server => {
      const head = await server.send(CONFIGURATION, { method: 'HEAD' })
      assert.deepEqual([head.status, head.text], [200, ''])
      assert.equal((await server.send(CONFIGURATION, { method: 'POST' })).status, 405)
    }))

  for (const mode of MODES) {
    for (const [name, policy, want] of [
      ['no levels without second factors', { requirement: 'off' }, undefined],
      ['two levels with one-time passwords', { requirement: 'required', methods: ['totp'] }, ['1', '2']],
      ['three levels with passkeys', { requirement: 'groups', groups: [] }, ['1', '2', 'phr']],
    ] as const) {
      it(`lists ${name} in ${mode}`, () =>
        withServer({ mode }, async server => {
          await setPolicy(server, policy)
          assert.deepEqual((await server.send(CONFIGURATION)).json()['acr_values_supported'], want)
        }))
    }
  }
})

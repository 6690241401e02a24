// No response, log line or audit event contains a secret of the request: each secret parameter of
// each endpoint carries a marker, which must not be found anywhere.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { APP_REQUEST, AUTO_REQUEST } from '../support/authorize.ts'
import {
  APP,
  AUTO,
  exchange,
  insertCode,
  MODES,
  passwordTokens,
  refresh,
  RESOURCE,
  SERVICE,
  tokensOf,
} from '../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

/** Also a well-formed code verifier, and long enough for any secret. */
const MARKER = 'Marker-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDE'
const JWT = `${btoa(JSON.stringify({ alg: 'RS256', kid: 'k' })).replaceAll('=', '')}.${MARKER}.${MARKER}`
const GRANT = 'urn:ietf:params:oauth:grant-type'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

type Sent = readonly [string, TestRequest]

const token = (form: Readonly<Record<string, string>>, request: TestRequest = { basic: APP }): Sent => [
  '/oauth/token',
  { form, ...request },
]

/** Requests by the secret that they contain. */
const REQUESTS: Readonly<Record<string, Sent>> = {
  'code at the token endpoint': token({ grant_type: 'authorization_code', code: MARKER }),
  'code and verifier': token({ grant_type: 'authorization_code', code: MARKER, code_verifier: MARKER }),
  'repeated code': [
    '/oauth/token',
    { form: `grant_type=authorization_code&code=${MARKER}&code=${MARKER}`, basic: APP },
  ],
  'badly encoded password': [
    '/oauth/token',
    { form: `grant_type=password&username=x&password=${MARKER}%`, basic: APP },
  ],
  password: token({ grant_type: 'password', username: 'marissa', password: MARKER }),
  passcode: token(
    { grant_type: 'password', passcode: MARKER },
    { basic: APP, headers: { accept: 'application/json' } },
  ),
  'refresh token': token({ grant_type: 'refresh_token', refresh_token: MARKER }),
  'refresh token in the form of a JWT': token({ grant_type: 'refresh_token', refresh_token: JWT }),
  'client secret by Basic': token({ grant_type: 'client_credentials' }, { basic: ['service', MARKER] }),
  'client secret in the form': token(
    { grant_type: 'client_credentials', client_id: 'service', client_secret: MARKER },
    {},
  ),
  'badly encoded Basic credentials': token(
    { grant_type: 'password' },
    { headers: { authorization: `Basic ${MARKER}` } },
  ),
  'client assertion': token(
    { grant_type: 'client_credentials', client_assertion_type: ASSERTION_TYPE, client_assertion: MARKER },
    {},
  ),
  'client assertion in the form of a JWT': token(
    { grant_type: 'client_credentials', client_assertion_type: ASSERTION_TYPE, client_assertion: JWT },
    {},
  ),
  assertion: token({ grant_type: `${GRANT}:jwt-bearer`, assertion: MARKER }, { basic: ['porter', 'secret'] }),
  'assertion in the form of a JWT': token(
    { grant_type: `${GRANT}:jwt-bearer`, assertion: JWT },
    { basic: ['porter', 'secret'] },
  ),
  'SAML assertion': token({ grant_type: `${GRANT}:saml2-bearer`, assertion: MARKER }, { basic: ['porter', 'secret'] }),
  'bearer token of user_token': token({ grant_type: 'user_token', client_id: 'app' }, { bearer: MARKER }),
  'secrets with an unknown grant type': token({ grant_type: 'x', password: MARKER, code: MARKER }),
  'password in the query of the token endpoint': [`/oauth/token?password=${MARKER}`, { form: {}, basic: APP }],
  'token at /introspect': ['/introspect', { form: { token: MARKER }, basic: RESOURCE }],
  'token at /introspect in the form of a JWT': ['/introspect', { form: { token: JWT }, basic: RESOURCE }],
  'bearer token at /introspect': ['/introspect', { form: { token: MARKER }, bearer: MARKER }],
  'token at /check_token': ['/check_token', { form: { token: MARKER }, basic: RESOURCE }],
  'token at /check_token in the form of a JWT': ['/check_token', { form: { token: JWT }, basic: RESOURCE }],
  'token at /oauth/revoke': ['/oauth/revoke', { form: { token: MARKER }, basic: APP }],
  'token to revoke, in the path': [`/oauth/token/revoke/${MARKER}`, { method: 'DELETE', bearer: MARKER }],
  'bearer token at /userinfo': ['/userinfo', { bearer: MARKER }],
  'bearer token at /userinfo in the form of a JWT': ['/userinfo', { bearer: JWT }],
  'token in the form of /userinfo': ['/userinfo', { form: { access_token: MARKER } }],
  'token in the query of /userinfo': [`/userinfo?access_token=${MARKER}`, {}],
  'bearer token at /oauth/clients': ['/oauth/clients', { bearer: MARKER }],
  'bearer token at /oauth/authorize': ['/oauth/authorize', { query: AUTO_REQUEST, bearer: MARKER }],
  'credentials at /oauth/authorize': [
    '/oauth/authorize',
    {
      form: {
        ...AUTO_REQUEST,
        response_type: 'token',
        source: 'credentials',
        username: 'marissa',
        password: MARKER,
        credentials: JSON.stringify({ username: 'marissa', password: MARKER }),
      },
      headers: { accept: 'application/json' },
    },
  ],
  'secrets in the query of /oauth/authorize': [
    '/oauth/authorize',
    { query: { ...APP_REQUEST, password: MARKER, client_secret: MARKER, code_verifier: MARKER, code: MARKER } },
  ],
  'secrets posted to /oauth/authorize': [
    '/oauth/authorize',
    { form: { ...APP_REQUEST, password: MARKER, client_assertion: MARKER, access_token: MARKER } },
  ],
  'state for an unknown client': [
    '/oauth/authorize',
    { query: { ...APP_REQUEST, client_id: 'nobody', state: MARKER } },
  ],
  'state for a wrong redirect URI': [
    '/oauth/authorize',
    { query: { ...APP_REQUEST, redirect_uri: 'https://evil.example/', state: MARKER } },
  ],
  'password on the sign-in page': ['/login.do', { form: { username: 'marissa', password: MARKER } }],
  'CSRF token': ['/login.do', { form: { username: 'x', password: 'x', 'X-Svc-Csrf': MARKER } }],
  'id_token_hint at /logout.do': ['/logout.do', { query: { id_token_hint: MARKER, state: MARKER } }],
  'id_token_hint at /oauth/authorize': [
    '/oauth/authorize',
    { query: { ...APP_REQUEST, client_id: 'x', id_token_hint: JWT } },
  ],
  'response of a provider': [`/login/callback/nobody?code=${MARKER}&state=${MARKER}&id_token=${MARKER}`, {}],
}

for (const mode of MODES) {
  describe(`Secret in a request in ${mode}`, () => {
    let server: TestServer
    let admin: string
    before(async () => {
      const bootstrap = {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          {
            client_id: 'porter',
            client_secret: 'secret',
            authorized_grant_types: [`${GRANT}:jwt-bearer`, `${GRANT}:saml2-bearer`],
            scope: ['openid'],
          },
          {
            client_id: 'boss',
            client_secret: 'secret',
            authorized_grant_types: ['client_credentials'],
            authorities: ['svc.admin', 'clients.admin', 'idps.write', 'idps.read', 'zones.write', 'zones.read'],
          },
        ],
      }
      server = await startServer({
        mode,
        config: { bootstrap, zone_config: { tokenPolicy: { refreshTokenRotate: true } } },
      })
      const answer = await server.token({ grant_type: 'client_credentials' }, { basic: ['boss', 'secret'] })
      admin = tokensOf(answer).access_token
    })
    after(() => server.stop())

    /** Fails if the secret is in the response, a log line or an audit event. */
    function assertNotExposed(secret: string, { status, headers, text }: TestAnswer): void {
      assert.ok(!text.includes(secret), `in the body of ${status}: ${text}`)
      assert.ok(!JSON.stringify(headers).includes(secret), `in a header of ${status}: ${JSON.stringify(headers)}`)
      for (const written of [server.events, server.lines, server.refusals, server.faults]) {
        assert.ok(!inspect(written, { depth: 9, maxArrayLength: null }).includes(secret), inspect(written.at(-1)))
      }
    }

    for (const [name, [path, request]] of Object.entries(REQUESTS)) {
      it(`is not exposed: ${name}`, async () => {
        const answer = await server.send(path, request)
        assert.ok(answer.status < 500, `${answer.status} ${answer.text}`)
        assertNotExposed(MARKER, answer)
      })
    }

    const changes: readonly { name: string; path: string; method?: string; body: string }[] = [
      {
        name: 'of a client',
        path: '/oauth/clients',
        body: JSON.stringify({ client_id: 'a/b', client_secret: MARKER }),
      },
      { name: 'of malformed JSON', path: '/oauth/clients', body: `{"client_secret":"${MARKER}"` },
      {
        name: 'in secondary_client_secret',
        path: '/oauth/clients',
        body: JSON.stringify({ client_id: 'c', client_secret: [MARKER], secondary_client_secret: MARKER }),
      },
      {
        name: 'of a secret change',
        path: '/oauth/clients/app/secret',
        method: 'PUT',
        body: JSON.stringify({ oldSecret: MARKER, secret: [MARKER], changeMode: MARKER }),
      },
      {
        name: 'of a provider',
        path: '/identity-providers',
        body: JSON.stringify({ originKey: 'o', name: 'n', type: 'oidc1.0', config: { relyingPartySecret: MARKER } }),
      },
      {
        name: 'of an LDAP provider',
        path: '/identity-providers/test',
        body: JSON.stringify({
          provider: { originKey: 'ldap', name: 'l', type: 'ldap', config: { bindPassword: MARKER } },
          credentials: { username: 'x', password: MARKER },
        }),
      },
      {
        name: 'key of a zone',
        path: '/identity-zones',
        body: JSON.stringify({
          id: 'z9',
          subdomain: 'z9',
          name: 'z9',
          config: { tokenPolicy: { activeKeyId: 'x', keys: { k: { signingKey: `-----BEGIN KEY-----${MARKER}` } } } },
        }),
      },
    ]
    for (const { name, path, method = 'POST', body } of changes) {
      it(`is not exposed: secret ${name}`, async () => {
        const headers = { 'content-type': 'application/json' }
        const answer = await server.send(path, { method, body, headers, bearer: admin })
        assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`)
        assertNotExposed(MARKER, answer)
      })
    }

    it('is not exposed: a wrong password on the sign-in page', async () => {
      const answer = await server.browser().signIn('marissa', MARKER)
      assert.ok(server.events.some(({ type }) => type === 'UserAuthenticationFailure'))
      assertNotExposed(MARKER, answer)
    })

    it('is not exposed: a used or expired code', async () => {
      const used = await insertCode(server)
      tokensOf(await exchange(server, used))
      assertNotExposed(used, await exchange(server, used))
      const late = await insertCode(server)
      server.clock.advance(301)
      const answer = await exchange(server, late)
      assert.equal(answer.json()['error_description'], 'Authorization code expired')
      assertNotExposed(late, answer)
    })

    it('is not exposed: a wrong code verifier', async () => {
      const code = await insertCode(server, { codeChallenge: 'c'.repeat(43), codeChallengeMethod: 'S256' })
      const answer = await exchange(server, code, { code_verifier: MARKER })
      assert.equal(answer.json()['error_description'], 'Invalid code verifier')
      assertNotExposed(MARKER, answer)
    })

    it('is not exposed: a revoked or expired opaque token', async () => {
      const format = { token_format: 'opaque' }
      const revoked = (await passwordTokens(server, format, AUTO)).access_token
      const deleted = await server.send(`/oauth/token/revoke/${revoked}`, { method: 'DELETE', bearer: revoked })
      assertNotExposed(revoked, deleted)
      const late = (await passwordTokens(server, format, AUTO)).access_token
      server.clock.advance(90_000)
      for (const value of [revoked, late]) {
        assertNotExposed(value, await server.send('/userinfo', { bearer: value }))
        assertNotExposed(value, await server.send('/introspect', { form: { token: value }, basic: RESOURCE }))
        assertNotExposed(value, await server.send('/check_token', { form: { token: value }, basic: RESOURCE }))
      }
    })

    it('is not exposed: a used refresh token, or that of another client', async () => {
      const { refresh_token: value } = await passwordTokens(server)
      assertNotExposed(value, await refresh(server, value, {}, AUTO))
      tokensOf(await refresh(server, value))
      assertNotExposed(value, await refresh(server, value))
      assertNotExposed(value, await refresh(server, value, {}, SERVICE))
    })
  })
}

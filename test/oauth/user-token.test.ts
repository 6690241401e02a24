import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  APP,
  approve,
  AUTO,
  changeUser,
  insufficientScope,
  isAlive,
  MODES,
  NO_CREDENTIALS,
  passwordTokens,
  refresh,
  refused,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const clients = [
  ...defaultBootstrap.clients,
  {
    client_id: 'portal',
    client_secret: 'portal-secret',
    authorized_grant_types: ['password', 'user_token', 'client_credentials', 'refresh_token'],
    scope: ['svc.user', 'openid', 'cloud.read'],
    authorities: ['svc.user'],
  },
  {
    client_id: 'cli',
    client_secret: '',
    authorized_grant_types: ['password', 'refresh_token'],
    scope: ['openid', 'cloud.read'],
    autoapprove: true,
    access_token_validity: 1234,
  },
  {
    client_id: 'user-only',
    client_secret: 's',
    authorized_grant_types: ['password'],
    scope: ['svc.user', 'openid'],
  },
  { client_id: 'no-refresh', client_secret: 's', authorized_grant_types: ['client_credentials'], authorities: ['a.b'] },
  {
    client_id: 'elsewhere',
    client_secret: 's',
    authorized_grant_types: ['authorization_code', 'refresh_token'],
    redirect_uri: ['https://elsewhere.example/cb'],
    scope: ['openid'],
    allowedproviders: ['ldap'],
  },
]
const PORTAL = ['portal', 'portal-secret'] as const

for (const mode of MODES) {
  describe(`grant_type=user_token in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: { ...defaultBootstrap, clients } } })
      bearer = (await passwordTokens(server, {}, PORTAL)).access_token
    })
    after(() => server.stop())
    const ask = (form: Readonly<Record<string, string>> = {}, request: TestRequest = { bearer }): Promise<TestAnswer> =>
      server.token({ grant_type: 'user_token', client_id: 'auto', ...form }, request)

    // Covers POST /oauth/token grant_type=user_token: token_format; expires_in; response: `access_token` null
    // Covers POST /oauth/token grant_type=user_token: response: refresh_token; jti
    it('returns an opaque refresh token and no access token', async () => {
      const answer = await ask({ token_format: 'jwt', expires_in: '99' })
      assert.equal(answer.status, 200, answer.text)
      const { access_token: accessToken, refresh_token: token, ...rest } = answer.json()
      assert.equal(accessToken, null)
      assert.match(String(token), /^[0-9a-f]{32}-r$/)
      assert.deepEqual(rest, {
        token_type: 'bearer',
        expires_in: mode === 'uaa' ? 43_199 : 3600, // remaining whole seconds (T9)
        scope: 'cloud.read openid profile',
        jti: token,
      })
    })

    it('uses the access token validity of the target client', async () => {
      assert.equal(tokensOf(await ask({ client_id: 'cli' })).expires_in, mode === 'uaa' ? 1233 : 1234)
    })

    // Covers POST /oauth/token grant_type=user_token: scope
    it('returns requested scopes only', async () => {
      assert.equal(tokensOf(await ask({ scope: 'openid' })).scope, 'openid')
    })

    // Covers POST /oauth/token grant_type=user_token: client_id
    it('returns a token that only the target client can use', async () => {
      const { refresh_token: token } = tokensOf(await ask())
      await refused(server, mode, () => refresh(server, token, {}, APP), {
        want: '400 invalid_grant',
        description: /^Wrong client/,
      })
      await refused(server, mode, () => refresh(server, token, {}, PORTAL), {
        want: '400 invalid_grant',
        description: /^Wrong client/,
      })
      const tokens = tokensOf(await refresh(server, token, {}, AUTO))
      assert.equal(await isAlive(server, tokens.access_token), true)
      assert.equal(tokens.id_token, undefined, 'no user signed in to this client')
      const user = await userNamed(server, 'marissa')
      const seen = await server.send('/check_token', {
        form: { token: tokens.access_token },
        basic: ['resource', 'resource-secret'],
      })
      assert.deepEqual(
        [seen.json()['grant_type'], seen.json()['user_id'], seen.json()['client_id']],
        ['user_token', user.id, 'auto'],
      )
    })

    it('returns a token that a target client with an empty secret can use', async () => {
      const { refresh_token: token } = tokensOf(await ask({ client_id: 'cli' }))
      tokensOf(await refresh(server, token, {}, ['cli', '']))
    })

    it('requires approval by the user', async () => {
      const { refresh_token: token, scope } = tokensOf(await ask({ client_id: 'app' }))
      const want = { standard: '400 invalid_grant', uaa: '401 invalid_token' }
      await refused(server, mode, () => refresh(server, token), { want, description: /are not approved/ })
      await approve(server, scope.split(' '), 'APPROVED')
      tokensOf(await refresh(server, token))
    })

    const unauthorizedGrant: Refusal = {
      want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
      description: 'Unauthorized grant type',
    }
    const refusals: readonly (Refusal & {
      name: string
      form?: Record<string, string>
      request?: () => Promise<TestRequest>
    })[] = [
      // Covers POST /oauth/token grant_type=user_token: error: grant types missing
      {
        name: 'a target client without the refresh_token grant',
        form: { client_id: 'no-refresh' },
        ...unauthorizedGrant,
      },
      { name: 'an unknown target client', form: { client_id: 'nobody' }, ...unauthorizedGrant },
      {
        name: 'a bearer token of a client without the grant',
        request: async () => ({ bearer: (await passwordTokens(server, {}, ['user-only', 's'])).access_token }),
        ...unauthorizedGrant,
      },
      // Covers POST /oauth/token grant_type=user_token: error: user scope missing
      {
        name: 'a bearer token without the scope svc.user',
        request: async () => ({ bearer: (await passwordTokens(server, { scope: 'openid' }, PORTAL)).access_token }),
        ...insufficientScope(mode, mode === 'uaa' ? 'svc.admin svc.user' : 'svc.user'),
      },
      // Covers POST /oauth/token grant_type=user_token: error: token without user
      {
        name: 'a client token',
        request: async () => {
          const answer = await server.token({ grant_type: 'client_credentials' }, { basic: PORTAL })
          return { bearer: tokensOf(answer).access_token }
        },
        want: '401 unauthorized',
        description: 'Authentication containing a user is required',
        challenge: /^Bearer realm="SVC\/oauth", error="unauthorized"/,
      },
      {
        name: 'client authentication with a secret',
        form: { client_id: 'portal' },
        request: () => Promise.resolve({ basic: PORTAL }),
        want: '401 unauthorized',
        description: 'Authentication containing a user is required',
      },
      {
        name: 'a refresh token as bearer',
        request: async () => ({ bearer: (await passwordTokens(server, {}, PORTAL)).refresh_token }),
        want: '401 invalid_token',
      },
      // Covers POST /oauth/token grant_type=user_token: Authorization: Bearer
      {
        name: 'a malformed bearer token',
        request: () => Promise.resolve({ bearer: 'x.y.z' }),
        want: '401 invalid_token',
      },
      // Covers POST /oauth/token grant_type=user_token: error: `client_id` missing
      {
        name: 'a missing client_id',
        form: { client_id: '' },
        want: { standard: '401 invalid_client', uaa: '401 unauthorized' },
        description: NO_CREDENTIALS,
      },
      {
        name: 'a scope outside the target client',
        form: { scope: 'cloud.write' },
        want: '400 invalid_scope',
        description: 'cloud.write is invalid. Please use a valid scope name in the request',
      },
      {
        name: 'a target client that does not allow the provider of the user',
        form: { client_id: 'elsewhere' },
        want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
        description: "Client is not authorized for specified user's identity provider.",
      },
    ]
    for (const { name, form = {}, request, ...refusal } of refusals) {
      it(`refuses ${name}`, async () => {
        const sent = request ? await request() : { bearer }
        await refused(server, mode, () => ask(form, sent), refusal)
      })
    }

    it('refuses a bearer token from before a password change', async () => {
      const { access_token: old } = await passwordTokens(server, { username: 'joel', password: 'wombat' }, PORTAL)
      await changeUser(server, 'joel', { passwordRevision: 'another' })
      await refused(server, mode, () => ask({}, { bearer: old }), { want: '401 invalid_token' })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

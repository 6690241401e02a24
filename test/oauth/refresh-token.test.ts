import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, SignJWT } from 'jose'
import type { Client } from '../../src/model/clients/client.ts'
import type { User } from '../../src/model/users/user.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { Refusal, Tokens } from '../support/oauth.ts'
import {
  APP,
  approve,
  AUTO,
  changeClient,
  changeUser,
  clientNamed,
  exchange,
  insertCode,
  isAlive,
  MODES,
  passwordTokens,
  refresh,
  refused,
  tokensOf,
  userNamed,
  verified,
} from '../support/oauth.ts'

const unusable = { standard: '400 invalid_grant', uaa: '401 invalid_token' }
const GONE = 'The token expired, was revoked, or the token ID is incorrect.'

const odd: readonly (Refusal & { readonly name: string; readonly token: string })[] = [
  {
    name: 'an empty token',
    token: '',
    want: '400 invalid_request',
    description: 'refresh_token parameter not provided',
  },
  // Covers POST /oauth/token grant_type=refresh_token: error: unknown or revoked
  // Covers compatibility: C11 error codes: refresh token unusable
  { name: 'an unknown token', token: `${'0'.repeat(32)}-r`, want: unusable, description: GONE },
  { name: 'a blank token', token: ' ', want: unusable, description: GONE },
  { name: 'SQL as a token', token: "' or 1=1 --", want: unusable, description: GONE },
  { name: 'a token of 30 KiB', token: 'r'.repeat(30_000), want: unusable, description: GONE },
  { name: 'a token of 60 KiB', token: 'r'.repeat(60_000), want: unusable, description: 'The token is too long.' },
  { name: 'empty JWT parts', token: '..', want: unusable, description: 'The token is malformed.' },
  {
    name: 'a malformed JWT',
    token: 'e30.e30.e30',
    want: unusable,
    description: 'kid claim not found in JWT token header',
  },
]

for (const mode of MODES) {
  describe(`grant_type=refresh_token in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(() => server.stop())

    // Covers POST /oauth/token grant_type=refresh_token: refresh_token; response: same refresh token without rotation
    it('returns new tokens and the same refresh token, which remains valid', async () => {
      const first = await passwordTokens(server)
      const second = tokensOf(await refresh(server, first.refresh_token))
      assert.equal(second.refresh_token, first.refresh_token)
      assert.notEqual(second.access_token, first.access_token)
      assert.equal(second.scope, first.scope)
      assert.equal(tokensOf(await refresh(server, first.refresh_token)).refresh_token, first.refresh_token)
      assert.ok(await isAlive(server, second.access_token))
    })

    // Covers POST /oauth/token grant_type=refresh_token: scope
    // Covers every answer in standard: refresh: with and without scope
    it('narrows the scope of one access token only', async () => {
      const { refresh_token: token, scope } = await passwordTokens(server)
      const narrow = tokensOf(await refresh(server, token, { scope: 'cloud.read' }))
      assert.deepEqual([narrow.scope, narrow.id_token], ['cloud.read', undefined])
      assert.equal(tokensOf(await refresh(server, token)).scope, scope)
    })

    // Covers POST /oauth/token grant_type=refresh_token: token_format
    it('returns an opaque access token on request', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      const opaque = tokensOf(await refresh(server, token, { token_format: 'opaque' }))
      assert.match(opaque.access_token, /^[0-9a-f]{32}$/)
      assert.equal(opaque.refresh_token, token)
    })

    it('returns a revocable access token, because the refresh token is stored', async () => {
      const { access_token: token } = tokensOf(await refresh(server, (await passwordTokens(server)).refresh_token))
      assert.equal(decodeJwt(token)['revocable'], true)
    })

    // Covers POST /oauth/token grant_type=refresh_token: rule: claims are copied, nonce is not
    it('keeps claims of the sign-in except nonce', async () => {
      const code = await insertCode(server, { nonce: 'n', amr: ['pwd', 'otp'] })
      const first = tokensOf(await exchange(server, code))
      server.clock.advance(600)
      const second = tokensOf(await refresh(server, first.refresh_token, {}, AUTO))
      const before = decodeJwt(first.id_token)
      const { payload: now } = await verified(server, second.id_token, { audience: 'auto' })
      for (const claim of ['iss', 'sub', 'aud', 'azp', 'auth_time', 'amr', 'sid', 'grant_type']) {
        assert.deepEqual(now[claim], before[claim], claim)
      }
      assert.deepEqual([before['nonce'], now['nonce']], ['n', undefined])
      assert.equal(now.iat, Number(before.iat) + 600)
      const access = decodeJwt(second.access_token)
      assert.deepEqual([access['grant_type'], access['nonce']], ['authorization_code', undefined])
    })

    for (const { name, token, ...refusal } of odd) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => refresh(server, token), refusal)
      })
    }

    // Covers POST /oauth/token grant_type=refresh_token: error: parameter missing
    it('refuses a missing refresh token', async () => {
      await refused(server, mode, () => server.token({ grant_type: 'refresh_token' }, { basic: APP }), {
        want: '400 invalid_request',
        description: 'refresh_token parameter not provided',
      })
    })

    for (const format of ['jwt', 'opaque']) {
      // Covers POST /oauth/token grant_type=refresh_token: error: an access token was sent
      it(`refuses an access token (${format})`, async () => {
        const { access_token: token } = await passwordTokens(server, { token_format: format })
        await refused(server, mode, () => refresh(server, token), {
          want: unusable,
          description: 'Invalid refresh token.',
        })
      })
    }

    it('refuses an ID token', async () => {
      const { id_token: token } = await passwordTokens(server)
      await refused(server, mode, () => refresh(server, token), {
        want: unusable,
        description: 'Invalid refresh token.',
      })
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: other client
    it('refuses the refresh token of another client, which remains valid', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      await refused(server, mode, () => refresh(server, token, {}, AUTO), {
        want: '400 invalid_grant',
        description: 'Wrong client for this refresh token: app',
      })
      tokensOf(await refresh(server, token))
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: scope wider than granted
    it('refuses a wider scope than granted, and returns the granted one', async () => {
      const { refresh_token: token } = await passwordTokens(server, { scope: 'openid cloud.read' })
      const answer = await refused(server, mode, () => refresh(server, token, { scope: 'openid profile' }), {
        want: '400 invalid_scope',
        description: 'Unable to narrow the scope of the client authentication to [openid, profile].',
      })
      assert.deepEqual(String(answer.json()['scope']).split(' ').toSorted(), ['cloud.read', 'openid'])
    })

    it('drops requested OpenID scopes that were not granted, in standard (A7)', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      const repeated = { scope: 'openid cloud.read phone offline_access' }
      if (mode === 'uaa') {
        await refused(server, mode, () => refresh(server, token, repeated), {
          want: '400 invalid_scope',
          description:
            'Unable to narrow the scope of the client authentication to [openid, cloud.read, phone, offline_access].',
        })
        return
      }
      const { scope } = tokensOf(await refresh(server, token, repeated))
      assert.deepEqual(scope.split(' ').toSorted(), ['cloud.read', 'openid'])
    })

    it('refuses other scopes that were not granted, and OpenID scopes without openid', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      const rows = [
        ['openid cloud.write phone', mode === 'uaa' ? 'openid, cloud.write, phone' : 'openid, cloud.write'],
        ['cloud.read offline_access', 'cloud.read, offline_access'],
        ['offline_access', 'offline_access'],
      ] as const
      for (const [scope, named] of rows) {
        await refused(server, mode, () => refresh(server, token, { scope }), {
          want: '400 invalid_scope',
          description: `Unable to narrow the scope of the client authentication to [${named}].`,
        })
      }
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: expired
    it('refuses an expired token', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      server.clock.advance(2_592_000)
      const date = server.clock.now().toISOString()
      await refused(server, mode, () => refresh(server, token), {
        want: unusable,
        description: `Invalid refresh token expired at ${date}`,
      })
    })

    it('accepts a token until it expires', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      server.clock.advance(2_592_000 - 1)
      tokensOf(await refresh(server, token))
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: public call for an authenticated client's token
    it('refuses the token of a confidential client without client authentication', async () => {
      await changeClient(server, 'app', { allowPublic: true })
      const { refresh_token: token } = await passwordTokens(server)
      await refused(server, mode, () => refresh(server, token, { client_id: 'app' }, null), {
        want: unusable,
        description: 'Refresh without client authentication not allowed.',
      })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`Refresh token whose preconditions changed in ${mode}`, () => {
    const MISMATCH = 'revocable signature mismatch'
    interface Loss extends Refusal {
      readonly name: string
      readonly user?: Partial<User>
      readonly client?: (client: Client) => Partial<Client>
    }
    const losses: readonly Loss[] = [
      {
        name: 'the user changed the password',
        user: { passwordRevision: 'next' },
        want: unusable,
        description: MISMATCH,
      },
      // Covers POST /oauth/token grant_type=refresh_token: error: secret, salt, password, e-mail or name changed
      {
        name: 'the user changed the email address',
        user: { email: 'm@example.org' },
        want: unusable,
        description: MISMATCH,
      },
      { name: 'the user name changed', user: { userName: 'mary' }, want: unusable, description: MISMATCH },
      { name: 'the token salt of the user changed', user: { salt: 'salt' }, want: unusable, description: MISMATCH },
      { name: 'the account was deactivated', user: { active: false }, want: unusable },
      {
        name: 'the token salt of the client changed',
        client: () => ({ tokenSalt: 'salt' }),
        want: unusable,
        description: MISMATCH,
      },
      // Covers client authentication: rule: refresh needs the newest secret
      {
        name: 'the client received a second secret',
        client: ({ secrets }) => ({ secrets: [...secrets, { hash: 'x', revision: 'second' }] }),
        want: unusable,
        description: 'Invalid refresh token: revocable signature mismatch',
      },
      // Covers POST /oauth/token grant_type=refresh_token: error: granted scope lost
      {
        name: 'the client lost a scope',
        client: ({ scope }) => ({ scope: scope.filter(each => each !== 'cloud.read') }),
        want: unusable,
        description: 'Some required "granted_scopes" are missing: [cloud.read]'.replaceAll(
          '"',
          mode === 'uaa' ? '"' : '?',
        ),
      },
      // Covers POST /oauth/token grant_type=refresh_token: error: required groups lost
      {
        name: 'the client requires a group that the user does not have',
        client: () => ({ requiredUserGroups: ['cloud.write'] }),
        want: unusable,
        description: "User does not meet the client's required group criteria.",
      },
      {
        name: 'the client no longer allows the provider',
        client: () => ({ allowedProviders: ['ldap'] }),
        want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
      },
      {
        name: 'the client lost the grant type',
        client: () => ({ authorizedGrantTypes: ['password'] }),
        want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
        description: 'Unauthorized grant type',
      },
    ]
    for (const { name, user, client, ...refusal } of losses) {
      it(`is refused if ${name}`, async () => {
        const server = await startServer({ mode })
        try {
          const { refresh_token: token } = await passwordTokens(server)
          if (user) await changeUser(server, 'marissa', user)
          if (client) await changeClient(server, 'app', client(await clientNamed(server, 'app')))
          await refused(server, mode, () => refresh(server, token), refusal)
        } finally {
          await server.stop()
        }
      })
    }
  })

  describe(`Approvals required by a refresh token in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(() => server.stop())

    const byCode = async (): Promise<Tokens> =>
      tokensOf(
        await exchange(
          server,
          await insertCode(server, { clientId: 'app', scopes: ['openid', 'cloud.read'] }),
          {},
          APP,
        ),
      )
    const missing = (scopes: string): Refusal => ({
      want: unusable,
      description: `Invalid token (some requested scopes are not approved): [${scopes}]`,
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: approvals expired or missing
    it('are required for a code of a client without autoapprove', async () => {
      const { refresh_token: token } = await byCode()
      await refused(server, mode, () => refresh(server, token), missing('openid, cloud.read'))
      await approve(server, ['openid', 'cloud.read'], 'APPROVED')
      tokensOf(await refresh(server, token))
    })

    it('are required only for the requested scopes', async () => {
      const { refresh_token: token } = await byCode()
      await approve(server, ['cloud.read'], 'DENIED')
      await refused(server, mode, () => refresh(server, token), missing('cloud.read'))
      tokensOf(await refresh(server, token, { scope: 'openid' }))
    })

    it('expire', async () => {
      await approve(server, ['openid', 'cloud.read'], 'APPROVED')
      const { refresh_token: token } = await byCode()
      server.clock.advance(3600)
      const { want } = missing('')
      await refused(server, mode, () => refresh(server, token), {
        want,
        description: 'Invalid token (approvals expired)',
      })
      server.clock.advance(32 * 86_400) // the rows are purged by now
      while ((await server.store.purge(server.clock.now())) > 0);
      const { id } = await userNamed(server, 'marissa')
      assert.equal((await server.store.approvals.list('svc', id, 'app', new Date(0))).length, 0)
    })

    it('are not required after the password grant', async () => {
      tokensOf(await refresh(server, (await passwordTokens(server)).refresh_token))
    })
  })

  // Covers Zone config in effect: tokenPolicy.refreshTokenFormat
  describe(`JWT refresh token in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { zone_config: { tokenPolicy: { refreshTokenFormat: 'jwt' } } } })
    })
    after(() => server.stop())

    // Covers POST /oauth/token grant_type=refresh_token: `refresh_token` as JWT
    // Covers refresh token: jti ends in -r; refreshTokenFormat jwt; granted_scopes; client_id; cid; iss; zid; aud; amr
    // Covers refresh token: auth_time; grant_type; user_name; origin; user_id; rev_sig; sub; iat; exp
    it('contains the specified claims, and can be used', async () => {
      const { refresh_token: token, scope } = await passwordTokens(server)
      const { payload } = await verified(server, token)
      const user = await userNamed(server, 'marissa')
      const now = server.clock.now().getTime() / 1000
      const { jti, rev_sig: signature, grant_id: grant, ...rest } = payload
      assert.match(String(jti), /^[0-9a-f]{32}-r$/)
      assert.match(String(signature), /^[0-9a-f]{1,8}$/)
      assert.match(String(grant), /^[0-9a-f]{32}$/)
      assert.deepEqual(rest, {
        sub: user.id,
        iat: now,
        exp: now + 2_592_000,
        cid: 'app',
        client_id: 'app',
        iss: `${server.baseUrl}${mode === 'uaa' ? '/oauth/token' : ''}`,
        zid: 'svc',
        aud: ['cloud', 'openid', 'app'],
        granted_scopes: scope.split(' '),
        amr: ['pwd'],
        auth_time: now,
        grant_type: 'password',
        user_name: 'marissa',
        origin: 'svc',
        user_id: user.id,
      })
      const second = tokensOf(await refresh(server, token))
      assert.equal(second.refresh_token, token)
      assert.equal(decodeJwt(second.access_token)['revocable'], undefined, 'it is not stored')
    })

    // Covers refresh token: refreshTokenFormat opaque
    it('is opaque if the access token is', async () => {
      const { refresh_token: token } = await passwordTokens(server, { token_format: 'opaque' })
      assert.match(token, /^[0-9a-f]{32}-r$/)
    })

    // Covers POST /oauth/token grant_type=refresh_token: error: bad signature
    it('is refused with an invalid signature', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      const { payload, header } = await verified(server, token)
      const forged = await new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256', kid: String(header.kid) })
        .sign(new Uint8Array(32))
      for (const value of [forged, `${token.slice(0, -6)}AAAAAA`]) {
        await refused(server, mode, () => refresh(server, value), {
          want: unusable,
          description: 'Could not verify token signature.',
        })
      }
    })

    it('is not accepted as an access token', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      assert.equal(await isAlive(server, token), false)
      assert.equal((await server.send('/userinfo', { bearer: token })).status, 401)
    })
  })
}

describe('Refresh token policies', () => {
  // Covers refresh token: refreshTokenUnique
  // Covers Zone config in effect: tokenPolicy.refreshTokenUnique
  it('keep one refresh token per client and user with refreshTokenUnique', async () => {
    const server = await startServer({ config: { zone_config: { tokenPolicy: { refreshTokenUnique: true } } } })
    try {
      const first = await passwordTokens(server)
      const other = await passwordTokens(server, {}, AUTO)
      const joel = await passwordTokens(server, { username: 'joel', password: 'wombat' })
      server.clock.advance(1)
      const second = await passwordTokens(server)
      await refused(server, 'standard', () => refresh(server, first.refresh_token), {
        want: '400 invalid_grant',
        description: GONE,
      })
      for (const [token, basic] of [
        [second, APP],
        [other, AUTO],
        [joel, APP],
      ] as const) {
        tokensOf(await refresh(server, token.refresh_token, {}, basic))
      }
    } finally {
      await server.stop()
    }
  })

  it('keep at least one of several concurrent refresh tokens', async () => {
    const server = await startServer({ config: { zone_config: { tokenPolicy: { refreshTokenUnique: true } } } })
    try {
      const issued = await Promise.all(Array.from({ length: 4 }, () => passwordTokens(server)))
      const refreshed = await Promise.all(issued.map(({ refresh_token: token }) => refresh(server, token)))
      assert.ok(refreshed.some(({ status }) => status === 200))
    } finally {
      await server.stop()
    }
  })

  // Covers Client record: refreshTokenUnique
  it('limit refresh tokens to the newest ones, by zone or client', async () => {
    const clients = defaultBootstrap.clients.map(client =>
      client.client_id === 'auto' ? { ...client, refreshTokenUnique: -1 } : client,
    )
    const server = await startServer({
      config: {
        bootstrap: { ...defaultBootstrap, clients },
        zone_config: { tokenPolicy: { refreshTokenUnique: 2, refreshTokenRotate: true } },
      },
    })
    try {
      const signIn = async (basic: readonly [string, string] = APP): Promise<string> => {
        server.clock.advance(1)
        return (await passwordTokens(server, {}, basic)).refresh_token
      }
      const [first, second] = [await signIn(), await signIn()]
      // A refresh is not a sign-in: it replaces only its own token.
      const rotated = tokensOf(await refresh(server, second)).refresh_token
      const again = tokensOf(await refresh(server, first)).refresh_token
      const third = await signIn()
      await refused(server, 'standard', () => refresh(server, again), { want: '400 invalid_grant', description: GONE })
      for (const token of [rotated, third]) tokensOf(await refresh(server, token))
      const others = [await signIn(AUTO), await signIn(AUTO), await signIn(AUTO)]
      for (const token of others) tokensOf(await refresh(server, token, {}, AUTO))
    } finally {
      await server.stop()
    }
  })

  // Covers token lifetime: client `refresh_token_validity`; zone refreshTokenValidity
  // Covers Zone config in effect: tokenPolicy.refreshTokenValidity
  it('set the validity by zone or client', async () => {
    const clients = defaultBootstrap.clients.map(client =>
      client.client_id === 'auto' ? { ...client, refresh_token_validity: 50 } : client,
    )
    const server = await startServer({
      config: {
        bootstrap: { ...defaultBootstrap, clients },
        zone_config: { tokenPolicy: { refreshTokenValidity: 100, refreshTokenFormat: 'jwt' } },
      },
    })
    try {
      for (const [basic, seconds] of [
        [APP, 100],
        [AUTO, 50],
      ] as const) {
        const { iat = 0, exp } = decodeJwt((await passwordTokens(server, {}, basic)).refresh_token)
        assert.equal(exp, iat + seconds)
      }
    } finally {
      await server.stop()
    }
  })
})

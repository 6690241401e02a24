import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { changeUser, insufficientScope, MODES, passwordTokens, refused, tokensOf, userNamed } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const ALL = ['all', 'secret'] as const
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'all',
      client_secret: 'secret',
      authorized_grant_types: ['password', 'client_credentials'],
      scope: ['openid', 'profile', 'email', 'phone', 'address', 'user_attributes', 'roles', 'cloud.read', 'openid.x'],
      authorities: ['openid'],
    },
  ],
  users: [
    {
      ...defaultBootstrap.users[0],
      phoneNumbers: [{ value: '+49 30 1234' }],
    },
    {
      userName: 'complete',
      password: 'secret',
      emails: [{ value: 'complete@example.org' }],
      phoneNumbers: [{ value: '+41 31 1234' }],
      name: { givenName: 'Ann', familyName: 'Lee', middleName: 'B', formatted: 'Dr. Ann B Lee' },
      nickName: 'Annie',
      profileUrl: 'https://ann.example/profile',
      photos: [{ value: 'https://ann.example/picture.png', type: 'photo' }],
      website: 'https://ann.example',
      gender: 'female',
      birthdate: '1990-02-28',
      timezone: 'Europe/Zurich',
      locale: 'de-CH',
      addresses: [{ formatted: 'Way 1', streetAddress: 'Way 1', locality: 'Bern', postalCode: '3000', country: 'CH' }],
      customAttributes: { costCenter: ['17'], teams: ['a', 'b'] },
    },
    {
      userName: 'extra',
      password: 'secret',
      emails: [{ value: 'x@example.org' }],
      groups: ['openid.x'],
    },
    {
      userName: 'nameless',
      password: 'secret',
      emails: [{ value: 'n@example.org' }],
      name: { givenName: '', familyName: '' },
    },
  ],
}

for (const mode of MODES) {
  describe(`/userinfo in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
      const complete = await userNamed(server, 'complete')
      await server.store.users.updateProfile(complete.zoneId, { ...complete, providerRoles: ['boss', 'staff'] })
    })
    after(() => server.stop())
    const tokenFor = async (scope: string, userName = 'marissa', password = 'koala'): Promise<string> =>
      (await passwordTokens(server, { scope, username: userName, password }, ALL)).access_token
    const send = (token: string, request: TestRequest = {}): Promise<TestAnswer> =>
      server.send('/userinfo', { bearer: token, ...request })

    const profile = {
      name: 'Marissa Bloggs',
      given_name: 'Marissa',
      family_name: 'Bloggs',
    }
    const email = { email: 'marissa@example.org', email_verified: true }
    const phone = { phone_number: '+49 30 1234' }
    const cases = [
      { scope: 'openid', standard: {} },
      { scope: 'openid profile', standard: { ...profile, preferred_username: 'marissa', updated_at: 1_768_478_400 } },
      { scope: 'openid email', standard: email },
      { scope: 'openid phone', standard: { ...phone, phone_number_verified: false } },
    ]
    for (const { scope, standard } of cases.filter(each => mode === 'standard' || !/email|phone/.test(each.scope))) {
      // Covers GET /userinfo: response: user_id; sub; user_name; given_name; family_name; phone_number; name; email
      // Covers GET /userinfo: response: email_verified; preferred_username; updated_at
      // Partly covers compatibility: tokens and userinfo: T6 userinfo claims
      // Covers every answer in standard: userinfo: token works at once, same sub
      it(`returns the claims for "${scope}" (T6)`, async () => {
        const answer = await send(await tokenFor(scope))
        const { id } = await userNamed(server, 'marissa')
        const { previous_logon_time: previous, ...reported } = answer.json()
        assert.deepEqual(reported, {
          user_id: id,
          sub: id,
          user_name: 'marissa',
          ...(mode === 'standard' ? standard : { ...profile, ...email, ...phone }),
        })
        assert.ok(previous === null ? mode === 'uaa' : previous === undefined || typeof previous === 'number')
        assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      })
    }

    const decoded = (token: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const attributes = { costCenter: ['17'], teams: ['a', 'b'] }
    /** Claims by scope (OpenID Connect Core §5.4). */
    const complete: Readonly<Record<string, object>> = {
      profile: {
        name: 'Dr. Ann B Lee',
        given_name: 'Ann',
        family_name: 'Lee',
        middle_name: 'B',
        nickname: 'Annie',
        preferred_username: 'complete',
        profile: 'https://ann.example/profile',
        picture: 'https://ann.example/picture.png',
        website: 'https://ann.example',
        gender: 'female',
        birthdate: '1990-02-28',
        zoneinfo: 'Europe/Zurich',
        locale: 'de-CH',
        updated_at: 1_768_478_400,
      },
      email: { email: 'complete@example.org', email_verified: true },
      phone: { phone_number: '+41 31 1234', phone_number_verified: false },
      address: {
        address: {
          formatted: 'Way 1',
          street_address: 'Way 1',
          locality: 'Bern',
          postal_code: '3000',
          country: 'CH',
        },
      },
      user_attributes: { user_attributes: attributes },
      roles: { roles: ['boss', 'staff'] },
    }

    if (mode === 'standard') {
      for (const scopes of [...Object.keys(complete).map(scope => [scope]), Object.keys(complete)]) {
        it(`returns all claims of ${scopes.join(', ')} at /userinfo and in the ID token`, async () => {
          const form = { scope: ['openid', ...scopes].join(' '), username: 'complete', password: 'secret' }
          const tokens = await passwordTokens(server, form, ALL)
          const want = Object.assign({}, ...scopes.map(scope => complete[scope])) as Record<string, unknown>
          const {
            user_id: _,
            sub: _sub,
            user_name: _name,
            previous_logon_time: _previous,
            ...reported
          } = (await send(tokens.access_token)).json()
          assert.deepEqual(reported, want)
          const claims = decoded(tokens.id_token)
          for (const [name, value] of Object.entries(want)) assert.deepEqual(claims[name], value, name)
          const others = Object.keys(Object.assign({}, ...Object.values(complete))).filter(name => !(name in want))
          for (const name of others) assert.equal(claims[name], undefined, name)
        })
      }
    } else {
      // Covers ID token: roles; user_attributes
      // Covers GET /userinfo: response: user_attributes; roles
      it('returns user_attributes and roles, and no claims unknown to UAA', async () => {
        const form = { scope: 'openid profile user_attributes roles', username: 'complete', password: 'secret' }
        const tokens = await passwordTokens(server, form, ALL)
        const reported = (await send(tokens.access_token)).json()
        for (const shown of [reported, decoded(tokens.id_token)]) {
          assert.deepEqual([shown['user_attributes'], shown['roles']], [attributes, ['boss', 'staff']])
          for (const name of ['nickname', 'picture', 'address']) assert.equal(shown[name], undefined)
        }
        const without = (await send(await tokenFor('openid', 'complete', 'secret'))).json()
        assert.deepEqual([without['user_attributes'], without['roles']], [undefined, undefined])
      })
    }

    it('refuses the scope openid.x, which also adds openid to the audience', async () => {
      const token = await tokenFor('openid.x', 'extra', 'secret')
      await refused(server, mode, () => send(token), insufficientScope(mode, 'openid'))
    })

    // Covers GET /userinfo: response: previous_logon_time
    it('returns the time of the previous logon', async () => {
      const first = (await send(await tokenFor('openid', 'nameless', 'secret'))).json()
      assert.equal(first['previous_logon_time'], mode === 'uaa' ? null : undefined)
      const time = server.clock.now().getTime()
      server.clock.advance(60)
      const second = (await send(await tokenFor('openid', 'nameless', 'secret'))).json()
      assert.equal(second['previous_logon_time'], time)
    })

    it('omits a blank name', async () => {
      const reported = (await send(await tokenFor('openid profile', 'nameless', 'secret'))).json()
      for (const member of ['name', 'given_name', 'family_name', 'phone_number']) {
        assert.equal(Object.hasOwn(reported, member), false, member)
      }
    })

    // Covers ID token: rule: null values are left out
    it('omits blank claims from the ID token', async () => {
      const { id_token: token } = await passwordTokens(
        server,
        { scope: 'openid profile', username: 'nameless', password: 'secret' },
        ALL,
      )
      const claims: Record<string, unknown> = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      const blank = Object.entries(claims).filter(([, value]) => value === '' || value === null)
      assert.deepEqual(blank, [])
    })

    it('reflects account changes immediately', async () => {
      const token = await tokenFor('openid profile')
      await changeUser(server, 'marissa', { givenName: 'Mary' })
      assert.equal((await send(token)).json()['name'], 'Mary Bloggs')
      await changeUser(server, 'marissa', { givenName: 'Marissa' })
    })

    it('accepts an opaque token', async () => {
      const { access_token: token } = await passwordTokens(server, { scope: 'openid', token_format: 'opaque' }, ALL)
      assert.equal((await send(token)).status, 200)
    })

    // Covers every endpoint: rule: bearer scheme in any case
    it('compares the scheme case-insensitively', async () => {
      const headers = { authorization: `bEaReR ${await tokenFor('openid')}` }
      assert.equal((await server.send('/userinfo', { headers })).status, 200)
    })

    // Covers POST /userinfo: Authorization: Bearer
    it('accepts a POST with the token in the header', async () => {
      assert.equal((await send(await tokenFor('openid'), { method: 'POST' })).status, 200)
    })

    // Covers POST /userinfo: `access_token` in the form
    // Covers compatibility: tokens and userinfo: T5 userinfo call
    it('accepts a POST with the token in the form (T5)', async () => {
      assert.equal((await server.send('/userinfo', { form: { access_token: await tokenFor('openid') } })).status, 200)
    })

    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      // Covers any /userinfo: rule: any method (uaa)
      it(`${mode === 'uaa' ? 'accepts' : 'refuses'} ${method} (T5)`, async () => {
        const token = await tokenFor('openid')
        const answer = await send(token, { method })
        assert.equal(answer.status, mode === 'uaa' ? 200 : 405)
        if (mode === 'standard') assert.equal(answer.headers['allow'], 'GET, POST, HEAD')
      })
    }

    const REALM = 'Bearer realm="SVC/oauth"'
    const full = 'Full authentication is required to access this resource'
    const bare = `${REALM}${mode === 'uaa' ? `, error="unauthorized", error_description="${full}"` : ''}`
    const notForOpenid = 'Invalid token does not contain resource id (openid)'
    const refusals: readonly (Refusal & { readonly name: string; readonly request: () => Promise<TestRequest> })[] = [
      // Covers every endpoint: error: no token
      // Covers GET /userinfo: error: no token
      // Covers compatibility: token endpoint: C6 bearer 401
      {
        name: 'no token (C6)',
        request: async () => ({}),
        want: '401 unauthorized',
        description: full,
        challenge: bare,
      },
      {
        name: 'an empty token',
        request: async () => ({ headers: { authorization: 'Bearer ' } }),
        want: '401 unauthorized',
      },
      { name: 'another scheme', request: async () => ({ basic: ['all', 'secret'] }), want: '401 unauthorized' },
      {
        name: 'a token in the query',
        request: async () => ({ query: { access_token: await tokenFor('openid') } }),
        want: '401 unauthorized',
      },
      // Covers WWW-Authenticate: header: Bearer realm of protected endpoints
      // Covers token validation: unknown opaque value
      // Covers GET /userinfo: error: bad token
      {
        name: 'an unknown token',
        request: async () => ({ bearer: 'nonsense' }),
        want: '401 invalid_token',
        challenge: `${REALM}, error="invalid_token", error_description="The token expired, was revoked, or the token ID is incorrect."`,
      },
      {
        name: 'a token of 1 MB',
        request: async () => ({ bearer: `${'e'.repeat(1_000_000)}.e30.x` }),
        want: '401 invalid_token',
        description: 'The token is too long.',
      },
      // Covers every endpoint: error: access_denied
      // Covers GET /userinfo: error: openid not in the audience; rule: bearer user token with openid
      {
        name: 'a token without openid (M12)',
        request: async () => ({ bearer: await tokenFor('cloud.read') }),
        want: mode === 'uaa' ? '403 access_denied' : '403 insufficient_scope', // RFC 6750 §3.1
        description: notForOpenid,
        challenge:
          mode === 'uaa'
            ? REALM
            : `${REALM}, error="insufficient_scope", error_description="${notForOpenid}", scope="openid"`,
      },
      // Covers GET /userinfo: error: client token
      {
        name: 'a client token, even with openid',
        request: async () => ({
          bearer: tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: ALL })).access_token,
        }),
        want: '403 access_denied',
      },
      {
        name: 'an ID token',
        request: async () => ({ bearer: (await passwordTokens(server, {}, ALL)).id_token }),
        want: '401 invalid_token',
      },
      // Covers GET /userinfo: error: token twice
      {
        name: 'two tokens',
        request: async () => {
          const token = await tokenFor('openid')
          return { form: { access_token: token }, bearer: token }
        },
        want: '400 invalid_request',
        description: 'The access token must be sent in one place only',
      },
    ]
    for (const { name, request, ...refusal } of refusals) {
      it(`refuses ${name}`, async () => {
        const prepared = await request()
        await refused(server, mode, () => server.send('/userinfo', prepared), refusal)
      })
    }

    it('refuses a repeated token in the form, in uaa the first one counts (A3)', async () => {
      const form = `access_token=${await tokenFor('openid')}&access_token=x`
      const sending = () => server.send('/userinfo', { form })
      if (mode === 'uaa') return assert.equal((await sending()).status, 200)
      await refused(server, mode, sending, {
        want: '400 invalid_request',
        description: 'The parameter access_token must not be repeated',
      })
    })

    // Covers every endpoint: error: bad or expired token
    // Covers token validation: expired
    it('refuses an expired token', async () => {
      const token = await tokenFor('openid')
      server.clock.advance(mode === 'standard' ? 3600 : 43_200)
      await refused(server, mode, () => send(token), {
        want: '401 invalid_token',
        description: `Invalid access token: expired at ${server.clock.now().toISOString()}`,
      })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

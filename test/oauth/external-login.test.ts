// `source=login`: an external login server authenticates users, and asserts their identity with its token.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { responseOf } from '../support/authorize.ts'
import type { LoginServerApi } from '../support/login-server.ts'
import { OTHER_HOST, startLoginServer } from '../support/login-server.ts'
import { isAlive, MODES, refresh, tokensOf, verified } from '../support/oauth.ts'
import { push } from '../support/request-objects.ts'
import type { TestAnswer } from '../support/server.ts'

interface Row {
  readonly name: string
  readonly form: Readonly<Record<string, string | undefined>>
  readonly want: string
  readonly uaa?: string
  readonly description?: string
}

/** Refused identically at both endpoints, with the realm `oauth`. */
const REFUSED_USERS: readonly Row[] = [
  // Covers POST /oauth/token source=login: error: internal origin refused
  {
    name: 'the internal origin',
    form: { username: 'marissa', origin: 'svc' },
    want: '401 unauthorized',
    description: 'svc origin not allowed for external login server',
  },
  // Covers POST /oauth/authorize source=login: origin
  {
    name: 'the origin of a provider of the zone',
    form: { origin: 'corp' },
    want: '401 unauthorized',
    description: 'The origin belongs to an identity provider of the zone.',
  },
  {
    name: 'a reserved origin',
    form: { origin: 'ldap' },
    want: '401 unauthorized',
    description: 'The origin belongs to an identity provider of the zone.',
  },
  {
    name: 'the internal origin in another case',
    form: { username: 'marissa', origin: 'SVC' },
    want: '401 unauthorized',
    description: 'svc origin not allowed for external login server',
  },
  {
    name: 'the origin of a provider in another case',
    form: { origin: 'Corp' },
    want: '401 unauthorized',
    description: 'The origin belongs to an identity provider of the zone.',
  },
  {
    name: 'an origin with a trailing space',
    form: { origin: 'corp ' },
    want: '401 unauthorized',
    description: 'The origin must have visible ASCII characters only.',
  },
  // Covers POST /oauth/token source=login: error: user not found
  {
    name: 'an unknown user without add_new=true',
    form: { username: 'nobody', add_new: 'false' },
    want: '401 unauthorized',
    description: 'Bad Credentials',
  },
  {
    name: 'an unknown user_id, even with add_new=true',
    form: { user_id: 'none', add_new: 'true' },
    want: '401 unauthorized',
    description: 'Bad Credentials',
  },
  {
    name: 'a missing user name',
    form: { username: undefined },
    want: '401 unauthorized',
    description: 'Cannot determine username from credentials supplied',
  },
  {
    name: 'a blank user name',
    form: { username: '  ' },
    want: '401 unauthorized',
    description: 'Cannot determine username from credentials supplied',
  },
  { name: 'a user name that is too long', form: { username: 'x'.repeat(256) }, want: '400 scim' },
  { name: 'an origin that is too long', form: { origin: 'x'.repeat(37) }, want: '400 scim' },
  { name: 'a control character', form: { email: 'a@b.example\r\nBcc: x@y.example' }, want: '400 invalid_request' },
]

const errorOf = (answer: TestAnswer): string => `${answer.status} ${String(answer.json()['error'])}`

for (const mode of MODES) {
  describe(`source=login in ${mode}`, () => {
    let api: LoginServerApi
    before(async () => {
      api = await startLoginServer(mode)
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    describe('at the token endpoint', () => {
      // Covers POST /oauth/token source=login: add_new; given_name; family_name
      it('creates the user with add_new=true, and issues tokens', async () => {
        const more = { username: 'new@shop.example', given_name: 'Nia', family_name: 'Ewing' }
        const { access_token, id_token, refresh_token, scope } = tokensOf(await api.tokens(more))
        const { payload } = await verified(api.server, access_token)
        assert.deepEqual([payload['user_name'], payload['origin']], ['new@shop.example', 'ext-a'])
        assert.equal(payload['client_id'], 'shop')
        assert.deepEqual(scope.split(' ').toSorted(), ['openid', 'password.write', 'profile'])
        assert.deepEqual((await verified(api.server, id_token)).payload['amr'], ['ext'])
        assert.ok(await isAlive(api.server, access_token))
        assert.equal((await refresh(api.server, refresh_token, {}, ['shop', 'shop-secret'])).status, 200)
        const user = await api.userOf('ext-a', 'new@shop.example')
        assert.deepEqual(
          [user?.email, user?.givenName, user?.familyName, user?.verified, user?.passwordHash],
          ['new@shop.example', 'Nia', 'Ewing', false, undefined],
        )
      })

      // Covers POST /oauth/token source=login: email
      it('assigns a placeholder address to a user without one, and in uaa names (E2)', async () => {
        tokensOf(await api.tokens({ username: 'no-at', origin: 'ext-b' }))
        const user = await api.userOf('ext-b', 'no-at')
        assert.equal(user?.email, 'no-at@user.from.ext-b.cf')
        const names = mode === 'uaa' ? ['no-at', 'user.from.ext-b.cf'] : [undefined, undefined]
        assert.deepEqual([user?.givenName, user?.familyName], names)
      })

      // Covers POST /oauth/authorize source=login: given_name
      // Covers POST /oauth/token source=login: username
      it('finds an existing user by the exact user name, and updates attributes', async () => {
        tokensOf(await api.tokens({ username: 'ivy', email: 'ivy@old.example' }))
        const { id } = (await api.userOf('ext-a', 'ivy')) ?? {}
        tokensOf(await api.tokens({ username: 'ivy', email: 'ivy@new.example', given_name: 'Ivy', add_new: 'false' }))
        const user = await api.userOf('ext-a', 'ivy')
        assert.deepEqual([user?.id, user?.email, user?.givenName], [id, 'ivy@new.example', 'Ivy'])
        assert.equal(errorOf(await api.tokens({ username: 'IVY' })), '401 unauthorized')
      })

      // Covers POST /oauth/token source=login: origin
      it('uses the origin login-server by default', async () => {
        tokensOf(await api.tokens({ username: 'default', origin: undefined }))
        assert.ok(await api.userOf('login-server', 'default'))
      })

      it('uses the email address as user name if there is none', async () => {
        tokensOf(await api.tokens({ username: undefined, email: 'only@mail.example' }))
        assert.ok(await api.userOf('ext-a', 'only@mail.example'))
      })

      // Covers POST /oauth/token source=login: user_id
      it('finds the user by user_id without user name', async () => {
        tokensOf(await api.tokens({ username: 'byid' }))
        const user = await api.userOf('ext-a', 'byid')
        const named = { user_id: user?.id, username: undefined, origin: undefined, add_new: 'false' }
        const { access_token } = tokensOf(await api.tokens(named))
        assert.equal((await verified(api.server, access_token)).payload['user_id'], user?.id)
        assert.equal(errorOf(await api.tokens({ ...named, origin: 'ext-b' })), '401 unauthorized')
      })

      it('grants requested scopes, and refuses others', async () => {
        assert.equal(tokensOf(await api.tokens({ scope: 'openid' })).scope, 'openid')
        assert.equal(errorOf(await api.tokens({ scope: 'nonsense' })), '400 invalid_scope')
      })

      // Covers POST /oauth/authorize source=login: authorities
      // Covers POST /oauth/token source=login: authorities
      it('copies authorities to az_attr, never to groups', async () => {
        const authorities = JSON.stringify({ az_attr: { branch: 'north' }, groups: ['cloud.read'] })
        for (const value of [authorities, 'cloud.read', '["cloud.read"]']) {
          const { access_token, scope } = tokensOf(await api.tokens({ username: 'az', authorities: value }))
          const { payload } = await verified(api.server, access_token)
          assert.deepEqual(payload['az_attr'], value === authorities ? { branch: 'north' } : undefined)
          assert.doesNotMatch(scope, /cloud/)
        }
      })

      it('accepts an empty secret only of a client with an empty secret', async () => {
        const form = { client_id: 'bare', client_secret: '' }
        assert.equal((await api.tokens(form)).status, 200)
        assert.equal((await api.tokens({ client_id: 'shop', client_secret: '' })).status, 401)
      })

      it('ignores the password', async () => {
        assert.equal((await api.tokens({ password: 'anything' })).status, 200)
      })

      const refusals: readonly Row[] = [
        {
          name: 'no client credentials',
          form: { client_id: undefined, client_secret: undefined },
          want: '401 invalid_client',
          uaa: '401 unauthorized',
          description: 'Request does not contain client credentials.',
        },
        {
          name: 'a wrong client secret',
          form: { client_secret: 'bad' },
          want: '401 invalid_client',
          uaa: '401 unauthorized',
          description: 'Bad credentials',
        },
        {
          name: 'a client without a secret',
          form: { client_id: 'open', client_secret: undefined },
          want: '401 invalid_client',
          uaa: '401 unauthorized',
        },
        {
          name: 'a client without the password grant',
          form: { client_id: 'machine', client_secret: 'machine-secret' },
          want: '400 unauthorized_client',
          uaa: '401 invalid_client',
          description: 'Unauthorized grant type',
        },
        {
          name: 'a client that does not allow the origin',
          form: { client_id: 'closed', client_secret: 'closed-secret', username: 'unmade' },
          want: '400 unauthorized_client',
          uaa: '401 unauthorized_client',
        },
        {
          name: 'a missing add_new',
          form: { add_new: undefined },
          want: '400 invalid_request',
          uaa: '403 insufficient_scope',
        },
      ]
      for (const { name, form, want, uaa = want, description } of [...refusals, ...REFUSED_USERS]) {
        it(`refuses ${name}`, async () => {
          const before = await api.server.store.users.count('svc')
          const answer = await api.tokens(form)
          assert.equal(errorOf(answer), mode === 'uaa' ? uaa : want, answer.text)
          if (description !== undefined) assert.equal(answer.json()['error_description'], description)
          assert.equal(await api.server.store.users.count('svc'), before, 'no account was created')
        })
      }

      it('challenges like UAA', async () => {
        assert.equal(
          (await api.tokens({ username: 'nobody', add_new: 'false' })).headers['www-authenticate'],
          'Bearer realm="oauth", error="unauthorized", error_description="Bad Credentials"',
        )
      })

      it('is an ordinary password request without a login server token', async () => {
        const form = { grant_type: 'password', source: 'login', username: 'marissa', add_new: 'true', origin: 'ext-a' }
        const basic = ['shop', 'shop-secret'] as const
        assert.equal(
          errorOf(await api.server.token(form, { basic })),
          mode === 'uaa' ? '401 invalid_client' : '400 invalid_request',
        )
        const { access_token } = tokensOf(await api.server.token({ ...form, password: 'koala' }, { basic }))
        assert.equal((await verified(api.server, access_token)).payload['origin'], 'svc')
      })

      it('is refused like an ordinary password request without source=login (E1)', async () => {
        const want = mode === 'uaa' ? '403 insufficient_scope' : '401 invalid_client'
        assert.equal(errorOf(await api.tokens({ source: undefined })), want)
      })

      it('refuses a deactivated user', async () => {
        tokensOf(await api.tokens({ username: 'idle' }))
        const user = await api.userOf('ext-a', 'idle')
        assert.ok(user)
        await api.server.store.users.update('svc', { ...user, active: false })
        assert.equal(errorOf(await api.tokens({ username: 'idle' })), '401 unauthorized')
        assert.equal(errorOf(await api.tokens({ user_id: user.id })), '401 unauthorized')
      })

      it('refuses a user with a password', async () => {
        tokensOf(await api.tokens({ username: 'local' }))
        const user = await api.userOf('ext-a', 'local')
        assert.ok(user)
        tokensOf(await api.tokens({ user_id: user.id }))
        await api.server.store.users.update('svc', { ...user, passwordHash: 'x' })
        assert.equal(errorOf(await api.tokens({ user_id: user.id })), '401 unauthorized')
      })

      it('respects the maximum number of users of the zone', async () => {
        const small = await startLoginServer(mode, {
          bootstrap: {
            identity_zones: [
              {
                id: 'z1',
                subdomain: 'one',
                name: 'Zone 1',
                config: { userConfig: { maxUsers: 1 } },
                bootstrap: {
                  clients: [
                    {
                      client_id: 'login',
                      client_secret: 's',
                      authorized_grant_types: ['client_credentials'],
                      authorities: ['oauth.login'],
                    },
                    {
                      client_id: 'shop',
                      client_secret: 'shop-secret',
                      authorized_grant_types: ['password'],
                      scope: ['openid'],
                    },
                  ],
                },
              },
            ],
          },
        })
        const basic = ['login', 's'] as const
        const granted = await small.server.token({ grant_type: 'client_credentials' }, { basic, host: OTHER_HOST })
        const there = { bearer: tokensOf(granted).access_token, host: OTHER_HOST }
        const statuses = await Promise.all(
          ['a', 'b', 'c'].map(async username => (await small.tokens({ username }, there)).status),
        )
        assert.deepEqual(
          statuses.toSorted((a, b) => a - b),
          [200, 400, 400],
        )
        await small.stop()
      })

      it('creates one account for concurrent first sign-ins', async () => {
        const answers = await Promise.all([1, 2, 3].map(() => api.tokens({ username: 'twice' })))
        const ids = await Promise.all(
          answers.map(async answer => (await verified(api.server, tokensOf(answer).access_token)).payload['user_id']),
        )
        assert.equal(new Set(ids).size, 1)
      })

      it('records the login server in the audit trail', async () => {
        const from = api.server.events.length
        tokensOf(await api.tokens({ username: 'trail' }))
        const events = api.server.events.slice(from)
        const created = events.find(({ type }) => type === 'UserCreatedEvent')
        assert.equal(created?.clientId, 'login')
        const signedIn = events.find(({ type }) => type === 'UserAuthenticationSuccess')
        assert.deepEqual(
          [signedIn?.origin, signedIn?.clientId, signedIn?.data],
          ['ext-a', 'shop', 'vouched for by login'],
        )
      })
    })

    describe('at the authorization endpoint', () => {
      // Covers POST /oauth/authorize source=login: username
      it('returns a code that can be exchanged for tokens', async () => {
        const answer = await api.authorize({ username: 'coder' })
        assert.equal(answer.status, 302, answer.text)
        assert.deepEqual(answer.cookies, {}, 'no session is created')
        const { query } = responseOf(answer)
        assert.equal(query['state'], 's1')
        const exchange = {
          grant_type: 'authorization_code',
          code: query['code'] ?? '',
          redirect_uri: 'https://shop.example/cb',
        }
        const { access_token } = tokensOf(await api.server.token(exchange, { basic: ['shop', 'shop-secret'] }))
        assert.equal((await verified(api.server, access_token)).payload['user_name'], 'coder')
      })

      it('returns a token for response_type=token', async () => {
        const { fragment } = responseOf(await api.authorize({ response_type: 'token' }))
        assert.equal((await verified(api.server, fragment['access_token'] ?? '')).payload['user_name'], 'erin')
        assert.equal(fragment['state'], 's1')
      })

      // Covers POST /oauth/authorize source=login: login JSON; family_name; email
      it('accepts the user as JSON in login, without source', async () => {
        const login = JSON.stringify({
          username: 'jason',
          origin: 'ext-j',
          email: 'j@son.example',
          family_name: 'Bell',
        })
        const answer = await api.authorize({ source: undefined, username: undefined, origin: undefined, login })
        assert.equal(answer.status, 302, answer.text)
        const user = await api.userOf('ext-j', 'jason')
        assert.deepEqual([user?.email, user?.familyName], ['j@son.example', 'Bell'])
      })

      // Covers POST /oauth/authorize source=login: user_id
      it('finds the user by user_id', async () => {
        await api.authorize({ username: 'idmade' })
        const user = await api.userOf('ext-a', 'idmade')
        const answer = await api.authorize({
          user_id: user?.id,
          username: undefined,
          origin: undefined,
          add_new: undefined,
        })
        assert.ok(responseOf(answer).query['code'])
      })

      // Covers POST /oauth/authorize source=login: response: approval as JSON
      it('asks for approval in JSON, and accepts the decision with the repeated request', async () => {
        const form = { username: 'asked', scope: 'openid password.write' }
        const question = await api.authorize(form)
        assert.equal(question.status, 200, question.text)
        const model = question.json<{ undecided_scopes: { code: string }[]; auth_request: Record<string, unknown> }>()
        assert.deepEqual(
          model.undecided_scopes.map(({ code }) => code),
          ['scope.password.write'],
        )
        if (mode === 'uaa') {
          assert.deepEqual(model.auth_request['requestParameters'], {
            response_type: 'code',
            redirect_uri: 'https://shop.example/cb',
            state: 's1',
            client_id: 'shop',
            scope: 'openid password.write',
            source: 'login',
            username: 'asked',
            origin: 'ext-a',
          })
        }
        const denied = await api.authorize({ ...form, user_oauth_approval: 'false' })
        assert.equal(responseOf(denied).query['error'], 'access_denied')
        const more = await api.authorize({ ...form, user_oauth_approval: 'true', 'scope.0': 'scope.cloud.read' })
        assert.equal(responseOf(more).query['error'], 'invalid_scope')
        const answer = { user_oauth_approval: 'true', 'scope.0': 'scope.password.write' }
        assert.ok(responseOf(await api.authorize({ ...form, ...answer })).query['code'])
        assert.ok(responseOf(await api.authorize(form)).query['code'], 'the approval is stored')
      })

      it('combines pushed parameters with the user of the request', async () => {
        const zone = await api.server.store.zones.find('svc')
        assert.ok(zone)
        const config = { ...zone.config, protocols: { pushedRequests: true } }
        await api.server.store.zones.update({ ...zone, config })
        const asked = {
          response_type: 'code',
          redirect_uri: 'https://shop.example/cb',
          scope: 'openid password.write',
          state: 'pushed',
          username: 'nobody',
          origin: 'ext-b',
        }
        const uri = (await push(api.server, asked, ['shop', 'shop-secret'])).json<{ request_uri: string }>().request_uri
        const form = {
          request_uri: uri,
          username: 'pusher',
          scope: 'openid',
          response_type: undefined,
          state: undefined,
        }
        const question = await api.authorize(form)
        assert.equal(question.status, 200, question.text)
        assert.match(question.text, /scope\.password\.write/)
        const answer = { user_oauth_approval: 'true', 'scope.0': 'scope.password.write' }
        const { query } = responseOf(await api.authorize({ ...form, ...answer }))
        assert.ok(query['code'])
        assert.equal(query['state'], 'pushed')
        assert.ok(await api.userOf('ext-a', 'pusher'))
        assert.equal(await api.userOf('ext-b', 'nobody'), undefined)
        await api.server.store.zones.update(zone)
      })

      it('returns an error for prompt=none if approval is required', async () => {
        const { query, fragment } = responseOf(
          await api.authorize({ username: 'quiet', scope: 'password.write', prompt: 'none' }),
        )
        const want = mode === 'uaa' ? 'interaction_required' : 'consent_required'
        assert.equal(query['error'] ?? fragment['error'], want)
      })

      for (const { name, form, want, description } of REFUSED_USERS) {
        it(`refuses ${name}`, async () => {
          const before = await api.server.store.users.count('svc')
          const answer = await api.authorize(form)
          assert.equal(errorOf(answer), want, answer.text)
          if (description !== undefined) assert.equal(answer.json()['error_description'], description)
          assert.equal(await api.server.store.users.count('svc'), before)
        })
      }

      it('refuses an unknown user without add_new', async () => {
        assert.equal(errorOf(await api.authorize({ username: 'left-out', add_new: undefined })), '401 unauthorized')
      })

      it('refuses a client that does not allow the origin, without creating a user', async () => {
        const answer = await api.authorize({ client_id: 'closed', username: 'barred' })
        assert.equal(answer.status, 401)
        assert.equal(await api.userOf('ext-a', 'barred'), undefined)
      })

      it('refuses GET', async () => {
        const query = { source: 'login', client_id: 'shop', response_type: 'code', username: 'erin', origin: 'ext-a' }
        const answer = await api.server.send('/oauth/authorize', {
          query,
          bearer: api.token,
          headers: { accept: 'application/json' },
        })
        assert.equal(errorOf(answer), '401 unauthorized')
        assert.equal(answer.json()['error_description'], 'Credentials must be sent by (one of methods): [POST]')
      })

      it('requires Accept: application/json', async () => {
        const answer = await api.authorize({}, { headers: { accept: 'text/html' } })
        assert.equal(answer.status, 406)
      })

      it('refuses an unknown client, redirect URI or scope without creating a user', async () => {
        const unknown = await api.authorize({ client_id: 'none', username: 'x1' })
        assert.equal(errorOf(unknown), mode === 'uaa' ? '401 invalid_client' : '400 invalid_client')
        const foreign = await api.authorize({ redirect_uri: 'https://evil.example/', username: 'x1' })
        assert.equal(errorOf(foreign), mode === 'uaa' ? '400 invalid_grant' : '400 invalid_request')
        const { query } = responseOf(await api.authorize({ scope: 'nonsense', username: 'x2' }))
        assert.deepEqual([query['error'], query['state']], ['invalid_scope', 's1'])
        assert.equal(await api.userOf('ext-a', 'x1'), undefined)
      })

      it('is an ordinary browser request without a token and with Accept: text/html', async () => {
        const form = {
          source: 'login',
          response_type: 'code',
          client_id: 'shop',
          redirect_uri: 'https://shop.example/cb',
        }
        const account = { username: 'framed', origin: 'ext-a', add_new: 'true' }
        const answer = await api.server.send('/oauth/authorize', {
          form: { ...form, ...account },
          headers: { accept: 'text/html' },
        })
        const { pathname, search } = answer.location()
        if (mode === 'uaa') assert.equal(pathname + search, '/login?error=invalid_login_request')
        else assert.deepEqual([answer.status, pathname], [303, '/oauth/authorize']) // redirected to a GET (P2)
        assert.equal(await api.userOf('ext-a', 'framed'), undefined)
      })

      it('ignores the session of the browser', async () => {
        const browser = api.server.browser()
        await browser.signIn('marissa', 'koala')
        const cookies = Object.fromEntries(browser.cookies)
        const none = await api.authorize({}, { cookies, bearer: undefined as never })
        assert.equal(errorOf(none), '401 invalid_token')
        assert.equal(none.json()['error_description'], 'Missing oauth token.')
        assert.match((await browser.send('/home')).text, /marissa/)
      })
    })

    const endpoints = [
      ['token', () => api.tokens.bind(api)],
      ['authorization', () => api.authorize.bind(api)],
    ] as const
    for (const [place, sender] of endpoints) {
      const callers: readonly { name: string; token: () => Promise<string>; want: string }[] = [
        // Covers POST /oauth/token source=login: error: scope missing
        { name: 'a client without oauth.login', token: () => api.tokenOf('admin'), want: '403 access_denied' },
        {
          name: 'a user without oauth.login',
          token: () => api.tokenOfUser('marissa', 'koala'),
          want: '403 access_denied',
        },
        {
          name: 'a user with oauth.login',
          token: () => api.tokenOfUser('lena', 'koala'),
          want: '403 access_denied',
        },
        {
          name: 'a login server of another zone',
          token: () => api.tokenOf('login', OTHER_HOST),
          want: '401 invalid_token',
        },
        { name: 'an unknown caller', token: async () => 'nonsense', want: '401 invalid_token' },
      ]
      for (const { name, token, want } of callers) {
        it(`refuses the token of ${name} at the ${place} endpoint`, async () => {
          const bearer = await token()
          const answer = await sender()({ username: 'smuggled' }, { bearer })
          assert.equal(errorOf(answer), want, answer.text)
          assert.equal(await api.userOf('ext-a', 'smuggled'), undefined)
        })
      }
    }

    it('accepts users that administrators created in advance', async () => {
      const bearer = await api.tokenOf('admin')
      const body = (origin: string) =>
        JSON.stringify({ userName: 'early', origin, emails: [{ value: 'early@example.org' }], name: {} })
      const headers = { 'content-type': 'application/json' }
      const created = await api.server.send('/Users', { body: body('login-server'), bearer, headers })
      assert.equal(created.status, 201, created.text)
      const { access_token } = tokensOf(await api.tokens({ username: 'early', origin: undefined, add_new: 'false' }))
      assert.equal((await verified(api.server, access_token)).payload['user_id'], created.json()['id'])
      assert.equal((await api.server.send('/Users', { body: body('elsewhere'), bearer, headers })).status, 400)
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { APP, changeUser, MODES, passwordTokens, refused, tokensOf, userNamed, verified } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const client = (id: string, more: object) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: ['password'],
  scope: ['openid', 'cloud.*'],
  ...more,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('own', { allowedproviders: ['svc'] }),
    client('foreign', { allowedproviders: ['ldap'] }),
    client('nobody', { allowedproviders: [] }),
    client('strict', { required_user_groups: ['cloud.write'] }),
    client('wild', {}),
    client('scopeless', { scope: [] }),
  ],
  users: [
    ...defaultBootstrap.users,
    { userName: 'unverified', password: 'secret', emails: [{ value: 'unverified@example.org' }], verified: false },
    { userName: 'gone', password: 'secret', emails: [{ value: 'gone@example.org' }], active: false },
    { userName: 'late', password: 'secret', emails: [{ value: 'late@example.org' }] },
  ],
}

type Form = Readonly<Record<string, string>>
const GRANT = { grant_type: 'password', username: 'marissa', password: 'koala' }

const accepted: readonly { readonly name: string; readonly form: Form; readonly basic?: readonly [string, string] }[] =
  [
    // Covers POST /oauth/token grant_type=password: username
    { name: 'a user name in another case', form: { username: 'MARISSA' } },
    // Covers POST /oauth/token grant_type=password: `login_hint` with the internal origin
    { name: 'login_hint with the internal origin', form: { login_hint: '{"origin":"svc"}' } },
    { name: 'a percent-encoded login_hint', form: { login_hint: '%7B%22origin%22%3A%22svc%22%7D' } },
    // Covers POST /oauth/token grant_type=password: rule: allowedproviders
    { name: 'a client that allows internal accounts', form: { scope: 'openid' }, basic: ['own', 'secret'] },
    {
      name: 'login_hint with the internal origin of such a client',
      form: { login_hint: '{"origin":"svc"}' },
      basic: ['own', 'secret'],
    },
  ]

interface Rejected extends Refusal {
  readonly name: string
  readonly form?: Form
  readonly basic?: readonly [string, string]
}

const BASIC = 'Basic realm="SVC/client", error="unauthorized", error_description='
const badCredentials = {
  want: { standard: '400 invalid_grant', uaa: '401 invalid_client' },
  description: 'Bad credentials',
} as const
const missing = { want: { standard: '400 invalid_request', uaa: '401 invalid_client' } } as const
const HINT =
  'The origin provided in the login_hint does not match an active Identity Provider, that supports password grant.'

const rejected: readonly Rejected[] = [
  // Covers POST /oauth/token grant_type=password: password
  // Covers compatibility: C11 error codes: wrong user name or password
  { name: 'a wrong password', form: { password: 'Koala' }, ...badCredentials },
  // Covers POST /oauth/token grant_type=password: error: wrong user or password
  { name: 'an unknown user', form: { username: 'nobody' }, ...badCredentials },
  // Covers account state: inactive is unknown
  { name: 'a deactivated account', form: { username: 'gone', password: 'secret' }, ...badCredentials },
  { name: 'a wrong password of an unverified account', form: { username: 'unverified' }, ...badCredentials },
  { name: 'SQL as user name', form: { username: "' or 1=1 --" }, ...badCredentials },
  { name: 'an email address that is not a user name', form: { username: 'marissa@example.org' }, ...badCredentials },
  { name: 'a password of 60 KiB', form: { password: 'p'.repeat(60_000) }, ...badCredentials },
  // Covers POST /oauth/token grant_type=password: error: empty password
  // Covers compatibility: C11 error codes: password missing
  { name: 'an empty password', form: { password: '' }, ...missing, description: 'No password supplied' },
  { name: 'an empty user name', form: { username: '' }, ...missing },
  // Covers configuration file: bootstrap.users[]: verified
  // Covers error body: error: `access_denied` 400 or 403
  // Covers client authentication: error: account not verified
  // Covers POST /oauth/token grant_type=password: error: not verified
  // Covers account state: unverified is refused
  {
    name: 'an unverified account',
    form: { username: 'unverified', password: 'secret' },
    want: { standard: '400 invalid_grant', uaa: '403 access_denied' },
    description: 'Account not verified',
  },
  // Covers POST /oauth/token grant_type=password: error: `login_hint` fits no provider
  // Covers compatibility: C11 error codes: `login_hint` fits no provider
  {
    name: 'login_hint with an unknown origin',
    form: { login_hint: '{"origin":"nowhere"}' },
    want: { standard: '400 invalid_request', uaa: '401 unauthorized' },
    description: HINT,
  },
  // Covers POST /oauth/token grant_type=password: error: `login_hint` provider not allowed
  // Covers compatibility: C11 error codes: client lacks the grant or the provider is barred
  {
    name: 'login_hint with an origin that the client does not allow',
    form: { login_hint: '{"origin":"svc"}' },
    basic: ['foreign', 'secret'],
    want: { standard: '400 unauthorized_client', uaa: '401 unauthorized' },
    description: "Client is not authorized for specified user's identity provider.",
  },
  // Covers POST /oauth/token grant_type=password: error: no provider left
  // Covers provider selection password: error: no provider left
  {
    name: 'a client that allows no provider with passwords',
    basic: ['foreign', 'secret'],
    want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
    description: 'The client is not authorized for any identity provider that supports password grant.',
  },
  // Covers error body: error: unauthorized_client
  {
    name: 'a client that allows no provider',
    basic: ['nobody', 'secret'],
    want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
  },
  {
    name: 'a scope outside the client',
    form: { scope: 'cloud.read jobs.run' },
    want: '400 invalid_scope',
    description: 'jobs.run is invalid. Please use a valid scope name in the request',
  },
  // Covers POST /oauth/token grant_type=password: error: scope not allowed
  {
    name: 'scopes of which the user has none',
    form: { scope: 'cloud.write' },
    want: '400 invalid_scope',
    description: '[cloud.write] is invalid. This user is not allowed any of the requested scopes',
  },
  {
    name: 'a user without a required group',
    basic: ['strict', 'secret'],
    want: '400 invalid_scope',
    description: "User does not meet the client's required group criteria.",
  },
  {
    name: 'a client without scopes',
    basic: ['scopeless', 'secret'],
    want: '400 invalid_scope',
    description: '[svc.none] is invalid. This user is not allowed any of the requested scopes',
  },
]

for (const mode of MODES) {
  describe(`grant_type=password in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())
    const send = (form: Form, basic: readonly [string, string] = APP): Promise<TestAnswer> =>
      server.token({ ...GRANT, ...form }, { basic })

    // Covers POST /oauth/token: response: id_token; refresh_token
    // Covers POST /oauth/token grant_type=password: rule: no approval needed
    it('returns all tokens without approval', async () => {
      const answer = await send({})
      assert.deepEqual(Object.keys(answer.json()), [
        'access_token',
        'token_type',
        'id_token',
        'refresh_token',
        'expires_in',
        'scope',
        'jti',
      ])
      const words = tokensOf(answer).scope.split(' ').toSorted()
      assert.deepEqual(
        words,
        mode === 'standard' ? ['cloud.read', 'email', 'openid', 'profile'] : ['cloud.read', 'openid', 'profile'],
      )
    })

    for (const { name, form, basic } of accepted) {
      it(`accepts ${name}`, async () => assert.match(tokensOf(await send(form, basic)).scope, /\bopenid\b/))
    }

    for (const { name, form = {}, basic, ...refusal } of rejected) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => send(form, basic), refusal)
      })
    }

    const challenges = [
      { name: 'a wrong password', form: { password: 'wrong' }, want: `${BASIC}"Bad credentials"` },
      { name: 'a missing password', form: { password: '' }, want: `${BASIC}"Bad credentials"` },
      { name: 'a missing user name', form: { username: '' }, want: `${BASIC}"Bad credentials"` },
      // Covers WWW-Authenticate: header: Basic for an unverified account
      {
        name: 'an unverified account',
        form: { username: 'unverified', password: 'secret' },
        want: 'Basic realm="SVC/client"',
      },
      // Covers WWW-Authenticate: header: Basic for another failure
      {
        name: 'a login_hint without a provider',
        form: { login_hint: '{"origin":"nowhere"}' },
        want: `${BASIC}"${HINT}"`,
      },
    ]
    for (const { name, form, want } of challenges) {
      it(`challenges ${name} with Basic in uaa, and not in standard`, async () => {
        const { headers } = await send(form)
        assert.equal(headers['www-authenticate'], mode === 'uaa' ? want : undefined)
      })
    }

    it('refuses a missing user name or password', async () => {
      for (const { username, password } of [{ username: 'marissa' }, { password: 'koala' }] as Form[]) {
        const form = { grant_type: 'password', ...(username && { username }), ...(password && { password }) }
        await refused(server, mode, () => server.token(form, { basic: APP }), missing)
      }
    })

    // Covers POST /oauth/token: rule: client scope wildcards
    it('grants groups that match a wildcard of the client', async () => {
      assert.deepEqual(
        tokensOf(await send({}, ['wild', 'secret']))
          .scope.split(' ')
          .toSorted(),
        ['cloud.read', 'openid'],
      )
    })

    it('grants no group whose name contains a space', async () => {
      const { groups } = server.store
      const now = server.clock.now()
      const group = { zoneId: 'svc', id: 'two-scopes', displayName: 'cloud.x billing', version: 0 }
      const { id: memberId } = await userNamed(server, 'marissa')
      await groups.insert('svc', { ...group, createdAt: now, updatedAt: now })
      await groups.insertMember('svc', { groupId: group.id, memberId, memberType: 'USER', origin: 'svc' })
      assert.doesNotMatch(tokensOf(await send({}, ['wild', 'secret'])).scope, /billing/)
      await groups.removeMember('svc', group.id, memberId)
    })

    // Covers POST /oauth/token: rule: requested scope wildcards
    it('expands a requested wildcard to the groups of the user', async () => {
      assert.equal(tokensOf(await send({ scope: 'cloud.*' }, ['wild', 'secret'])).scope, 'cloud.read')
    })

    it('refuses a requested wildcard that the client does not have', async () => {
      await refused(server, mode, () => send({ scope: 'cloud.*' }), { want: '400 invalid_scope' })
    })

    it('drops OpenID scopes outside the client if openid is requested, in uaa refuses them (A7)', async () => {
      const answer = await send({ scope: 'openid phone offline_access' })
      if (mode === 'standard') assert.equal(tokensOf(answer).scope, 'openid')
      else assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_scope'])
    })

    it('returns auth_time and amr in the ID token', async () => {
      const { payload } = await verified(server, (await passwordTokens(server)).id_token, { audience: 'app' })
      assert.equal(payload['auth_time'], server.clock.now().getTime() / 1000)
      assert.deepEqual(payload['amr'], ['pwd'])
    })

    // Covers POST /oauth/token grant_type=password: error: password change required
    it('refuses an account with a pending password change', async () => {
      await changeUser(server, 'late', { passwordChangeRequired: true })
      await refused(server, mode, () => send({ username: 'late', password: 'secret' }), {
        want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
        description: 'password change required',
        challenge: mode === 'uaa' ? `${BASIC}"password change required"` : null,
      })
    })

    // Covers provider selection password: internal provider only
    // Covers unsafe behaviour: users of other origins never sign in with an empty password
    it('refuses an account of another origin with any password', async () => {
      const { passwordHash: _, ...late } = (await server.store.users.findByName('svc', 'svc', 'late')) ?? assert.fail()
      await server.store.users.insert('svc', { ...late, id: 'shadow', userName: 'shadow', origin: 'ldap' })
      for (const password of ['', 'secret']) {
        const answer = await send({ username: 'shadow', password })
        assert.equal(answer.status, mode === 'standard' ? 400 : 401)
      }
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

describe('Providers of a zone', () => {
  const disabled = { originKey: 'svc', type: 'svc', name: 'svc', active: false }
  const outcome = async (
    mode: CompatibilityMode,
    config: Readonly<Record<string, unknown>>,
    { form = {}, basic = APP }: { form?: Form; basic?: readonly [string, string] } = {},
  ): Promise<string> => {
    const server = await startServer({ mode, config })
    try {
      const answer = await server.token({ ...GRANT, ...form }, { basic })
      return `${answer.status} ${answer.json<{ error?: string }>().error ?? 'tokens'}`
    } finally {
      await server.stop()
    }
  }
  const off = { bootstrap: { ...bootstrap, identity_providers: [disabled] } }
  const cases = [
    // Covers configuration file: bootstrap.identity_providers[]: active
    // Covers POST /oauth/token grant_type=password: error: internal provider disabled
    // Covers compatibility: C11 error codes: locked, unverified or provider disabled
    {
      name: 'refuse all users if the internal one is disabled (C11)',
      config: off,
      standard: '400 invalid_grant',
      uaa: '401 unauthorized',
    },
    {
      name: 'are not allowed for a client that does not allow the disabled internal one',
      config: off,
      options: { basic: ['foreign', 'secret'] as const },
      standard: '400 unauthorized_client',
      uaa: '401 invalid_client',
    },
    {
      name: 'do not match a hint of the disabled internal one',
      config: off,
      options: { form: { login_hint: '{"origin":"svc"}' } },
      standard: '400 invalid_request',
      uaa: '401 unauthorized',
    },
    // Covers POST /oauth/token grant_type=password: rule: zone default provider
    // Partly covers Zone config in effect: defaultIdentityProvider
    {
      name: 'include the internal one as default',
      config: { bootstrap, zone_config: { defaultIdentityProvider: 'svc' } },
      standard: '200 tokens',
      uaa: '200 tokens',
    },
    {
      name: 'are used as usual if the default is unknown',
      config: { bootstrap, zone_config: { defaultIdentityProvider: 'nowhere' } },
      standard: '200 tokens',
      uaa: '200 tokens',
    },
  ]
  for (const { name, config, options, ...want } of cases) {
    for (const mode of MODES) {
      it(`${name}, in ${mode}`, async () => assert.equal(await outcome(mode, config, options), want[mode]))
    }
  }
})

describe('Allowed groups of a zone', () => {
  // Covers POST /oauth/token: rule: zone allowedGroups
  // Covers Zone config in effect: userConfig.defaultGroups
  it('restrict the groups of users to them and the default groups', async () => {
    const users = defaultBootstrap.users.map(user => ({ ...user, groups: ['cloud.read', 'cloud.write'] }))
    const server = await startServer({
      config: {
        bootstrap: { ...defaultBootstrap, users },
        zone_config: { userConfig: { defaultGroups: ['openid'], allowedGroups: ['cloud.write'] } },
      },
    })
    try {
      const { scope } = await passwordTokens(server)
      assert.deepEqual(scope.split(' ').toSorted(), ['cloud.write', 'email', 'openid'])
    } finally {
      await server.stop()
    }
  })
})

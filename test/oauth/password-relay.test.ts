// The password grant with users of an OpenID Connect provider, which receives their passwords.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { createTestClock } from '../support/clock.ts'
import { APP, MODES } from '../support/oauth.ts'
import { CORP, RELYING_PARTY } from '../support/oidc-provider.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { TokenAnswer, Upstream } from '../support/upstream.ts'
import { startUpstream, upstreamRecord } from '../support/upstream.ts'

const SECRET = 'relying: 100% & more'
const hint = (origin: string): string => JSON.stringify({ origin })

type Config = Readonly<Record<string, unknown>>

/** Settings of the records besides those of `recordsAt`. */
const CONFIGS: readonly (readonly [string, Config])[] = [
  ['corp', {}],
  [
    'more',
    {
      scopes: ['email'],
      clientAuthInBody: true,
      setForwardHeader: true,
      prompts: [
        { name: 'username', type: 'text', text: 'Name' },
        { name: 'pin', type: 'password', text: 'PIN' },
        { name: 'scope', type: 'text', text: 'Scope' },
      ],
    },
  ],
  ['bare', { relyingPartySecret: undefined }],
  ['no', { passwordGrantEnabled: false }],
  ['closed', { addShadowUserOnLogin: false }],
]

const recordsAt = (upstream: Upstream) =>
  CONFIGS.map(([originKey, config]) =>
    upstreamRecord(upstream, originKey, { relyingPartySecret: SECRET, passwordGrantEnabled: true, ...config }),
  )

for (const mode of MODES) {
  describe(`grant_type=password with an OpenID Connect provider in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const bootstrap = {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          {
            client_id: 'corp-only',
            client_secret: 'x',
            authorized_grant_types: ['password'],
            scope: ['openid'],
            allowedproviders: ['corp'],
          },
          ...Object.entries({ several: ['corp', 'more'], none: ['no'] }).map(([client_id, allowedproviders]) => ({
            client_id,
            client_secret: 'x',
            authorized_grant_types: ['password'],
            scope: ['openid'],
            allowedproviders,
          })),
        ],
        identity_providers: recordsAt(upstream),
        identity_zones: [
          {
            id: 'z1',
            subdomain: 'z1',
            name: 'With a default',
            config: { defaultIdentityProvider: 'corp' },
            bootstrap: {
              default_groups: ['openid'],
              clients: [
                { client_id: 'app', client_secret: 'x', authorized_grant_types: ['password'], scope: ['openid'] },
              ],
              identity_providers: recordsAt(upstream),
            },
          },
        ],
      }
      server = await startServer({ mode, clock, config: { bootstrap } })
    })
    beforeEach(() => {
      upstream.answer = () => upstream.usual({ nonce: undefined })
      upstream.requests.length = 0
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    const ask = (
      form: Readonly<Record<string, string>> = {},
      basic: readonly [string, string] = APP,
    ): Promise<TestAnswer> =>
      server.token(
        { grant_type: 'password', username: 'Pat', password: 'p&ss =', login_hint: hint('corp'), ...form },
        { basic },
      )
    const reported = (answer: TestAnswer): string => `${answer.status} ${String(answer.json()['error'])}`
    const REFUSED = mode === 'standard' ? '400 invalid_grant' : '401 unauthorized'

    // Covers POST /oauth/token grant_type=password: rule: OIDC provider with the password grant
    // Covers password grant through an OIDC provider: username and password
    it('sends user name and password to the provider, and authenticates the sub of its ID token', async () => {
      const answer = await ask({ pin: '1234' })
      assert.equal(answer.status, 200, answer.text)
      const [request, second] = upstream.requests
      assert.equal(second, undefined)
      assert.deepEqual(Object.fromEntries(request?.form ?? []), {
        grant_type: 'password',
        response_type: 'id_token',
        username: 'Pat',
        password: 'p&ss =',
        scope: 'openid',
      })
      const credentials = atob((request?.headers.authorization ?? '').replace('Basic ', '')).split(':')
      assert.deepEqual(credentials.map(decodeURIComponent), [RELYING_PARTY, SECRET])
      assert.equal(request?.headers['x-forwarded-for'], undefined)
      const claims = decodeJwt<Record<string, unknown>>(answer.json<{ access_token: string }>().access_token)
      const user = await server.store.users.findByExternalId('svc', 'corp', 'pat')
      assert.deepEqual([claims['user_id'], claims['origin']], [user?.id, 'corp'])
      assert.deepEqual(user?.lastLogonAt, clock.now())
    })

    // Covers oidc and oauth provider config: setForwardHeader
    // Covers password grant through an OIDC provider: prompts; X-Forwarded-For
    it("sends prompted fields, scopes, and with setForwardHeader the caller's address", async () => {
      assert.equal((await ask({ login_hint: hint('more'), pin: '1234', scope: 'openid' })).status, 200)
      const [request] = upstream.requests
      const { pin, scope, client_secret: secret, ...rest } = Object.fromEntries(request?.form ?? [])
      assert.deepEqual([pin, scope, secret, Object.keys(rest).length], ['1234', 'openid email', undefined, 4])
      assert.match(request?.headers.authorization ?? '', /^Basic /)
      assert.equal(request?.headers['x-forwarded-for'], '127.0.0.1')
    })

    it('sends client_id without a secret', async () => {
      assert.equal((await ask({ login_hint: hint('bare') })).status, 200)
      assert.equal(upstream.requests[0]?.form.get('client_id'), RELYING_PARTY)
      assert.equal(upstream.requests[0]?.headers.authorization, undefined)
    })

    it('needs no login_hint if the client allows only that provider', async () => {
      const form = { grant_type: 'password', username: 'pat', password: 'x' }
      assert.equal((await server.token(form, { basic: ['corp-only', 'x'] })).status, 200)
    })

    it('uses internal accounts without a hint', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      assert.equal((await server.token(form, { basic: APP })).status, 200)
      assert.equal(upstream.requests.length, 0)
    })

    it('uses the default provider of the zone without a hint', async () => {
      const form = { grant_type: 'password', username: 'pat', password: 'x' }
      const answer = await server.token(form, { basic: ['app', 'x'], host: 'z1.localhost:8080' })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(upstream.requests.length, 1)
    })

    const choices: readonly {
      name: string
      client: string
      form: Readonly<Record<string, string>>
      status: Readonly<Record<CompatibilityMode, string>>
      want: RegExp
    }[] = [
      // Covers provider selection password: hint
      {
        name: 'a hint of an unknown origin',
        client: 'corp-only',
        form: { login_hint: hint('nowhere') },
        status: { standard: '400 invalid_request', uaa: '401 unauthorized' },
        want: /^The origin provided in the login_hint does not match an active Identity Provider, that supports password grant\.$/,
      },
      {
        name: 'a hint of a provider without the password grant',
        client: 'none',
        form: { login_hint: hint('no') },
        status: { standard: '400 invalid_request', uaa: '401 unauthorized' },
        want: /^The origin provided in the login_hint does not match/,
      },
      {
        name: 'a hint of a provider that the client does not allow',
        client: 'corp-only',
        form: { login_hint: encodeURIComponent(hint('more')) },
        status: { standard: '400 unauthorized_client', uaa: '401 unauthorized' },
        want: /^Client is not authorized for specified user's identity provider\.$/,
      },
      // Covers POST /oauth/token grant_type=password: error: several providers left
      // Covers provider selection password: several OIDC providers
      // Covers compatibility: C11 error codes: several providers left
      {
        name: 'several providers without a hint',
        client: 'several',
        form: {},
        status: { standard: '400 invalid_request', uaa: '401 invalid_client' },
        want: /^The client is authorized for multiple identity providers that support password grant and could not determine which identity provider to use\.$/,
      },
      {
        name: 'no provider with the password grant',
        client: 'none',
        form: {},
        status: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
        want: /^The client is not authorized for any identity provider that supports password grant\.$/,
      },
    ]
    for (const { name, client, form, status, want } of choices) {
      it(`sends no password to the provider for ${name}`, async () => {
        const answer = await server.token(
          { grant_type: 'password', username: 'pat', password: 'x', ...form },
          { basic: [client, 'x'] },
        )
        assert.equal(reported(answer), status[mode])
        assert.match(String(answer.json()['error_description']), want)
        assert.equal(upstream.requests.length, 0)
      })
    }

    it('accepts a percent-encoded hint', async () => {
      const form = {
        grant_type: 'password',
        username: 'pat',
        password: 'x',
        login_hint: encodeURIComponent(hint('more')),
      }
      assert.equal((await server.token(form, { basic: ['several', 'x'] })).status, 200)
      assert.equal(upstream.requests.length, 1)
    })

    for (const missing of ['username', 'password']) {
      it(`sends no request to the provider without a ${missing}`, async () => {
        const form = { grant_type: 'password', username: 'pat', password: 'x', login_hint: hint('corp') }
        const rest = Object.fromEntries(Object.entries(form).filter(([name]) => name !== missing))
        const answer = await server.token(rest, { basic: APP })
        assert.match(String(answer.json()['error_description']), new RegExp(`No ${missing} supplied`))
        assert.equal(upstream.requests.length, 0)
      })
    }

    // Covers password grant through an OIDC provider: error: configuration
    it('refuses a provider record without relyingPartyId, and sends nothing', async () => {
      const provider = await server.store.providers.findByOrigin('svc', 'corp')
      assert.ok(provider)
      await server.store.providers.update('svc', {
        ...provider,
        config: { ...provider.config, relyingPartyId: undefined },
      })
      const answer = await ask()
      await server.store.providers.update('svc', provider)
      assert.equal(reported(answer), REFUSED)
      assert.match(String(answer.json()['error_description']), /could not be contacted/)
      assert.equal(upstream.requests.length, 0)
    })

    // Covers oidc and oauth provider config: passwordGrantEnabled
    it('refuses a provider without passwordGrantEnabled or not allowed for the client, and sends nothing', async () => {
      const unusable = mode === 'standard' ? '400 invalid_request' : '401 unauthorized'
      for (const origin of ['no', 'nowhere']) assert.equal(reported(await ask({ login_hint: hint(origin) })), unusable)
      const barred = await ask({ login_hint: hint('more') }, ['corp-only', 'x'])
      assert.equal(reported(barred), mode === 'standard' ? '400 unauthorized_client' : '401 unauthorized')
      assert.equal(upstream.requests.length, 0)
    })

    for (const userName of ['pat\0', 'pat\r\n', 'pat\x1b', 'pat\x7f', 'pat\x85']) {
      it(`sends no user name with ${JSON.stringify(userName.slice(3))} to the provider`, async () => {
        assert.ok((await ask({ username: userName })).status >= 400)
        assert.equal(upstream.requests.length, 0)
      })
    }

    it('ignores the sign-in form', async () => {
      const browser = server.browser()
      await browser.send('/login')
      const form = {
        username: 'pat',
        password: 'x',
        login_hint: hint('corp'),
        'X-Svc-Csrf': browser.csrf,
        'X-Uaa-Csrf': browser.csrf,
      }
      await browser.send('/login.do', { form })
      assert.equal(upstream.requests.length, 0)
    })

    const answers: readonly { name: string; respond: () => Promise<TokenAnswer>; description: RegExp }[] = [
      // Covers POST /oauth/token grant_type=password: error: OIDC provider refused
      // Covers password grant through an OIDC provider: error: upstream refusal
      {
        name: 'answers invalid_grant with its own description',
        respond: async () => ({ status: 400, body: { error: 'invalid_grant', error_description: '<b>p&ss =</b>' } }),
        description: /^Bad credentials$/,
      },
      { name: 'answers 503', respond: async () => ({ status: 503, body: {} }), description: /could not be contacted/ },
      {
        name: 'closes the connection',
        respond: async () => response => void response.destroy(),
        description: /could not be contacted/,
      },
      {
        name: 'redirects',
        respond: async () => response => void response.writeHead(307, { location: `${upstream.url}/token` }).end(),
        description: /could not be contacted/,
      },
      // Covers password grant through an OIDC provider: error: no `id_token`
      {
        name: 'returns no ID token',
        respond: async () => ({ body: { access_token: 'x' } }),
        description: /^Could not obtain id_token/,
      },
      { name: 'returns no JSON', respond: async () => ({ body: '<html>' }), description: /^Could not obtain id_token/ },
      { name: 'returns another issuer', respond: () => upstream.usual({ iss: CORP }), description: /^Invalid issuer/ },
      { name: 'returns another audience', respond: () => upstream.usual({ aud: 'other' }), description: /audience/ },
      { name: 'returns another azp', respond: () => upstream.usual({ azp: 'other' }), description: /another party/ },
      { name: 'returns an expired token', respond: () => upstream.usual({ exp: 1 }), description: /^Token expired/ },
      { name: 'returns no valid sub', respond: () => upstream.usual({ sub: 7 }), description: /username/ },
      {
        name: 'signs with an unknown key',
        respond: () => upstream.usual({}, { kid: 'another' }),
        description: /^Could not verify token signature/,
      },
    ]
    for (const { name, respond, description } of answers) {
      it(`refuses a user if the provider ${name}`, async () => {
        upstream.answer = respond
        const answer = await ask()
        assert.equal(reported(answer), REFUSED, answer.text)
        assert.match(String(answer.json()['error_description']), description)
        assert.doesNotMatch(answer.text, /p&ss|<b>/)
        assert.equal(upstream.requests.length, 1)
      })
    }

    it('refuses a user without an account if the provider creates none', async () => {
      const answer = await ask({ login_hint: hint('closed') })
      assert.equal(reported(answer), REFUSED)
      assert.match(String(answer.json()['error_description']), /must be pre-created/)
    })
  })
}

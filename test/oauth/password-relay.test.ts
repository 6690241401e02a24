// The password grant with users of an OpenID Connect provider, which gets their passwords.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
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

/** What the records have beside what `recordsAt` gives to all. */
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
  describe(`the password grant with a provider elsewhere, in ${mode}`, () => {
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
    it('sends name and password to the provider, and signs in the subject of its ID token', async () => {
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
    it('adds the fields that the provider prompts for, its scopes, and the caller’s address where it is wanted', async () => {
      assert.equal((await ask({ login_hint: hint('more'), pin: '1234', scope: 'openid' })).status, 200)
      const [request] = upstream.requests
      const { pin, scope, client_secret: secret, ...rest } = Object.fromEntries(request?.form ?? [])
      assert.deepEqual([pin, scope, secret, Object.keys(rest).length], ['1234', 'openid email', undefined, 4])
      assert.match(request?.headers.authorization ?? '', /^Basic /)
      assert.equal(request?.headers['x-forwarded-for'], '127.0.0.1')
    })

    it('says only its name there where it has no secret', async () => {
      assert.equal((await ask({ login_hint: hint('bare') })).status, 200)
      assert.equal(upstream.requests[0]?.form.get('client_id'), RELYING_PARTY)
      assert.equal(upstream.requests[0]?.headers.authorization, undefined)
    })

    it('needs no hint from a client that allows no other provider', async () => {
      const form = { grant_type: 'password', username: 'pat', password: 'x' }
      assert.equal((await server.token(form, { basic: ['corp-only', 'x'] })).status, 200)
    })

    it('asks the accounts kept here where nothing names another provider', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      assert.equal((await server.token(form, { basic: APP })).status, 200)
      assert.equal(upstream.requests.length, 0)
    })

    it('asks the default provider of the zone without a hint', async () => {
      const form = { grant_type: 'password', username: 'pat', password: 'x' }
      const answer = await server.token(form, { basic: ['app', 'x'], host: 'z1.localhost:8080' })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(upstream.requests.length, 1)
    })

    const choices: readonly { name: string; client: string; form: Readonly<Record<string, string>>; want: RegExp }[] = [
      // Covers provider selection password: hint
      {
        name: 'a hint of an origin that does not exist',
        client: 'corp-only',
        form: { login_hint: hint('nowhere') },
        want: /^The origin provided in the login_hint does not match an active Identity Provider, that supports password grant\.$/,
      },
      {
        name: 'a hint of a provider without the grant',
        client: 'none',
        form: { login_hint: hint('no') },
        want: /^The origin provided in the login_hint does not match/,
      },
      {
        name: 'a hint of a provider that the client does not allow',
        client: 'corp-only',
        form: { login_hint: encodeURIComponent(hint('more')) },
        want: /^Client is not authorized for specified user's identity provider\.$/,
      },
      // Covers POST /oauth/token grant_type=password: error: several providers left
      // Covers provider selection password: several OIDC providers
      {
        name: 'several providers and no hint',
        client: 'several',
        form: {},
        want: /^The client is authorized for multiple identity providers that support password grant and could not determine which identity provider to use\.$/,
      },
      {
        name: 'no provider with the grant',
        client: 'none',
        form: {},
        want: /^The client is not authorized for any identity provider that supports password grant\.$/,
      },
    ]
    for (const { name, client, form, want } of choices) {
      it(`sends no password to the provider at ${name}`, async () => {
        const answer = await server.token(
          { grant_type: 'password', username: 'pat', password: 'x', ...form },
          { basic: [client, 'x'] },
        )
        assert.ok(answer.status >= 400)
        assert.match(String(answer.json()['error_description']), want)
        assert.equal(upstream.requests.length, 0)
      })
    }

    it('accepts a hint that is encoded as URLs are', async () => {
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
    it('refuses where the record does not say who this server is there, and sends nothing', async () => {
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
    it('refuses a provider that does not take passwords, or is barred, and sends it no request', async () => {
      const unusable = mode === 'standard' ? '400 invalid_request' : '401 unauthorized'
      for (const origin of ['no', 'nowhere']) assert.equal(reported(await ask({ login_hint: hint(origin) })), unusable)
      const barred = await ask({ login_hint: hint('more') }, ['corp-only', 'x'])
      assert.equal(reported(barred), mode === 'standard' ? '400 unauthorized_client' : '401 unauthorized')
      assert.equal(upstream.requests.length, 0)
    })

    for (const userName of ['pat\0', 'pat\r\n', 'pat\x1b', 'pat\x7f', 'pat\x85']) {
      it(`sends the provider no name with ${JSON.stringify(userName.slice(3))}`, async () => {
        assert.ok((await ask({ username: userName })).status >= 400)
        assert.equal(upstream.requests.length, 0)
      })
    }

    it('never takes the form of the sign-in page there', async () => {
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

    const answers: readonly { name: string; tell: () => Promise<TokenAnswer>; description: RegExp }[] = [
      // Covers POST /oauth/token grant_type=password: error: OIDC provider refused
      // Covers password grant through an OIDC provider: error: upstream refusal
      {
        name: 'says no, in words of its own',
        tell: async () => ({ status: 400, body: { error: 'invalid_grant', error_description: '<b>p&ss =</b>' } }),
        description: /^Bad credentials$/,
      },
      { name: 'breaks', tell: async () => ({ status: 503, body: {} }), description: /could not be contacted/ },
      {
        name: 'hangs up',
        tell: async () => response => void response.destroy(),
        description: /could not be contacted/,
      },
      {
        name: 'leads elsewhere',
        tell: async () => response => void response.writeHead(307, { location: `${upstream.url}/token` }).end(),
        description: /could not be contacted/,
      },
      // Covers password grant through an OIDC provider: error: no `id_token`
      {
        name: 'gives no ID token',
        tell: async () => ({ body: { access_token: 'x' } }),
        description: /^Could not obtain id_token/,
      },
      { name: 'says no JSON', tell: async () => ({ body: '<html>' }), description: /^Could not obtain id_token/ },
      { name: 'names another issuer', tell: () => upstream.usual({ iss: CORP }), description: /^Invalid issuer/ },
      { name: 'names another audience', tell: () => upstream.usual({ aud: 'other' }), description: /audience/ },
      { name: 'names another party', tell: () => upstream.usual({ azp: 'other' }), description: /another party/ },
      { name: 'gives an expired token', tell: () => upstream.usual({ exp: 1 }), description: /^Token expired/ },
      { name: 'does not say who it is', tell: () => upstream.usual({ sub: 7 }), description: /username/ },
      {
        name: 'signs with a key that is not its own',
        tell: () => upstream.usual({}, { kid: 'another' }),
        description: /^Could not verify token signature/,
      },
    ]
    for (const { name, tell, description } of answers) {
      it(`refuses a user whose provider ${name}`, async () => {
        upstream.answer = tell
        const answer = await ask()
        assert.equal(reported(answer), REFUSED, answer.text)
        assert.match(String(answer.json()['error_description']), description)
        assert.doesNotMatch(answer.text, /p&ss|<b>/)
        assert.equal(upstream.requests.length, 1)
      })
    }

    it('refuses a user whose account must be pre-created', async () => {
      const answer = await ask({ login_hint: hint('closed') })
      assert.equal(reported(answer), REFUSED)
      assert.match(String(answer.json()['error_description']), /must be pre-created/)
    })
  })
}

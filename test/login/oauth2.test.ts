// Sign-in at an OAuth 2.0 provider without OpenID Connect, a fake GitHub.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { digest } from '../../src/base/secrets.ts'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { unescaped } from '../support/forms.ts'
import type { Github, GithubAnswer } from '../support/github.ts'
import { githubRecord, OCTOCAT, OUR_ID, OUR_SECRET, startGithub } from '../support/github.ts'
import { AUTO, exchange, MODES, tokensOf } from '../support/oauth.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { OidcProvider } from '../support/oidc-provider.ts'
import { createOidcProvider, publicKeyAsSecret, unsigned } from '../support/oidc-provider.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { decodeJwt, SignJWT } from 'jose'

const CLIENTS = [
  {
    client_id: 'inviter',
    client_secret: 'secret',
    authorized_grant_types: ['client_credentials', 'password', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    authorities: ['scim.invite'],
    scope: ['openid'],
    redirect_uri: ['https://app.example/invited'],
  },
]
const ISSUER = 'https://tokens.example'
const FORM = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8' }

/** Answers with this body and these headers. */
const typed =
  (body: string | Buffer, headers: Readonly<Record<string, string>>, status = 200): GithubAnswer =>
  response =>
    void response.writeHead(status, headers).end(body)

for (const mode of MODES) {
  describe(`Sign-in at an OAuth 2.0 provider in ${mode}`, () => {
    const clock = createTestClock()
    const uaa = mode === 'uaa'
    let github: Github
    let signer: OidcProvider
    let server: TestServer

    before(async () => {
      github = await startGithub()
      signer = await createOidcProvider(clock)
      const withTokens = { userInfoUrl: undefined, tokenKey: signer.pem, issuer: ISSUER, attributeMappings: {} }
      const mapped = (originKey: string, attributeMappings: object) =>
        githubRecord(github, { attributeMappings, linkText: originKey }, originKey)
      server = await startServer({
        mode,
        clock,
        config: {
          bootstrap: {
            ...authorizeBootstrap,
            clients: [...authorizeBootstrap.clients, ...CLIENTS],
            groups: [...authorizeBootstrap.groups, { displayName: 'app.read' }],
            external_groups: [{ displayName: 'app.read', externalGroup: 'acme/staff', origin: 'teams' }],
            identity_providers: [
              githubRecord(github, { emailDomain: ['git.example'], userPropagationParameter: 'login' }),
              mapped('plain', {}),
              mapped('node', { external_id: 'node_id' }),
              mapped('list', { external_id: ['id'] }),
              mapped('number', { user_name: 'id' }),
              mapped('teams', { external_groups: 'teams', 'user.attribute.company': 'company' }),
              githubRecord(github, withTokens, 'signed'),
              githubRecord(github, { ...withTokens, acrMapping: { gold: '2' } }, 'levels'),
              githubRecord(github, { ...withTokens, issuer: undefined }, 'unnamed'),
              githubRecord(github, { issuer: ISSUER, scopes: undefined }, 'issuer'),
              githubRecord(github, { clientAuthInBody: false, pkce: false }, 'basic'),
              githubRecord(github, { relyingPartySecret: undefined, pkce: false }, 'public'),
              githubRecord(github, { addShadowUserOnLogin: false }, 'closed'),
              githubRecord(github, { userInfoUrl: undefined }, 'blind'),
              githubRecord(github, { authUrl: undefined }, 'homeless'),
              ...['token', 'id_token', 'code token', 'signed_request'].map(responseType =>
                githubRecord(github, { responseType }, responseType.replace(' ', '-')),
              ),
            ],
          },
        },
      })
    })
    beforeEach(() => {
      github.person = OCTOCAT
      github.answers = {}
      github.requests.length = 0
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await github.stop()
    })

    const START = `http://localhost:8080${uaa ? '/home' : '/'}`

    const leave = async (browser: Browser, origin = 'github'): Promise<URL> => {
      const answer = await browser.send(`/login/external/${origin}`)
      assert.equal(answer.status, 302, answer.text)
      return answer.location()
    }

    /** Starts a sign-in, approves it at the provider and returns. */
    async function signIn(origin = 'github', browser = server.browser()): Promise<TestAnswer> {
      const query = github.agree(await leave(browser, origin))
      return browser.send(`/login/callback/${origin}`, { query })
    }

    const userOf = (origin: string, externalId: string) =>
      server.store.users.findByExternalId('svc', origin, externalId)

    /** Asserts an error and no session; in uaa without a reason. */
    async function assertRefused(answer: TestAnswer, status: number, words: RegExp): Promise<void> {
      assert.equal(answer.cookies['Current-User'] ?? '', '')
      if (uaa) {
        assert.deepEqual([answer.status, answer.headers['location']], [302, 'http://localhost:8080/oauth_error'])
        return
      }
      assert.equal(answer.status, status, answer.text)
      assert.match(unescaped(answer.text), words)
    }
    const UNVERIFIED = /The sign-in data from \w+ could not be verified/
    const NO_ANSWER = /GitHub did not respond correctly/

    describe('GET /login/external/{origin}', () => {
      it('is linked on the sign-in page only for complete records with responseType=code', async () => {
        const { text } = await server.send('/login')
        const links = [...text.matchAll(/<a class="saml-login-link[^"]*" href="\/login\/external\/([^"]*)"/g)]
        const origins = new Set(links.map(([, origin]) => origin))
        const complete = 'basic closed github issuer levels list node number plain public signed teams unnamed'
        assert.deepEqual(origins, new Set(complete.split(' ')))
      })

      for (const origin of ['blind', 'homeless', 'token', 'id_token', 'code-token', 'signed_request']) {
        it(`answers idp_not_found for the origin ${origin}`, async () => {
          const answer = await server.send(`/login/external/${origin}`)
          assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=idp_not_found')
        })
      }

      it('requests a code with state, code_challenge and the configured scopes', async () => {
        const { origin, pathname, searchParams } = await leave(server.browser())
        assert.equal(origin + pathname, `${github.url}/login/oauth/authorize`)
        const { state, code_challenge: challenge, ...rest } = Object.fromEntries(searchParams)
        assert.deepEqual(rest, {
          client_id: OUR_ID,
          response_type: 'code',
          redirect_uri: 'http://localhost:8080/login/callback/github',
          scope: 'read:user',
          code_challenge_method: 'S256',
        })
        for (const value of [state, challenge]) assert.match(value ?? '', /^[\w-]{43}$/)
      })

      it('omits scope if none is configured', async () =>
        assert.equal((await leave(server.browser(), 'issuer')).searchParams.has('scope'), false))

      it('omits PKCE with pkce=false, but never without a client secret', async () => {
        assert.equal((await leave(server.browser(), 'basic')).searchParams.has('code_challenge'), false)
        assert.equal((await leave(server.browser(), 'public')).searchParams.has('code_challenge'), true)
      })

      it('is the redirect target of a login_hint, and sends userPropagationParameter', async () => {
        const browser = server.browser()
        const answer = await browser.send('/login', { query: { login_hint: 'mona@git.example' } })
        const { pathname, searchParams } = answer.location()
        assert.equal(pathname, '/login/oauth/authorize')
        assert.equal(searchParams.get('login'), uaa ? null : 'mona@git.example')
        const known = await browser.send('/login/external/github', { query: { username: 'octocat' } })
        assert.equal(known.location().searchParams.get('login'), 'octocat')
      })
    })

    describe('GET /login/callback/{origin}', () => {
      // Covers configuration file: bootstrap.identity_providers[]: type oauth2.0
      it('signs the user in by id, with the mapped user name', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const answer = await signIn('github', browser)
        assert.match(String(answer.headers['location']), /\/oauth\/authorize\?response_type=code&client_id=auto/)
        const { userName, givenName, email, verified } = (await userOf('github', '583231')) ?? assert.fail()
        assert.deepEqual(
          { userName, givenName, email, verified },
          { userName: 'octocat', givenName: 'Mona Lisa', email: 'octocat@user.from.github.cf', verified: false },
        )
        const code = (await authorize(browser, AUTO_REQUEST)).location().searchParams.get('code') ?? ''
        const tokens = await server.token(
          { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
          { basic: ['auto', 'auto-secret'] },
        )
        const [, payload = ''] = tokens.json<{ id_token: string }>().id_token.split('.')
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
        assert.deepEqual([claims.amr, claims.origin, claims.acr], [['ext', 'oauth'], 'github', uaa ? undefined : '1'])
      })

      // Covers oidc and oauth provider config: checkTokenUrl
      // Covers token exchange at the OIDC provider: userinfo for oauth2.0
      it('redeems the code and requests the userinfo', async () => {
        const browser = server.browser()
        const address = await leave(browser)
        const { code, state } = github.agree(address)
        await browser.send('/login/callback/github', { query: { code, state } })
        const [token, user, third] = github.requests
        assert.equal(third, undefined)
        const { code_verifier: verifier, ...form } = Object.fromEntries(token?.form ?? [])
        assert.deepEqual(form, {
          grant_type: 'authorization_code',
          code,
          redirect_uri: 'http://localhost:8080/login/callback/github',
          client_id: OUR_ID,
          client_secret: OUR_SECRET,
        })
        assert.equal(digest(verifier ?? ''), address.searchParams.get('code_challenge'))
        const { path, headers } = user ?? assert.fail()
        assert.deepEqual(
          [path, headers.authorization, headers.accept, headers['user-agent']],
          ['/user', `Bearer gho_${code}`, 'application/json', 'Latchkey'],
        )
      })

      it('authenticates with Basic if clientAuthInBody=false', async () => {
        assert.equal((await signIn('basic')).headers['location'], START)
        const [token] = github.requests
        assert.match(token?.headers.authorization ?? '', /^Basic /)
        assert.equal(token?.form.has('client_secret'), false)
      })

      it('keeps the account if the user name changes at the provider', async () => {
        await signIn()
        const before = await userOf('github', '583231')
        github.person = { ...OCTOCAT, login: 'monalisa' }
        assert.equal((await signIn()).headers['location'], START)
        const renamed = await userOf('github', '583231')
        assert.deepEqual([renamed?.id, renamed?.userName], [before?.id, 'octocat'], 'a new name alone is not stored')
        github.person = { ...OCTOCAT, login: 'monalisa', email: 'mona@git.example' }
        await signIn()
        const changed = await userOf('github', '583231')
        assert.deepEqual([changed?.id, changed?.userName, changed?.email], [before?.id, 'monalisa', 'mona@git.example'])
      })

      it('accepts a form-encoded token response', async () => {
        const browser = server.browser()
        const query = github.agree(await leave(browser))
        github.answers.token = typed('access_token=abc&scope=a%2Cb&token_type=bearer', FORM)
        github.answers.user = { body: OCTOCAT }
        assert.equal((await browser.send('/login/callback/github', { query })).headers['location'], START)
        assert.equal(github.requests.at(-1)?.headers.authorization, 'Bearer abc')
      })

      it('uses the identifier as the user name without a mapping', async () => {
        await signIn('plain')
        assert.equal((await userOf('plain', '583231'))?.userName, '583231')
        await signIn('number')
        assert.equal((await userOf('number', '583231'))?.userName, '583231')
      })

      it('accepts only true as email_verified', async () => {
        const addresses: readonly [id: number, given: unknown, want: boolean][] = [
          [21, true, true],
          [22, 'true', false],
          [23, 1, false],
          [24, undefined, false],
        ]
        for (const [id, given, want] of addresses) {
          github.person = { id, login: `person-${id}`, email: `person-${id}@git.example`, email_verified: given }
          await signIn()
          assert.equal((await userOf('github', String(id)))?.verified, want, String(given))
        }
      })

      it('ignores amr, acr and auth_time in userinfo', async () => {
        github.person = { id: 31, login: 'late', amr: ['hwk'], acr: 'gold', auth_time: 1 }
        const browser = server.browser()
        await signIn('github', browser)
        const code = (await authorize(browser, AUTO_REQUEST)).location().searchParams.get('code') ?? ''
        const tokens = await server.token(
          { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
          { basic: ['auto', 'auto-secret'] },
        )
        const [, payload = ''] = tokens.json<{ id_token: string }>().id_token.split('.')
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
        assert.deepEqual(claims.amr, ['ext', 'oauth'])
        assert.equal(claims.acr, uaa ? undefined : '1')
        assert.notEqual(claims.auth_time, 1)
      })

      it('refuses max_age in standard, for lack of auth_time', async () => {
        const browser = server.browser()
        await authorize(browser, { ...AUTO_REQUEST, max_age: '3600' })
        const answer = await signIn('github', browser)
        if (uaa) assert.match(String(answer.headers['location']), /\/oauth\/authorize/)
        else await assertRefused(answer, 403, /Your provider did not ask you to sign in again/)
      })

      if (!uaa) {
        it('refuses max_age even after prompt=login', async () => {
          const browser = server.browser()
          await signIn('github', browser)
          await authorize(browser, { ...AUTO_REQUEST, max_age: '3600' })
          assert.equal((await leave(browser)).searchParams.get('prompt'), 'login')
          await assertRefused(await signIn('github', browser), 403, /Your provider did not ask you to sign in again/)
        })

        it('accepts prompt=login, without auth_time and max_age', async () => {
          const browser = server.browser()
          const form = { ...AUTO_REQUEST, prompt: 'login' }
          const pushed = await server.send('/oauth/par', { form, basic: AUTO })
          const query = { client_id: 'auto', request_uri: pushed.json<{ request_uri: string }>().request_uri }
          await browser.send('/oauth/authorize', { query })
          const back = (await signIn('github', browser)).location()
          const { code = '' } = responseOf(await browser.send(back.pathname + back.search)).query
          const tokens = tokensOf(await exchange(server, code, { redirect_uri: AUTO_REQUEST.redirect_uri }, AUTO))
          assert.equal(decodeJwt(tokens.access_token)['auth_time'], undefined)
          const silent = await authorize(browser, { ...AUTO_REQUEST, prompt: 'none', max_age: '3600' })
          assert.equal(responseOf(silent).query['error'], 'login_required')
        })
      }

      it('lets the user change factors after a new sign-in', async () => {
        const zone = await server.store.zones.find('svc')
        assert.ok(zone)
        await setPolicy(server, { requirement: 'optional' })
        const browser = server.browser()
        await signIn('github', browser)
        const change = await browser.send('/profile/security/app')
        assert.match(String(change.headers['location']), /\/login$/)
        await signIn('github', browser)
        assert.equal((await browser.send('/profile/security/app')).status, 200)
        await server.store.zones.update({ ...zone, version: zone.version + 1 })
      })

      it('sends prompt=login to the provider in standard', async () => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        await authorize(browser, { ...AUTO_REQUEST, prompt: 'login' })
        assert.equal((await leave(browser)).searchParams.get('prompt'), uaa ? null : 'login')
      })

      it('creates no account with addShadowUserOnLogin=false', async () => {
        await assertRefused(await signIn('closed'), 403, /The user account must be pre-created/)
        assert.equal(await userOf('closed', '583231'), undefined)
      })

      it('checks iss against the issuer of the record, and accepts any without one', async () => {
        const cases: readonly [origin: string, iss: string, fits: boolean][] = [
          ['issuer', ISSUER, true],
          ['issuer', 'https://other.example', false],
          ['issuer', '', false],
          ['github', 'https://other.example', true],
        ]
        for (const [origin, iss, fits] of cases) {
          const browser = server.browser()
          const query = github.agree(await leave(browser, origin))
          const answer = await browser.send(`/login/callback/${origin}`, { query: { ...query, iss } })
          if (fits) assert.equal(answer.headers['location'], START)
          else await assertRefused(answer, 502, UNVERIFIED)
        }
      })

      for (const [error, status] of [
        ['access_denied', 403],
        ['application_suspended', 502],
      ] as const) {
        it(`reports ${error}, and requests no token`, async () => {
          const browser = server.browser()
          const { state } = github.agree(await leave(browser))
          const query = { error, error_description: '<b>evil</b>', state, code: 'c' }
          const answer = await browser.send('/login/callback/github', { query })
          await assertRefused(answer, status, /GitHub (?:was cancelled or refused|refused to sign you in)/)
          assert.doesNotMatch(answer.text, /evil/)
          assert.equal(github.requests.length, 0)
        })
      }
    })

    describe('identifier', () => {
      const given: readonly { name: string; origin?: string; person: object; want: string | undefined }[] = [
        { name: 'is sub', person: { sub: 'abc-1', login: 'x' }, want: 'abc-1' },
        { name: 'is a string in id', person: { id: 'A1b', login: 'x' }, want: 'A1b' },
        { name: 'is id if sub is null', person: { sub: null, id: 17, login: 'x' }, want: '17' },
        { name: 'is sub if id is equal', person: { sub: '18', id: 18, login: 'x' }, want: '18' },
        {
          name: 'is the claim in attributeMappings.external_id',
          origin: 'node',
          person: { ...OCTOCAT, sub: '1', node_id: 'MDQ6' },
          want: 'MDQ6',
        },
        { name: 'is missing', person: { login: 'x', email: 'x@git.example' }, want: undefined },
        {
          name: 'is not in the claim of attributeMappings.external_id',
          origin: 'node',
          person: OCTOCAT,
          want: undefined,
        },
        { name: 'is mapped to a list of claims', origin: 'list', person: OCTOCAT, want: undefined },
        { name: 'differs in sub and id', person: { sub: '19', id: 20, login: 'x' }, want: undefined },
        { name: 'is 2^53', person: { id: 2 ** 53, login: 'x' }, want: undefined },
        { name: 'is a fraction', person: { id: 1.5, login: 'x' }, want: undefined },
        { name: 'is 0', person: { id: 0, login: 'x' }, want: undefined },
        { name: 'is negative', person: { id: -7, login: 'x' }, want: undefined },
        { name: 'is true', person: { id: true, login: 'x' }, want: undefined },
        { name: 'is an object', person: { id: { id: 1 }, login: 'x' }, want: undefined },
        { name: 'is a list', person: { id: [1], login: 'x' }, want: undefined },
        { name: 'is empty', person: { sub: '', id: 1, login: 'x' }, want: undefined },
      ]
      for (const { name, origin = 'github', person, want } of given) {
        it(`${want === undefined ? 'is refused if it ' : ''}${name}`, async () => {
          github.person = person
          const before = server.events.length
          const answer = await signIn(origin)
          if (want !== undefined) {
            assert.equal(answer.headers['location'], START)
            assert.ok(await userOf(origin, want))
            return
          }
          await assertRefused(answer, 502, UNVERIFIED)
          assert.deepEqual(
            server.events.slice(before).map(({ type }) => type),
            ['IdentityProviderAuthenticationFailure'],
          )
        })
      }

      for (const [name, sub] of [
        ['256 characters', 'x'.repeat(256)],
        ['a NUL character', 'a\u0000b'],
      ] as const) {
        it(`is refused if it has ${name}`, async () => {
          github.person = { sub, login: 'x' }
          await assertRefused(await signIn(), 403, /has no subject|Unable to map claim/)
        })
      }

      it('does not replace a missing mapped user name', async () => {
        github.person = { id: 41, login: 41 }
        await assertRefused(await signIn(), 403, /Unable to map claim to a username/)
      })
    })

    describe('response of the provider', () => {
      const TOKEN = { access_token: 'abc', token_type: 'bearer' }
      const tokens: readonly { name: string; answer: GithubAnswer; words: RegExp }[] = [
        { name: 'an error with status 200', answer: { body: { error: 'bad_verification_code' } }, words: UNVERIFIED },
        {
          name: 'a form-encoded error',
          answer: typed('error=bad_verification_code&access_token=abc', FORM),
          words: UNVERIFIED,
        },
        { name: 'invalid_grant', answer: { status: 400, body: { error: 'invalid_grant' } }, words: UNVERIFIED },
        { name: 'no access token', answer: { body: { token_type: 'bearer' } }, words: NO_ANSWER },
        { name: 'a number as the access token', answer: { body: { ...TOKEN, access_token: 7 } }, words: NO_ANSWER },
        { name: 'an empty access token', answer: { body: { ...TOKEN, access_token: '' } }, words: NO_ANSWER },
        {
          name: 'a token with a line break',
          answer: { body: { ...TOKEN, access_token: 'a\r\nx: y' } },
          words: NO_ANSWER,
        },
        { name: 'a token of another type', answer: { body: { ...TOKEN, token_type: 'DPoP' } }, words: UNVERIFIED },
        {
          name: 'a form with a repeated field',
          answer: typed('access_token=a&access_token=b', FORM),
          words: NO_ANSWER,
        },
        {
          name: 'a form with a JSON content type',
          answer: { body: 'access_token=abc&token_type=bearer' },
          words: NO_ANSWER,
        },
        { name: 'status 503', answer: { status: 503, body: {} }, words: NO_ANSWER },
      ]
      for (const { name, answer, words } of tokens) {
        it(`is refused from the token endpoint with ${name}`, async () => {
          github.answers.token = answer
          await assertRefused(await signIn(), 502, words)
          assert.equal(github.requests.filter(({ path }) => path === '/user').length, 0)
        })
      }

      const latin = Buffer.concat([Buffer.from('{"login":"x","sub":"a'), Buffer.from([0xe9]), Buffer.from('"}')])
      const users: readonly { name: string; answer: GithubAnswer }[] = [
        { name: 'status 401', answer: { status: 401, body: OCTOCAT } },
        { name: 'status 201', answer: { status: 201, body: OCTOCAT } },
        { name: 'status 500', answer: { status: 500, body: OCTOCAT } },
        { name: 'no JSON', answer: { body: '<html>' } },
        { name: 'an array', answer: { body: [OCTOCAT] } },
        { name: 'null', answer: { body: null } },
        { name: 'an empty body', answer: { body: '' } },
        { name: 'a signed response', answer: typed('a.b.c', { 'content-type': 'application/jwt' }) },
        { name: 'Latin-1', answer: typed(latin, { 'content-type': 'application/json' }) },
        { name: 'too much data', answer: { body: { ...OCTOCAT, bio: 'x'.repeat(100_000) } } },
        { name: 'a redirect', answer: typed('', { location: '/user' }, 302) },
        { name: 'a closed connection', answer: response => void response.destroy() },
      ]
      for (const { name, answer } of users) {
        it(`is refused from the userinfo endpoint with ${name}`, async () => {
          github.answers.user = answer
          await assertRefused(await signIn(), 502, NO_ANSWER)
          assert.equal(github.requests.filter(({ path }) => path === '/user').length, 1)
        })
      }

      it('is escaped on pages', async () => {
        github.person = { id: 51, login: '<script>alert(1)</script>', name: '"><img src=x onerror=alert(1)>' }
        const browser = server.browser()
        await signIn('github', browser)
        for (const path of ['/home', '/profile']) {
          assert.doesNotMatch((await browser.send(path)).text, /<script>alert|<img src=x/)
        }
      })
    })

    describe('provider', () => {
      const membershipsOf = async (userId: string): Promise<readonly string[]> =>
        (await server.store.groups.namesOfUser('svc', userId)).filter(name => /^(?:app|svc)\./.test(name))

      it('sets mapped groups, and updates them at each sign-in', async () => {
        github.person = { ...OCTOCAT, teams: ['Acme/Staff', 'svc.admin'], company: '@acme' }
        await signIn('teams')
        const { id } = (await userOf('teams', '583231')) ?? assert.fail()
        assert.deepEqual(await membershipsOf(id), ['app.read'])
        github.person = { ...OCTOCAT, teams: [] }
        await signIn('teams')
        assert.deepEqual(await membershipsOf(id), [])
      })

      it('accepts an invitation only with email_verified for the invited address', async () => {
        const { access_token: bearer } = (
          await server.token({ grant_type: 'client_credentials' }, { basic: ['inviter', 'secret'] })
        ).json<{ access_token: string }>()
        const invited = await server.send('/invite_users', {
          bearer,
          query: { redirect_uri: 'https://app.example/invited' },
          body: JSON.stringify({ emails: ['invited@git.example'] }),
          headers: { 'content-type': 'application/json' },
        })
        const [invitation] = invited.json<{ new_invites: readonly { origin: string; inviteLink: string }[] }>()
          .new_invites
        assert.equal(invitation?.origin, 'github')
        const { pathname, search } = new URL(invitation.inviteLink)
        const accept = async (person: object): Promise<TestAnswer> => {
          github.person = person
          const browser = server.browser()
          const query = github.agree((await browser.send(pathname + search)).location())
          return browser.send('/login/callback/github', { query })
        }
        const person = { id: 61, login: 'invited', email: 'invited@git.example' }
        const unconfirmed = /Your provider did not confirm that you have the email address/
        await assertRefused(await accept(person), 403, unconfirmed)
        await assertRefused(await accept({ ...person, email_verified: 'true' }), 403, unconfirmed)
        const answer = await accept({ ...person, email_verified: true })
        assert.equal(answer.headers['location'], 'https://app.example/invited')
        assert.equal((await userOf('github', '61'))?.verified, true)
      })

      it('is supported neither by the password nor by the JWT bearer grant', async () => {
        const provider = (await server.store.providers.findByOrigin('svc', 'signed')) ?? assert.fail()
        const config = { ...provider.config, passwordGrantEnabled: true }
        await server.store.providers.update('svc', { ...provider, config })
        const basic = ['inviter', 'secret'] as const
        const password = { grant_type: 'password', username: 'octocat', password: 'p' }
        const hinted = { ...password, login_hint: JSON.stringify({ origin: 'signed' }) }
        assert.ok((await server.token(hinted, { basic })).status >= 400)
        const assertion = await signer.token({ iss: ISSUER, aud: OUR_ID })
        const bearer = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
        assert.match((await server.token(bearer, { basic })).text, /to a single registered provider/)
        assert.equal(github.requests.length, 0)
        await server.store.providers.update('svc', provider)
      })
    })

    describe('signed JWT access token', () => {
      const given = async (claims: Readonly<Record<string, unknown>> = {}): Promise<GithubAnswer> => {
        const token = await signer.token({ iss: ISSUER, aud: OUR_ID, sub: 'signed-1', ...claims })
        return { body: { access_token: token, token_type: 'Bearer' } }
      }

      it('has the level that acrMapping assigns to its acr', async () => {
        for (const [acr, want] of [
          ['gold', '2'],
          ['2', '1'],
        ] as const) {
          github.answers.token = await given({ acr })
          const browser = server.browser()
          await signIn('levels', browser)
          const code = (await authorize(browser, AUTO_REQUEST)).location().searchParams.get('code') ?? ''
          const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
          const { id_token: token } = (await server.token(form, { basic: ['auto', 'auto-secret'] })).json<{
            id_token: string
          }>()
          const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
          assert.deepEqual(claims.acr, uaa ? { values: [acr] } : want)
        }
      })

      it('signs its subject in', async () => {
        github.answers.token = await given({ amr: ['otp'] })
        assert.equal((await signIn('signed')).headers['location'], START)
        assert.equal((await userOf('signed', 'signed-1'))?.userName, 'signed-1')
        assert.deepEqual(
          github.requests.map(({ path }) => path),
          ['/login/oauth/access_token'],
        )
      })

      it('must have the token endpoint as iss if no issuer is configured', async () => {
        github.answers.token = await given({ iss: `${github.url}/login/oauth/access_token` })
        assert.equal((await signIn('unnamed')).headers['location'], START)
        github.answers.token = await given()
        await assertRefused(await signIn('unnamed'), 502, UNVERIFIED)
      })

      const invalid: readonly { name: string; token: () => Promise<unknown> }[] = [
        { name: 'another client', token: () => signer.token({ iss: ISSUER, aud: 'other' }) },
        { name: 'no audience', token: () => signer.token({ iss: ISSUER, aud: undefined }) },
        { name: 'another issuer', token: () => signer.token({ aud: OUR_ID }) },
        { name: 'a past exp', token: () => signer.token({ iss: ISSUER, aud: OUR_ID, exp: 1 }) },
        { name: 'no exp', token: () => signer.token({ iss: ISSUER, aud: OUR_ID, exp: undefined }) },
        {
          name: 'another key',
          token: async () => (await createOidcProvider(clock)).token({ iss: ISSUER, aud: OUR_ID }),
        },
        {
          name: 'no signature',
          token: async () => unsigned({ alg: 'none' }, { iss: ISSUER, aud: OUR_ID, sub: 'x', exp: 9e9 }),
        },
        {
          name: 'HS256 with the public key as a secret',
          token: () =>
            new SignJWT({ iss: ISSUER, aud: OUR_ID, sub: 'x', exp: 9e9 })
              .setProtectedHeader({ alg: 'HS256' })
              .sign(publicKeyAsSecret(signer)),
        },
        { name: 'an opaque value', token: async () => 'opaque' },
      ]
      for (const { name, token } of invalid) {
        it(`is refused with ${name}`, async () => {
          github.answers.token = { body: { access_token: await token(), token_type: 'Bearer' } }
          await assertRefused(await signIn('signed'), 502, UNVERIFIED)
        })
      }
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { hexDigest } from '../../src/base/secrets.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import {
  APP,
  approve,
  changeClient,
  changeUser,
  exchange,
  insertCode,
  isAlive,
  MODES,
  refresh,
  refused,
  tokensOf,
  verified,
} from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const URI = 'https://auto.example/cb'
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' // RFC 7636 appendix B
const S256 = { codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', codeChallengeMethod: 'S256' } as const
const PLAIN = { codeChallenge: VERIFIER, codeChallengeMethod: 'plain' } as const
const YEAR = 365 * 86_400
const OTHER_VERIFIER = 'x'.repeat(43)

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'patient',
      client_secret: 'secret',
      authorized_grant_types: ['authorization_code'],
      scope: ['openid', 'profile', 'cloud.read'],
      redirect_uri: ['https://patient.example/cb'],
      access_token_validity: YEAR,
      autoapprove: true,
    },
    ...[true, false].map(allowpublic => ({
      client_id: `public-${allowpublic}`,
      client_secret: 'secret',
      allowpublic,
      authorized_grant_types: ['authorization_code'],
      scope: ['openid'],
      redirect_uri: ['https://public.example/cb'],
      autoapprove: true,
    })),
  ],
}

type Code = Parameters<typeof insertCode>[1]
type Form = Readonly<Record<string, string>>

const PATIENT = ['patient', 'secret'] as const

interface Accepted {
  readonly name: string
  readonly code?: Code
  readonly form?: Form
  readonly basic?: readonly [string, string]
}

const accepted: readonly Accepted[] = [
  { name: 'a code of a request without a redirect URI' },
  {
    name: 'the only redirect URI of the client, omitted in the authorization request',
    code: { clientId: 'patient' },
    form: { redirect_uri: 'https://patient.example/cb' },
    basic: PATIENT,
  },
  // Covers POST /oauth/token grant_type=authorization_code: redirect_uri
  { name: 'the redirect URI of the request', code: { redirectUri: URI }, form: { redirect_uri: URI } },
  // Covers POST /oauth/token grant_type=authorization_code: code_verifier
  { name: 'the verifier of an S256 challenge', code: S256, form: { code_verifier: VERIFIER } },
  { name: 'the verifier of a plain challenge', code: PLAIN, form: { code_verifier: VERIFIER } },
  { name: 'and ignores a scope in the token request', form: { scope: 'cloud.write' } },
]

interface Refused extends Refusal {
  readonly name: string
  readonly code?: Code
  readonly form?: Form
  readonly basic?: readonly [string, string]
  /** Seconds between issue and exchange. */
  readonly later?: number
}

const grantError = '400 invalid_grant'
const TOO_SHORT = 'Code verifier length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.'

const rejected: readonly Refused[] = [
  // Covers POST /oauth/token grant_type=authorization_code: error: redirect URI differs
  {
    name: 'a different redirect URI',
    code: { redirectUri: URI },
    form: { redirect_uri: 'https://auto.example/other' },
    want: grantError,
    description: 'Redirect URI mismatch.',
  },
  {
    name: 'a redirect URI that differs in case only',
    code: { redirectUri: URI },
    form: { redirect_uri: 'https://auto.example/CB' },
    want: grantError,
    description: 'Redirect URI mismatch.',
  },
  {
    name: 'a missing redirect URI if the authorization request had one',
    code: { redirectUri: URI },
    want: grantError,
    description: 'Redirect URI mismatch.',
  },
  {
    name: 'a redirect URI omitted in the authorization request if the client has several',
    form: { redirect_uri: URI },
    want: grantError,
    description: 'Redirect URI mismatch.',
  },
  {
    name: 'a redirect URI other than the only one, omitted in the authorization request',
    code: { clientId: 'patient' },
    form: { redirect_uri: URI },
    basic: PATIENT,
    want: grantError,
    description: 'Redirect URI mismatch.',
  },
  // Covers POST /oauth/token grant_type=authorization_code: error: code of another client
  // Covers compatibility: C11 error codes: code of another client, required groups lost
  {
    name: 'a code of another client (C11)',
    code: { clientId: 'app' },
    want: { standard: grantError, uaa: '401 invalid_client' },
    description: 'Client ID mismatch',
  },
  // Covers error body: error: `invalid_grant` 400
  // Covers POST /oauth/token grant_type=authorization_code: error: expired code
  { name: 'an expired code', later: 60, want: grantError, description: 'Authorization code expired' },
  // Covers POST /oauth/token grant_type=authorization_code: error: malformed verifier
  {
    name: 'a verifier that is too short',
    code: S256,
    form: { code_verifier: VERIFIER.slice(1) },
    want: '400 invalid_request',
    description: TOO_SHORT,
  },
  {
    name: 'a verifier that is too long',
    code: S256,
    form: { code_verifier: 'a'.repeat(129) },
    want: '400 invalid_request',
    description: TOO_SHORT,
  },
  {
    name: 'a verifier with invalid characters',
    code: S256,
    form: { code_verifier: `${VERIFIER}+` },
    want: '400 invalid_request',
    description: TOO_SHORT,
  },
  {
    name: 'a verifier with a trailing line break',
    code: S256,
    form: { code_verifier: `${VERIFIER}\n` },
    want: '400 invalid_request',
    description: TOO_SHORT,
  },
  // Covers POST /oauth/token grant_type=authorization_code: error: wrong verifier
  {
    name: 'a wrong verifier of an S256 challenge',
    code: S256,
    form: { code_verifier: OTHER_VERIFIER },
    want: grantError,
    description: 'Invalid code verifier',
  },
  {
    name: 'the S256 challenge as the verifier',
    code: S256,
    form: { code_verifier: S256.codeChallenge },
    want: grantError,
    description: 'Invalid code verifier',
  },
  {
    name: 'a wrong verifier of a plain challenge',
    code: PLAIN,
    form: { code_verifier: OTHER_VERIFIER },
    want: grantError,
    description: 'Invalid code verifier',
  },
  // Covers POST /oauth/token grant_type=authorization_code: error: verifier missing
  {
    name: 'a missing verifier for a code with a challenge',
    code: S256,
    want: grantError,
    description: 'PKCE error: Code verifier must be provided for this authorization code.',
  },
  // Covers POST /oauth/token grant_type=authorization_code: error: verifier without a challenge
  {
    name: 'a verifier for a code without a challenge',
    form: { code_verifier: VERIFIER },
    want: grantError,
    description: 'PKCE error: Code verifier not required for this authorization code.',
  },
  // Covers POST /oauth/token grant_type=authorization_code: error: allowpublic without S256
  {
    name: 'a plain challenge of a client with allowpublic',
    code: { clientId: 'public-true', scopes: ['openid'], ...PLAIN },
    form: { code_verifier: VERIFIER },
    basic: ['public-true', 'secret'],
    want: grantError,
    description: 'Public client must use code challange method S256',
  },
  {
    name: 'a verifier for a code without a challenge of a client with allowpublic and a secret',
    code: { clientId: 'public-true', scopes: ['openid'] },
    form: { code_verifier: VERIFIER },
    basic: ['public-true', 'secret'],
    want: grantError,
    description: 'PKCE error: Code verifier not required for this authorization code.',
  },
]

for (const mode of MODES) {
  describe(`grant_type=authorization_code in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())

    // Covers POST /oauth/token grant_type=authorization_code: code
    it('returns access, refresh and ID tokens', async () => {
      const answer = await exchange(server, await insertCode(server))
      const tokens = tokensOf(answer)
      assert.deepEqual(Object.keys(answer.json()).toSorted(), [
        'access_token',
        'expires_in',
        'id_token',
        'jti',
        'refresh_token',
        'scope',
        'token_type',
      ])
      assert.equal(tokens.scope, 'openid profile cloud.read')
      assert.equal(decodeJwt(tokens.access_token)['grant_type'], 'authorization_code')
    })

    for (const { name, code, form, basic } of accepted) {
      it(`accepts ${name}`, async () => {
        const { scope } = tokensOf(await exchange(server, await insertCode(server, code), form, basic))
        assert.equal(scope, 'openid profile cloud.read')
      })
    }

    for (const { name, code, form, basic, later = 0, ...refusal } of rejected) {
      it(`refuses ${name}`, async () => {
        const value = await insertCode(server, code)
        server.clock.advance(later)
        await refused(server, mode, () => exchange(server, value, form, basic), refusal)
      })
    }

    it('accepts a plain challenge of a confidential client in standard, and refuses it in uaa (A16)', async () => {
      const value = await insertCode(server, { clientId: 'public-false', scopes: ['openid'], ...PLAIN })
      const answer = await exchange(server, value, { code_verifier: VERIFIER }, ['public-false', 'secret'])
      assert.equal(answer.status, mode === 'standard' ? 200 : 400)
    })

    it('accepts a client with allowpublic without PKCE if it sends its secret (A16)', async () => {
      const value = await insertCode(server, { clientId: 'public-true', scopes: ['openid'] })
      assert.equal((await exchange(server, value, {}, ['public-true', 'secret'])).status, 200)
    })

    it('refuses a client with allowpublic without secret and challenge (A16)', async () => {
      for (const verifier of [{}, { code_verifier: VERIFIER }]) {
        const code = await insertCode(server, { clientId: 'public-true', scopes: ['openid'] })
        const form = { grant_type: 'authorization_code', code, client_id: 'public-true', ...verifier }
        assert.ok((await server.token(form)).status >= 400)
      }
    })

    it('keeps the code if the verifier is malformed', async () => {
      const bad = { want: '400 invalid_request', description: TOO_SHORT }
      await refused(server, mode, () => exchange(server, 'nonsense', { code_verifier: 'short' }), bad)
      const value = await insertCode(server, S256)
      await refused(server, mode, () => exchange(server, value, { code_verifier: 'short' }), bad)
      assert.equal((await exchange(server, value, { code_verifier: VERIFIER })).status, 200)
    })

    const odd = [
      {
        name: 'an empty code',
        code: '',
        want: '400 invalid_request',
        description: 'An authorization code must be supplied.',
      },
      // Covers POST /oauth/token grant_type=authorization_code: error: unknown or reused code
      {
        name: 'an unknown code',
        code: 'nonsense',
        want: grantError,
        description: 'Invalid authorization code',
      },
      {
        name: 'an SQL injection in the code',
        code: "' or 1=1 --",
        want: grantError,
        description: 'Invalid authorization code',
      },
      {
        name: 'a code of 60 KiB',
        code: 'c'.repeat(60_000),
        want: grantError,
        description: 'Invalid authorization code',
      },
    ]
    for (const { name, code, ...refusal } of odd) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => exchange(server, code), refusal)
      })
    }

    // Covers POST /oauth/token grant_type=authorization_code: error: no code
    it('refuses a request without a code', async () => {
      await refused(
        server,
        mode,
        () => server.token({ grant_type: 'authorization_code' }, { basic: ['auto', 'auto-secret'] }),
        {
          want: '400 invalid_request',
          description: 'An authorization code must be supplied.',
        },
      )
    })

    // Covers POST /oauth/token grant_type=authorization_code: rule: the code is consumed first
    it('consumes the code of a failed exchange', async () => {
      const value = await insertCode(server, S256)
      await exchange(server, value, { code_verifier: OTHER_VERIFIER })
      await refused(server, mode, () => exchange(server, value, { code_verifier: VERIFIER }), {
        want: grantError,
        description: 'Invalid authorization code',
      })
    })

    it('logs why a code is refused', async () => {
      const detailOf = async (value: string): Promise<string> => {
        const from = server.refusals.length
        assert.equal((await exchange(server, value)).status, 400)
        return server.refusals.slice(from).join('\n')
      }
      assert.match(await detailOf('nonsense'), /^invalid_grant: .*authorization code: it is unknown/)
      const used = await insertCode(server)
      tokensOf(await exchange(server, used))
      assert.match(await detailOf(used), /authorization code: it was used before/)
      const late = await insertCode(server)
      server.clock.advance(301)
      assert.match(await detailOf(late), /authorization code: it expired at 2/)
    })

    it('keeps the code if client authentication fails', async () => {
      const value = await insertCode(server)
      await exchange(server, value, {}, ['auto', 'wrong'])
      tokensOf(await exchange(server, value))
    })

    // Covers POST /oauth/token grant_type=authorization_code: rule: reuse revokes what the code gave
    // Covers compatibility: tokens and userinfo: T11 code reuse
    it('revokes the tokens of a reused code in standard (T11)', async () => {
      const revocations = (): number => server.events.filter(({ type }) => type === 'TokenRevocationEvent').length
      const earlier = revocations()
      const value = await insertCode(server)
      const other = tokensOf(await exchange(server, await insertCode(server)))
      const first = tokensOf(await exchange(server, value))
      const second = tokensOf(await refresh(server, first.refresh_token, {}, ['auto', 'auto-secret']))
      await refused(server, mode, () => exchange(server, value), {
        want: grantError,
        description: 'Invalid authorization code',
      })
      const survives = mode === 'uaa'
      for (const token of [first.access_token, second.access_token]) {
        assert.equal(await isAlive(server, token), survives)
        assert.equal((await server.send('/userinfo', { bearer: token })).status, survives ? 200 : 401)
      }
      const refreshed = await refresh(server, first.refresh_token, {}, ['auto', 'auto-secret'])
      assert.equal(refreshed.status, survives ? 200 : 400)
      assert.ok(await isAlive(server, other.access_token), 'a token of another code is still valid')
      assert.equal(revocations() - earlier, survives ? 0 : 1)
    })

    it('keeps the revocation until the token would have expired (T11)', async () => {
      const value = await insertCode(server, { clientId: 'patient' })
      const { access_token: token } = tokensOf(await exchange(server, value, {}, ['patient', 'secret']))
      await exchange(server, value, {}, ['patient', 'secret'])
      server.clock.advance(YEAR - 10)
      while ((await server.store.purge(server.clock.now())) > 0);
      assert.equal(await isAlive(server, token), mode === 'uaa')
    })

    // Covers POST /oauth/token grant_type=authorization_code: rule: `token_format` and nonce of the authorization are kept
    it('uses the token format of the authorization request', async () => {
      const tokens = tokensOf(await exchange(server, await insertCode(server, { tokenFormat: 'opaque' })))
      assert.match(tokens.access_token, /^[0-9a-f]{32}$/)
    })

    // Covers POST /oauth/token: token_format=jwt
    it('lets the token request override the token format', async () => {
      const code = await insertCode(server, { tokenFormat: 'opaque' })
      const tokens = tokensOf(await exchange(server, code, { token_format: 'jwt' }))
      assert.equal(tokens.access_token.split('.').length, 3)
    })

    // Covers ID token: nonce
    it('returns nonce, auth_time, amr and sid in the ID token', async () => {
      const code = await insertCode(server, { nonce: 'n-0S6_WzA2Mj', amr: ['pwd', 'otp'] })
      const { payload } = await verified(server, tokensOf(await exchange(server, code)).id_token, { audience: 'auto' })
      assert.equal(payload['nonce'], 'n-0S6_WzA2Mj')
      assert.equal(payload['auth_time'], Math.floor(server.clock.now().getTime() / 1000) - 30)
      assert.deepEqual(payload['amr'], ['pwd', 'otp'])
      assert.equal(payload['sid'], mode === 'standard' ? 'session-of-auto' : undefined)
    })

    // Covers access token claims: nonce
    it('omits nonce from the access token in standard', async () => {
      const { access_token: token } = tokensOf(await exchange(server, await insertCode(server, { nonce: 'n' })))
      assert.equal(decodeJwt(token)['nonce'], mode === 'standard' ? undefined : 'n')
    })

    // Covers ID token: rule: issued when openid is granted
    it('returns no ID token without openid', async () => {
      const answer = await exchange(server, await insertCode(server, { scopes: ['cloud.read'] }))
      assert.deepEqual(Object.keys(answer.json()).includes('id_token'), false)
    })

    // Covers refresh token: rule: issued with grant `refresh_token`
    it('issues no refresh token to a client without that grant', async () => {
      const code = await insertCode(server, { clientId: 'patient' })
      await changeClient(server, 'patient', { authorizedGrantTypes: ['authorization_code'] })
      const answer = await exchange(server, code, {}, ['patient', 'secret'])
      assert.equal(answer.json()['refresh_token'], undefined)
    })

    it('omits a scope if the user lost its group', async () => {
      const { scope } = tokensOf(await exchange(server, await insertCode(server, { userName: 'joel' })))
      assert.equal(scope, 'openid profile')
    })

    it('omits a scope that the user has denied since', async () => {
      const code = await insertCode(server, { clientId: 'app', scopes: ['cloud.read', 'openid', 'profile'] })
      await approve(server, ['cloud.read', 'openid'], 'APPROVED')
      await approve(server, ['profile'], 'DENIED')
      const tokens = tokensOf(await exchange(server, code, {}, APP))
      assert.equal(tokens.scope, 'cloud.read openid')
      assert.equal(decodeJwt(tokens.id_token)['given_name'], undefined)
      assert.ok(await isAlive(server, tokens.access_token))
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`Code whose preconditions changed in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(() => server.stop())

    // Covers WWW-Authenticate: header: Bearer of the grants and authorize
    // Covers POST /oauth/token: error: nothing left to grant
    // Covers compatibility: C11 error codes: nothing left to grant
    it('is refused if no scope is left to grant (C11)', async () => {
      const code = await insertCode(server, { userName: 'joel', scopes: ['cloud.read'] })
      await refused(server, mode, () => exchange(server, code), {
        want: { standard: '400 invalid_scope', uaa: '401 invalid_token' },
        description: 'No scopes were granted',
        challenge: mode === 'uaa' ? 'Bearer error="invalid_token", error_description="No scopes were granted"' : null,
      })
    })

    // Covers POST /oauth/token: error: `required_user_groups` lost
    it('is refused if the user lost a required group (C11)', async () => {
      const code = await insertCode(server)
      await changeClient(server, 'auto', { requiredUserGroups: ['cloud.write'] })
      await refused(server, mode, () => exchange(server, code), {
        want: { standard: grantError, uaa: '401 invalid_token' },
        description: "User does not meet the client's required group criteria.",
      })
      await changeClient(server, 'auto', { requiredUserGroups: [] })
    })

    it('is refused if the account was deactivated', async () => {
      const code = await insertCode(server)
      await changeUser(server, 'marissa', { active: false })
      await refused(server, mode, () => exchange(server, code), { want: grantError })
      await changeUser(server, 'marissa', { active: true })
    })

    it('is refused if the client lost the grant type (C11)', async () => {
      const code = await insertCode(server)
      await changeClient(server, 'auto', { authorizedGrantTypes: ['password'] })
      await refused(server, mode, () => exchange(server, code), {
        want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
        description: 'Unauthorized grant type',
      })
    })
  })
}

for (const mode of MODES) {
  describe(`Code issued to a browser in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(() => server.stop())

    const authorize = async (query: Form): Promise<string> => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const answer = await browser.send('/oauth/authorize', {
        query: { response_type: 'code', client_id: 'auto', redirect_uri: URI, state: 's', ...query },
      })
      return String(answer.location().searchParams.get('code'))
    }

    it('is exchanged for an ID token with matching at_hash and sid', async () => {
      const challenge = { code_challenge: S256.codeChallenge, code_challenge_method: 'S256' }
      const code = await authorize({ nonce: 'n', ...challenge })
      const tokens = tokensOf(await exchange(server, code, { redirect_uri: URI, code_verifier: VERIFIER }))
      const { payload } = await verified(server, tokens.id_token, { audience: 'auto' })
      const half = Buffer.from(hexDigest(tokens.access_token).slice(0, 32), 'hex').toString('base64url')
      assert.equal(payload['at_hash'], mode === 'standard' ? half : undefined)
      assert.equal(payload['nonce'], 'n')
      assert.deepEqual(payload['amr'], ['pwd'])
      assert.equal(typeof payload['sid'], mode === 'standard' ? 'string' : 'undefined')
    })

    // Covers token lifetime: authorization code
    // Covers compatibility: authorization response: R10 code
    it('is valid for one minute, in uaa for five (R10)', async () => {
      const seconds = mode === 'standard' ? 60 : 300
      const [code, late] = [await authorize({}), await authorize({})]
      server.clock.advance(seconds - 1)
      tokensOf(await exchange(server, code, { redirect_uri: URI }))
      server.clock.advance(1)
      await refused(server, mode, () => exchange(server, late, { redirect_uri: URI }), { want: grantError })
    })

    it('is refused to another client, and consumed', async () => {
      const code = await authorize({})
      const foreign = { standard: grantError, uaa: '401 invalid_client' }
      await refused(server, mode, () => exchange(server, code, { redirect_uri: URI }, APP), { want: foreign })
      await refused(server, mode, () => exchange(server, code, { redirect_uri: URI }), { want: grantError })
    })
  })
}

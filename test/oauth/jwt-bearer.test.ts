import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, SignJWT } from 'jose'
import type { User } from '../../src/model/users/user.ts'
import {
  CORP,
  createOidcProvider,
  publicKeyAsSecret,
  RELYING_PARTY,
  startPublisher,
  unsigned,
} from '../support/oidc-provider.ts'
import type { OidcProvider, Publisher } from '../support/oidc-provider.ts'
import { createTestClock } from '../support/clock.ts'
import { APP, isAlive, MODES, refresh, refused, tokensOf } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const PORTER = ['porter', 'secret'] as const

const client = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: [JWT_BEARER, 'refresh_token'],
  scope: ['openid', 'profile', 'cloud.read'],
  autoapprove: true,
  ...more,
})

const provider = (originKey: string, config: object, more: object = {}) => ({
  originKey,
  type: 'oidc1.0',
  name: originKey,
  config: { issuer: `https://${originKey}.example`, relyingPartyId: RELYING_PARTY, ...config },
  ...more,
})

const clock = createTestClock()
const corp = await createOidcProvider(clock)
const curve = await createOidcProvider(clock, { alg: 'ES256', kid: 'curve-1' })
const attacker = await createOidcProvider(clock)

const bootstrapAt = (publisher: string) => ({
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('porter'),
    client('asking', { autoapprove: [] }),
    client('once', { authorized_grant_types: [JWT_BEARER] }),
    client('own-only', { allowedproviders: ['svc'] }),
    client('corp-only', { allowedproviders: ['corp'] }),
    client('strict', { required_user_groups: ['cloud.write'] }),
  ],
  users: [
    ...defaultBootstrap.users,
    { userName: 'known', origin: 'closed', emails: [{ value: 'known@closed.example' }], groups: ['cloud.read'] },
    { userName: 'left', origin: 'corp', emails: [{ value: 'left@corp.example' }], active: false },
    { userName: 'twin-1', origin: 'corp', emails: [{ value: 'twin@corp.example' }] },
    { userName: 'twin-2', origin: 'corp', emails: [{ value: 'TWIN@corp.example' }] },
  ],
  identity_providers: [
    provider('corp', { tokenKey: corp.jwks, linkByEmail: true }),
    provider('pem', { tokenKey: curve.pem }),
    provider('shared', { tokenKey: corp.jwks, authorizedParties: ['app-there'] }),
    provider('closed', { tokenKey: corp.jwks, addShadowUserOnLogin: false }),
    provider('twice', { tokenKey: corp.jwks }),
    provider('twice-too', { tokenKey: corp.jwks, issuer: 'https://twice.example' }),
    provider('off', { tokenKey: corp.jwks }, { active: false }),
    provider('nameless', { tokenKey: corp.jwks, relyingPartyId: null }),
    provider('keyless', {}),
    provider('garbled', { tokenKey: 'not a key' }),
    provider('broken-pem', { tokenKey: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----' }),
    provider('plain', { tokenKey: corp.jwks }, { type: 'oauth2.0' }),
    provider('mapped', {
      tokenKey: corp.jwks,
      attributeMappings: { user_name: 'login', given_name: 'first', email_verified: 'checked', email: 'mail' },
    }),
    provider('far', { tokenKeyUrl: `${publisher}/keys` }),
    provider('down', { tokenKeyUrl: `${publisher}/nothing` }),
    provider('found', { issuer: null, discoveryUrl: `${publisher}/.well-known/openid-configuration` }),
    provider('lost', { issuer: null, discoveryUrl: `${publisher}/gone` }),
    provider('named-by-url', { issuer: null, tokenUrl: 'https://by-url.example/token', tokenKey: corp.jwks }),
  ],
  identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: { clients: [client('porter')] } }],
})

const unauthorized = { want: { standard: '400 invalid_grant', uaa: '401 unauthorized' } } as const
const untrusted = { want: { standard: '400 invalid_grant', uaa: '401 invalid_token' } } as const
const unmapped = (issuer: string) => ({
  ...unauthorized,
  description: `Unable to map issuer, ${issuer} , to a single registered provider`,
})
const SIGNATURE = { ...untrusted, description: 'Could not verify token signature.' }
const UNDECODABLE = { ...unauthorized, description: 'Unable to decode expected id_token' }

interface Case extends Refusal {
  readonly name: string
  readonly assertion: () => Promise<string> | string
  readonly basic?: readonly [string, string]
}

const at = (seconds: number): number => clock.now().getTime() / 1000 + seconds
const signedBy = (signer: OidcProvider, claims?: object, header?: object) => () =>
  signer.token({ ...claims }, { ...header })
const assertionWith = (claims?: object, header?: object) => signedBy(corp, claims, header)
const claimsOf = async (): Promise<Record<string, unknown>> => decodeJwt(await corp.token())

async function forged(change: (parts: [string, string, string]) => readonly string[]): Promise<string> {
  const [header = '', payload = '', signature = ''] = (await corp.token()).split('.')
  return change([header, payload, signature]).join('.')
}

const REFUSED: readonly Case[] = [
  // Covers POST /oauth/token grant_type=jwt-bearer: error: not decodable
  { name: 'a token that is not a JWT', assertion: () => 'nonsense', ...UNDECODABLE },
  { name: 'dots only', assertion: () => '..', ...UNDECODABLE },
  { name: 'a payload that is not JSON', assertion: () => 'e30.bm9wZQ.AAAA', ...UNDECODABLE },
  { name: 'a payload that is a JSON array', assertion: () => 'e30.W10.AAAA', ...UNDECODABLE },
  { name: 'an encrypted token', assertion: () => 'e30.e30.e30.e30.e30', ...UNDECODABLE },
  { name: 'more than 32 KiB', assertion: assertionWith({ pad: 'x'.repeat(33_000) }), ...UNDECODABLE },
  { name: 'SAML', assertion: () => '<Assertion/>', ...UNDECODABLE },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: no iss
  {
    name: 'a token without an issuer',
    assertion: assertionWith({ iss: undefined }),
    ...unauthorized,
    description: 'Issuer is missing in id_token',
  },
  {
    name: 'an issuer that is not a string',
    assertion: assertionWith({ iss: 7 }),
    ...unauthorized,
    description: 'Issuer is missing in id_token',
  },
  ...['logout+jwt', 'application/Logout+JWT', 'dpop+jwt', 'client-authentication+jwt', 'secevent+jwt', 7].map(typ => ({
    name: `typ ${typ}`,
    assertion: assertionWith({}, { typ }),
    ...untrusted,
    description: 'The token is of another kind',
  })),
  // Covers POST /oauth/token grant_type=jwt-bearer: error: no single provider
  {
    name: 'an unregistered issuer',
    assertion: assertionWith({ iss: 'https://x.example' }),
    ...unmapped('https://x.example'),
  },
  // Covers oidc and oauth provider config: issuer
  { name: 'an issuer with a trailing slash', assertion: assertionWith({ iss: `${CORP}/` }), ...unmapped(`${CORP}/`) },
  // Covers POST /oauth/token grant_type=jwt-bearer: rule: issuer of one OIDC provider
  {
    name: 'the issuer of two providers',
    assertion: assertionWith({ iss: 'https://twice.example' }),
    ...unmapped('https://twice.example'),
  },
  {
    name: 'the issuer of an inactive provider',
    assertion: assertionWith({ iss: 'https://off.example' }),
    ...unmapped('https://off.example'),
  },
  {
    name: 'the issuer of a provider without OpenID Connect',
    assertion: assertionWith({ iss: 'https://plain.example' }),
    ...unmapped('https://plain.example'),
  },
  {
    name: 'a provider whose discovery document is missing',
    assertion: assertionWith({ iss: 'https://lost.example' }),
    ...unmapped('https://lost.example'),
  },
  {
    name: 'line breaks and quotes in the issuer',
    assertion: assertionWith({ iss: 'a"\r\nb: c' }),
    ...unmapped('a???b: c'),
  },
  {
    name: 'a modified payload',
    assertion: () => forged(([h, , s]) => [h, btoa('{"iss":"https://corp.example"}').replace(/=+$/, ''), s]),
    ...SIGNATURE,
  },
  {
    name: 'a modified signature',
    assertion: () => forged(([h, p, s]) => [h, p, `${s.startsWith('A') ? 'B' : 'A'}${s.slice(1)}`]),
    ...SIGNATURE,
  },
  { name: 'a missing signature', assertion: () => forged(([h, p]) => [h, p, '']), ...SIGNATURE },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: signature
  { name: 'another key with the same kid', assertion: signedBy(attacker), ...SIGNATURE },
  { name: 'an algorithm other than that of the key', assertion: signedBy(curve), ...SIGNATURE },
  {
    name: 'an unpublished key',
    assertion: assertionWith({}, { kid: 'corp-2' }),
    ...SIGNATURE,
  },
  { name: 'a path as kid', assertion: assertionWith({}, { kid: '../../etc/passwd' }), ...SIGNATURE },
  { name: 'SQL as kid', assertion: assertionWith({}, { kid: `' or 1=1 --` }), ...SIGNATURE },
  {
    name: 'alg none',
    assertion: async () => unsigned({ alg: 'none' }, await claimsOf()),
    ...SIGNATURE,
  },
  {
    name: 'alg None with a signature',
    assertion: async () => unsigned({ alg: 'None', kid: 'corp-1' }, await claimsOf(), 'AAAA'),
    ...SIGNATURE,
  },
  {
    name: 'HS256 with the public key as the secret',
    assertion: async () =>
      new SignJWT(await claimsOf()).setProtectedHeader({ alg: 'HS256', kid: 'corp-1' }).sign(publicKeyAsSecret(corp)),
    ...SIGNATURE,
  },
  {
    name: 'HS256 with the PEM public key as the secret',
    assertion: async () =>
      new SignJWT({ ...(await claimsOf()), iss: 'https://pem.example' })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(publicKeyAsSecret(curve)),
    ...SIGNATURE,
  },
  {
    name: 'a key in the header',
    assertion: () => attacker.token({}, { jwk: attacker.jwk }),
    ...SIGNATURE,
  },
  {
    name: 'an unsupported crit extension',
    assertion: async () => {
      const header = { alg: 'RS256', kid: 'corp-1', crit: ['x'], x: 1 }
      return new SignJWT(await claimsOf()).setProtectedHeader(header).sign(corp.privateKey, { crit: { x: true } })
    },
    ...SIGNATURE,
  },
  { name: 'a provider without a key', assertion: assertionWith({ iss: 'https://keyless.example' }), ...SIGNATURE },
  {
    name: 'a provider with a malformed key',
    assertion: assertionWith({ iss: 'https://garbled.example' }),
    ...SIGNATURE,
  },
  {
    name: 'a provider with a malformed PEM key',
    assertion: assertionWith({ iss: 'https://broken-pem.example' }),
    ...SIGNATURE,
  },
  {
    name: 'a provider whose keys cannot be fetched',
    assertion: assertionWith({ iss: 'https://down.example' }),
    ...SIGNATURE,
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: audience
  {
    name: 'the audience of another server',
    assertion: assertionWith({ aud: 'another' }),
    ...untrusted,
    description: `Some parties were not in the token audience: ${RELYING_PARTY}`,
  },
  {
    name: 'no audience',
    assertion: assertionWith({ aud: undefined }),
    ...untrusted,
    description: `Some parties were not in the token audience: ${RELYING_PARTY}`,
  },
  {
    name: 'an audience that contains the expected one as a prefix',
    assertion: assertionWith({ aud: [`${RELYING_PARTY}2`] }),
    ...untrusted,
  },
  {
    name: 'a provider without a relying party id',
    assertion: assertionWith({ iss: 'https://nameless.example' }),
    ...untrusted,
  },
  {
    name: 'no exp',
    assertion: assertionWith({ exp: undefined }),
    ...untrusted,
    description: 'Token does not bear a valid EXP claim.',
  },
  {
    name: 'exp out of range',
    assertion: assertionWith({ exp: 1e300 }),
    ...untrusted,
    description: 'Token does not bear a valid EXP claim.',
  },
  {
    name: 'exp as a string',
    assertion: async () => {
      const claims = { ...(await claimsOf()), exp: String(at(300)) } as unknown as Record<string, never>
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'corp-1' }).sign(corp.privateKey)
    },
    ...untrusted,
    description: 'Token does not bear a valid EXP claim.',
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: expired
  {
    name: 'an expired token',
    assertion: () => corp.token({ exp: at(0) }),
    ...untrusted,
    description: /^Token expired at 2026-01-15T12:00:\d\d\.000Z$/,
  },
  { name: 'a token that is not valid yet', assertion: () => corp.token({ nbf: at(61) }), ...untrusted },
  {
    name: 'a sender-constrained token',
    assertion: assertionWith({ cnf: { jkt: 'x'.repeat(43) } }),
    ...untrusted,
    description: 'The token is bound to its sender',
  },
  {
    name: 'no user name',
    assertion: assertionWith({ sub: undefined }),
    ...unauthorized,
    description: 'Unable to map claim to a username',
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: no user name
  {
    name: 'a missing claim for the user name',
    assertion: assertionWith({ iss: 'https://mapped.example' }),
    ...unauthorized,
    description: 'Unable to map claim to a username',
  },
  { name: 'a user name with a NUL character', assertion: assertionWith({ sub: 'pat\0' }), ...unauthorized },
  { name: 'a user name of 300 characters', assertion: assertionWith({ sub: 'p'.repeat(300) }), ...unauthorized },
  {
    name: 'several email addresses',
    assertion: assertionWith({ email: ['a@corp.example', 'b@corp.example'] }),
    ...unauthorized,
    description: 'Claim mapping for email attribute is ambiguous',
  },
  {
    name: 'given_name as an object',
    assertion: assertionWith({ given_name: { first: 'Pat' } }),
    ...unauthorized,
    description: 'External token attribute given_name cannot be mapped to user attribute given_name',
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: user not pre-created
  {
    name: 'a user without an account if the provider creates none',
    assertion: assertionWith({ iss: 'https://closed.example' }),
    ...unauthorized,
    description: 'The user account must be pre-created. Please contact your system administrator.',
  },
  {
    name: 'a deactivated account',
    assertion: assertionWith({ sub: 'left' }),
    ...unauthorized,
    description: 'Unable to register user in internal UAA store.',
  },
  {
    name: 'an email address of two accounts',
    assertion: assertionWith({ sub: 'new', email: 'twin@corp.example', email_verified: true }),
    ...unauthorized,
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: provider not allowed
  {
    name: 'a provider that the client does not allow',
    assertion: assertionWith({ sub: 'barred' }),
    basic: ['own-only', 'secret'],
    want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
    description: "Client is not authorized for specified user's identity provider.",
  },
  {
    name: 'a client without the grant type',
    assertion: assertionWith(),
    basic: APP,
    want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
    description: 'Unauthorized grant type',
  },
  {
    name: 'a user without a required group',
    assertion: assertionWith(),
    basic: ['strict', 'secret'],
    want: '400 invalid_scope',
    description: "User does not meet the client's required group criteria.",
  },
]

for (const mode of MODES) {
  describe(`grant_type=jwt-bearer with tokens of a provider in ${mode}`, () => {
    let server: TestServer
    let publisher: Publisher
    before(async () => {
      publisher = await startPublisher()
      publisher.answers.set('/keys', { keys: [corp.jwk] })
      publisher.answers.set('/.well-known/openid-configuration', {
        issuer: 'https://found.example',
        jwks_uri: `${publisher.url}/keys`,
      })
      server = await startServer({ mode, clock, config: { bootstrap: bootstrapAt(publisher.url) } })
    })
    after(async () => {
      await server.stop()
      await publisher.stop()
    })

    const send = (assertion: string, basic: readonly [string, string] = PORTER, form = {}): Promise<TestAnswer> =>
      server.token({ grant_type: JWT_BEARER, assertion, ...form }, { basic })
    const account = async (userName: string, origin = 'corp'): Promise<User | undefined> =>
      server.store.users.findByName('svc', origin, userName)

    // Covers POST /oauth/token grant_type=jwt-bearer: assertion
    it('creates an account, and returns access and refresh tokens without an ID token', async () => {
      const answer = await send(await corp.token({ given_name: 'Pat', family_name: 'Doe', auth_time: at(-60) }))
      const tokens = tokensOf(answer)
      const named = ['access_token', 'token_type', 'refresh_token', 'expires_in', 'scope', 'jti']
      assert.deepEqual(Object.keys(answer.json()).toSorted(), named.toSorted())
      const user = await account('pat')
      assert.ok(user)
      assert.equal(tokens.scope.split(' ').toSorted().join(' '), 'openid profile')
      const { iat, exp, jti, aud, rev_sig, grant_id, ...claims } = decodeJwt<Record<string, unknown>>(
        tokens.access_token,
      )
      assert.ok([iat, exp, jti, aud, rev_sig].every(Boolean))
      assert.equal(typeof grant_id, mode === 'standard' ? 'string' : 'undefined')
      assert.deepEqual(
        [claims['grant_type'], claims['user_id'], claims['user_name'], claims['origin'], claims['auth_time']],
        [JWT_BEARER, user.id, 'pat', 'corp', at(-60)],
      )
      assert.deepEqual(
        [user.givenName, user.familyName, user.email, user.externalId, user.verified, user.passwordHash],
        ['Pat', 'Doe', 'pat@corp.example', 'pat', false, undefined],
      )
      assert.deepEqual(user.lastLogonAt, clock.now())
    })

    it('records user and provider of a sign-in in the audit trail, and no token of a refusal', async () => {
      const from = server.events.length
      await send(await corp.token({ sub: 'trail' }))
      const bad = await attacker.token({ sub: 'trail' })
      await send(bad)
      const { id } = (await account('trail')) ?? {}
      const reported = server.events.slice(from).filter(({ origin }) => origin === 'corp')
      assert.deepEqual(
        reported.map(({ type, principal }) => [type, principal === id]),
        [
          ['IdentityProviderAuthenticationSuccess', true],
          ['UserAuthenticationSuccess', true],
          ['IdentityProviderAuthenticationFailure', false],
        ],
      )
      assert.ok(!JSON.stringify(server.events).includes(bad))
    })

    const accepted: readonly { name: string; assertion: () => Promise<string>; user?: [string, string] }[] = [
      {
        name: 'several audiences with azp of this server',
        assertion: assertionWith({ aud: ['other', RELYING_PARTY], azp: RELYING_PARTY }),
      },
      {
        name: 'azp listed in authorizedParties',
        assertion: assertionWith({
          iss: 'https://shared.example',
          aud: ['app-there', RELYING_PARTY],
          azp: 'app-there',
        }),
        user: ['pat', 'shared'],
      },
      {
        name: 'nbf within a minute of clock skew',
        assertion: () => corp.token({ nbf: at(60) }),
      },
      { name: 'the same token again', assertion: assertionWith() },
      { name: 'an access token of the provider', assertion: assertionWith({}, { typ: 'application/at+jwt' }) },
      { name: 'typ JWT', assertion: assertionWith({}, { typ: 'JWT' }) },
      { name: 'typ authorization-grant+jwt', assertion: assertionWith({}, { typ: 'authorization-grant+jwt' }) },
      {
        name: 'jku and x5u, without fetching them',
        assertion: assertionWith({}, { jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert' }),
      },
      // Partly covers oidc and oauth provider config: tokenKey
      {
        name: 'a PEM key with any kid',
        assertion: signedBy(curve, { iss: 'https://pem.example' }),
        user: ['pat', 'pem'],
      },
      // Covers oidc and oauth provider config: tokenKeyUrl
      {
        name: 'keys from tokenKeyUrl',
        assertion: assertionWith({ iss: 'https://far.example' }),
        user: ['pat', 'far'],
      },
      {
        name: 'discovered issuer and keys',
        assertion: assertionWith({ iss: 'https://found.example' }),
        user: ['pat', 'found'],
      },
      {
        name: 'tokenUrl instead of an issuer',
        assertion: assertionWith({ iss: 'https://by-url.example/token' }),
        user: ['pat', 'named-by-url'],
      },
      {
        name: 'mapped claims',
        assertion: assertionWith({ iss: 'https://mapped.example', login: 'Pat!', mail: ['p@x.example'] }),
        user: ['Pat!', 'mapped'],
      },
      {
        name: 'a user with an existing account',
        assertion: assertionWith({ iss: 'https://closed.example', sub: 'known', email: undefined }),
        user: ['known', 'closed'],
      },
    ]
    for (const { name, assertion, user: [userName, origin] = ['pat', 'corp'] } of accepted) {
      it(`accepts ${name}`, async () => {
        const tokens = tokensOf(await send(await assertion()))
        const { user_id: id } = decodeJwt<{ user_id: string }>(tokens.access_token)
        assert.equal((await account(userName, origin))?.id, id)
      })
    }

    it('accepts another azp in uaa, and refuses it in standard (C9)', async () => {
      const refusal = { want: '400 invalid_grant', description: 'The token was issued to another party.' }
      const rows = [
        { aud: RELYING_PARTY, azp: 'app-there' },
        { aud: ['app-there', RELYING_PARTY], azp: 'app-there' },
        { aud: ['app-there', RELYING_PARTY] },
        { aud: RELYING_PARTY, azp: [RELYING_PARTY] },
      ]
      for (const claims of rows) {
        const assertion = await assertionWith(claims)()
        if (mode === 'uaa') tokensOf(await send(assertion))
        else await refused(server, mode, () => send(assertion), refusal)
      }
    })

    // Covers oidc and oauth provider config: authorizedParties
    it('refuses an azp outside authorizedParties', async () => {
      const assertion = await assertionWith({ iss: 'https://shared.example', azp: 'app-elsewhere' })()
      await refused(server, mode, () => send(assertion), untrusted)
    })

    // Covers POST /oauth/token grant_type=jwt-bearer: error: no assertion
    // Covers compatibility: C11 error codes: passcode or assertion missing or wrong
    it('refuses a missing or empty assertion', async () => {
      const missing = {
        want: { standard: '400 invalid_request', uaa: '401 unauthorized' },
        description: 'Assertion is missing',
      } as const
      await refused(server, mode, () => server.token({ grant_type: JWT_BEARER }, { basic: PORTER }), missing)
      await refused(server, mode, () => send(''), missing)
    })

    for (const { name, assertion, basic, ...refusal } of REFUSED) {
      it(`refuses ${name}`, async () => {
        const value = await assertion()
        await refused(server, mode, () => send(value, basic), refusal)
      })
    }

    it('challenges with Basic in uaa, and without a challenge in standard', async () => {
      const rows = [
        ['nonsense', ', error="unauthorized", error_description="Unable to decode expected id_token"'],
        [await attacker.token(), ', error="unauthorized", error_description="Could not verify token signature."'],
      ] as const
      for (const [assertion, more] of rows) {
        const { headers } = await send(assertion)
        assert.equal(headers['www-authenticate'], mode === 'uaa' ? `Basic realm="SVC/client"${more}` : undefined)
      }
    })

    it('answers 413 to an assertion of 1 MB', async () => {
      const { status } = await send('x'.repeat(1_000_000))
      assert.equal(status, 413)
    })

    it('creates no account for a refused user', async () => {
      assert.equal(await account('barred'), undefined)
      assert.equal(await account('pat', 'closed'), undefined)
      assert.deepEqual(server.faults, [])
    })

    // Covers POST /oauth/token grant_type=jwt-bearer: response: refresh_token
    it('issues no refresh token to a client without that grant', async () => {
      const { refresh_token: token } = tokensOf(await send(await corp.token(), ['once', 'secret']))
      assert.equal(token, undefined)
    })

    // Covers POST /oauth/token grant_type=jwt-bearer: response: no `id_token`
    it('returns no ID token on refresh', async () => {
      const tokens = tokensOf(await send(await corp.token()))
      const again = tokensOf(await refresh(server, tokens.refresh_token, {}, PORTER))
      assert.equal(again.id_token, undefined)
      assert.equal(decodeJwt(again.access_token)['grant_type'], JWT_BEARER)
    })

    it('creates no account for a request with an unknown token_format', async () => {
      const answer = await send(await corp.token({ sub: 'formless' }), PORTER, { token_format: 'saml' })
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
      assert.equal(await account('formless'), undefined)
    })

    it('supports scope and token_format', async () => {
      const tokens = tokensOf(await send(await corp.token(), PORTER, { scope: 'openid', token_format: 'opaque' }))
      assert.equal(tokens.scope, 'openid')
      assert.match(tokens.access_token, /^[0-9a-f]{32}$/)
    })

    it('requires approval at refresh and introspection unless auto-approved', async () => {
      const tokens = tokensOf(await send(await corp.token(), ['asking', 'secret']))
      assert.equal(await isAlive(server, tokens.access_token), false)
      await refused(server, mode, () => refresh(server, tokens.refresh_token, {}, ['asking', 'secret']), {
        want: { standard: '400 invalid_grant', uaa: '401 invalid_token' },
        description: /not approved/,
      })
      const auto = tokensOf(await send(await corp.token()))
      assert.equal(await isAlive(server, auto.access_token), true)
    })

    it('caches discovery documents and keys', () => {
      assert.equal(publisher.asked.filter(path => path.startsWith('/.well-known')).length, 1)
      assert.ok(publisher.asked.filter(path => path === '/gone').length <= 2)
      assert.equal(publisher.asked.filter(path => path === '/keys').length, 1)
    })

    it('accepts a new key once the provider publishes it', async () => {
      const next = await createOidcProvider(clock, { kid: 'corp-next' })
      publisher.answers.set('/keys', { keys: [corp.jwk, next.jwk] })
      clock.advance(31)
      tokensOf(await send(await next.token({ iss: 'https://far.example' })))
    })

    it('finds no provider of another zone', async () => {
      const form = { grant_type: JWT_BEARER, assertion: await corp.token() }
      const sending = () => server.send('/oauth/token', { form, basic: PORTER, host: 'z1.localhost:8080' })
      await refused(server, mode, sending, unmapped(CORP))
    })
  })
}

describe('grant_type=jwt-bearer with many providers with discovery documents', () => {
  it('fetches all documents to find the provider', async () => {
    const publisher = await startPublisher()
    // More than are fetched concurrently.
    const names = Array.from({ length: 12 }, (_, index) => `many-${index}`)
    for (const name of names) publisher.answers.set(`/${name}`, { issuer: `https://${name}.example` })
    const identity_providers = names.map(name =>
      provider(name, { issuer: null, tokenKey: corp.jwks, discoveryUrl: `${publisher.url}/${name}` }),
    )
    const bootstrap = { ...defaultBootstrap, clients: [client('porter')], identity_providers }
    const server = await startServer({ clock, config: { bootstrap } })
    try {
      const form = { grant_type: JWT_BEARER, assertion: await corp.token({ iss: 'https://many-11.example' }) }
      const { access_token: token } = tokensOf(await server.token(form, { basic: PORTER }))
      assert.equal(decodeJwt(token)['origin'], 'many-11')
      assert.deepEqual(publisher.asked.toSorted(), names.map(name => `/${name}`).toSorted())
    } finally {
      await server.stop()
      await publisher.stop()
    }
  })
})

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
const stranger = await createOidcProvider(clock)

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
const said = (claims?: object, header?: object) => signedBy(corp, claims, header)
const claimsOf = async (): Promise<Record<string, unknown>> => decodeJwt(await corp.token())

async function forged(change: (parts: [string, string, string]) => readonly string[]): Promise<string> {
  const [header = '', payload = '', signature = ''] = (await corp.token()).split('.')
  return change([header, payload, signature]).join('.')
}

const REFUSED: readonly Case[] = [
  // Covers POST /oauth/token grant_type=jwt-bearer: error: not decodable
  { name: 'what is not a JWT', assertion: () => 'nonsense', ...UNDECODABLE },
  { name: 'dots only', assertion: () => '..', ...UNDECODABLE },
  { name: 'a payload that is not JSON', assertion: () => 'e30.bm9wZQ.AAAA', ...UNDECODABLE },
  { name: 'a payload that is a list', assertion: () => 'e30.W10.AAAA', ...UNDECODABLE },
  { name: 'an encrypted token', assertion: () => 'e30.e30.e30.e30.e30', ...UNDECODABLE },
  { name: 'more than 32 KiB', assertion: said({ pad: 'x'.repeat(33_000) }), ...UNDECODABLE },
  { name: 'SAML', assertion: () => '<Assertion/>', ...UNDECODABLE },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: no iss
  {
    name: 'a token without an issuer',
    assertion: said({ iss: undefined }),
    ...unauthorized,
    description: 'Issuer is missing in id_token',
  },
  {
    name: 'an issuer that is not a string',
    assertion: said({ iss: 7 }),
    ...unauthorized,
    description: 'Issuer is missing in id_token',
  },
  ...['logout+jwt', 'application/Logout+JWT', 'dpop+jwt', 'client-authentication+jwt', 'secevent+jwt', 7].map(typ => ({
    name: `the type ${typ}`,
    assertion: said({}, { typ }),
    ...untrusted,
    description: 'The token is of another kind',
  })),
  // Covers POST /oauth/token grant_type=jwt-bearer: error: no single provider
  {
    name: 'an unregistered issuer',
    assertion: said({ iss: 'https://x.example' }),
    ...unmapped('https://x.example'),
  },
  // Covers oidc and oauth provider config: issuer
  { name: 'an issuer with a slash more', assertion: said({ iss: `${CORP}/` }), ...unmapped(`${CORP}/`) },
  // Covers POST /oauth/token grant_type=jwt-bearer: rule: issuer of one OIDC provider
  {
    name: 'an issuer of two providers',
    assertion: said({ iss: 'https://twice.example' }),
    ...unmapped('https://twice.example'),
  },
  {
    name: 'an issuer of an inactive provider',
    assertion: said({ iss: 'https://off.example' }),
    ...unmapped('https://off.example'),
  },
  {
    name: 'an issuer of a provider without OpenID Connect',
    assertion: said({ iss: 'https://plain.example' }),
    ...unmapped('https://plain.example'),
  },
  {
    name: 'a provider whose discovery document is gone',
    assertion: said({ iss: 'https://lost.example' }),
    ...unmapped('https://lost.example'),
  },
  { name: 'line breaks and quotes in the issuer', assertion: said({ iss: 'a"\r\nb: c' }), ...unmapped('a???b: c') },
  {
    name: 'a changed payload',
    assertion: () => forged(([h, , s]) => [h, btoa('{"iss":"https://corp.example"}').replace(/=+$/, ''), s]),
    ...SIGNATURE,
  },
  {
    name: 'a changed signature',
    assertion: () => forged(([h, p, s]) => [h, p, `${s.startsWith('A') ? 'B' : 'A'}${s.slice(1)}`]),
    ...SIGNATURE,
  },
  { name: 'a missing signature', assertion: () => forged(([h, p]) => [h, p, '']), ...SIGNATURE },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: signature
  { name: 'a foreign key under the same name', assertion: signedBy(stranger), ...SIGNATURE },
  { name: 'another algorithm than that of the key', assertion: signedBy(curve), ...SIGNATURE },
  {
    name: 'an unpublished key',
    assertion: said({}, { kid: 'corp-2' }),
    ...SIGNATURE,
  },
  { name: 'a key with the name of a path', assertion: said({}, { kid: '../../etc/passwd' }), ...SIGNATURE },
  { name: 'a key with the name of SQL', assertion: said({}, { kid: `' or 1=1 --` }), ...SIGNATURE },
  {
    name: 'the algorithm none',
    assertion: async () => unsigned({ alg: 'none' }, await claimsOf()),
    ...SIGNATURE,
  },
  {
    name: 'the algorithm None with a signature',
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
    name: 'HS256 with the public key where the key is PEM',
    assertion: async () =>
      new SignJWT({ ...(await claimsOf()), iss: 'https://pem.example' })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(publicKeyAsSecret(curve)),
    ...SIGNATURE,
  },
  {
    name: 'a key that the token brings along',
    assertion: () => stranger.token({}, { jwk: stranger.jwk }),
    ...SIGNATURE,
  },
  {
    name: 'an unsupported extension',
    assertion: async () => {
      const header = { alg: 'RS256', kid: 'corp-1', crit: ['x'], x: 1 }
      return new SignJWT(await claimsOf()).setProtectedHeader(header).sign(corp.privateKey, { crit: { x: true } })
    },
    ...SIGNATURE,
  },
  { name: 'a provider without a key', assertion: said({ iss: 'https://keyless.example' }), ...SIGNATURE },
  { name: 'a provider whose key is garbage', assertion: said({ iss: 'https://garbled.example' }), ...SIGNATURE },
  { name: 'a provider whose PEM is garbage', assertion: said({ iss: 'https://broken-pem.example' }), ...SIGNATURE },
  { name: 'a provider whose keys cannot be fetched', assertion: said({ iss: 'https://down.example' }), ...SIGNATURE },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: audience
  {
    name: 'the audience of another server',
    assertion: said({ aud: 'another' }),
    ...untrusted,
    description: `Some parties were not in the token audience: ${RELYING_PARTY}`,
  },
  {
    name: 'no audience',
    assertion: said({ aud: undefined }),
    ...untrusted,
    description: `Some parties were not in the token audience: ${RELYING_PARTY}`,
  },
  {
    name: 'an audience that only contains ours as a part',
    assertion: said({ aud: [`${RELYING_PARTY}2`] }),
    ...untrusted,
  },
  { name: 'a provider without a relying party id', assertion: said({ iss: 'https://nameless.example' }), ...untrusted },
  {
    name: 'no expiry',
    assertion: said({ exp: undefined }),
    ...untrusted,
    description: 'Token does not bear a valid EXP claim.',
  },
  {
    name: 'an expiry beyond every calendar',
    assertion: said({ exp: 1e300 }),
    ...untrusted,
    description: 'Token does not bear a valid EXP claim.',
  },
  {
    name: 'an expiry that is a text',
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
    name: 'a token that is bound to the key of its sender',
    assertion: said({ cnf: { jkt: 'x'.repeat(43) } }),
    ...untrusted,
    description: 'The token is bound to its sender',
  },
  {
    name: 'no user name',
    assertion: said({ sub: undefined }),
    ...unauthorized,
    description: 'Unable to map claim to a username',
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: no user name
  {
    name: 'no claim that the user name is mapped to',
    assertion: said({ iss: 'https://mapped.example' }),
    ...unauthorized,
    description: 'Unable to map claim to a username',
  },
  { name: 'a user name of NUL', assertion: said({ sub: 'pat\0' }), ...unauthorized },
  { name: 'a user name of 300 characters', assertion: said({ sub: 'p'.repeat(300) }), ...unauthorized },
  {
    name: 'several e-mail addresses',
    assertion: said({ email: ['a@corp.example', 'b@corp.example'] }),
    ...unauthorized,
    description: 'Claim mapping for email attribute is ambiguous',
  },
  {
    name: 'a name that is an object',
    assertion: said({ given_name: { first: 'Pat' } }),
    ...unauthorized,
    description: 'External token attribute given_name cannot be mapped to user attribute given_name',
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: user not pre-created
  {
    name: 'a user without an account where none is made',
    assertion: said({ iss: 'https://closed.example' }),
    ...unauthorized,
    description: 'The user account must be pre-created. Please contact your system administrator.',
  },
  {
    name: 'an account that was deactivated',
    assertion: said({ sub: 'left' }),
    ...unauthorized,
    description: 'Unable to register user in internal UAA store.',
  },
  {
    name: 'an address of two accounts',
    assertion: said({ sub: 'new', email: 'twin@corp.example', email_verified: true }),
    ...unauthorized,
  },
  // Covers POST /oauth/token grant_type=jwt-bearer: error: provider not allowed
  {
    name: 'a provider that the client does not allow',
    assertion: said({ sub: 'barred' }),
    basic: ['own-only', 'secret'],
    want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
    description: "Client is not authorized for specified user's identity provider.",
  },
  {
    name: 'a client that was not given the grant',
    assertion: said(),
    basic: APP,
    want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
    description: 'Unauthorized grant type',
  },
  {
    name: 'a user who lacks a group that the client requires',
    assertion: said(),
    basic: ['strict', 'secret'],
    want: '400 invalid_scope',
    description: "User does not meet the client's required group criteria.",
  },
]

for (const mode of MODES) {
  describe(`grant_type=jwt-bearer with a provider's token, ${mode}`, () => {
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
    it('answers an access token and a refresh token for an account that it makes, and no ID token', async () => {
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

    it('records in the audit trail who signed in by which provider, and of a refusal nothing that could be used', async () => {
      const from = server.events.length
      await send(await corp.token({ sub: 'trail' }))
      const bad = await stranger.token({ sub: 'trail' })
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
        name: 'a list of audiences, issued to this server',
        assertion: said({ aud: ['other', RELYING_PARTY], azp: RELYING_PARTY }),
      },
      {
        name: 'a token of a party that the record names',
        assertion: said({ iss: 'https://shared.example', aud: ['app-there', RELYING_PARTY], azp: 'app-there' }),
        user: ['pat', 'shared'],
      },
      {
        name: 'a token that is valid from now on, by a clock that is a minute fast',
        assertion: () => corp.token({ nbf: at(60) }),
      },
      { name: 'the same token again, which is how clients use it', assertion: said() },
      { name: 'an access token of the provider', assertion: said({}, { typ: 'application/at+jwt' }) },
      { name: 'a token with the type of any JWT', assertion: said({}, { typ: 'JWT' }) },
      { name: 'a token with the type of the grant', assertion: said({}, { typ: 'authorization-grant+jwt' }) },
      {
        name: 'a token with the address of foreign keys, which is not fetched',
        assertion: said({}, { jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert' }),
      },
      // Partly covers oidc and oauth provider config: tokenKey
      {
        name: 'a key in PEM, whatever the key is called',
        assertion: signedBy(curve, { iss: 'https://pem.example' }),
        user: ['pat', 'pem'],
      },
      // Covers oidc and oauth provider config: tokenKeyUrl
      {
        name: 'keys that the provider publishes',
        assertion: said({ iss: 'https://far.example' }),
        user: ['pat', 'far'],
      },
      {
        name: 'issuer and keys that are discovered',
        assertion: said({ iss: 'https://found.example' }),
        user: ['pat', 'found'],
      },
      {
        name: 'the token URL in the place of an issuer',
        assertion: said({ iss: 'https://by-url.example/token' }),
        user: ['pat', 'named-by-url'],
      },
      {
        name: 'claims that are mapped',
        assertion: said({ iss: 'https://mapped.example', login: 'Pat!', mail: ['p@x.example'] }),
        user: ['Pat!', 'mapped'],
      },
      {
        name: 'a user whose account was made before',
        assertion: said({ iss: 'https://closed.example', sub: 'known', email: undefined }),
        user: ['known', 'closed'],
      },
    ]
    for (const { name, assertion, user: [userName, origin] = ['pat', 'corp'] } of accepted) {
      it(`takes ${name}`, async () => {
        const tokens = tokensOf(await send(await assertion()))
        const { user_id: id } = decodeJwt<{ user_id: string }>(tokens.access_token)
        assert.equal((await account(userName, origin))?.id, id)
      })
    }

    it('takes what was issued to another party in uaa, and only what was issued to this server in standard (C9)', async () => {
      const refusal = { want: '400 invalid_grant', description: 'The token was issued to another party.' }
      const rows = [
        { aud: RELYING_PARTY, azp: 'app-there' },
        { aud: ['app-there', RELYING_PARTY], azp: 'app-there' },
        { aud: ['app-there', RELYING_PARTY] },
        { aud: RELYING_PARTY, azp: [RELYING_PARTY] },
      ]
      for (const claims of rows) {
        const assertion = await said(claims)()
        if (mode === 'uaa') tokensOf(await send(assertion))
        else await refused(server, mode, () => send(assertion), refusal)
      }
    })

    // Covers oidc and oauth provider config: authorizedParties
    it('refuses a party that a record with parties does not name', async () => {
      const assertion = await said({ iss: 'https://shared.example', azp: 'app-elsewhere' })()
      await refused(server, mode, () => send(assertion), untrusted)
    })

    // Covers POST /oauth/token grant_type=jwt-bearer: error: no assertion
    // Covers compatibility: C11 error codes: passcode or assertion missing or wrong
    it('refuses a request without an assertion, or with an empty one', async () => {
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

    it('challenges like a client in uaa, and has nothing to challenge in standard', async () => {
      const rows = [
        ['nonsense', ', error="unauthorized", error_description="Unable to decode expected id_token"'],
        [await stranger.token(), ', error="unauthorized", error_description="Could not verify token signature."'],
      ] as const
      for (const [assertion, more] of rows) {
        const { headers } = await send(assertion)
        assert.equal(headers['www-authenticate'], mode === 'uaa' ? `Basic realm="SVC/client"${more}` : undefined)
      }
    })

    it('refuses an assertion of a megabyte before it is read', async () => {
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
    it('refreshes without an ID token', async () => {
      const tokens = tokensOf(await send(await corp.token()))
      const again = tokensOf(await refresh(server, tokens.refresh_token, {}, PORTER))
      assert.equal(again.id_token, undefined)
      assert.equal(decodeJwt(again.access_token)['grant_type'], JWT_BEARER)
    })

    it('narrows the scope, and makes an opaque token when that is asked for', async () => {
      const tokens = tokensOf(await send(await corp.token(), PORTER, { scope: 'openid', token_format: 'opaque' }))
      assert.equal(tokens.scope, 'openid')
      assert.match(tokens.access_token, /^[0-9a-f]{32}$/)
    })

    it('implies no approval: it is asked for at refresh and introspection unless the client approves by itself', async () => {
      const tokens = tokensOf(await send(await corp.token(), ['asking', 'secret']))
      assert.equal(await isAlive(server, tokens.access_token), false)
      await refused(server, mode, () => refresh(server, tokens.refresh_token, {}, ['asking', 'secret']), {
        want: { standard: '400 invalid_grant', uaa: '401 invalid_token' },
        description: /not approved/,
      })
      const auto = tokensOf(await send(await corp.token()))
      assert.equal(await isAlive(server, auto.access_token), true)
    })

    it('fetches neither document again for every token', () => {
      assert.equal(publisher.asked.filter(path => path.startsWith('/.well-known')).length, 1)
      assert.ok(publisher.asked.filter(path => path === '/gone').length <= 2)
      assert.equal(publisher.asked.filter(path => path === '/keys').length, 1)
    })

    it('accepts a new key of the provider once its document contains it', async () => {
      const next = await createOidcProvider(clock, { kid: 'corp-next' })
      publisher.answers.set('/keys', { keys: [corp.jwk, next.jwk] })
      clock.advance(31)
      tokensOf(await send(await next.token({ iss: 'https://far.example' })))
    })

    it('knows no provider of another zone', async () => {
      const form = { grant_type: JWT_BEARER, assertion: await corp.token() }
      const sending = () => server.send('/oauth/token', { form, basic: PORTER, host: 'z1.localhost:8080' })
      await refused(server, mode, sending, unmapped(CORP))
    })
  })
}

describe('grant_type=jwt-bearer among many providers with a discovery document', () => {
  it('reads all documents, and finds the provider at once', async () => {
    const publisher = await startPublisher()
    // More than may be asked for their documents at a time.
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

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { addSeconds } from '../../src/base/clock.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import {
  APP,
  changeClient,
  changeUser,
  exchange,
  insertCode,
  MODES,
  passwordTokens,
  refused,
  SERVICE,
  tokensOf,
  userNamed,
} from '../support/oauth.ts'
import type { Refusal, Tokens } from '../support/oauth.ts'
import { createOidcProvider, publicKeyAsSecret, unsigned } from '../support/oidc-provider.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

const client = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: [JWT_BEARER, 'authorization_code', 'refresh_token', 'password'],
  redirect_uri: ['https://porter.example/cb'],
  scope: ['openid', 'cloud.read', 'cloud.write'],
  autoapprove: true,
  ...more,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('porter'),
    client('foreign', { allowedproviders: ['corp'] }),
    client('minimal', { id_token_minimal: true }),
    client('openid', { scope: ['openid'] }),
    client('buyer', { resources: ['https://api.example/'] }),
    caller('root', 'svc.admin'),
  ],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: { clients: [client('porter')], users: defaultBootstrap.users },
    },
  ],
}

const PORTER = ['porter', 'secret'] as const
const unauthorized = { want: { standard: '400 invalid_grant', uaa: '401 unauthorized' } } as const
const untrusted = { want: { standard: '400 invalid_grant', uaa: '401 invalid_token' } } as const
const invalidGrant = { want: '400 invalid_grant' } as const

for (const mode of MODES) {
  describe(`grant_type=jwt-bearer with this server's own tokens in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const zone_config = { protocols: { resourceIndicators: true } }
      server = await startServer({ mode, config: { bootstrap, zone_config } })
    })
    after(() => server.stop())

    const send = (assertion: string, basic: readonly [string, string] = PORTER, host?: string): Promise<TestAnswer> =>
      server.token({ grant_type: JWT_BEARER, assertion }, { basic, ...(host !== undefined && { host }) })
    const own = (form: Readonly<Record<string, string>> = {}): Promise<Tokens> => passwordTokens(server, form, PORTER)
    const refuse = (assertion: string, refusal: Refusal, basic?: readonly [string, string]): Promise<TestAnswer> =>
      refused(server, mode, () => send(assertion, basic), refusal)

    // Covers POST /oauth/token grant_type=jwt-bearer: rule: own issuer with origin
    it('accepts an ID token of the same client repeatedly, and keeps auth_time', async () => {
      const { id_token: idToken } = await own()
      server.clock.advance(60)
      const first = tokensOf(await send(idToken))
      const second = tokensOf(await send(idToken))
      assert.notEqual(first.jti, second.jti)
      const claims = decodeJwt(first.access_token)
      const user = await userNamed(server, 'marissa')
      assert.deepEqual(
        [claims['user_id'], claims['grant_type'], claims['auth_time']],
        [user.id, JWT_BEARER, decodeJwt(idToken)['auth_time']],
      )
      assert.equal(first.id_token, undefined)
      assert.equal(first.scope, 'openid cloud.read'.split(' ').toSorted().join(' '))
      assert.equal(typeof first.refresh_token, 'string')
    })

    it('accepts an access token of the same client', async () => {
      tokensOf(await send((await own()).access_token))
    })

    // Otherwise the resource could exchange it for a token with all audiences of the user's scopes.
    it('refuses a token for another resource (RFC 8707)', async () => {
      const buyer = ['buyer', 'secret'] as const
      const { access_token: token } = await passwordTokens(server, { resource: 'https://api.example/' }, buyer)
      await refuse(token, untrusted)
      await refuse(token, untrusted, buyer)
    })

    it('does not count as a sign-in', async () => {
      const tokens = await own()
      const before = await userNamed(server, 'marissa')
      server.clock.advance(5)
      tokensOf(await send(tokens.id_token))
      assert.deepEqual(await userNamed(server, 'marissa'), before)
    })

    // Covers POST /oauth/token grant_type=jwt-bearer: rule: audience
    // Covers compatibility: token endpoint: C9 jwt-bearer
    it('accepts a token of another client in uaa, in standard only with this client in its audience (C9)', async () => {
      const other = await passwordTokens(server)
      for (const token of [other.id_token, other.access_token]) {
        const description = 'Some parties were not in the token audience: porter'
        if (mode === 'standard') await refuse(token, { ...untrusted, description })
        else tokensOf(await send(token))
      }
    })

    it('refuses a refresh token, an opaque token and a client token', async () => {
      const opaque = await own({ token_format: 'opaque' })
      const { access_token: ofClient } = tokensOf(
        await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE }),
      )
      await refuse(opaque.refresh_token, unauthorized)
      await refuse(opaque.access_token, { ...unauthorized, description: 'Unable to decode expected id_token' })
      await refuse(ofClient, { ...unauthorized, description: /^Unable to map issuer, / })
    })

    it('refuses a JWT refresh token', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const tokenPolicy = { refreshTokenFormat: 'jwt' } as const
      await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy } })
      const { refresh_token: token } = await own()
      await server.store.zones.update(zone)
      assert.equal(typeof decodeJwt(token)['origin'], 'string')
      await refuse(token, { ...unauthorized, description: 'Unable to decode expected id_token' })
    })

    it('refuses an ID token without origin', async () => {
      const { id_token: idToken } = await passwordTokens(server, {}, ['minimal', 'secret'])
      await refuse(idToken, { ...unauthorized, description: /^Unable to map issuer, / }, ['minimal', 'secret'])
    })

    it('refuses expired tokens', async () => {
      const tokens = await own()
      server.clock.advance(12 * 3600)
      await refuse(tokens.id_token, { ...untrusted, description: /^Token expired at / })
      await refuse(tokens.access_token, { ...untrusted, description: /expired at / })
    })

    it('refuses a forged token', async () => {
      const { id_token: idToken } = await own()
      const attacker = await createOidcProvider(server.clock)
      const claims = decodeJwt(idToken)
      const { kid = '' } = decodeProtectedHeader(idToken)
      const [published] = (await server.send('/token_keys')).json<{ keys: { value: string }[] }>().keys
      const [head = '', body = '', signature = ''] = idToken.split('.')
      const forged = [
        await attacker.token(claims, { kid }),
        await attacker.token(claims, { kid: '../../../dev/null' }),
        await attacker.token(claims, { kid: `' union select 1 --` }),
        await attacker.token(claims, { kid: undefined }),
        await attacker.token(claims, { jwk: attacker.jwk, kid }),
        unsigned({ alg: 'none', kid }, claims),
        `${head}.${body}.`,
        `${head}.${body.slice(0, -1)}${body.endsWith('A') ? 'B' : 'A'}.${signature}`,
        await new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid })
          .sign(publicKeyAsSecret({ ...attacker, pem: published?.value ?? '' })),
      ]
      for (const assertion of forged) {
        const answer = await send(assertion)
        const { error } = answer.json()
        // A modified payload may not be JSON, which is reported before the signature.
        const codes = mode === 'standard' ? ['400 invalid_grant'] : ['401 invalid_token', '401 unauthorized']
        assert.ok(codes.includes(`${answer.status} ${String(error)}`), answer.text)
      }
    })

    it('refuses tokens of another zone', async () => {
      const host = 'z1.localhost:8080'
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const theirs = tokensOf(await server.token(form, { basic: PORTER, host }))
      await refuse(theirs.id_token, { ...unauthorized, description: /^Unable to map issuer, / })
      const ours = await own()
      await refused(server, mode, () => send(ours.id_token, PORTER, host), unauthorized)
      tokensOf(await send(theirs.id_token, PORTER, host))
    })

    it('refuses a client that allows only other providers', async () => {
      const tokens = await own()
      await refuse(
        tokens.id_token,
        {
          want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
          description: "Client is not authorized for specified user's identity provider.",
        },
        ['foreign', 'secret'],
      )
    })

    it('refuses a revoked token that is not stored', async () => {
      const tokens = await own()
      await server.store.tokens.revokeUnstored('svc', tokens.jti, new Date(server.clock.now().getTime() + 1e8))
      await refuse(tokens.access_token, { ...untrusted, description: /^The token has been revoked$/ })
      await refuse(tokens.id_token, { ...untrusted, description: /^The token has been revoked$/ })
    })

    if (mode === 'standard') {
      it('refuses the ID token of a grant revoked by an administrator or by code reuse', async () => {
        const tokens = await own()
        const { id } = await userNamed(server, 'marissa')
        const bearer = await tokenOf(server, 'root')
        const revoked = await server.send(`/oauth/token/revoke/user/${id}/client/porter`, { bearer })
        assert.equal(revoked.status, 200)
        await refuse(tokens.id_token, { ...untrusted, description: 'The token has been revoked' })
        const code = await insertCode(server, { clientId: 'porter', scopes: ['openid'] })
        const redeemed = tokensOf(await exchange(server, code, {}, PORTER))
        tokensOf(await send(redeemed.id_token))
        assert.equal((await exchange(server, code, {}, PORTER)).status, 400)
        await refuse(redeemed.id_token, { ...untrusted, description: 'The token has been revoked' })
      })
    }

    it('refuses the ID token of a session that its provider has ended, where the token names it (T4)', async () => {
      const code = await insertCode(server, { clientId: 'porter', scopes: ['openid'], sessionId: 'ended-session' })
      const { id_token: idToken } = tokensOf(await exchange(server, code, {}, PORTER))
      tokensOf(await send(idToken))
      const until = addSeconds(server.clock.now(), 3600)
      await server.store.tokens.revokeUnstored('svc', 'ended-session', until)
      if (mode === 'standard') await refuse(idToken, untrusted)
      else tokensOf(await send(idToken))
    })

    it('refuses tokens from before a password change', async () => {
      const tokens = await own()
      const { passwordRevision } = await userNamed(server, 'marissa')
      await changeUser(server, 'marissa', { passwordRevision: 'changed' })
      await refuse(tokens.id_token, { ...untrusted, description: 'revocable signature mismatch' })
      await refuse(tokens.access_token, { ...untrusted, description: 'revocable signature mismatch' })
      await changeUser(server, 'marissa', { passwordRevision })
      tokensOf(await send(tokens.id_token))
    })

    it("refuses tokens from before a change of the client's token salt", async () => {
      const tokens = await own()
      await changeClient(server, 'porter', { tokenSalt: 'new' })
      await refuse(tokens.id_token, { ...untrusted, description: 'revocable signature mismatch' })
      tokensOf(await send((await own()).id_token))
    })

    // Covers POST /oauth/token grant_type=jwt-bearer: error: no user resulted
    it('refuses a user who is deactivated, unverified, or has another origin now', async () => {
      const tokens = await own({ username: 'joel', password: 'wombat' })
      const gone = { ...invalidGrant, description: 'User authentication not found' }
      for (const change of [{ active: false }, { origin: 'corp' }]) {
        const { id } = await userNamed(server, 'joel')
        await changeUser(server, 'joel', change)
        await refuse(tokens.id_token, gone)
        const changed = await server.store.users.find('svc', id)
        assert.ok(changed)
        await server.store.users.update('svc', { ...changed, active: true, origin: 'svc' })
      }
      await changeUser(server, 'joel', { verified: false })
      await refuse(tokens.id_token, {
        want: { standard: '400 invalid_grant', uaa: '403 access_denied' },
        description: 'Account not verified',
      })
    })

    it('refuses a client without the grant', async () => {
      const { id_token: idToken } = await passwordTokens(server)
      const want = { standard: '400 unauthorized_client', uaa: '401 invalid_client' }
      await refuse(idToken, { want, description: 'Unauthorized grant type' }, APP)
    })

    it('refuses a revocable token whose row was deleted, in both modes', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      await server.store.zones.update({ ...zone, config: { ...zone.config, tokenPolicy: { jwtRevocable: true } } })
      const user = await userNamed(server, 'marissa')
      // The access token of a client named openid looks like an ID token in uaa.
      for (const caller of [PORTER, ['openid', 'secret']] as const) {
        const tokens = await passwordTokens(server, {}, caller)
        tokensOf(await send(tokens.access_token, caller))
        await server.store.tokens.deleteSomeOfUser('svc', user.id, caller[0])
        await refuse(tokens.access_token, { ...untrusted, description: /^The token has been revoked$/ }, caller)
      }
      assert.deepEqual(server.faults, [])
    })
  })
  describe(`grant_type=jwt-bearer with own tokens and a provider with the zone's issuer in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
      const bearer = await tokenOf(server, 'root')
      const { keys } = (await server.send('/token_keys')).json<{ keys: readonly { value: string }[] }>()
      const url = 'https://self.example/'
      const settings = { issuer: decodeJwt(bearer).iss, authUrl: url, tokenUrl: url, tokenKey: keys[0]?.value }
      const mapping = { showLinkText: false, attributeMappings: { user_name: 'user_name' } }
      const config = { ...settings, ...mapping, relyingPartyId: 'porter' }
      const body = { type: 'oidc1.0', originKey: 'self', name: 'This server', config }
      const created = await sendJson(server, 'POST', '/identity-providers', body, { bearer })
      assert.equal(created.status, 201, created.text)
    })
    after(() => server.stop())

    const send = (assertion: string): Promise<TestAnswer> =>
      server.token({ grant_type: JWT_BEARER, assertion }, { basic: PORTER })

    it('creates the user of the provider', async () => {
      const { id_token: idToken } = await passwordTokens(server, {}, PORTER)
      assert.equal(decodeJwt(tokensOf(await send(idToken)).access_token)['origin'], 'self')
    })

    it('refuses a client token', async () => {
      const token = await tokenOf(server, 'root')
      await refused(server, mode, () => send(token), { ...unauthorized, description: /^Unable to map issuer, / })
    })

    it('refuses a revoked token without creating an account', async () => {
      const tokens = await passwordTokens(server, { username: 'joel', password: 'wombat' }, PORTER)
      await server.store.tokens.revokeUnstored('svc', tokens.jti, new Date(server.clock.now().getTime() + 1e8))
      for (const token of [tokens.access_token, tokens.id_token]) {
        await refused(server, mode, () => send(token), { ...untrusted, description: /^The token has been revoked$/ })
      }
      assert.equal(await server.store.users.findByName('svc', 'self', 'joel'), undefined)
    })
  })
}

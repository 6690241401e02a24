import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { digest } from '../../src/base/secrets.ts'
import { revocationSignature } from '../../src/token/revocation-signature.ts'
import { freshDatabase } from '../support/databases.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import {
  AUTO,
  clientNamed,
  exchange,
  insertCode,
  isAlive,
  MODES,
  passwordTokens,
  SERVICE,
  tokensOf,
  userNamed,
  verified,
} from '../support/oauth.ts'

const FORM = { grant_type: 'client_credentials' }
const MINIMAL = ['minimal', 'secret'] as const
const WHOLE = ['whole', 'secret'] as const
/** When the user of the configuration was updated. */
const UPDATED_AT = 1_768_478_400
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'minimal',
      client_secret: 'secret',
      authorized_grant_types: ['password'],
      scope: ['openid', 'profile', 'email', 'phone'],
      id_token_minimal: true,
    },
    {
      client_id: 'whole',
      client_secret: 'secret',
      authorized_grant_types: ['password'],
      scope: ['openid', 'profile', 'email', 'phone'],
    },
    {
      client_id: 'quick',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
      access_token_validity: 30,
    },
    {
      client_id: 'by-server',
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
      access_token_validity: -1,
    },
  ],
  users: [
    {
      ...defaultBootstrap.users[0],
      phoneNumbers: [{ value: '+49 30 1234' }],
      externalId: 'x',
      salt: 'salt',
    },
  ],
}

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  describe(`Claims of tokens in ${mode}`, () => {
    let server: TestServer
    let issuer: string
    let now: number
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
      issuer = `${server.baseUrl}${isStandard ? '' : '/oauth/token'}`
      now = server.clock.now().getTime() / 1000
    })
    after(() => server.stop())
    const seconds = isStandard ? 3600 : 43_200

    // Covers JWT header: alg; kid; typ; jku (uaa)
    // Covers compatibility: tokens and userinfo: T7 access JWT
    it('include typ, alg and kid in the header, and jku only in uaa (T7)', async () => {
      const tokens = await passwordTokens(server)
      const [{ header: access }, { header: id }] = [
        await verified(server, tokens.access_token),
        await verified(server, tokens.id_token),
      ]
      const kid = (await server.send('/token_key')).json()['kid']
      const jku = isStandard ? {} : { jku: 'https://localhost:8080/token_keys' }
      assert.deepEqual(access, { alg: 'RS256', kid, typ: 'JWT', ...jku })
      assert.deepEqual(id, { alg: 'RS256', kid, typ: 'JWT', ...jku })
    })

    // Covers access token claims: jti; sub; client_id; cid; azp; scope; authorities; aud; iss; zid; iat; exp
    // Covers access token claims: grant_type; rev_sig
    it('of a client', async () => {
      const { access_token: token, jti, expires_in: lives } = tokensOf(await server.token(FORM, { basic: SERVICE }))
      const { payload } = await verified(server, token, { issuer, audience: 'service' })
      const scopes = ['jobs.run', 'jobs.read']
      assert.deepEqual(payload, {
        jti,
        sub: 'service',
        authorities: scopes,
        scope: isStandard ? scopes.join(' ') : scopes,
        client_id: 'service',
        cid: 'service',
        azp: 'service',
        grant_type: 'client_credentials',
        rev_sig: revocationSignature(await clientNamed(server, 'service'), undefined),
        iat: now,
        exp: now + seconds,
        iss: issuer,
        zid: 'svc',
        aud: ['jobs', 'service'],
      })
      assert.equal(lives, isStandard ? seconds : seconds - 1, 'remaining whole seconds (T9)')
    })

    // Covers access token claims: user_id; user_name; origin; email; auth_time
    it('of a user', async () => {
      const { access_token: token, jti } = await passwordTokens(server, { scope: 'openid cloud.read' })
      const { grant_id: grant, ...payload } = (await verified(server, token, { issuer, audience: 'app' })).payload
      const user = await userNamed(server, 'marissa')
      const scopes = ['cloud.read', 'openid']
      assert.deepEqual(payload, {
        jti,
        sub: user.id,
        scope: isStandard ? scopes.join(' ') : scopes,
        client_id: 'app',
        cid: 'app',
        azp: 'app',
        grant_type: 'password',
        user_id: user.id,
        user_name: 'marissa',
        origin: 'svc',
        email: 'marissa@example.org',
        auth_time: now,
        ...(isStandard && { amr: ['pwd'], acr: '1' }),
        rev_sig: revocationSignature(await clientNamed(server, 'app'), user),
        iat: now,
        exp: now + seconds,
        iss: issuer,
        zid: 'svc',
        aud: ['cloud', 'openid', 'app'],
      })
      assert.equal(typeof grant, isStandard ? 'string' : 'undefined')
    })

    const identity = { user_name: 'marissa', origin: 'svc' }
    const profile = { given_name: 'Marissa', family_name: 'Bloggs' }
    const wider = { name: 'Marissa Bloggs', preferred_username: 'marissa' }
    const email = { email: 'marissa@example.org', email_verified: true }
    const phone = { phone_number: '+49 30 1234' }
    const cases = [
      { scope: 'openid', standard: {}, uaa: email },
      {
        scope: 'openid profile',
        standard: { ...profile, ...wider, updated_at: UPDATED_AT },
        uaa: { ...email, ...profile, ...phone },
      },
      { scope: 'openid email', standard: email },
      { scope: 'openid phone', standard: { ...phone, phone_number_verified: false } },
    ]
    for (const { scope, ...want } of cases.filter(each => isStandard || each.uaa)) {
      // Covers configuration file: bootstrap.clients[]: id_token_minimal
      // Covers ID token: sub; user_id; user_name; email; origin; aud; azp; client_id; cid; iss; zid; iat; exp; jti
      // Covers ID token: rev_sig; grant_type; auth_time; amr; scope; given_name; family_name; phone_number
      // Covers ID token: email_verified
      // Covers compatibility: tokens and userinfo: T3 ID token claims
      // Covers every answer in standard: ID token: iss, aud, exp, iat, nonce, kid
      it(`of a user in the ID token for "${scope}" (T3)`, async () => {
        const tokens = await passwordTokens(server, { scope }, WHOLE)
        const { payload } = await verified(server, tokens.id_token, { issuer, audience: 'whole' })
        const user = await userNamed(server, 'marissa')
        const { at_hash: hash, grant_id: grant, previous_logon_time: previous, ...reported } = payload
        assert.deepEqual(reported, {
          sub: user.id,
          user_id: user.id,
          ...identity,
          ...want[mode],
          aud: ['whole'],
          azp: 'whole',
          client_id: 'whole',
          cid: 'whole',
          iss: issuer,
          zid: 'svc',
          iat: now,
          exp: now + seconds,
          jti: tokens.jti,
          rev_sig: revocationSignature(await clientNamed(server, 'whole'), user),
          grant_type: 'password',
          auth_time: now,
          amr: ['pwd'],
          ...(isStandard && { acr: '1' }),
          scope: ['openid'],
        })
        assert.deepEqual([typeof hash, typeof grant], isStandard ? ['string', 'string'] : ['undefined', 'undefined'])
        assert.ok(previous === undefined || Number.isInteger(previous))
      })
    }

    it('are reduced to required ones in a minimal ID token (T3)', async () => {
      const tokens = await passwordTokens(server, { scope: 'openid profile email phone' }, MINIMAL)
      const { at_hash: hash, ...reported } = decodeJwt(tokens.id_token)
      const { id } = await userNamed(server, 'marissa')
      const times = { iat: now, exp: now + seconds, auth_time: now }
      assert.deepEqual(reported, { sub: id, aud: ['minimal'], iss: issuer, ...times, ...(isStandard && { acr: '1' }) })
      assert.equal(typeof hash, isStandard ? 'string' : 'undefined')
      // It is still recognized as an ID token.
      const refusal = await server.send('/oauth/revoke', { form: { token: tokens.id_token }, basic: MINIMAL })
      assert.equal(refusal.json()['error'], 'unsupported_token_type')
      if (isStandard) assert.equal((await server.send('/userinfo', { bearer: tokens.id_token })).status, 401)
    })

    // Covers ID token: previous_logon_time
    it('include previous_logon_time (T3)', async () => {
      const before = server.clock.now().getTime()
      await passwordTokens(server)
      server.clock.advance(60)
      const { id_token: token } = await passwordTokens(server)
      assert.equal(decodeJwt(token)['previous_logon_time'], before)
      now += 60
    })

    // Covers ID token: sid
    // Covers compatibility: tokens and userinfo: T4 sid
    it('include sid in standard if the grant came from a browser (T4)', async () => {
      const byCode = tokensOf(await exchange(server, await insertCode(server)))
      assert.equal(decodeJwt(byCode.id_token)['sid'], isStandard ? 'session-of-auto' : undefined)
      assert.equal(decodeJwt((await passwordTokens(server)).id_token)['sid'], undefined)
    })

    // Covers every answer in standard: claims: right type, never null
    it('are never null, blank or "null"', async () => {
      const { access_token: access, id_token: id } = await passwordTokens(server, {}, AUTO)
      for (const token of [access, id]) {
        const empty = Object.entries(decodeJwt(token)).filter(
          ([, value]) => value === null || value === '' || value === 'null',
        )
        assert.deepEqual(empty, [])
      }
    })

    it('include another jti in the ID token of an opaque access token', async () => {
      const tokens = await passwordTokens(server, { token_format: 'opaque' })
      assert.equal(tokens.access_token, tokens.jti)
      assert.notEqual(decodeJwt(tokens.id_token).jti, tokens.access_token)
    })

    // Covers token lifetime: client `access_token_validity`
    it('include the expiry by the validity of the client', async () => {
      const answer = await server.token(FORM, { basic: ['quick', 'secret'] })
      const { access_token: token, expires_in: lives } = tokensOf(answer)
      assert.deepEqual([lives, decodeJwt(token).exp], [isStandard ? 30 : 29, now + 30])
    })
  })
}

for (const mode of MODES) {
  describe(`Type of an access token in ${mode} (T7)`, () => {
    const typed = {
      ...bootstrap,
      clients: [
        ...bootstrap.clients,
        { ...defaultBootstrap.clients[3], client_id: 'plain', accessTokenType: 'JWT' },
        { ...defaultBootstrap.clients[3], client_id: 'typed', accessTokenType: 'at+jwt' },
      ],
    }
    const cases = [
      { name: 'is JWT by default', zone: undefined, service: 'JWT' },
      // Covers Zone config in effect: tokenPolicy.accessTokenType
      { name: 'is that of the zone', zone: 'at+jwt', service: 'at+jwt' },
    ] as const
    for (const { name, zone, service } of cases) {
      it(`${name}, unless the client has its own type`, async () => {
        const config = { bootstrap: typed, ...(zone && { zone_config: { tokenPolicy: { accessTokenType: zone } } }) }
        const server = await startServer({ mode, config })
        try {
          const typeFor = async (id: string): Promise<unknown> => {
            const { access_token: token } = tokensOf(await server.token(FORM, { basic: [id, 'service-secret'] }))
            assert.ok(await isAlive(server, token), 'this server accepts either type')
            return decodeProtectedHeader(token).typ
          }
          assert.deepEqual(
            { service: await typeFor('service'), plain: await typeFor('plain'), typed: await typeFor('typed') },
            { service, plain: 'JWT', typed: 'at+jwt' },
          )
          const { id_token: idToken } = await passwordTokens(server)
          assert.equal(decodeProtectedHeader(idToken).typ, 'JWT')
        } finally {
          await server.stop()
        }
      })
    }
  })
}

describe('Lifetime of an access token', () => {
  const policies = [
    // Covers token lifetime: zone accessTokenValidity
    // Covers Zone config in effect: tokenPolicy.accessTokenValidity
    { name: 'is that of the zone', accessTokenValidity: 600, service: 600, quick: 30 },
    // Covers token lifetime: global default
    // Covers compatibility: tokens and userinfo: T9 lifetimes
    { name: 'is the default if that of the zone is -1 (T9)', accessTokenValidity: -1, service: 3600, quick: 30 },
  ]
  for (const { name, accessTokenValidity, service, quick } of policies) {
    it(`${name}, unless the client has its own`, async () => {
      const server = await startServer({ config: { bootstrap, zone_config: { tokenPolicy: { accessTokenValidity } } } })
      try {
        const lives = async (basic: readonly [string, string]): Promise<number> =>
          tokensOf(await server.token(FORM, { basic })).expires_in
        assert.deepEqual([await lives(SERVICE), await lives(['quick', 'secret'])], [service, quick])
        assert.equal(await lives(['by-server', 'secret']), 3600)
      } finally {
        await server.stop()
      }
    })
  }

  it('ends exactly at the expiry', async () => {
    const server = await startServer({ config: { bootstrap } })
    try {
      const { access_token: token } = tokensOf(await server.token(FORM, { basic: ['quick', 'secret'] }))
      server.clock.advance(29)
      assert.equal(await isAlive(server, token), true)
      server.clock.advance(1)
      assert.equal(await isAlive(server, token), false)
    } finally {
      await server.stop()
    }
  })
})

describe('Revocable access token', () => {
  let server: TestServer
  before(async () => (server = await startServer({ config: { zone_config: { tokenPolicy: { jwtRevocable: true } } } })))
  after(() => server.stop())

  // Covers access token claims: revocable
  // Covers opaque and revocable tokens: jwtRevocable
  it('is a JWT with the claim revocable', async () => {
    const { access_token: token } = tokensOf(await server.token(FORM, { basic: SERVICE }))
    assert.equal(decodeJwt(token)['revocable'], true)
    assert.ok(await isAlive(server, token))
  })

  // Covers opaque and revocable tokens: revoked entry is refused
  // Covers token validation: revoked
  // Covers Zone config in effect: tokenPolicy.jwtRevocable
  it('is revoked by deleting its row', async () => {
    const { access_token: token, jti } = await passwordTokens(server)
    assert.equal(await server.store.tokens.delete('svc', digest(jti)), true)
    assert.equal(await isAlive(server, token), false)
    const answer = await server.send('/userinfo', { bearer: token })
    assert.equal(answer.json()['error_description'], 'The token has been revoked')
  })

  it('cannot be used by its jti', async () => {
    const { jti } = tokensOf(await server.token(FORM, { basic: SERVICE }))
    assert.equal(await isAlive(server, jti), false)
  })
})

describe('Stored tokens', () => {
  // Covers token lifetime: expired rows are purged
  it('are purged after expiry', async () => {
    const server = await startServer({ config: { bootstrap } })
    try {
      const answer = await server.token({ ...FORM, token_format: 'opaque' }, { basic: ['quick', 'secret'] })
      const key = digest(tokensOf(answer).access_token)
      server.clock.advance(29)
      await server.store.purge(server.clock.now())
      assert.ok(await server.store.tokens.find('svc', key))
      server.clock.advance(2)
      await server.store.purge(server.clock.now())
      assert.equal(await server.store.tokens.find('svc', key), undefined)
    } finally {
      await server.stop()
    }
  })

  // Covers opaque and revocable tokens: stored only as a digest
  it('are stored only as digests', async () => {
    const database = await freshDatabase('sqlite')
    try {
      const server = await startServer({
        database: database.url,
        config: { zone_config: { tokenPolicy: { jwtRevocable: true } } },
      })
      const code = await insertCode(server)
      const opaque = await passwordTokens(server, { token_format: 'opaque' })
      const jwt = await passwordTokens(server)
      await server.stop()
      const path = database.url.replace('sqlite:', '')
      const bytes = readFileSync(path).toString('latin1')
      const secrets = [code, opaque.access_token, opaque.refresh_token, jwt.access_token, jwt.refresh_token]
      for (const secret of secrets) assert.equal(bytes.includes(secret), false)
      assert.ok(bytes.includes(digest(opaque.access_token)), 'the file contains the rows')
    } finally {
      await database.drop()
    }
  })
})

import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { SignJWT, decodeJwt, exportJWK } from 'jose'
import type { JWTHeaderParameters, JWTPayload } from 'jose'
import type { Client } from '../../src/model/clients/client.ts'
import type { User } from '../../src/model/users/user.ts'
import { provider } from '../store/records.ts'
import { privatePem } from '../support/config.ts'
import { freshDatabase } from '../support/databases.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { openTables } from '../support/tables.ts'
import {
  APP,
  changeClient,
  changeUser,
  clientNamed,
  isAlive,
  MODES,
  passwordTokens,
  refused,
  tokensOf,
} from '../support/oauth.ts'

const pem = privatePem('rsa', 2048)
const unknownPem = privatePem('rsa', 2048)
const own = createPrivateKey(pem)
const publicPem = createPublicKey(own).export({ type: 'spki', format: 'pem' }).toString()
const config = { signing_keys: { active: 'key', keys: { key: { alg: 'RS256', pem } } } }

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The same bytes in another spelling: four bits of the last character of a signature of 256 bytes are unused. */
function withOtherUnusedBits(token: string): string {
  const other = `${token.slice(0, -1)}${BASE64URL.charAt(BASE64URL.indexOf(token.slice(-1)) + 1)}`
  assert.deepEqual(
    Buffer.from(other.split('.')[2] ?? '', 'base64url'),
    Buffer.from(token.split('.')[2] ?? '', 'base64url'),
  )
  return other
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

for (const mode of MODES) {
  describe(`Invalid access token in ${mode}`, () => {
    let server: TestServer
    let good: { claims: JWTPayload; header: JWTHeaderParameters }
    before(async () => {
      server = await startServer({ mode, config })
      const token = (await passwordTokens(server)).access_token
      const header: JWTHeaderParameters = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
      good = { claims: decodeJwt(token), header }
    })
    after(() => server.stop())

    /** The claims of a genuine token with changes, by default signed with the server's own key. */
    const forge = (
      claims: Record<string, unknown>,
      header: Partial<JWTHeaderParameters> = {},
      key: Parameters<SignJWT['sign']>[0] = own,
    ): Promise<string> =>
      new SignJWT({ ...good.claims, ...claims }).setProtectedHeader({ ...good.header, ...header }).sign(key)

    it("is distinguished from a copy signed with the server's key", async () => {
      assert.equal((await server.send('/userinfo', { bearer: await forge({}) })).status, 200)
    })

    const SIGNATURE = 'Could not verify token signature.'
    const unknownKey = (kid: string): string => `Token header claim [kid] references unknown signing key : [${kid}]`
    const forgeries: readonly {
      readonly name: string
      readonly token: () => Promise<string>
      readonly description: string | RegExp
    }[] = [
      {
        name: 'alg none with an empty signature',
        token: async () => `${encode({ ...good.header, alg: 'none' })}.${encode(good.claims)}.`,
        description: SIGNATURE,
      },
      {
        name: 'alg none with the original signature',
        token: async () =>
          `${encode({ ...good.header, alg: 'none' })}.${encode(good.claims)}.${(await forge({})).split('.')[2] ?? ''}`,
        description: SIGNATURE,
      },
      {
        name: 'HS256 with the PEM public key as secret',
        token: () => forge({}, { alg: 'HS256' }, Buffer.from(publicPem)),
        description: SIGNATURE,
      },
      {
        name: 'HS256 with the PEM public key without trailing newline as secret',
        token: () => forge({}, { alg: 'HS256' }, Buffer.from(publicPem.trim())),
        description: SIGNATURE,
      },
      { name: 'another algorithm of the same key', token: () => forge({}, { alg: 'RS512' }), description: SIGNATURE },
      // Covers token validation: bad signature
      {
        name: 'the signature of another key',
        token: () => forge({}, {}, createPrivateKey(unknownPem)),
        description: SIGNATURE,
      },
      {
        name: 'a jwk in the header',
        token: async () =>
          forge({}, { jwk: await exportJWK(createPublicKey(unknownPem)) }, createPrivateKey(unknownPem)),
        description: SIGNATURE,
      },
      {
        name: 'a jku in the header',
        token: () => forge({}, { jku: 'http://127.0.0.1:1/keys' }, createPrivateKey(unknownPem)),
        description: SIGNATURE,
      },
      {
        name: 'modified claims',
        token: async () =>
          (await forge({}))
            .split('.')
            .with(1, encode({ ...good.claims, sub: 'x' }))
            .join('.'),
        description: SIGNATURE,
      },
      {
        name: 'the signature with other unused bits (RFC 4648 §3.5)',
        token: async () => withOtherUnusedBits(await forge({})),
        description: SIGNATURE,
      },
      { name: 'the signature with padding', token: async () => `${await forge({})}==`, description: SIGNATURE },
      { name: 'a payload that is not JSON', token: () => signedText('nonsense'), description: SIGNATURE },
      { name: 'a payload that is a JSON array', token: () => signedText('[]'), description: 'The token is malformed.' },
      { name: 'a critical extension', token: () => forgeCritical(), description: SIGNATURE },
      // Covers token validation: kid missing
      { name: 'no kid', token: () => withoutKid(), description: 'kid claim not found in JWT token header' },
      {
        name: 'a kid that is a number',
        token: async () => `${encode({ alg: 'RS256', kid: 7 })}.${encode(good.claims)}.x`,
        description: 'kid claim not found in JWT token header',
      },
      // Covers token validation: kid unknown
      { name: 'an unknown kid', token: () => forge({}, { kid: 'other' }), description: unknownKey('other') },
      {
        name: 'a kid that is a path',
        token: () => forge({}, { kid: '../../../../dev/null' }),
        description: unknownKey('../../../../dev/null'),
      },
      {
        name: 'SQL as kid',
        token: () => forge({}, { kid: "x' union select 'y" }),
        description: unknownKey("x' union select 'y"),
      },
      {
        name: 'an object property as kid',
        token: () => forge({}, { kid: '__proto__' }),
        description: unknownKey('__proto__'),
      },
      {
        name: 'a kid with a line break and quotes',
        token: () => forge({}, { kid: 'a\r\n"b' }),
        description: unknownKey('a???b'),
      },
      {
        name: 'a kid of 10,000 characters',
        token: () => forge({}, { kid: 'k'.repeat(10_000) }),
        description: unknownKey('k'.repeat(200)),
      },
      // Covers error body: error: invalid_token
      // Covers token validation: wrong issuer
      {
        name: 'another issuer',
        token: () => forge({ iss: 'https://evil.example' }),
        description:
          /^Invalid issuer \(https:\/\/evil\.example\) for token did not match expected: http:\/\/localhost:8080/,
      },
      { name: 'no issuer', token: () => forge({ iss: undefined }), description: /^Invalid issuer \(undefined\)/ },
      {
        name: 'no exp',
        token: () => forge({ exp: undefined }),
        description: 'Invalid access token: expired at an unknown time',
      },
      {
        name: 'exp as a string',
        token: () => forge({ exp: 'never' }),
        description: 'Invalid access token: expired at an unknown time',
      },
      {
        name: 'exp null',
        token: () => forge({ exp: null }),
        description: /^Invalid access token: expired at /,
      },
      // Covers token validation: client gone
      {
        name: 'an unknown client',
        token: () => forge({ client_id: 'nobody' }),
        description: 'The token refers to a non-existent client: nobody',
      },
      // Covers token validation: user gone
      {
        name: 'an unknown user',
        token: () => forge({ user_id: 'nobody' }),
        description: 'Token bears a non-existent user ID: nobody',
      },
      {
        name: 'user_id as a number',
        token: () => forge({ user_id: 7 }),
        description: 'The token is malformed.',
      },
      {
        name: 'a missing user_id of a user token',
        token: () => forge({ user_id: undefined }),
        description: 'Invalid access token',
      },
      { name: 'another rev_sig', token: () => forge({ rev_sig: '0' }), description: 'revocable signature mismatch' },
      {
        name: 'a scope that the user does not have',
        token: () => forge({ scope: ['openid', 'cloud.write'] }),
        description: /missing: \[cloud\.write\]$/,
      },
      {
        name: 'the jti of a refresh token',
        token: () => forge({ jti: `${'0'.repeat(32)}-r` }),
        description: 'The token expired, was revoked, or the token ID is incorrect.',
      },
      {
        name: 'revocable without a stored row',
        token: () => forge({ revocable: true, jti: 'x' }),
        description: 'The token has been revoked',
      },
      {
        name: 'four parts',
        token: async () => `${await forge({})}.x`,
        description: 'The token expired, was revoked, or the token ID is incorrect.',
      },
      {
        name: 'five parts like an encrypted token',
        token: async () => 'a.b.c.d.e',
        description: 'The token expired, was revoked, or the token ID is incorrect.',
      },
    ]
    const signedText = async (text: string): Promise<string> => {
      const { CompactSign } = await import('jose')
      return new CompactSign(Buffer.from(text)).setProtectedHeader(good.header).sign(own)
    }
    const forgeCritical = async (): Promise<string> => {
      const header = { ...good.header, crit: ['x'], x: true }
      return new SignJWT(good.claims).setProtectedHeader(header).sign(own, { crit: { x: true } })
    }
    const withoutKid = (): Promise<string> =>
      new SignJWT(good.claims).setProtectedHeader({ alg: 'RS256', typ: 'JWT' }).sign(own)

    for (const { name, token, description } of forgeries) {
      it(`refuses ${name}`, async () => {
        const bearer = await token()
        // Descriptions have no quotes in either mode, because the standard forbids them.
        await refused(server, mode, () => server.send('/userinfo', { bearer }), {
          want: '401 invalid_token',
          description,
          challenge: /^Bearer realm="SVC\/oauth", error="invalid_token", error_description="[^"\\]+"$/,
        })
        assert.equal(await isAlive(server, bearer), false)
      })
    }

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })

  describe(`Access token whose preconditions changed in ${mode}`, () => {
    interface Loss {
      readonly name: string
      readonly user?: Partial<User>
      readonly client?: (client: Client) => Partial<Client>
      readonly description: string
    }
    const quote = mode === 'uaa' ? '"' : '?'
    const losses: readonly Loss[] = [
      // Covers token validation: revocation signature mismatch
      { name: 'the password changed', user: { passwordRevision: 'next' }, description: 'revocable signature mismatch' },
      {
        name: 'the secret of the client changed',
        client: () => ({ secrets: [{ hash: 'x', revision: 'next' }] }),
        description: 'revocable signature mismatch',
      },
      {
        name: 'the client received a token salt',
        client: () => ({ tokenSalt: 'salt' }),
        description: 'revocable signature mismatch',
      },
      // Covers token validation: scope lost
      {
        name: 'the client lost a scope',
        client: ({ scope }) => ({ scope: scope.filter(each => each !== 'cloud.read') }),
        description: `Some required ${quote}scope${quote} are missing: [cloud.read]`,
      },
      // Covers token validation: required groups lost
      {
        name: 'the client requires a group that the user does not have',
        client: () => ({ requiredUserGroups: ['cloud.write'] }),
        description: "User does not meet the client's required group criteria.",
      },
    ]
    for (const { name, user, client, description } of losses) {
      it(`is refused if ${name}`, async () => {
        const server = await startServer({ mode })
        try {
          const { access_token: bearer } = await passwordTokens(server)
          if (user) await changeUser(server, 'marissa', user)
          if (client) await changeClient(server, 'app', client(await clientNamed(server, 'app')))
          await refused(server, mode, () => server.send('/userinfo', { bearer }), {
            want: '401 invalid_token',
            description,
          })
        } finally {
          await server.stop()
        }
      })
    }

    it('is refused if the client lost one of its authorities', async () => {
      const server = await startServer({ mode })
      try {
        const form = { grant_type: 'client_credentials' }
        const { access_token: token } = tokensOf(await server.token(form, { basic: ['service', 'service-secret'] }))
        assert.equal(await isAlive(server, token), true)
        await changeClient(server, 'service', { authorities: ['jobs.read'] })
        assert.equal(await isAlive(server, token), false)
      } finally {
        await server.stop()
      }
    })

    // Covers rev_sig: any stored secret verifies an access token
    it('remains valid if the client receives a second secret', async () => {
      const server = await startServer({ mode })
      try {
        const { access_token: token } = await passwordTokens(server, {}, APP)
        const { secrets } = await clientNamed(server, 'app')
        await changeClient(server, 'app', { secrets: [...secrets, { hash: 'x', revision: 'second' }] })
        assert.ok(await isAlive(server, token))
        await changeClient(server, 'app', { secrets: [{ hash: 'x', revision: 'second' }] })
        assert.equal(await isAlive(server, token), false)
      } finally {
        await server.stop()
      }
    })
  })
}

it('refuses a token while the provider of its user is being deleted', async () => {
  const database = await freshDatabase('sqlite')
  const server = await startServer({ database: database.url })
  const tables = await openTables(database.url)
  try {
    const { access_token: token } = await passwordTokens(server)
    await tables.run(`update identity_providers set active = 0, deleted = 1`)
    const zoneId = (await server.store.zones.findBySubdomain(''))?.id ?? ''
    await server.store.providers.insert(zoneId, provider({ zoneId, originKey: 'other' })) // announces the change
    await refused(server, 'standard', () => server.send('/userinfo', { bearer: token }), {
      want: '401 invalid_token',
      description: /^Token bears a non-existent user ID/,
    })
  } finally {
    await tables.close()
    await server.stop()
    await database.drop()
  }
})

describe('Opaque token', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server.stop())

  it('is compared exactly', async () => {
    const { access_token: token } = await passwordTokens(server, { token_format: 'opaque' })
    assert.ok(await isAlive(server, token))
    const shapes = [
      token.toUpperCase(),
      ` ${token}`,
      `${token} `,
      token.slice(1),
      `${token}0`,
      `${token}\n`,
      `${token}-r`,
    ]
    for (const shape of shapes) assert.equal(await isAlive(server, shape), false, JSON.stringify(shape))
  })
})

import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test'
import { CompactSign, decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { epochSeconds } from '../../../src/base/clock.ts'
import { createRandom } from '../../../src/base/random.ts'
import { StoreBusy } from '../../../src/store/store.ts'
import { createTestClock } from '../../support/clock.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import {
  exchange,
  insertCode,
  MODES,
  NO_CREDENTIALS,
  passwordTokens,
  refresh,
  refused,
  RESOURCE,
  tokensOf,
} from '../../support/oauth.ts'
import type { Refusal } from '../../support/oauth.ts'
import { rsaKeys } from '../../support/rsa-keys.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'

type Members = Readonly<Record<string, unknown>>
type Form = Readonly<Record<string, string>>

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const random = createRandom()
const pairs = {
  rsa: rsaKeys(),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed: generateKeyPairSync('ed25519'),
  stranger: rsaKeys(),
}
const jwk = (name: keyof typeof pairs, more: Members = {}): Members => ({
  ...pairs[name].publicKey.export({ format: 'jwk' }),
  kid: name,
  ...more,
})
const jwks = { keys: [jwk('rsa'), jwk('ec'), jwk('ed'), jwk('stranger', { kid: 'encryption', use: 'enc' })] }

const service = { authorized_grant_types: ['client_credentials'], authorities: ['jobs.run', 'svc.resource'] }
const bootstrapWith = (keysUri: string) => ({
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    { client_id: 'signer', jwks, ...service },
    { client_id: 'sibling', jwks, ...service },
    { client_id: 'lone', jwks: { ...jwk('rsa'), kid: undefined }, ...service },
    { client_id: 'both', client_secret: 'both-secret', jwks, ...service },
    { client_id: 'edwards', jwks, token_endpoint_auth_signing_alg: 'Ed25519', ...service },
    { client_id: 'remote', jwks_uri: keysUri, ...service },
    { client_id: 'insecure', jwks_uri: 'https://10.0.0.1/keys', ...service },
    {
      client_id: 'web',
      jwks,
      authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
      scope: ['openid', 'cloud.read'],
      redirect_uri: ['https://web.example/cb'],
      autoapprove: true,
    },
  ],
  identity_zones: [
    { id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: { clients: [{ client_id: 'signer', jwks, ...service }] } },
  ],
})
const bootstrap = bootstrapWith('https://keys.example/')

const CREDENTIALS = { grant_type: 'client_credentials' }

interface AssertionParts {
  readonly claims?: Members
  readonly header?: Members
  readonly key?: KeyObject
  readonly clientId?: string
}

/** A valid assertion, with these changes. */
async function assertionFor(
  server: TestServer,
  { claims, header, key, clientId = 'signer' }: AssertionParts = {},
): Promise<string> {
  const now = epochSeconds(server.clock.now())
  const usual = {
    iss: clientId,
    sub: clientId,
    aud: `${server.baseUrl}/oauth/token`,
    jti: random.hex(16),
    iat: now,
    exp: now + 300,
  }
  return new CompactSign(Buffer.from(JSON.stringify({ ...usual, ...claims })))
    .setProtectedHeader({ alg: 'RS256', kid: 'rsa', ...header })
    .sign(key ?? pairs.rsa.privateKey)
}

const formOf = (assertion: string, more: Form = {}): Form => ({
  ...CREDENTIALS,
  client_assertion_type: TYPE,
  client_assertion: assertion,
  ...more,
})

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const BAD = 'Basic realm="SVC/client", error="unauthorized", error_description="Bad credentials"'
const CHALLENGE = { want: '401 invalid_client', challenge: BAD } as const

/** The parts of a new assertion; times are in seconds from now. */
interface Claims {
  readonly name: string
  readonly claims?: (now: number, base: string) => Members
  readonly header?: Members
  readonly key?: KeyObject
  readonly form?: Form
  readonly clientId?: string
}
const accepted: readonly Claims[] = [
  // Covers client authentication private_key_jwt: client_assertion
  { name: 'signed with RSA' },
  { name: 'signed with RSA-PSS', header: { alg: 'PS256' } },
  { name: 'signed with ES256', header: { alg: 'ES256', kid: 'ec' }, key: pairs.ec.privateKey },
  // Covers client authentication private_key_jwt: rule: jwks
  { name: 'signed with Ed25519', header: { alg: 'EdDSA', kid: 'ed' }, key: pairs.ed.privateKey },
  { name: 'signed with Ed25519 by its new name', header: { alg: 'Ed25519', kid: 'ed' }, key: pairs.ed.privateKey },
  {
    name: 'with the algorithm its client requires',
    header: { alg: 'Ed25519', kid: 'ed' },
    key: pairs.ed.privateKey,
    clientId: 'edwards',
  },
  {
    name: 'with the older name of the required algorithm (RFC 9864)',
    header: { alg: 'EdDSA', kid: 'ed' },
    key: pairs.ed.privateKey,
    clientId: 'edwards',
  },
  { name: 'without a kid, if one key matches', header: { alg: 'ES256', kid: undefined }, key: pairs.ec.privateKey },
  { name: 'of a client with one key without a kid', header: { kid: undefined }, clientId: 'lone' },
  { name: 'with client_id', form: { client_id: 'signer' } },
  { name: 'with an empty client_id', form: { client_id: '' } },
  { name: 'with an audience in a list', claims: (_, base) => ({ aud: [`${base}/oauth/token`] }) },
  {
    name: 'with several audiences',
    claims: (_, base) => ({ aud: ['https://other.example', 7, `${base}/oauth/token`] }),
  },
  { name: 'that expired less than a minute ago', claims: now => ({ exp: now - 59 }) },
  { name: 'issued less than a minute in the future', claims: now => ({ iat: now + 60, nbf: now + 60 }) },
  { name: 'without the optional times', claims: () => ({ iat: undefined, nbf: undefined }) },
  { name: 'valid for an hour', claims: now => ({ exp: now + 3600 }) },
  { name: 'with fractions of seconds', claims: now => ({ exp: now + 100.5, iat: now - 0.5 }) },
  { name: 'of a client that also has a secret', clientId: 'both' },
  { name: 'with the typ JWT', header: { typ: 'JWT' } },
  { name: 'with a long jti', claims: () => ({ jti: 'j'.repeat(256) }) },
]

interface Rejected extends Claims, Refusal {
  /** Sent instead of a generated assertion. */
  readonly assertion?: string
}
const bad = (description: string) => ({ ...CHALLENGE, description }) as const
const rejected: readonly Rejected[] = [
  // Covers client authentication private_key_jwt: error: wrong `client_assertion_type`
  {
    name: 'another client_assertion_type',
    form: { client_assertion_type: 'urn:x' },
    ...bad('Bad client_assertion type'),
  },
  { name: 'an empty client_assertion_type', form: { client_assertion_type: '' }, ...bad('Bad client_assertion type') },
  // Covers client authentication private_key_jwt: client_assertion_type
  {
    name: 'the type of a SAML assertion',
    form: { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
    ...bad('Bad client_assertion type'),
  },
  { name: 'another algorithm than the client requires', clientId: 'edwards', ...bad('Unauthorized client_assertion') },
  { name: 'client_assertion_type alone', assertion: '', ...bad('Bad client_assertion') },
  { name: 'an assertion that is not a JWT', assertion: 'x', ...bad('Bad client_assertion') },
  {
    name: 'a JWT of two parts',
    assertion: `${encoded({ alg: 'RS256' })}.${encoded({})}`,
    ...bad('Bad client_assertion'),
  },
  {
    name: 'a JWT of five parts',
    assertion: `${encoded({ alg: 'dir', enc: 'A' })}.a.b.c.d`,
    ...bad('Bad client_assertion'),
  },
  {
    name: 'claims that are not an object',
    assertion: `${encoded({ alg: 'RS256' })}.${encoded([])}.x`,
    ...bad('Bad client_assertion'),
  },
  { name: 'a header that is not JSON', assertion: `x.${encoded({})}.x`, ...bad('Bad client_assertion') },
  {
    name: 'an assertion of more than 16 KiB',
    claims: () => ({ more: 'x'.repeat(16_384) }),
    ...bad('Bad client_assertion'),
  },
  { name: 'a crit header', header: { crit: ['b64'], b64: true }, ...bad('Bad client_assertion') },
  // Covers client authentication private_key_jwt: error: claim missing
  ...['iss', 'sub', 'aud', 'jti', 'exp'].map(claim => ({
    name: `no ${claim}`,
    claims: () => ({ [claim]: undefined }),
    ...bad('Bad credentials'),
  })),
  ...['iss', 'sub', 'aud', 'jti'].flatMap(claim =>
    [5, '', null, {}].map(value => ({
      name: `${claim} ${JSON.stringify(value)}`,
      claims: () => ({ [claim]: value }),
      // An empty string is a valid audience, but not that of this server.
      ...bad(claim === 'aud' && value === '' ? 'Unauthorized client_assertion' : 'Bad credentials'),
    })),
  ),
  ...['exp', 'iat', 'nbf'].map(claim => ({
    name: `${claim} as a string`,
    claims: (now: number) => ({ [claim]: String(now) }),
    ...bad('Bad credentials'),
  })),
  { name: 'an empty audience', claims: () => ({ aud: [] }), ...bad('Bad credentials') },
  // Covers client authentication private_key_jwt: iss
  { name: 'iss other than sub', claims: () => ({ iss: 'sibling' }), ...bad('Bad credentials') },
  { name: 'a jti of 257 characters', claims: () => ({ jti: 'j'.repeat(257) }), ...bad('Bad credentials') },
  // Covers client authentication private_key_jwt: sub
  { name: 'a client id of 256 characters', clientId: 'c'.repeat(256), ...bad('Bad credentials') },
  // Covers client authentication private_key_jwt: error: `client_id` differs
  { name: 'another client_id', form: { client_id: 'sibling' }, ...bad('Wrong client_assertion') },
  { name: 'the client_id in another case', form: { client_id: 'Signer' }, ...bad('Wrong client_assertion') },
  {
    name: 'an assertion that expired a minute ago',
    claims: now => ({ exp: now - 60 }),
    ...bad('Unauthorized client_assertion'),
  },
  { name: 'a negative expiry', claims: () => ({ exp: -1 }), ...bad('Unauthorized client_assertion') },
  {
    name: 'an assertion issued in the future',
    claims: now => ({ iat: now + 61 }),
    ...bad('Unauthorized client_assertion'),
  },
  {
    name: 'an assertion that is not valid yet',
    claims: now => ({ nbf: now + 61 }),
    ...bad('Unauthorized client_assertion'),
  },
  {
    name: 'another audience',
    claims: () => ({ aud: 'https://other.example' }),
    ...bad('Unauthorized client_assertion'),
  },
  {
    name: 'the audience with a trailing slash',
    claims: (_, base) => ({ aud: `${base}/oauth/token/` }),
    ...bad('Unauthorized client_assertion'),
  },
  {
    name: 'the audience of another zone',
    claims: (_, base) => ({ aud: `${base.replace('//', '//z1.')}/oauth/token` }),
    ...bad('Unauthorized client_assertion'),
  },
  ...[
    'at+jwt',
    'dpop+jwt',
    'logout+jwt',
    'oauth-authz-req+jwt',
    'application/oauth-authz-req+jwt',
    'secevent+jwt',
    'authorization-grant+jwt',
    '',
    null,
    5,
  ].map(typ => ({
    name: `the typ ${JSON.stringify(typ)}`,
    header: { typ },
    ...bad('Unauthorized client_assertion'),
  })),
  // Covers client authentication private_key_jwt: error: bad signature, expired or wrong audience
  {
    name: 'a foreign key with the kid of the client’s key',
    key: pairs.stranger.privateKey,
    ...bad('Unauthorized client_assertion'),
  },
  {
    name: 'its own key in the header',
    header: { jwk: jwk('stranger'), kid: 'rsa' },
    key: pairs.stranger.privateKey,
    ...bad('Unauthorized client_assertion'),
  },
  {
    name: 'a key URL in the header',
    header: { jku: 'https://keys.example/', x5u: 'https://keys.example/', kid: 'stranger' },
    key: pairs.stranger.privateKey,
    ...bad('Untrusted client_assertion'),
  },
  // Covers client authentication private_key_jwt: header kid
  { name: 'an unknown kid', header: { kid: 'nobody' }, ...bad('Untrusted client_assertion') },
  {
    name: 'no kid, if no key matches',
    header: { alg: 'ES384', kid: undefined },
    key: generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
    ...bad('Untrusted client_assertion'),
  },
  // Covers client authentication private_key_jwt: error: no fitting key
  { name: 'the kid of a key of another type', header: { kid: 'ec' }, ...bad('Untrusted client_assertion') },
  {
    name: 'a key for encryption',
    header: { kid: 'encryption' },
    key: pairs.stranger.privateKey,
    ...bad('Untrusted client_assertion'),
  },
  // Covers client authentication private_key_jwt: error: not a JWT or no trust
  { name: 'a client without keys', clientId: 'service', ...bad('Bad client_assertion') },
  { name: 'an unknown client', clientId: 'nobody', ...bad('Bad client_assertion') },
  { name: 'a client with jwks_uri in a private network', clientId: 'insecure', ...bad('Bad client_assertion') },
]

for (const mode of MODES) {
  describe(`private_key_jwt in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const partsOf = ({ claims, ...parts }: Omit<Claims, 'name'>): AssertionParts => ({
      ...parts,
      claims: claims?.(epochSeconds(server.clock.now()), server.baseUrl) ?? {},
    })
    const send = async (parts: AssertionParts = {}, more: Form = {}, request: TestRequest = {}): Promise<TestAnswer> =>
      server.token(formOf(await assertionFor(server, parts), more), request)

    for (const { name, form, ...parts } of accepted) {
      // Covers client authentication: private_key_jwt
      // Covers POST /oauth/token: `client_assertion` with the grant
      it(`accepts an assertion ${name}`, async () => {
        const claims = decodeJwt(tokensOf(await send(partsOf(parts), form)).access_token)
        assert.equal(claims['client_id'], parts.clientId ?? 'signer')
        assert.equal(claims['client_auth_method'], 'private_key_jwt')
      })
    }

    for (const { name, form, assertion, want, description, challenge, ...parts } of rejected) {
      it(`refuses ${name}`, async () => {
        const refusal = { want, ...(description && { description }), ...(challenge && { challenge }) }
        const jwt = assertion ?? (await assertionFor(server, partsOf(parts)))
        await refused(server, mode, () => server.token(formOf(jwt, form)), refusal)
      })
    }

    for (const alg of ['none', 'None', 'NONE', 'HS256', 'HS512', 'RS1', '', 5, null, undefined]) {
      // Covers client authentication private_key_jwt: header alg; error: refused algorithm
      it(`refuses the algorithm ${JSON.stringify(alg)}`, async () => {
        const [, claims = ''] = (await assertionFor(server)).split('.')
        const data = `${encoded({ alg, kid: 'rsa' })}.${claims}`
        const publicPem = pairs.rsa.publicKey.export({ type: 'spki', format: 'pem' })
        // HS256 with the public key as the secret.
        const signature = createHmac('sha256', publicPem).update(data).digest('base64url')
        for (const jwt of [`${data}.`, `${data}.${signature}`]) {
          await refused(server, mode, () => server.token(formOf(jwt)), bad('Bad client_assertion algorithm'))
        }
      })
    }

    it('accepts typ client-authentication+jwt, in standard only with the issuer as sole audience (RFC 7523bis)', async () => {
      const { issuer } = (await server.send('/.well-known/openid-configuration')).json<{ issuer: string }>()
      const endpoint = `${server.baseUrl}/oauth/token`
      for (const typ of ['client-authentication+jwt', 'application/Client-Authentication+JWT']) {
        for (const aud of [issuer, [issuer]]) tokensOf(await send({ header: { typ }, claims: { aud } }))
        for (const aud of [endpoint, [issuer, endpoint], [issuer, 'https://other.example']]) {
          const jwt = await assertionFor(server, { header: { typ }, claims: { aud } })
          if (mode === 'uaa') tokensOf(await server.token(formOf(jwt)))
          else await refused(server, mode, () => server.token(formOf(jwt)), bad('Unauthorized client_assertion'))
        }
      }
    })

    it('refuses a truncated, wrong, padded or missing signature', async () => {
      const jwt = await assertionFor(server)
      const other = await assertionFor(server)
      const dot = jwt.lastIndexOf('.')
      for (const altered of [
        jwt.slice(0, -8),
        jwt.slice(0, dot) + other.slice(other.lastIndexOf('.')),
        jwt.slice(0, dot + 1),
        `${jwt}==`,
      ]) {
        await refused(server, mode, () => server.token(formOf(altered)), bad('Unauthorized client_assertion'))
      }
    })

    it('refuses claims changed after signing', async () => {
      const [header = '', claims = '', signature = ''] = (await assertionFor(server)).split('.')
      const { ...other } = decodeJwt(`${header}.${claims}.${signature}`)
      const jwt = `${header}.${encoded({ ...other, iss: 'sibling', sub: 'sibling' })}.${signature}`
      await refused(server, mode, () => server.token(formOf(jwt)), bad('Unauthorized client_assertion'))
    })

    it('returns the same error for unknown clients and clients without keys, and does not record an unknown id', async () => {
      const from = server.events.length
      const answers = [await send({ clientId: 'service' }), await send({ clientId: 'nobody' })]
      assert.equal(answers[0]?.text, answers[1]?.text)
      const events = server.events.slice(from)
      assert.deepEqual(
        events.map(({ type }) => type),
        ['ClientAuthenticationFailure', 'ClientAuthenticationFailure'],
      )
      assert.equal(events[0]?.principal, 'service')
      assert.notEqual(events[1]?.principal, 'nobody')
    })

    // Covers client authentication: claim: `client_auth_method` `private_key_jwt`
    it('is recorded as client_auth_method through refresh', async () => {
      const code = await insertCode(server, { clientId: 'web', scopes: ['openid', 'cloud.read'] })
      const sign = async (): Promise<Form> => {
        const { grant_type: _, ...form } = formOf(await assertionFor(server, { clientId: 'web' }))
        return form
      }
      const first = tokensOf(await exchange(server, code, await sign(), null))
      const second = tokensOf(await refresh(server, first.refresh_token, await sign(), null))
      for (const { access_token: token } of [first, second]) {
        assert.equal(decodeJwt(token)['client_auth_method'], 'private_key_jwt')
      }
    })

    it('is usable again after a response 503, and only then', async () => {
      const jwt = await assertionFor(server, { clientId: 'web' })
      const { grant_type: _, ...form } = formOf(jwt)
      const ask = (): Promise<TestAnswer> =>
        server.token({ grant_type: 'password', username: 'marissa', password: 'koala', ...form })
      mock.method(server.store.tokens, 'insert', () => Promise.reject(new StoreBusy('full')))
      assert.equal((await ask()).status, 503)
      mock.restoreAll()
      tokensOf(await ask())
      assert.equal((await ask()).status, mode === 'uaa' ? 200 : 401)
    })

    it('is refused with an Authorization header of another scheme', async () => {
      const want = { standard: '401 invalid_client', uaa: '401 unauthorized' }
      for (const authorization of ['Bearer x', 'Digest x']) {
        const jwt = await assertionFor(server)
        await refused(server, mode, () => server.token(formOf(jwt), { headers: { authorization } }), {
          want,
          description: NO_CREDENTIALS,
        })
      }
    })

    it('is accepted beside an empty secret in standard (C1)', async () => {
      const jwt = await assertionFor(server, { clientId: 'both' })
      const answer = await server.token(formOf(jwt, { client_id: 'both', client_secret: '' }))
      assert.equal(answer.status, mode === 'standard' ? 200 : 401)
    })

    it('is refused beside a secret in standard, and ignored in uaa (C2)', async () => {
      const secret = { client_id: 'both', client_secret: 'both-secret' }
      const basic = ['both', 'both-secret'] as const
      for (const jwt of [await assertionFor(server, { clientId: 'both' }), 'nonsense']) {
        for (const answer of [await server.token(formOf(jwt, secret)), await server.token(formOf(jwt), { basic })]) {
          if (mode === 'standard') {
            assert.equal(answer.status, 400)
            assert.deepEqual(answer.json(), {
              error: 'invalid_request',
              error_description: 'Only one method of client authentication may be used',
            })
          } else {
            assert.equal(decodeJwt(tokensOf(answer).access_token)['client_auth_method'], undefined)
          }
        }
      }
      const wrong = { client_id: 'both', client_secret: 'wrong' }
      const jwt = await assertionFor(server, { clientId: 'both' })
      const want = { standard: '400 invalid_request', uaa: '401 invalid_client' }
      await refused(server, mode, () => server.token(formOf(jwt, wrong)), { want })
    })

    // Covers client authentication private_key_jwt: aud
    // Covers compatibility: token endpoint: C3 assertion audience
    it('accepts the issuer or the token endpoint as audience in standard, only the latter in uaa (C3)', async () => {
      const { issuer } = (await server.send('/.well-known/openid-configuration')).json()
      tokensOf(await send({ claims: { aud: issuer } }))
      const base = await send({ claims: { aud: server.baseUrl } })
      if (mode === 'standard') tokensOf(base)
      else assert.equal(base.json()['error_description'], 'Unauthorized client_assertion')
    })

    // Covers client authentication private_key_jwt: jti
    // Covers compatibility: token endpoint: C4 assertion jti and exp
    it('accepts an assertion once in standard, until it expires in uaa (C4)', async () => {
      const jwt = await assertionFor(server)
      tokensOf(await server.token(formOf(jwt)))
      if (mode === 'uaa') tokensOf(await server.token(formOf(jwt)))
      else await refused(server, mode, () => server.token(formOf(jwt)), bad('Unauthorized client_assertion'))
    })

    // Covers client authentication private_key_jwt: exp
    it('limits the lifetime to an hour in standard only (C4)', async () => {
      const now = epochSeconds(server.clock.now())
      const within = await send({ claims: { exp: now + 3660 } })
      assert.equal(within.status, 200)
      const beyond = await send({ claims: { exp: now + 3661 } })
      if (mode === 'uaa') tokensOf(beyond)
      else assert.equal(beyond.json()['error_description'], 'Unauthorized client_assertion')
      const far = await send({ claims: { exp: 1e300 } })
      assert.equal(far.status, mode === 'uaa' ? 200 : 401)
    })

    it('is limited to the zone, even for the same client id and keys', async () => {
      const host = 'z1.localhost:8080'
      const aud = 'http://z1.localhost:8080/oauth/token'
      const foreign = await assertionFor(server)
      await refused(server, mode, () => server.token(formOf(foreign), { host }), bad('Unauthorized client_assertion'))
      const own = await assertionFor(server, { claims: { aud, jti: 'shared' } })
      tokensOf(await server.token(formOf(own), { host }))
      tokensOf(await send({ claims: { jti: 'shared' } }))
    })

    // Covers compatibility: token endpoint: C1 methods
    it('is supported at introspection in standard only (C1)', async () => {
      const { access_token: token } = await passwordTokens(server)
      const aud = `${server.baseUrl}/introspect`
      const inspect = async (path: string, claims: Members): Promise<TestAnswer> =>
        server.send(path, { form: { ...formOf(await assertionFor(server, { claims })), token } })
      for (const claims of [{ aud }, {}]) {
        const answer = await inspect('/introspect', claims)
        if (mode === 'standard') assert.equal(answer.json()['active'], true)
        else assert.equal(answer.status, 401)
      }
      assert.equal((await inspect('/check_token', {})).status, 401)
      assert.equal((await server.send('/introspect', { form: { token }, basic: RESOURCE })).json()['active'], true)
      // The audience must be the called endpoint (C3).
      assert.equal((await send({ claims: { aud } })).status, 401)
    })

    it('is supported at the endpoint of bearer assertions, with its URL as audience in standard only (C3)', async () => {
      const path = '/oauth/token/alias/latchkey'
      const audiences = [
        { aud: server.baseUrl + path, status: mode === 'standard' ? 200 : 401 },
        { aud: `${server.baseUrl}/oauth/token`, status: 200 },
      ]
      for (const { aud, status } of audiences) {
        const form = formOf(await assertionFor(server, { claims: { aud } }))
        assert.equal((await server.send(path, { form })).status, status)
      }
    })

    it('is supported at revocation in standard only (C1)', async () => {
      const code = await insertCode(server, { clientId: 'web', scopes: ['openid'] })
      const { grant_type: _, ...signed } = formOf(await assertionFor(server, { clientId: 'web' }))
      const { access_token: token } = tokensOf(await exchange(server, code, signed, null))
      const claims = { aud: `${server.baseUrl}/oauth/revoke` }
      const form = { ...formOf(await assertionFor(server, { clientId: 'web', claims })), token }
      const answer = await server.send('/oauth/revoke', { form })
      assert.equal(answer.status, mode === 'standard' ? 200 : 401)
    })
  })
}

describe('The jti of private_key_jwt in standard', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { bootstrap } })
  })
  after(() => server.stop())
  const send = async (parts: AssertionParts): Promise<string | undefined> => {
    const answer = await server.token(formOf(await assertionFor(server, parts)))
    return answer.status === 200 ? undefined : String(answer.json()['error_description'])
  }
  const once = { claims: { jti: 'once' } }

  it('is not consumed by an assertion with a wrong signature', async () => {
    assert.equal(await send({ ...once, key: pairs.stranger.privateKey }), 'Unauthorized client_assertion')
    assert.equal(await send(once), undefined)
  })
  it('is refused again with other claims', async () => {
    assert.equal(await send({ claims: { ...once.claims, more: 'words' } }), 'Unauthorized client_assertion')
  })
  it('is stored per client', async () => {
    assert.equal(await send({ ...once, clientId: 'sibling' }), undefined)
  })
  it('does not collide with that of another client', async () => {
    assert.equal(await send({ clientId: 'sibling', claims: { jti: 'x' } }), undefined)
    assert.equal(await send({ claims: { jti: 'sibling","x' } }), undefined)
  })
  it('is stored until the assertion can no longer be accepted', async () => {
    const { clock, store } = server
    const jwt = await assertionFor(server)
    tokensOf(await server.token(formOf(jwt)))
    clock.advance(359)
    await store.purge(clock.now())
    assert.equal((await server.token(formOf(jwt))).status, 401)
  })
})

for (const kind of DATABASE_KINDS) {
  describe(`Concurrent use of an assertion in several processes on ${kind}`, () => {
    it('succeeds exactly once', async () => {
      const database = await freshDatabase(kind)
      const first = await startServer({ database: database.url, config: { bootstrap } })
      const second = await startServer({ database: database.url, config: { bootstrap }, clock: first.clock })
      try {
        const form = formOf(await assertionFor(first))
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? first : second).token(form)),
        )
        const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
        assert.deepEqual(statuses, [200, ...Array.from({ length: 9 }, () => 401)])
      } finally {
        await first.stop()
        await second.stop()
        await database.drop()
      }
    })
  })
}

describe('private_key_jwt with jwks_uri', () => {
  let host: Server
  let server: TestServer
  let publish: (response: ServerResponse) => void
  let requests = 0
  before(async () => {
    host = createServer((_, response) => {
      requests += 1
      publish(response)
    })
    await new Promise<void>(resolve => host.listen(0, '127.0.0.1', resolve))
  })
  after(() => {
    host.closeAllConnections()
    host.close()
  })
  beforeEach(async () => {
    const { port } = host.address() as AddressInfo // no pipe
    server = await startServer({ config: { bootstrap: bootstrapWith(`http://127.0.0.1:${port}/keys`) } })
    requests = 0
  })
  afterEach(() => server.stop())
  const json =
    (...keys: readonly Members[]) =>
    (response: ServerResponse) =>
      void response.end(JSON.stringify({ keys }))
  const send = async (parts: AssertionParts = {}): Promise<string> => {
    const answer = await server.token(formOf(await assertionFor(server, { clientId: 'remote', ...parts })))
    return answer.status === 200 ? 'good' : String(answer.json()['error_description'])
  }
  const newer = { header: { alg: 'ES256', kid: 'ec' }, key: pairs.ec.privateKey }

  // Covers configuration file: bootstrap.clients[]: jwks_uri
  // Covers client authentication private_key_jwt: rule: `jwks_uri` fetched and cached
  it('refetches keys for an unknown kid after 30 s', async () => {
    publish = json(jwk('rsa'))
    assert.equal(await send(), 'good')
    assert.equal(await send(), 'good')
    assert.equal(requests, 1)
    publish = json(jwk('ec'))
    assert.equal(await send(newer), 'Untrusted client_assertion')
    assert.equal(requests, 1)
    server.clock.advance(30)
    assert.equal(await send(newer), 'good')
    assert.equal(await send(), 'Untrusted client_assertion')
    assert.equal(requests, 2)
  })

  it('fetches no keys for an assertion that is refused anyway', async () => {
    publish = json(jwk('rsa'))
    await send({ claims: { exp: 1 } })
    await send({ claims: { aud: 'https://other.example' } })
    await send({
      header: { alg: 'ES512' },
      key: generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey,
      clientId: 'nobody',
    })
    await send({ clientId: 'signer' })
    assert.equal(requests, 0)
  })

  it('connects to loopback from a server with a public base_url only if outbound.allow_private is set', async () => {
    publish = json(jwk('rsa'))
    const { port } = host.address() as AddressInfo // no pipe
    const config = { bootstrap: bootstrapWith(`http://127.0.0.1:${port}/keys`), base_url: 'http://id.example' }
    for (const [allowed, want] of [
      [false, 'Bad client_assertion'],
      [true, 'good'],
    ] as const) {
      await server.stop()
      server = await startServer({ config: { ...config, outbound: { allow_private: allowed } } })
      assert.equal(await send(), want)
    }
    assert.equal(requests, 1)
  })

  const failing: readonly { name: string; publish: typeof publish }[] = [
    { name: 'is not found', publish: response => void response.writeHead(404).end('{}') },
    { name: 'redirects', publish: response => void response.writeHead(302, { location: '/keys' }).end() },
    { name: 'is too large', publish: json(jwk('rsa'), { kty: 'x', more: 'x'.repeat(70_000) }) },
    { name: 'is HTML', publish: response => void response.end('<html></html>') },
    { name: 'is not a key set', publish: response => void response.end('{"keys":"none"}') },
    { name: 'is truncated', publish: response => void response.destroy() },
  ]
  for (const { name, publish: badly } of failing) {
    it(`refuses the client while its key set ${name}, and retries after 30 s`, async () => {
      publish = badly
      assert.deepEqual([await send(), await send()], ['Bad client_assertion', 'Bad client_assertion'])
      assert.equal(requests, 1)
      publish = json(jwk('rsa'))
      server.clock.advance(30)
      assert.equal(await send(), 'good')
      assert.deepEqual(server.faults, [])
    })
  }
})

for (const mode of MODES) {
  describe(`private_key_jwt with client libraries in ${mode}`, () => {
    let server: TestServer
    let issuer: URL
    before(async () => {
      const probe = createServer()
      await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
      const { port } = probe.address() as AddressInfo // no pipe
      await new Promise(resolve => probe.close(resolve))
      const base = `http://localhost:${port}`
      // The libraries use the system clock.
      const clock = createTestClock(Date.now())
      server = await startServer({ mode, clock, config: { base_url: base, bootstrap } })
      await server.app.http.listen({ host: '127.0.0.1', port })
      issuer = new URL(mode === 'uaa' ? `${base}/oauth/token` : base)
    })
    after(() => server.stop())

    const keyOf = async (name: 'rsa' | 'ec', kid: string | undefined) => {
      const algorithm =
        name === 'rsa' ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } : { name: 'ECDSA', namedCurve: 'P-256' }
      const pkcs8 = pairs[name].privateKey.export({ type: 'pkcs8', format: 'der' })
      const key = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
      return { key, ...(kid !== undefined && { kid }) }
    }

    for (const [name, kid] of [
      ['rsa', 'rsa'],
      ['ec', 'ec'],
      ['ec', undefined],
    ] as const) {
      it(`accepts oauth4webapi, ${name} ${kid === undefined ? 'without' : 'with'} a kid`, async () => {
        const insecure = { [oauth.allowInsecureRequests]: true }
        const found = await oauth.discoveryRequest(issuer, insecure)
        const as = await oauth.processDiscoveryResponse(issuer, found)
        const client: oauth.Client = { client_id: 'signer' }
        const authentication = oauth.PrivateKeyJwt(await keyOf(name, kid))
        const answer = await oauth.clientCredentialsGrantRequest(as, client, authentication, {}, insecure)
        const { access_token: token } = await oauth.processClientCredentialsResponse(as, client, answer)
        assert.equal(decodeJwt(token)['client_auth_method'], 'private_key_jwt')
      })
    }

    it('accepts openid-client', async () => {
      const authentication = openid.PrivateKeyJwt(await keyOf('rsa', 'rsa'))
      const options = { execute: [openid.allowInsecureRequests] }
      const config = await openid.discovery(issuer, 'signer', undefined, authentication, options)
      const { access_token: token } = await openid.clientCredentialsGrant(config)
      assert.equal(decodeJwt(token)['client_auth_method'], 'private_key_jwt')
      if (mode === 'standard') {
        const inspected = await openid.tokenIntrospection(config, token)
        assert.equal(inspected.active, true)
      }
    })

    it('refuses openid-client with the key of another client', async () => {
      const stranger = pairs.stranger.privateKey.export({ type: 'pkcs8', format: 'der' })
      const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      const key = await crypto.subtle.importKey('pkcs8', stranger, algorithm, false, ['sign'])
      const options = { execute: [openid.allowInsecureRequests] }
      const authentication = openid.PrivateKeyJwt({ key, kid: 'rsa' })
      const config = await openid.discovery(issuer, 'signer', undefined, authentication, options)
      await assert.rejects(openid.clientCredentialsGrant(config), { code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' })
    })
  })
}

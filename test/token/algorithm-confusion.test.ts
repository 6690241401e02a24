// Attacks through token headers at every endpoint that reads tokens: only the algorithm of the key is accepted,
// keys come only from the zone, and none are fetched.
import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { constants, createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { KEYS, textOf } from '../support/keys.ts'
import { MODES, RESOURCE, passwordTokens, refresh, refused } from '../support/oauth.ts'
import { rsaKeys } from '../support/rsa-keys.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const unknownKey = rsaKeys()
const own = createPrivateKey(textOf(KEYS.RS256))
const ownPublic = createPublicKey(own)
const ofOtherZone = rsaKeys().privateKey
const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const policy = (keys: object, activeKeyId: string) => ({
  tokenPolicy: { activeKeyId, keys, refreshTokenFormat: 'jwt' },
})

const config = {
  zone_config: policy(
    {
      rsa: { signingKey: textOf(KEYS.RS256) },
      ec: { signingKey: textOf(KEYS.ES256) },
      mac: { signingKey: textOf(KEYS.HS256) },
    },
    'rsa',
  ),
  bootstrap: {
    ...defaultBootstrap,
    identity_zones: [
      { id: 'z1', subdomain: 'z1', name: 'z1', config: policy({ other: { signingKey: pemOf(ofOtherZone) } }, 'other') },
    ],
  },
}

type Header = Readonly<Record<string, unknown>>

/** A genuine token, split into its parts. */
interface Parts {
  readonly header: Header
  readonly payload: string
  readonly signature: string
}

function partsOf(token: string): Parts {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return { header: JSON.parse(Buffer.from(header, 'base64url').toString()), payload, signature }
}

const joined = (header: Header, payload: string, signatureOf: (data: string) => Buffer): string => {
  const data = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
  return `${data}.${signatureOf(data).toString('base64url')}`
}

const byRsa =
  (key: KeyObject, hash = 'sha256') =>
  (data: string): Buffer =>
    sign(hash, Buffer.from(data), key)
const byMac =
  (secret: string | Buffer, hash = 'sha256') =>
  (data: string): Buffer =>
    createHmac(hash, secret).update(data).digest()
const byPss =
  (key: KeyObject) =>
  (data: string): Buffer =>
    sign('sha256', Buffer.from(data), {
      key,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    })
const unsigned = (): Buffer => Buffer.alloc(0)

const spki = ownPublic.export({ type: 'spki', format: 'pem' }).toString()
const unknownJwk = { ...unknownKey.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' }

/** Forgeries from a genuine token; `url` is the attacker's server. */
const FORGERIES: readonly { readonly name: string; readonly of: (parts: Parts, url: string) => string }[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].map(alg => ({
    name: `the algorithm "${alg}" and no signature`,
    of: ({ header, payload }: Parts) => joined({ ...header, alg }, payload, unsigned),
  })),
  {
    name: 'alg none and the original signature',
    of: ({ header, payload, signature }) =>
      joined({ ...header, alg: 'none' }, payload, () => Buffer.from(signature, 'base64url')),
  },
  {
    name: 'no alg',
    of: ({ header, payload }) => joined({ ...header, alg: undefined }, payload, byRsa(own)),
  },
  {
    name: 'alg as a list',
    of: ({ header, payload }) => joined({ ...header, alg: ['RS256'] }, payload, byRsa(own)),
  },
  {
    name: 'no signature',
    of: ({ header, payload }) => joined(header, payload, unsigned),
  },
  ...(
    [
      ['the PEM of the public key', spki],
      ['the PEM without trailing newline', spki.trim()],
      ['the DER of the public key', ownPublic.export({ type: 'spki', format: 'der' })],
      ['the PKCS#1 PEM', ownPublic.export({ type: 'pkcs1', format: 'pem' }).toString()],
      ['the JWK', JSON.stringify(ownPublic.export({ format: 'jwk' }))],
      ['an empty string', ''],
    ] as const
  ).flatMap(([what, secret]) =>
    (['256', '384', '512'] as const).map(size => ({
      name: `HS${size} with ${what} as the secret`,
      of: ({ header, payload }: Parts) => joined({ ...header, alg: `HS${size}` }, payload, byMac(secret, `sha${size}`)),
    })),
  ),
  {
    name: 'the same key with another hash',
    of: ({ header, payload }) => joined({ ...header, alg: 'RS512' }, payload, byRsa(own, 'sha512')),
  },
  {
    name: 'the same key with another padding',
    of: ({ header, payload }) => joined({ ...header, alg: 'PS256' }, payload, byPss(own)),
  },
  {
    name: 'a PSS signature and the alg of the key',
    of: ({ header, payload }) => joined(header, payload, byPss(own)),
  },
  {
    name: 'the kid of the EC key and a signature of the RSA key',
    of: ({ header, payload }) => joined({ ...header, kid: 'ec' }, payload, byRsa(own)),
  },
  {
    name: 'the kid of the shared secret and a signature of the RSA key',
    of: ({ header, payload }) => joined({ ...header, kid: 'mac' }, payload, byRsa(own)),
  },
  {
    name: 'the kid of the shared secret and the public key as the secret',
    of: ({ header, payload }) => joined({ ...header, kid: 'mac', alg: 'HS256' }, payload, byMac(spki)),
  },
  {
    name: 'the kid of the shared secret and an empty secret',
    of: ({ header, payload }) => joined({ ...header, kid: 'mac', alg: 'HS256' }, payload, byMac('')),
  },
  {
    name: 'the kid of the shared secret and another hash',
    of: ({ header, payload }) =>
      joined({ ...header, kid: 'mac', alg: 'HS512' }, payload, byMac(textOf(KEYS.HS256), 'sha512')),
  },
  {
    name: 'the signature of an unknown key',
    of: ({ header, payload }) => joined(header, payload, byRsa(unknownKey.privateKey)),
  },
  ...[
    '../../../../dev/null',
    '/dev/null',
    'file:///dev/null',
    "' or '1'='1",
    "rsa' --",
    "rsa'; drop table signing_keys; --",
    '%72sa',
    'RSA',
    'rsa ',
    'rsa\0',
    'rsa\uD800',
    '',
    '*',
    '__proto__',
    'constructor',
    'x'.repeat(10_000),
  ].flatMap(kid => [
    {
      name: `kid ${JSON.stringify(kid.slice(0, 40))} and an empty secret`,
      of: ({ header, payload }: Parts) => joined({ ...header, kid, alg: 'HS256' }, payload, byMac('')),
    },
    {
      name: `kid ${JSON.stringify(kid.slice(0, 40))} and a genuine signature`,
      of: ({ header, payload }: Parts) => joined({ ...header, kid }, payload, byRsa(own)),
    },
  ]),
  ...[undefined, null, 1, true, ['rsa'], { rsa: 1 }].map(kid => ({
    name: `kid ${JSON.stringify(kid) ?? 'missing'}`,
    of: ({ header, payload }: Parts) => joined({ ...header, kid }, payload, byRsa(own)),
  })),
  {
    name: 'kid and signature of another zone',
    of: ({ header, payload }) => joined({ ...header, kid: 'other' }, payload, byRsa(ofOtherZone)),
  },
  {
    name: 'the signature of another zone and a kid of this zone',
    of: ({ header, payload }) => joined(header, payload, byRsa(ofOtherZone)),
  },
  {
    name: 'a jwk in the header',
    of: ({ header, payload }) => joined({ ...header, jwk: unknownJwk }, payload, byRsa(unknownKey.privateKey)),
  },
  {
    name: 'a jwk in the header and no kid',
    of: ({ header, payload }) =>
      joined({ ...header, kid: undefined, jwk: unknownJwk }, payload, byRsa(unknownKey.privateKey)),
  },
  ...(['jku', 'x5u'] as const).flatMap(member =>
    ['rsa', 'theirs'].map(kid => ({
      name: `${member} in the header and kid ${kid}`,
      of: ({ header, payload }: Parts, url: string) =>
        joined({ ...header, kid, [member]: url }, payload, byRsa(unknownKey.privateKey)),
    })),
  ),
  {
    name: 'an x5c in the header',
    of: ({ header, payload }) =>
      joined({ ...header, x5c: ['MIIB'], x5t: 'AAAA' }, payload, byRsa(unknownKey.privateKey)),
  },
  {
    name: 'a critical extension',
    of: ({ header, payload }) => joined({ ...header, crit: ['exp'], exp: 1 }, payload, byRsa(own)),
  },
  {
    name: 'an unencoded payload',
    of: ({ header, payload }) => joined({ ...header, crit: ['b64'], b64: false }, payload, byRsa(own)),
  },
]

interface Genuine {
  readonly access: string
  readonly refreshing: string
  readonly id: string
}

/** An endpoint that reads tokens, and how it accepts and refuses them. */
interface Endpoint {
  readonly name: string
  readonly token: (genuine: Genuine) => string
  readonly accepts: (server: TestServer, token: string, mode: CompatibilityMode) => Promise<void>
  readonly refuses: (server: TestServer, token: string, mode: CompatibilityMode) => Promise<void>
}

const introspect = (server: TestServer, token: string) =>
  server.send('/introspect', { form: { token }, basic: RESOURCE })
const check = (server: TestServer, token: string) => server.send('/check_token', { form: { token }, basic: RESOURCE })
const TARGET = { standard: 'https://app.example/bye', uaa: 'https://app.example/cb' }
const logout = (server: TestServer, token: string, target: string) =>
  server.send('/logout.do', { query: { id_token_hint: token, post_logout_redirect_uri: target } })

const ENDPOINTS: readonly Endpoint[] = [
  {
    name: '/userinfo',
    token: ({ access }) => access,
    async accepts(server, bearer) {
      assert.equal((await server.send('/userinfo', { bearer })).status, 200)
    },
    async refuses(server, bearer, mode) {
      await refused(server, mode, () => server.send('/userinfo', { bearer }), { want: '401 invalid_token' })
    },
  },
  {
    name: '/introspect',
    token: ({ access }) => access,
    async accepts(server, token) {
      assert.equal((await introspect(server, token)).json()['active'], true)
    },
    async refuses(server, token, mode) {
      const dead = mode === 'standard' ? { active: false } : { revocable: false, active: false }
      assert.deepEqual((await introspect(server, token)).json(), dead)
    },
  },
  {
    name: '/check_token',
    token: ({ access }) => access,
    async accepts(server, token) {
      assert.equal((await check(server, token)).status, 200)
    },
    async refuses(server, token, mode) {
      await refused(server, mode, () => check(server, token), { want: '400 invalid_token' })
    },
  },
  {
    name: 'grant_type=refresh_token',
    token: ({ refreshing }) => refreshing,
    async accepts(server, token) {
      assert.equal((await refresh(server, token)).status, 200)
    },
    async refuses(server, token, mode) {
      const want = { standard: '400 invalid_grant', uaa: '401 invalid_token' }
      await refused(server, mode, () => refresh(server, token), { want })
    },
  },
  {
    name: 'id_token_hint of /logout.do',
    token: ({ id }) => id,
    async accepts(server, token, mode) {
      assert.equal((await logout(server, token, TARGET[mode])).headers['location'], TARGET[mode])
    },
    async refuses(server, token, mode) {
      const answer = await logout(server, token, TARGET[mode])
      if (mode === 'standard') assert.equal(answer.status, 400)
      else assert.equal(answer.headers['location'], 'http://localhost:8080/login') // the hint is ignored
    },
  },
]

for (const mode of MODES) {
  describe(`Forged token in ${mode}`, () => {
    let server: TestServer
    let genuine: Genuine
    let attacker: Server
    let requests = 0
    let url = ''
    before(async () => {
      server = await startServer({ mode, config })
      const { access_token: access, refresh_token: refreshing, id_token: id } = await passwordTokens(server)
      genuine = { access, refreshing, id }
      attacker = createServer((_, response) => {
        requests += 1
        response.end(JSON.stringify({ keys: [unknownJwk, { ...unknownJwk, kid: 'theirs' }] }))
      }).listen(0, '127.0.0.1')
      await new Promise(resolve => attacker.once('listening', resolve))
      const address = attacker.address()
      assert.ok(typeof address === 'object' && address !== null)
      url = `http://127.0.0.1:${address.port}/keys`
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      attacker.close()
      await server.stop()
    })

    for (const { name: endpoint, token, accepts, refuses } of ENDPOINTS) {
      describe(`at ${endpoint}`, () => {
        it('is distinguished from a genuine one, and from a copy signed with the same key', async () => {
          await accepts(server, token(genuine), mode)
          const { header, payload } = partsOf(token(genuine))
          assert.equal(header['kid'], 'rsa')
          await accepts(server, joined(header, payload, byRsa(own)), mode)
        })
        it('is distinguished from a genuine one signed with another key of the zone', async () => {
          const { header, payload } = partsOf(token(genuine))
          await accepts(
            server,
            joined({ ...header, kid: 'mac', alg: 'HS256' }, payload, byMac(textOf(KEYS.HS256))),
            mode,
          )
        })
        // Covers signing keys: rule: keys that a token names are ignored
        it('is distinguished from a genuine one with jku, x5u and jwk, which are ignored', async () => {
          const { header, payload } = partsOf(token(genuine))
          await accepts(server, joined({ ...header, jku: url, x5u: url, jwk: unknownJwk }, payload, byRsa(own)), mode)
          assert.equal(requests, 0)
        })
        for (const { name, of } of FORGERIES) {
          // Covers signing keys: rule: the key's own algorithm and no other
          it(`is refused with ${name}`, async () => {
            await refuses(server, of(partsOf(token(genuine)), url), mode)
            assert.equal(requests, 0, 'the server fetched a URL from a token')
          })
        }
      })
    }
  })
}

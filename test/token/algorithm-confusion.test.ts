// What a token's header may not bring about, at every place that reads tokens: the key's own algorithm is the only one,
// keys come from the zone alone, and no server is asked for more.
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

const stranger = rsaKeys()
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

/** A genuine token taken apart. */
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
const strangerJwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' }

/** What becomes of a genuine token in an attacker's hands; `url` is the attacker's server. */
const FORGERIES: readonly { readonly name: string; readonly of: (parts: Parts, url: string) => string }[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].map(alg => ({
    name: `the algorithm "${alg}" and no signature`,
    of: ({ header, payload }: Parts) => joined({ ...header, alg }, payload, unsigned),
  })),
  {
    name: 'the algorithm none and the old signature',
    of: ({ header, payload, signature }) =>
      joined({ ...header, alg: 'none' }, payload, () => Buffer.from(signature, 'base64url')),
  },
  {
    name: 'no algorithm',
    of: ({ header, payload }) => joined({ ...header, alg: undefined }, payload, byRsa(own)),
  },
  {
    name: 'a list of algorithms',
    of: ({ header, payload }) => joined({ ...header, alg: ['RS256'] }, payload, byRsa(own)),
  },
  {
    name: 'no signature',
    of: ({ header, payload }) => joined(header, payload, unsigned),
  },
  ...(
    [
      ['the PEM of the public key', spki],
      ['that PEM without its line break', spki.trim()],
      ['the DER of the public key', ownPublic.export({ type: 'spki', format: 'der' })],
      ['the PKCS#1 form', ownPublic.export({ type: 'pkcs1', format: 'pem' }).toString()],
      ['the JWK', JSON.stringify(ownPublic.export({ format: 'jwk' }))],
      ['nothing', ''],
    ] as const
  ).flatMap(([what, secret]) =>
    (['256', '384', '512'] as const).map(size => ({
      name: `HS${size} with ${what} as the secret`,
      of: ({ header, payload }: Parts) => joined({ ...header, alg: `HS${size}` }, payload, byMac(secret, `sha${size}`)),
    })),
  ),
  {
    name: 'the right key with another hash',
    of: ({ header, payload }) => joined({ ...header, alg: 'RS512' }, payload, byRsa(own, 'sha512')),
  },
  {
    name: 'the right key with another padding',
    of: ({ header, payload }) => joined({ ...header, alg: 'PS256' }, payload, byPss(own)),
  },
  {
    name: 'the algorithm of the key and the signature of another',
    of: ({ header, payload }) => joined(header, payload, byPss(own)),
  },
  {
    name: 'the id of the EC key over a signature of the RSA key',
    of: ({ header, payload }) => joined({ ...header, kid: 'ec' }, payload, byRsa(own)),
  },
  {
    name: 'the id of the shared secret over a signature of the RSA key',
    of: ({ header, payload }) => joined({ ...header, kid: 'mac' }, payload, byRsa(own)),
  },
  {
    name: 'the id of the shared secret and the public key as the secret',
    of: ({ header, payload }) => joined({ ...header, kid: 'mac', alg: 'HS256' }, payload, byMac(spki)),
  },
  {
    name: 'the id of the shared secret and no secret',
    of: ({ header, payload }) => joined({ ...header, kid: 'mac', alg: 'HS256' }, payload, byMac('')),
  },
  {
    name: 'the id of the shared secret and another size of the hash',
    of: ({ header, payload }) =>
      joined({ ...header, kid: 'mac', alg: 'HS512' }, payload, byMac(textOf(KEYS.HS256), 'sha512')),
  },
  {
    name: 'a signature by an unknown key',
    of: ({ header, payload }) => joined(header, payload, byRsa(stranger.privateKey)),
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
      name: `the key id ${JSON.stringify(kid.slice(0, 40))} and no secret`,
      of: ({ header, payload }: Parts) => joined({ ...header, kid, alg: 'HS256' }, payload, byMac('')),
    },
    {
      name: `the key id ${JSON.stringify(kid.slice(0, 40))} over a genuine signature`,
      of: ({ header, payload }: Parts) => joined({ ...header, kid }, payload, byRsa(own)),
    },
  ]),
  ...[undefined, null, 1, true, ['rsa'], { rsa: 1 }].map(kid => ({
    name: `the key id ${JSON.stringify(kid) ?? 'missing'}, which is not a string`,
    of: ({ header, payload }: Parts) => joined({ ...header, kid }, payload, byRsa(own)),
  })),
  {
    name: 'the key id and signature of another zone',
    of: ({ header, payload }) => joined({ ...header, kid: 'other' }, payload, byRsa(ofOtherZone)),
  },
  {
    name: 'the signature of another zone under an id of this one',
    of: ({ header, payload }) => joined(header, payload, byRsa(ofOtherZone)),
  },
  {
    name: 'its own JWK',
    of: ({ header, payload }) => joined({ ...header, jwk: strangerJwk }, payload, byRsa(stranger.privateKey)),
  },
  {
    name: 'its own JWK and no key id',
    of: ({ header, payload }) =>
      joined({ ...header, kid: undefined, jwk: strangerJwk }, payload, byRsa(stranger.privateKey)),
  },
  ...(['jku', 'x5u'] as const).flatMap(member =>
    ['rsa', 'theirs'].map(kid => ({
      name: `a ${member} of its own with the key id ${kid}`,
      of: ({ header, payload }: Parts, url: string) =>
        joined({ ...header, kid, [member]: url }, payload, byRsa(stranger.privateKey)),
    })),
  ),
  {
    name: 'its own certificate',
    of: ({ header, payload }) => joined({ ...header, x5c: ['MIIB'], x5t: 'AAAA' }, payload, byRsa(stranger.privateKey)),
  },
  {
    name: 'an extension that must be understood',
    of: ({ header, payload }) => joined({ ...header, crit: ['exp'], exp: 1 }, payload, byRsa(own)),
  },
  {
    name: 'a payload that is not encoded',
    of: ({ header, payload }) => joined({ ...header, crit: ['b64'], b64: false }, payload, byRsa(own)),
  },
]

interface Genuine {
  readonly access: string
  readonly refreshing: string
  readonly id: string
}

/** A place that reads tokens: what it is given, and how it takes and refuses. */
interface Place {
  readonly name: string
  readonly token: (genuine: Genuine) => string
  readonly takes: (server: TestServer, token: string, mode: CompatibilityMode) => Promise<void>
  readonly refuses: (server: TestServer, token: string, mode: CompatibilityMode) => Promise<void>
}

const introspect = (server: TestServer, token: string) =>
  server.send('/introspect', { form: { token }, basic: RESOURCE })
const check = (server: TestServer, token: string) => server.send('/check_token', { form: { token }, basic: RESOURCE })
const TARGET = { standard: 'https://app.example/bye', uaa: 'https://app.example/cb' }
const logout = (server: TestServer, token: string, target: string) =>
  server.send('/logout.do', { query: { id_token_hint: token, post_logout_redirect_uri: target } })

const PLACES: readonly Place[] = [
  {
    name: '/userinfo',
    token: ({ access }) => access,
    async takes(server, bearer) {
      assert.equal((await server.send('/userinfo', { bearer })).status, 200)
    },
    async refuses(server, bearer, mode) {
      await refused(server, mode, () => server.send('/userinfo', { bearer }), { want: '401 invalid_token' })
    },
  },
  {
    name: '/introspect',
    token: ({ access }) => access,
    async takes(server, token) {
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
    async takes(server, token) {
      assert.equal((await check(server, token)).status, 200)
    },
    async refuses(server, token, mode) {
      await refused(server, mode, () => check(server, token), { want: '400 invalid_token' })
    },
  },
  {
    name: 'the refresh grant',
    token: ({ refreshing }) => refreshing,
    async takes(server, token) {
      assert.equal((await refresh(server, token)).status, 200)
    },
    async refuses(server, token, mode) {
      const want = { standard: '400 invalid_grant', uaa: '401 invalid_token' }
      await refused(server, mode, () => refresh(server, token), { want })
    },
  },
  {
    name: 'the hint of /logout.do',
    token: ({ id }) => id,
    async takes(server, token, mode) {
      assert.equal((await logout(server, token, TARGET[mode])).headers['location'], TARGET[mode])
    },
    async refuses(server, token, mode) {
      const answer = await logout(server, token, TARGET[mode])
      if (mode === 'standard') assert.equal(answer.status, 400)
      else assert.equal(answer.headers['location'], 'http://localhost:8080/login') // ignored, and its client unknown
    },
  },
]

for (const mode of MODES) {
  describe(`a token that is not what it seems, ${mode}`, () => {
    let server: TestServer
    let genuine: Genuine
    let attacker: Server
    let asked = 0
    let url = ''
    before(async () => {
      server = await startServer({ mode, config })
      const { access_token: access, refresh_token: refreshing, id_token: id } = await passwordTokens(server)
      genuine = { access, refreshing, id }
      attacker = createServer((_, response) => {
        asked += 1
        response.end(JSON.stringify({ keys: [strangerJwk, { ...strangerJwk, kid: 'theirs' }] }))
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

    for (const { name: place, token, takes, refuses } of PLACES) {
      describe(`at ${place}`, () => {
        it('is distinguished from a genuine one, and from a copy that a test signs with the key of the server', async () => {
          await takes(server, token(genuine), mode)
          const { header, payload } = partsOf(token(genuine))
          assert.equal(header['kid'], 'rsa')
          await takes(server, joined(header, payload, byRsa(own)), mode)
        })
        it('is distinguished from a genuine one of another of its keys', async () => {
          const { header, payload } = partsOf(token(genuine))
          await takes(server, joined({ ...header, kid: 'mac', alg: 'HS256' }, payload, byMac(textOf(KEYS.HS256))), mode)
        })
        // Covers signing keys: rule: keys that a token names are ignored
        it('is not made good or bad by a place for keys that it names', async () => {
          const { header, payload } = partsOf(token(genuine))
          await takes(server, joined({ ...header, jku: url, x5u: url, jwk: strangerJwk }, payload, byRsa(own)), mode)
          assert.equal(asked, 0)
        })
        for (const { name, of } of FORGERIES) {
          // Covers signing keys: rule: the key's own algorithm and no other
          it(`is refused with ${name}`, async () => {
            await refuses(server, of(partsOf(token(genuine)), url), mode)
            assert.equal(asked, 0, 'the server asked an address that a token named')
          })
        }
      })
    }
  })
}

import assert from 'node:assert/strict'
import { createPublicKey, hash, X509Certificate } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { SIGNING_ALGORITHMS } from '../../src/model/tokens/signing-key.ts'
import { certificateOf } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { KEYS, keysConfig, signerOf, textOf } from '../support/keys.ts'
import { MODES, RESOURCE, SERVICE, refused } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const NEVER_CACHED = 'no-cache, no-store, max-age=0, must-revalidate'

type Jwk = Readonly<Record<string, string>>

const signingKeys = {
  active: 'rsa',
  keys: { rsa: KEYS.RS256, ec: KEYS.ES256, ed: KEYS.EdDSA, mac: KEYS.HS256 },
}
const withActive = (active: keyof typeof signingKeys.keys) => ({ signing_keys: { ...signingKeys, active } })

const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** The keys in the response to this caller. */
async function reported(server: TestServer, basic?: readonly [string, string]): Promise<readonly Jwk[]> {
  return (await server.send('/token_keys', basic ? { basic } : {})).json<{ keys: readonly Jwk[] }>().keys
}

const kidsOf = (keys: readonly Jwk[]): readonly string[] => keys.map(({ kid = '' }) => kid)

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`GET /token_keys and /token_key in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: withActive('rsa') })))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers GET /token_keys: response: keys; kid; alg; use; kty; rule: every public key for everyone
    it('publishes all public keys without authentication, in uaa only RSA keys (M6)', async () => {
      const keys = await reported(server)
      assert.deepEqual(kidsOf(keys).slice(0, 1), ['rsa'])
      assert.deepEqual(
        keys.map(({ kid, alg, kty, use }) => [kid, alg, kty, use].join(' ')).toSorted(),
        isStandard ? ['ec ES256 EC sig', 'ed EdDSA OKP sig', 'rsa RS256 RSA sig'] : ['rsa RS256 RSA sig'],
      )
    })

    // Covers GET /token_keys: response: n; e; crv; x; y
    // Covers every answer in standard: keys: distinct kid, nothing private
    // Covers unsafe behaviour: private key members are never served
    it('returns the public members of each key type, and no private ones', async () => {
      const keys = await reported(server, RESOURCE)
      const members = Object.fromEntries(keys.map(key => [key['kid'], Object.keys(key).toSorted()]))
      assert.deepEqual(members, {
        rsa: ['alg', 'e', 'kid', 'kty', 'n', 'use', 'value'],
        ec: ['alg', 'crv', 'kid', 'kty', 'use', 'value', 'x', 'y'],
        ed: ['alg', 'crv', 'kid', 'kty', 'use', 'value', 'x'],
        ...(!isStandard && { mac: ['alg', 'kid', 'kty', 'use', 'value'] }),
      })
    })

    // Covers GET /token_keys: response: value
    it('returns each key as PEM, too', async () => {
      for (const { value = '', kid = '', ...jwk } of await reported(server, RESOURCE)) {
        if (kid === 'mac') continue
        assert.match(value, /^-----BEGIN PUBLIC KEY-----\n[^]*-----END PUBLIC KEY-----$/)
        const same = createPublicKey({ key: { ...jwk }, format: 'jwk' }).equals(createPublicKey(value))
        assert.ok(same, kid)
      }
    })

    // Covers GET /token_key: response: active key
    it('returns only the active key at /token_key', async () => {
      assert.deepEqual((await server.send('/token_key')).json(), (await reported(server))[0])
    })

    for (const path of ['/token_keys', '/token_key']) {
      // Covers GET /token_keys: If-None-Match; header: ETag
      // Covers GET /token_key: If-None-Match; header: ETag
      // Covers compatibility: metadata: M6 keys
      it(`answers 304 to the ETag of ${path}, which is a number in uaa (M6)`, async () => {
        const tag = String((await server.send(path)).headers['etag'])
        assert.match(tag, isStandard ? /^"[\w-]{22}"$/ : /^"\d+"$/)
        const again = await server.send(path, { headers: { 'if-none-match': tag } })
        assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', tag])
      })

      const conditions: readonly { name: string; of: (tag: string) => string; standard: number; uaa: number }[] = [
        { name: 'another ETag', of: () => '"other"', standard: 200, uaa: 200 },
        { name: 'another number', of: () => '1', standard: 200, uaa: 200 },
        { name: 'an empty value', of: () => '', standard: 200, uaa: 200 },
        { name: 'a list without the ETag', of: () => 'W/"other", "x"', standard: 200, uaa: 200 },
        { name: 'a list with the ETag', of: tag => `"a,b", ${tag} ,"c"`, standard: 304, uaa: 304 },
        { name: 'its weak form', of: tag => `W/${tag}`, standard: 304, uaa: 304 },
        { name: 'an asterisk', of: () => '*', standard: 304, uaa: 304 },
        { name: 'a prefix of the ETag', of: tag => tag.slice(0, -2), standard: 200, uaa: 200 },
        { name: 'the ETag in single quotes', of: tag => `'${tag.replaceAll('"', '')}'`, standard: 200, uaa: 200 },
        { name: 'the ETag with a suffix', of: tag => `${tag}0`, standard: 200, uaa: 200 },
        { name: 'a long list', of: tag => `${'"x",'.repeat(2000)}${tag}`, standard: 304, uaa: 304 },
      ]
      for (const { name, of, ...want } of conditions) {
        it(`answers ${want[mode]} at ${path} to If-None-Match with ${name}`, async () => {
          const tag = String((await server.send(path)).headers['etag'])
          const answer = await server.send(path, { headers: { 'if-none-match': of(tag) } })
          assert.equal(answer.status, want[mode])
        })
      }

      // Covers GET /token_keys: header: Cache-Control
      it(`allows caching of ${path} for five minutes in standard`, async () => {
        const { headers } = await server.send(path)
        assert.equal(headers['cache-control'], isStandard ? 'public, max-age=300, must-revalidate' : NEVER_CACHED)
        const vary = String(headers['vary'] ?? '').split(', ')
        assert.equal(vary.includes('Authorization'), !isStandard)
      })

      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        it(`answers 405 to ${method} ${path}`, async () => {
          const answer = await refused(server, mode, () => server.send(path, { method }), {
            want: '405 method_not_allowed',
          })
          assert.equal(answer.headers['allow'], 'GET, HEAD')
        })
      }
    }
  })

  describe(`ETag of /token_keys in ${mode}`, () => {
    it('changes if a key is added, activated or retired', async () => {
      const server = await startServer({ mode, config: withActive('rsa') })
      try {
        const record = (await server.store.keys.list('svc')).find(({ keyId }) => keyId === 'rsa')
        assert.ok(record)
        // The same key under another id without its private key, because the sealed one could not be opened.
        const { sealedPrivateKey: _, ...verifying } = record
        const now = server.clock.now()
        const changes: readonly (() => Promise<unknown>)[] = [
          () => server.store.keys.insert('svc', { ...verifying, keyId: 'next', active: false }),
          () => server.store.keys.activate('svc', 'ec', now),
          () => server.store.keys.activate('svc', 'rsa', now),
          () => server.store.keys.retire('svc', 'next', now),
        ]
        const seen: string[] = []
        for (const change of changes) {
          const tag = String((await server.send('/token_keys')).headers['etag'])
          seen.push(tag)
          await change()
          const answer = await server.send('/token_keys', { headers: { 'if-none-match': tag } })
          assert.equal(answer.status, 200)
        }
        assert.notEqual(seen[0], seen[1])
        const last = await server.send('/token_keys')
        assert.ok(!kidsOf(last.json<{ keys: readonly Jwk[] }>().keys).includes('next'))
      } finally {
        await server.stop()
      }
    })
  })

  describe(`Zone without signing keys in ${mode}`, () => {
    it('generates one RS256 key on the first request, and keeps it', async () => {
      const server = await startServer({ mode })
      try {
        const answers = await Promise.all(Array.from({ length: 5 }, () => server.send('/token_keys')))
        assert.equal(new Set(answers.map(answer => answer.text)).size, 1)
        const { keys } = (answers[0] ?? assert.fail()).json<{ keys: readonly Jwk[] }>()
        assert.deepEqual(
          keys.map(({ alg, kty }) => [alg, kty]),
          [['RS256', 'RSA']],
        )
      } finally {
        await server.stop()
      }
    })
  })

  describe(`Certificates of a key in ${mode}`, () => {
    const day = 86_400_000
    const start = createTestClock().now().getTime()
    const cert = certificateOf(textOf(KEYS.RS256), { name: 'valid', to: new Date(start + 2 * day) })
    const chain = `${cert}${certificateOf(textOf(KEYS.ES256), { name: 'above' })}`

    // Covers GET /token_keys: response: x5c; x5t; x5t#S256
    it('are published with the key while they are valid', async () => {
      const keys = { plain: KEYS.RS256, certified: { ...KEYS.RS256, cert: chain } }
      const server = await startServer({ mode, config: { signing_keys: { active: 'certified', keys } } })
      try {
        const members = async () => {
          const { x5c, x5t, 'x5t#S256': x5tS256 } = (await server.send('/token_key')).json()
          return { x5c, x5t, x5tS256 }
        }
        const { raw } = new X509Certificate(cert)
        const got = await members()
        assert.ok(Array.isArray(got.x5c))
        assert.equal(got.x5c.length, 2)
        assert.equal(got.x5c[0], raw.toString('base64'))
        assert.equal(got.x5t, hash('sha1', raw, 'base64url'))
        assert.equal(got.x5tS256, hash('sha256', raw, 'base64url'))
        const plain = (await reported(server)).find(({ kid }) => kid === 'plain')
        assert.deepEqual([plain?.['x5c'], plain?.['x5t'], plain?.['x5t#S256']], [undefined, undefined, undefined])
        server.clock.advance((2 * day) / 1000 + 1)
        assert.deepEqual(await members(), { x5c: undefined, x5t: undefined, x5tS256: undefined })
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  })
}

describe('Protected keys in uaa', () => {
  for (const active of ['ec', 'ed', 'mac'] as const) {
    describe(`with ${active} active`, () => {
      let server: TestServer
      before(async () => (server = await startServer({ mode: 'uaa', config: withActive(active) })))
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      // Covers GET /token_keys: rule: EC keys need the resource authority (uaa)
      it('are omitted from /token_keys unless the client has the authority svc.resource', async () => {
        assert.deepEqual(kidsOf(await reported(server)), ['rsa'])
        assert.deepEqual(kidsOf(await reported(server, SERVICE)), ['rsa'])
        const all = kidsOf(await reported(server, RESOURCE))
        assert.equal(all[0], active)
        assert.deepEqual(all.toSorted(), ['ec', 'ed', 'mac', 'rsa'])
      })

      it('are returned at /token_key to a client with the authority, without caching', async () => {
        const answer = await server.send('/token_key', { basic: RESOURCE })
        assert.deepEqual([answer.status, answer.json()['kid']], [200, active])
        assert.equal(answer.headers['cache-control'], NEVER_CACHED)
      })

      const description = 'Full authentication is required to access this resource'
      const challenge = `Basic realm="SVC/client", error="unauthorized", error_description="${description}"`
      const refusals = [
        // Covers GET /token_key: error: protected key anonymous (uaa)
        { name: 'an anonymous caller', request: {}, want: '401 unauthorized', description, challenge },
        { name: 'a bearer token', request: { bearer: 'x' }, want: '401 unauthorized', description, challenge },
        // Covers GET /token_key: error: protected key without authority (uaa)
        {
          name: 'a client without the authority',
          request: { basic: SERVICE },
          want: '403 access_denied',
          description: 'You need to authenticate to see a shared key',
        },
        {
          name: 'credentials in the query',
          request: { query: { client_id: 'resource', client_secret: 'resource-secret' } },
          want: '401 unauthorized',
          description,
        },
      ]
      for (const { name, request, ...refusal } of refusals) {
        it(`are refused to ${name} at /token_key`, async () => {
          const answer = await refused(server, 'uaa', () => server.send('/token_key', request), refusal)
          assert.equal(answer.headers['etag'], undefined)
        })
      }

      it('have one ETag for all callers, compared before authorization', async () => {
        const tags = await Promise.all(
          [{ basic: RESOURCE }, {}].map(async request => (await server.send('/token_keys', request)).headers['etag']),
        )
        assert.equal(tags[0], tags[1])
        const answer = await server.send('/token_key', { headers: { 'if-none-match': String(tags[0]) } })
        assert.deepEqual([answer.status, answer.text], [304, ''])
      })
    })
  }

  describe('with wrong credentials', () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode: 'uaa', config: withActive('rsa') })))
    after(() => server.stop())
    const header = (value: string) => ({ headers: { authorization: value } })
    const wrong = [
      { name: 'a wrong secret', request: { basic: ['resource', 'wrong'] as const } },
      { name: 'an empty secret', request: { basic: ['resource', ''] as const } },
      { name: 'an unknown client', request: { basic: ['nobody', 'resource-secret'] as const } },
      { name: 'a public client without a secret', request: { basic: ['spa', ''] as const } },
      { name: 'invalid base64', request: header('Basic *') },
      { name: 'credentials without a colon', request: header(`Basic ${btoa('resource')}`) },
      { name: 'a secret that is too long', request: { basic: ['resource', 'x'.repeat(8000)] as const } },
    ]
    for (const path of ['/token_key', '/token_keys']) {
      for (const { name, request } of wrong) {
        // Covers GET /token_keys: error: wrong Basic credentials
        it(`are refused at ${path}, even if the key is public: ${name}`, async () => {
          await refused(server, 'uaa', () => server.send(path, request), {
            want: '401 invalid_client',
            challenge: 'Basic realm="SVC/client", error="unauthorized", error_description="Bad credentials"',
          })
        })
      }
    }
  })

  // Covers GET /token_keys: rule: symmetric keys as MAC for the resource authority (uaa)
  it('contain the shared secret as value', async () => {
    const server = await startServer({ mode: 'uaa', config: withActive('mac') })
    try {
      assert.deepEqual((await server.send('/token_key', { basic: RESOURCE })).json(), {
        kty: 'MAC',
        kid: 'mac',
        use: 'sig',
        alg: 'HS256',
        value: textOf(KEYS.HS256),
      })
    } finally {
      await server.stop()
    }
  })
})

describe('Active shared secret in standard', () => {
  let server: TestServer
  before(async () => (server = await startServer({ config: withActive('mac') })))
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('is not published to any caller', async () => {
    for (const basic of [undefined, SERVICE, RESOURCE, ['resource', 'wrong'] as const]) {
      assert.deepEqual(kidsOf(await reported(server, basic)).toSorted(), ['ec', 'ed', 'rsa'])
    }
  })

  const cases = [
    {
      name: 'an anonymous caller',
      request: {},
      want: '401 unauthorized',
      description: 'Full authentication is required to access this resource',
      challenge: 'Basic realm="SVC/client"',
    },
    { name: 'wrong credentials', request: { basic: ['resource', 'wrong'] as const }, want: '401 invalid_client' },
    {
      name: 'a client without the resource authority',
      request: { basic: SERVICE },
      want: '403 access_denied',
      description: 'You need to authenticate to see a shared key',
    },
    {
      name: 'a client with the resource authority',
      request: { basic: RESOURCE },
      want: '403 access_denied',
      description: 'Shared keys are never published',
    },
  ]
  for (const { name, request, ...refusal } of cases) {
    it(`is refused at /token_key to ${name}`, async () => {
      await refused(server, 'standard', () => server.send('/token_key', request), refusal)
    })
  }
})

// Covers GET /token_keys: rule: nothing private leaves
describe('Private keys', () => {
  const places = [
    '/token_keys',
    '/token_key',
    '/.well-known/openid-configuration',
    '/oauth/token/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server',
    '/info',
  ]
  const callers = { 'an anonymous caller': undefined, 'a client': SERVICE, 'a resource server': RESOURCE }

  /** All objects in the value, recursively. */
  function* objectsIn(value: unknown): Generator<object> {
    if (typeof value !== 'object' || value === null) return
    yield value
    for (const member of Object.values(value)) yield* objectsIn(member)
  }

  for (const mode of MODES) {
    for (const alg of SIGNING_ALGORITHMS) {
      it(`of ${alg} are not exposed by any endpoint in ${mode}`, async () => {
        const server = await startServer({ mode, config: keysConfig(alg) })
        try {
          const jwk = signerOf(KEYS[alg]).export({ format: 'jwk' })
          const hidden = PRIVATE.flatMap(name => {
            const value: unknown = Reflect.get(jwk, name)
            return typeof value === 'string' ? [value] : []
          })
          assert.ok(hidden.length > 0)
          const text = textOf(KEYS[alg])
          hidden.push(...('pem' in KEYS[alg] ? text.split('\n').filter(line => /^[\w+/=]{40,}$/.test(line)) : [text]))
          for (const path of places) {
            for (const [who, basic] of Object.entries(callers)) {
              const answer = await server.send(path, basic ? { basic } : {})
              const isSharedSecret = mode === 'uaa' && basic === RESOURCE && alg.startsWith('HS') && /key/.test(path)
              assert.equal(answer.text.includes(text), isSharedSecret, `${path} to ${who}`)
              if (isSharedSecret) continue
              for (const value of hidden) assert.ok(!answer.text.includes(value), `${path} to ${who}`)
              for (const object of objectsIn(answer.json<unknown>())) {
                for (const name of PRIVATE) assert.ok(!Object.hasOwn(object, name), `${name} at ${path} to ${who}`)
              }
            }
          }
        } finally {
          await server.stop()
        }
      })
    }
  }
})

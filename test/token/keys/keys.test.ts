import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { jwtVerify } from 'jose'
import { createRandom } from '../../../src/base/random.ts'
import { IN_TOKEN } from '../../../src/model/tokens/key-in-token.ts'
import type { Signature } from '../../../src/model/tokens/signature.ts'
import { hashBytesOfSymmetric, SIGNING_ALGORITHMS } from '../../../src/model/tokens/signing-key.ts'
import type { SigningAlgorithm } from '../../../src/model/tokens/signing-key.ts'
import { createKeyRing } from '../../../src/token/keys/keys.ts'
import { sealedKey } from '../../../src/token/keys/zone-key.ts'
import { SigningUnavailable } from '../../../src/token/keys/signer.ts'
import { freshDatabase } from '../../support/databases.ts'
import { KEYS, keysConfig, signerOf } from '../../support/keys.ts'
import { startServer } from '../../support/server.ts'
import { isAlive, MODES, passwordTokens, refused, SERVICE, tokensOf, verified } from '../../support/oauth.ts'

const FORM = { grant_type: 'client_credentials' }
/** The hash algorithm of at_hash (OpenID Connect Core §3.1.3.6); for Ed25519 it is that of RFC 8032. */
const hashOf = (alg: SigningAlgorithm): string => (alg === 'EdDSA' ? 'sha512' : `sha${alg.slice(2)}`)
const { RS256, ES256 } = KEYS

describe('Signatures', () => {
  for (const [alg, place] of [
    ['RS256', 'pool'],
    ['ES256', 'main'],
    ['HS256', 'main'],
  ] as const) {
    it(`are measured by algorithm and thread: ${alg} on ${place}`, async () => {
      const server = await startServer({ config: keysConfig(alg) })
      try {
        const made: Signature[] = []
        const { store, vault, clock } = server
        const deps = { store, vault, clock, random: createRandom(), defaultZoneId: 'svc' }
        const keys = createKeyRing({ ...deps, onSignature: signature => made.push(signature) })
        await (await keys.active('svc')).sign('JWT', {})
        assert.deepEqual(
          made.map(({ milliseconds, ...signature }) => [signature, milliseconds > 0]),
          [[{ algorithm: alg, place, isMade: true }, true]],
        )
      } finally {
        await server.stop()
      }
    })
  }

  it('move to a separate thread under low load', async () => {
    const server = await startServer({ config: keysConfig('ES256') })
    try {
      const { store, vault, clock } = server
      const places = new Set<string>()
      const deps = { store, vault, clock, random: createRandom(), defaultZoneId: 'svc' }
      const keys = createKeyRing({ ...deps, onSignature: ({ place }) => places.add(place) })
      const key = await keys.active('svc')
      const deadline = Date.now() + 20_000
      while (!places.has('thread') && Date.now() < deadline) {
        const tokens = await Promise.all(Array.from({ length: 50 }, (_, number) => key.sign('JWT', { number })))
        const { payload } = await jwtVerify(tokens[49] ?? '', key.verifyKey)
        assert.deepEqual(payload, { number: 49 })
      }
      assert.deepEqual([...places].toSorted(), ['main', 'thread'])
    } finally {
      await server.stop()
    }
  })

  it('leave threads of the pool to other work', async () => {
    const server = await startServer({ config: keysConfig('RS256') })
    try {
      const { store, vault, clock } = server
      const key = await createKeyRing({ store, vault, clock, random: createRandom(), defaultZoneId: 'svc' }).active(
        'svc',
      )
      let made = 0
      const signing = Array.from({ length: 200 }, () => key.sign('JWT', {}).then(() => (made += 1)))
      await new Promise(resolve => setImmediate(resolve)) // all are requested
      await stat('.')
      assert.ok(made < 100, `${made} signatures came first`)
      await Promise.all(signing)
    } finally {
      await server.stop()
    }
  })
})

describe('Failed signature', () => {
  it('is measured as failed if the PKCS#11 token of the key is not configured', async () => {
    const server = await startServer({ config: keysConfig('ES256') })
    try {
      const { store, vault, clock } = server
      const [record] = await store.keys.list('svc')
      const { publicKey = assert.fail() } = record ?? {}
      const inToken = { algorithm: 'ES256', privateKey: IN_TOKEN, publicKey } as const
      const named = { zoneId: 'svc', keyId: 'hardware', active: false, createdAt: clock.now() }
      await store.keys.insert('svc', sealedKey(named, inToken, vault))
      await store.keys.activate('svc', 'hardware', clock.now())
      const failed: Signature[] = []
      const deps = { store, vault, clock, random: createRandom(), defaultZoneId: 'svc' }
      const key = await createKeyRing({ ...deps, onSignature: signature => failed.push(signature) }).active('svc')
      assert.equal(key.keyId, 'hardware')
      await assert.rejects(key.sign('JWT', {}), SigningUnavailable)
      assert.deepEqual(
        failed.map(({ algorithm, place, isMade }) => ({ algorithm, place, isMade })),
        [{ algorithm: 'ES256', place: 'pkcs11', isMade: false }],
      )
    } finally {
      await server.stop()
    }
  })
})

describe('Signing keys of a zone', () => {
  for (const alg of SIGNING_ALGORITHMS) {
    if (hashBytesOfSymmetric(alg) !== undefined) continue
    // Covers ID token: at_hash
    // Covers signing keys: RS256; RS384; RS512; PS256; PS384; PS512; ES256; ES384; ES512; EdDSA
    it(`sign with ${alg}, are published, and determine at_hash`, async () => {
      const server = await startServer({ config: keysConfig(alg) })
      try {
        const { access_token: token } = tokensOf(await server.token(FORM, { basic: SERVICE }))
        const { header } = await verified(server, token, {
          algorithms: [alg],
          audience: 'service',
          issuer: server.baseUrl,
        })
        assert.deepEqual(header, { alg, kid: 'key', typ: 'JWT' })
        assert.ok(await isAlive(server, token))

        const tokens = await passwordTokens(server)
        const { payload } = await verified(server, tokens.id_token, { algorithms: [alg], audience: 'app' })
        const whole = createHash(hashOf(alg)).update(tokens.access_token).digest()
        assert.equal(payload['at_hash'], whole.subarray(0, whole.length / 2).toString('base64url'))

        const metadata = (await server.send('/.well-known/openid-configuration')).json()
        const listed = alg === 'RS256' ? ['RS256'] : ['RS256', alg]
        assert.deepEqual(metadata['id_token_signing_alg_values_supported'], listed)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  }

  const symmetric = ['HS256', 'HS384', 'HS512'] as const
  for (const alg of symmetric) {
    for (const mode of MODES) {
      // Covers signing keys: HS256; HS384; HS512
      it(`sign with ${alg}, which holders of the secret can verify and discovery omits, in ${mode}`, async () => {
        const server = await startServer({ mode, config: keysConfig(alg) })
        try {
          const { access_token: token } = tokensOf(await server.token(FORM, { basic: SERVICE }))
          const options = { algorithms: [alg], currentDate: server.clock.now() }
          const { protectedHeader, payload } = await jwtVerify(token, signerOf(KEYS[alg]), options)
          assert.deepEqual([protectedHeader.alg, protectedHeader.kid], [alg, 'key'])
          assert.equal(payload['cid'], 'service')
          await assert.rejects(jwtVerify(token, Buffer.from('x'.repeat(64)), options))
          assert.ok(await isAlive(server, token))

          const tokens = await passwordTokens(server)
          const { payload: claims } = await jwtVerify(tokens.id_token, signerOf(KEYS[alg]), options)
          const whole = createHash(hashOf(alg)).update(tokens.access_token).digest()
          const half = mode === 'standard' ? whole.subarray(0, whole.length / 2).toString('base64url') : undefined
          assert.equal(claims['at_hash'], half)

          // HS256 in discovery means the client's secret (OpenID Connect Core §10.1); UAA lists it nevertheless.
          const metadata = (await server.send('/.well-known/openid-configuration')).json()
          const listed = mode === 'standard' ? ['RS256'] : ['RS256', 'HS256']
          assert.deepEqual(metadata['id_token_signing_alg_values_supported'], listed)
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
        }
      })
    }
  }

  it('are stored encrypted, without a public key for a shared secret', async () => {
    const server = await startServer({ config: keysConfig('HS256') })
    try {
      const [record] = await server.store.keys.list('svc')
      assert.deepEqual([record?.publicKey, record?.algorithm], [undefined, 'HS256'])
      const secret = 'secret' in KEYS.HS256 ? KEYS.HS256.secret : assert.fail()
      assert.ok(!JSON.stringify(record).includes(secret))
    } finally {
      await server.stop()
    }
  })

  // Covers signing keys: several keys, chosen by kid
  it('are selected by kid, so that tokens remain valid after a change of the active key', async () => {
    const database = await freshDatabase('sqlite')
    try {
      const before = await startServer({
        database: database.url,
        config: { signing_keys: { active: 'old', keys: { old: RS256 } } },
      })
      const { access_token: first } = tokensOf(await before.token(FORM, { basic: SERVICE }))
      await before.stop()
      const server = await startServer({
        database: database.url,
        config: { signing_keys: { active: 'next', keys: { old: RS256, next: ES256 } } },
      })
      try {
        const { access_token: second } = tokensOf(await server.token(FORM, { basic: SERVICE }))
        for (const [token, kid] of [
          [first, 'old'],
          [second, 'next'],
        ] as const) {
          assert.equal((await verified(server, token)).header.kid, kid)
          assert.ok(await isAlive(server, token), kid)
        }
        assert.equal((await server.send('/token_key')).json()['kid'], 'next')
      } finally {
        await server.stop()
      }
    } finally {
      await database.drop()
    }
  })
})

describe('Zone whose keys only verify', () => {
  for (const mode of MODES) {
    // Covers error body: error: `server_error` 500
    // Covers POST /oauth/token: error: no signing key
    // Covers compatibility: C11 error codes: no signing key
    it(`issues no tokens, and returns the reason only in uaa (C11), in ${mode}`, async () => {
      const server = await startServer({ mode, config: keysConfig('RS256') })
      try {
        const [{ sealedPrivateKey: _, ...verifying } = assert.fail()] = await server.store.keys.list('svc')
        await server.store.keys.save('svc', verifying)
        await refused(server, mode, () => server.token(FORM, { basic: SERVICE }), {
          want: { standard: '500 server_error', uaa: '401 unauthorized' },
          description:
            mode === 'uaa' ? 'Unable to sign token, misconfigured JWT signing keys' : 'Internal Server Error',
        })
        const reported = (await server.send('/token_keys')).json<{ keys: readonly { kid: string }[] }>()
        assert.deepEqual(
          reported.keys.map(({ kid }) => kid),
          ['key'],
        )
      } finally {
        await server.stop()
      }
    })
  }
})

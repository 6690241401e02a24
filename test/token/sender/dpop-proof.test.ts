import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { createCache } from '../../../src/base/cache.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { AddressedZone, SentRequest } from '../../../src/model/request.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { FOREIGN_ALGORITHMS } from '../../../src/token/foreign-keys.ts'
import { NONCE_SECONDS, createDpopNonces } from '../../../src/token/sender/dpop-nonce.ts'
import { ProofProblem, useProof, verifyProof } from '../../../src/token/sender/dpop-proof.ts'
import type { ProofKey } from '../../../src/token/sender/dpop-proof.ts'
import { createTestClock } from '../../support/clock.ts'
import { dpopKey, proof } from '../../support/dpop.ts'
import type { DpopKey, ProofContent } from '../../support/dpop.ts'
import { keyOfLongExponent } from '../../support/long-exponent.ts'
import { rsaKeys } from '../../support/rsa-keys.ts'

const START = createTestClock().now()
const BASE = 'https://id.example/base'
const URL_OF_TOKENS = `${BASE}/oauth/token`

/** A zone that requires nonces or not. */
const zoneWith = (config: object = {}, more: Partial<AddressedZone> = {}): AddressedZone =>
  ({ id: 'svc', subdomain: '', active: true, address: 'host', config, ...more }) as unknown as AddressedZone // only what is read

const RSA = rsaKeys()

const lax = zoneWith({ requireDpopNonce: false })

function verifier() {
  const clock = createTestClock()
  const used = new Set<string>()
  const store = {
    proofs: {
      use: (zoneId: string, id: string) => {
        const isNew = !used.has(zoneId + id)
        used.add(zoneId + id)
        return Promise.resolve(isNew)
      },
    },
  }
  const vault = createVault(Buffer.alloc(32, 1), createRandom())
  const nonces = createDpopNonces({ vault, clock })
  const proofKeys = createCache<ProofKey>({ capacity: 10 })
  const urls = createUrls(BASE, behaviourOf('standard'))
  const verify = async (sent: unknown, change: Partial<SentRequest> = {}) => {
    const usual = { zone: lax, method: 'POST', originalUrl: '/base/oauth/token', headers: { dpop: sent as string } }
    const request = { ...usual, ...change }
    const deps = { store, clock, urls, nonces, proofKeys }
    const { id: _, ...found } = await verifyProof(request, deps).then(async verified => {
      await useProof(request, verified, deps)
      return verified
    })
    return found
  }
  return { clock, nonces, used, verify }
}

const problem = (error: ProofProblem['error'], message: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof ProofProblem, String(thrown))
  assert.equal(thrown.error, error)
  assert.match(thrown.message, message)
  return true
}

const content: ProofContent = { url: URL_OF_TOKENS, at: START }

describe('DPoP proof', () => {
  let key: DpopKey
  before(async () => (key = await dpopKey()))

  it('provides the thumbprint of its key', async () => {
    const { verify } = verifier()
    assert.deepEqual(await verify(await proof(key, content)), { jkt: key.jkt, alg: 'ES256', ath: undefined })
    const { ath } = await verify(await proof(key, { ...content, token: 'abc' }))
    assert.equal(ath, 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })

  const pairs: Readonly<Record<string, { publicKey: KeyObject; privateKey: KeyObject }>> = {
    RS: RSA,
    PS: rsaKeys(),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
    Ed: generateKeyPairSync('ed25519'),
  }
  for (const alg of FOREIGN_ALGORITHMS) {
    it(`may be signed with ${alg}`, async () => {
      const own = await dpopKey(pairs[alg] ?? pairs[alg.slice(0, 2)], alg)
      assert.equal((await verifier().verify(await proof(own, content))).jkt, own.jkt)
    })
  }

  it('may be ten seconds old or early, and have exp and nbf', async () => {
    const { verify } = verifier()
    const now = START.getTime() / 1000
    for (const seconds of [-10, 10]) {
      assert.ok(await verify(await proof(key, { ...content, at: new Date(START.getTime() + seconds * 1000) })))
    }
    assert.ok(await verify(await proof(key, { ...content, claims: { nbf: now, exp: now + 300 } })))
  })

  it('has the same thumbprint for equivalent JWKs', async () => {
    const jwk = { ...key.jwk, kid: 'x', use: 'sig', key_ops: ['verify'], x: `${key.jwk.x}=` }
    assert.equal((await verifier().verify(await proof(key, { ...content, header: { jwk } }))).jkt, key.jkt)
  })

  describe('is refused', () => {
    const others = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const privateJwk = others.privateKey.export({ format: 'jwk' })
    const cases: readonly [name: string, change: Partial<ProofContent>, message: RegExp][] = [
      ['with another typ', { header: { typ: 'JWT' } }, /typ/],
      ['without typ', { header: { typ: undefined } }, /typ/],
      ['with critical extensions', { header: { crit: ['b64'], b64: true } }, /critical/],
      ['without a key', { header: { jwk: undefined } }, /jwk/],
      ['with a key by reference', { header: { jwk: undefined, kid: 'x', jku: 'https://id.example/keys' } }, /jwk/],
      ['with a private key', { header: { jwk: privateJwk }, signedBy: others.privateKey }, /jwk/],
      ['with a short RSA key', { header: { jwk: weak.publicKey.export({ format: 'jwk' }) } }, /jwk/],
      ['signed by another key', { signedBy: others.privateKey }, /signature/],
      ['without jti', { claims: { jti: undefined } }, /jti/],
      ['with an empty jti', { claims: { jti: '' } }, /jti/],
      ['with a long jti', { claims: { jti: 'x'.repeat(257) } }, /jti/],
      ['with a number as jti', { claims: { jti: 1 } }, /jti/],
      ['for another method', { method: 'GET' }, /htm/],
      ['for the method in lower case', { method: 'post' }, /htm/],
      ['without iat', { claims: { iat: undefined } }, /iat/],
      ['with a string as iat', { claims: { iat: '1768478400' } }, /iat/],
      ['older than a minute', { at: new Date(START.getTime() - 61_000) }, /iat/],
      ['more than a minute in the future', { at: new Date(START.getTime() + 61_000) }, /iat/],
      ['that expired', { claims: { exp: START.getTime() / 1000 - 61 } }, /expired/],
      ['that is not valid yet', { claims: { nbf: START.getTime() / 1000 + 61 } }, /not yet valid/],
      ['with an unusable exp', { claims: { exp: 'never' } }, /expired/],
    ]
    for (const [name, change, message] of cases) {
      it(name, async () => {
        const sent = await proof(key, { ...content, ...change })
        await assert.rejects(verifier().verify(sent), problem('invalid_dpop_proof', message))
      })
    }

    it('with an algorithm of another key type', async () => {
      const ed = await dpopKey(generateKeyPairSync('ed25519'), 'EdDSA')
      const sent = await proof(ed, { ...content, header: { jwk: key.jwk } })
      await assert.rejects(verifier().verify(sent), problem('invalid_dpop_proof', /jwk/))
    })

    it('unsigned or with a symmetric algorithm', async () => {
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const claims = part({ jti: 'x', htm: 'POST', htu: URL_OF_TOKENS, iat: START.getTime() / 1000 })
      for (const alg of ['none', 'HS256', 'RSA-OAEP', 'A128GCM', undefined]) {
        const header = part({ typ: 'dpop+jwt', alg, jwk: key.jwk })
        for (const signature of ['', 'x']) {
          await assert.rejects(verifier().verify(`${header}.${claims}.${signature}`), ProofProblem)
        }
      }
    })

    it('with a long RSA exponent', async () => {
      const privateKey = keyOfLongExponent()
      const long = await dpopKey({ privateKey, publicKey: createPublicKey(privateKey) }, 'RS256')
      const sent = await proof(key, { ...content, header: { alg: 'RS256', jwk: long.jwk }, signedBy: RSA.privateKey })
      await assert.rejects(verifier().verify(sent), problem('invalid_dpop_proof', /jwk/))
    })

    it('that is not exactly one JWT', async () => {
      const one = await proof(key, content)
      const wrong = [undefined, '', 'x', 'a.b.c', `${one}, ${one}`, [one], `${one}.`, `${one}!`, ' '.repeat(9000)]
      for (const sent of wrong) await assert.rejects(verifier().verify(sent), ProofProblem)
      const large = await proof(key, { ...content, claims: { more: 'x'.repeat(9000) } })
      await assert.rejects(verifier().verify(large), problem('invalid_dpop_proof', /not a JWT/))
    })

    it('with non-zero padding bits in the signature (RFC 4648 §3.5)', async () => {
      const one = await proof(key, content)
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const other = one.slice(0, -1) + alphabet[alphabet.indexOf(one.at(-1) ?? '') + 1]
      const bytesOf = (jwt: string): Buffer => Buffer.from(jwt.split('.')[2] ?? '', 'base64url')
      assert.deepEqual(bytesOf(other), bytesOf(one))
      await assert.rejects(verifier().verify(other), problem('invalid_dpop_proof', /not a JWT/))
      assert.ok(await verifier().verify(one))
    })
  })

  describe('is accepted once', () => {
    it('by key and zone', async () => {
      const { verify } = verifier()
      const sent = await proof(key, { ...content, claims: { jti: 'same' } })
      await verify(sent)
      await assert.rejects(verify(sent), problem('invalid_dpop_proof', /already used/))
      await assert.rejects(
        verify(await proof(key, { ...content, claims: { jti: 'same', more: true } })),
        problem('invalid_dpop_proof', /already used/),
      )
      const other = await dpopKey()
      await verify(await proof(other, { ...content, claims: { jti: 'same' } }))
    })

    it('and not consumed if it is invalid', async () => {
      const { verify, used } = verifier()
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      await assert.rejects(verify(await proof(key, { ...content, claims: { jti: 'same' }, signedBy: privateKey })))
      assert.equal(used.size, 0)
      await verify(await proof(key, { ...content, claims: { jti: 'same' } }))
    })
  })

  describe('htu', () => {
    const accepted = [
      URL_OF_TOKENS,
      'HTTPS://ID.EXAMPLE/base/oauth/token',
      'https://id.example:443/base/oauth/token',
      `${URL_OF_TOKENS}?x=1#y`,
      'https://id.example/base/./x/../oauth/token',
      'https://id.example/base/%6Fauth/token',
    ]
    for (const url of accepted) {
      it(`accepts ${url}`, async () => assert.ok(await verifier().verify(await proof(key, { ...content, url }))))
    }

    const refused = [
      'http://id.example/base/oauth/token',
      'https://id.example:8443/base/oauth/token',
      'https://id.example/base/oauth/Token',
      'https://id.example/base/oauth/token/',
      'https://id.example/oauth/token',
      'https://id.example.evil.example/base/oauth/token',
      'https://user@id.example/base/oauth/token',
      'https://id.example/base/oauth%2Ftoken',
      '/base/oauth/token',
      '',
    ]
    for (const url of refused) {
      it(`refuses ${url === '' ? 'an empty string' : url}`, async () => {
        const sent = await proof(key, { ...content, url })
        await assert.rejects(verifier().verify(sent), problem('invalid_dpop_proof', /htu/))
      })
    }

    it('refuses an array', async () => {
      const sent = await proof(key, { ...content, claims: { htu: [URL_OF_TOKENS] } })
      await assert.rejects(verifier().verify(sent), problem('invalid_dpop_proof', /htu/))
    })

    it('is compared without query, for any form of the request target', async () => {
      const { verify } = verifier()
      for (const originalUrl of [
        '/base/oauth/token?a=b',
        'https://elsewhere.example/base/oauth/token',
        '/base/oauth/token#c',
      ]) {
        assert.ok(await verify(await proof(key, content), { originalUrl }))
      }
    })

    it('includes the zone', async () => {
      const { verify } = verifier()
      const byHost = zoneWith(lax.config, { subdomain: 'blue' })
      const atHost = await proof(key, { ...content, url: 'https://blue.id.example/base/oauth/token' })
      assert.ok(await verify(atHost, { zone: byHost }))
      const byPath = { ...byHost, address: 'path' } as const
      const originalUrl = '/base/z/blue/oauth/token'
      const atPath = await proof(key, { ...content, url: 'https://id.example/base/z/blue/oauth/token' })
      assert.ok(await verify(atPath, { zone: byPath, originalUrl }))
      await assert.rejects(verify(await proof(key, content), { zone: byHost }), problem('invalid_dpop_proof', /htu/))
    })
  })

  describe('nonce', () => {
    it('is required by default', async () => {
      const { verify, nonces } = verifier()
      const zone = zoneWith()
      await assert.rejects(verify(await proof(key, content), { zone }), problem('use_dpop_nonce', /DPoP-Nonce/))
      assert.ok(await verify(await proof(key, { ...content, nonce: nonces.current(zone) }), { zone }))
    })

    it('must be of this zone', async () => {
      const { verify, nonces } = verifier()
      const wrong = ['', 'x', nonces.current({ id: 'other' })]
      for (const nonce of wrong) {
        const sent = await proof(key, { ...content, nonce })
        await assert.rejects(verify(sent), problem('use_dpop_nonce', /no longer/))
      }
      const sent = await proof(key, { ...content, claims: { nonce: 1 } })
      await assert.rejects(verify(sent), problem('use_dpop_nonce', /no longer/))
    })

    it('is valid for one to two periods', async () => {
      const { clock, verify, nonces } = verifier()
      const nonce = nonces.current(lax)
      clock.advance(2 * NONCE_SECONDS - 1 - ((START.getTime() / 1000) % NONCE_SECONDS))
      assert.ok(await verify(await proof(key, { ...content, nonce })))
      clock.advance(1)
      await assert.rejects(verify(await proof(key, { ...content, nonce })), problem('use_dpop_nonce', /no longer/))
    })

    it('is accepted from a process with a clock slightly ahead', async () => {
      const { clock, verify, nonces } = verifier()
      clock.advance(NONCE_SECONDS)
      const nonce = nonces.current(lax)
      clock.advance(-NONCE_SECONDS)
      assert.ok(await verify(await proof(key, { ...content, nonce })))
    })

    it('allows a clock skew of two hours', async () => {
      const { verify, nonces } = verifier()
      const nonce = nonces.current(lax)
      const by = (minutes: number) => new Date(START.getTime() + minutes * 60_000)
      for (const minutes of [-120, -60, -5, 5, 60, 120]) {
        assert.ok(await verify(await proof(key, { ...content, at: by(minutes), nonce })))
      }
      for (const minutes of [-180, -121, 121, 180]) {
        const sent = await proof(key, { ...content, at: by(minutes), nonce })
        await assert.rejects(verify(sent), problem('invalid_dpop_proof', /iat/))
      }
    })
  })
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { calculateJwkThumbprint, compactVerify, EmbeddedJWK } from 'jose'
import { createCache } from '../../../src/base/cache.ts'
import { isJsonRecord, parseJson } from '../../../src/base/json.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { AddressedZone } from '../../../src/model/request.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { createDpopNonces } from '../../../src/token/sender/dpop-nonce.ts'
import { ProofProblem, verifyProof } from '../../../src/token/sender/dpop-proof.ts'
import type { ProofKey } from '../../../src/token/sender/dpop-proof.ts'
import { createTestClock } from '../../support/clock.ts'
import { changed, jumble, oddJson } from '../changes.ts'
import { target, verdictLater } from '../target.ts'
import { signedText, testKey } from './keys.ts'

const clock = createTestClock()
const now = clock.now().getTime() / 1000
const zone = { id: 'svc', subdomain: '', active: true, address: 'host', config: { requireDpopNonce: false } }
const urls = createUrls('https://id.example/base', behaviourOf('standard'))
const deps = {
  store: { proofs: { use: () => Promise.resolve(true) } },
  clock,
  urls,
  nonces: createDpopNonces({ vault: createVault(Buffer.alloc(32, 1), createRandom()), clock }),
  proofKeys: createCache<ProofKey>({ capacity: 100 }),
}

const key = testKey('dpop')
const jwk = key.publicKey.export({ format: 'jwk' })
const headers = oddJson(fc.constant({ typ: 'dpop+jwt', alg: 'EdDSA', jwk }), ['crit', 'kid', 'd', 'use', 'alg'], 1)
const HTUS = [
  'https://id.example/base/oauth/token',
  'https://ID.example:443/base/oauth/%74oken?x=1#y',
  'https://evil.example/base/oauth/token',
]
const claims = oddJson(
  fc.record({
    jti: fc.constantFrom('j1', 'j2'),
    htm: fc.constantFrom('POST', 'POST', 'POST', 'post', 'GET'),
    htu: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...HTUS) }, changed(fc.constantFrom(...HTUS))),
    iat: fc.constantFrom(now, now, now + 59, now - 61, now + 0.5),
  }),
  ['exp', 'nbf', 'nonce', 'ath'],
  1,
)
const proofs = fc.tuple(headers, claims).map(([header, payload]) => signedText(header, payload, key.privateKey))

const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

const decodedJson = (part: string): Readonly<Record<string, unknown>> => {
  const value = parseJson(Buffer.from(part, 'base64url').toString())
  assert.ok(isJsonRecord(value))
  return value
}

async function checkTaken(proof: string, jkt: string): Promise<void> {
  const parts = proof.split('.')
  assert.ok(parts.length === 3 && isCanonical(parts[2] ?? ''), 'another way to write it')
  await compactVerify(proof, EmbeddedJWK)
  const [header = {}, payload = {}] = parts.slice(0, 2).map(decodedJson)
  assert.equal(header['typ'], 'dpop+jwt')
  assert.equal(await calculateJwkThumbprint(Object(header['jwk'])), jkt)
  assert.equal(payload['htm'], 'POST')
  const url = new URL(String(payload['htu']))
  assert.equal(`${url.origin}${decodeURIComponent(url.pathname)}`, 'https://id.example/base/oauth/token')
  assert.ok(Math.abs(Number(payload['iat']) - now) <= 60)
  assert.ok(typeof payload['jti'] === 'string' && payload['jti'] !== '')
}

/** DPoP proofs: what is taken is what a library that is not ours takes too, for this request, and written in the only way. */
export const dpopProof = target({
  name: 'dpop-proof',
  inputs: fc.oneof(proofs, changed(proofs, ['.', '=', '-', '_', 'A', 'e30', 'e30.', ', ']), jumble(['e30', '.', 'A'])),
  async check(proof) {
    const request = {
      zone: zone as unknown as AddressedZone, // only what is read
      method: 'POST',
      originalUrl: '/base/oauth/token',
      headers: { dpop: proof },
    }
    let jkt: string | undefined
    const verdict = await verdictLater(
      [ProofProblem],
      () => verifyProof(request, deps),
      read => void (jkt = read.jkt),
    )
    if (jkt !== undefined) await checkTaken(proof, jkt)
    return verdict
  },
})

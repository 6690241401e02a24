import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { compactVerify } from 'jose/jws/compact/verify'
import { CompactSign } from 'jose/jws/compact/sign'
import type { SigningAlgorithm } from '../../../src/model/tokens/signing-key.ts'
import { signInPool, signNow, verifyText } from '../../../src/token/keys/jws-algorithms.ts'
import { rsaKeys } from '../../support/rsa-keys.ts'

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const rsa = rsaKeys()
const ec = (namedCurve: string): Pair => generateKeyPairSync('ec', { namedCurve })
const PAIRS: Readonly<Partial<Record<SigningAlgorithm, Pair>>> = {
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  ES256: ec('P-256'),
  ES384: ec('P-384'),
  ES512: ec('P-521'),
  EdDSA: generateKeyPairSync('ed25519'),
}
const OTHERS: Readonly<Partial<Record<SigningAlgorithm, KeyObject>>> = {
  ES256: ec('P-256').publicKey,
  EdDSA: generateKeyPairSync('ed25519').publicKey,
}

const HEADER = (alg: string): string => Buffer.from(JSON.stringify({ alg })).toString('base64url')
const PAYLOAD = Buffer.from('{"jti":"1"}').toString('base64url')

const joseAgrees = (jwt: string, key: KeyObject, alg: string): Promise<boolean> =>
  compactVerify(jwt, key, { algorithms: [alg] }).then(
    () => true,
    () => false,
  )

describe('Signatures by node:crypto, compared with jose', () => {
  for (const [name, { privateKey, publicKey }] of Object.entries(PAIRS)) {
    const algorithm = name as SigningAlgorithm // a key of PAIRS
    const text = `${HEADER(algorithm)}.${PAYLOAD}`
    const own = { algorithm, key: publicKey }

    it(`${algorithm}: each accepts signatures of the other`, async () => {
      for (const signature of [
        signNow(text, { algorithm, key: privateKey }),
        await signInPool(text, { algorithm, key: privateKey }),
      ]) {
        assert.equal(await joseAgrees(`${text}.${signature.toString('base64url')}`, publicKey, algorithm), true)
      }
      const foreign = await new CompactSign(Buffer.from('{"jti":"1"}'))
        .setProtectedHeader({ alg: algorithm })
        .sign(privateKey)
      const [head = '', payload = '', theirs = ''] = foreign.split('.')
      assert.equal(await verifyText(`${head}.${payload}`, Buffer.from(theirs, 'base64url'), own), true)
    })

    it(`${algorithm}: both refuse invalid signatures`, async () => {
      let signature = signNow(text, { algorithm, key: privateKey })
      // jose accepts a signature that is too short by its leading zeros.
      while (algorithm.startsWith('PS') && signature[0] === 0) signature = signNow(text, { algorithm, key: privateKey })
      const flipped = (at: number): Buffer => Buffer.from(signature.map((byte, i) => (i === at ? byte ^ 1 : byte)))
      const wrong = [
        Buffer.alloc(0),
        Buffer.alloc(signature.length),
        Buffer.alloc(signature.length, 0xff),
        signature.subarray(1),
        Buffer.concat([signature, Buffer.alloc(1)]),
        Buffer.concat([Buffer.alloc(1), signature]),
        Buffer.alloc(20_000, 1),
        ...[0, signature.length >> 1, signature.length - 1].map(flipped),
      ]
      for (const bytes of wrong) {
        assert.equal(await verifyText(text, bytes, own), false, `${bytes.length} bytes`)
        assert.equal(await joseAgrees(`${text}.${bytes.toString('base64url')}`, publicKey, algorithm), false)
      }
      assert.equal(await verifyText(`${text}x`, signature, own), false)
      const other = OTHERS[algorithm]
      if (other) assert.equal(await verifyText(text, signature, { algorithm, key: other }), false)
    })
  }

  it('refuse an RSA signature without its leading zeros (RFC 8017 §8.1.2)', async () => {
    for (const algorithm of ['RS256', 'PS256'] as const) {
      const { privateKey, publicKey } = rsa
      let text = ''
      let signature: Buffer
      let number = 0
      do {
        text = `${HEADER(algorithm)}.${(number += 1)}`
        signature = signNow(text, { algorithm, key: privateKey })
      } while (signature[0] !== 0)
      assert.equal(await verifyText(text, signature, { algorithm, key: publicKey }), true)
      assert.equal(await verifyText(text, signature.subarray(1), { algorithm, key: publicKey }), false)
    }
  })

  it('refuse a key of another type', async () => {
    const text = `${HEADER('ES256')}.${PAYLOAD}`
    const signature = await signInPool(text, { algorithm: 'ES256', key: ec('P-256').privateKey })
    for (const { publicKey } of [rsa, ec('P-384')]) {
      const isValid = await verifyText(text, signature, { algorithm: 'ES256', key: publicKey }).catch(() => false)
      assert.equal(isValid, false)
    }
  })
})

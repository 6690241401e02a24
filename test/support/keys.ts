// A key for each algorithm, created once per test process: for the configuration, and for tests to sign with.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createSecretKey, randomBytes } from 'node:crypto'
import type { SigningAlgorithm } from '../../src/model/tokens/signing-key.ts'
import { privatePem } from './config.ts'

/** A key as `signing_keys.keys.<id>` takes it. */
export type ConfiguredKey =
  | { readonly alg: SigningAlgorithm; readonly pem: string }
  | { readonly alg: SigningAlgorithm; readonly secret: string }

const rsa = privatePem('rsa', 2048)

/** One key for each algorithm; those of RSA are one and the same. */
export const KEYS: Readonly<Record<SigningAlgorithm, ConfiguredKey>> = {
  RS256: { alg: 'RS256', pem: rsa },
  RS384: { alg: 'RS384', pem: rsa },
  RS512: { alg: 'RS512', pem: rsa },
  PS256: { alg: 'PS256', pem: rsa },
  PS384: { alg: 'PS384', pem: rsa },
  PS512: { alg: 'PS512', pem: rsa },
  ES256: { alg: 'ES256', pem: privatePem('ec', 'P-256') },
  ES384: { alg: 'ES384', pem: privatePem('ec', 'P-384') },
  ES512: { alg: 'ES512', pem: privatePem('ec', 'P-521') },
  EdDSA: { alg: 'EdDSA', pem: privatePem('ed25519') },
  HS256: { alg: 'HS256', secret: randomBytes(16).toString('hex') },
  HS384: { alg: 'HS384', secret: randomBytes(24).toString('hex') },
  HS512: { alg: 'HS512', secret: randomBytes(32).toString('hex') },
}

/** The PEM or the secret. */
export const textOf = (key: ConfiguredKey): string => ('pem' in key ? key.pem : key.secret)

/** Signs like the zone. */
export const signerOf = (key: ConfiguredKey): KeyObject =>
  'pem' in key ? createPrivateKey(key.pem) : createSecretKey(Buffer.from(key.secret))

/** `signing_keys` with one key of the algorithm, named `key`. */
export const keysConfig = (alg: SigningAlgorithm) => ({
  signing_keys: { active: 'key', keys: { key: KEYS[alg] } },
})

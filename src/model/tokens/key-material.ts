// Validates signing keys of the configuration, the command line and the zone API: key types and sizes of RFC 7518.
import { readCertificates } from '../../base/certificates/certificate.ts'
import type { PrivateKey } from '../../base/certificates/private-key.ts'
import { describePublicKey, readPrivateKey } from '../../base/certificates/private-key.ts'
import type { KeyInToken } from './key-in-token.ts'
import { IN_TOKEN } from './key-in-token.ts'
import type { SigningAlgorithm } from './signing-key.ts'
import { hashBytesOfSymmetric, SIGNING_ALGORITHMS } from './signing-key.ts'

/** Limits of a zone's signing keys: how many, and the length of each member. Signing with a larger RSA key would take seconds. */
export const ZONE_KEY_LIMITS = { count: 20, id: 255, key: 8192, certificate: 65_536 } as const

/** An unencrypted key. */
export interface KeyMaterial {
  readonly algorithm: SigningAlgorithm
  /** PKCS#8 PEM, the text of a shared secret, or `IN_TOKEN`. */
  readonly privateKey: string
  /** SPKI PEM; absent for a shared secret. */
  readonly publicKey?: string
  /** Certificates of the public key in PEM. */
  readonly certificate?: string
}

/** The problem of a key, and the part that has it. */
export interface KeyProblem {
  readonly part: 'key' | 'algorithm' | 'certificate'
  readonly problem: string
}

/** The asymmetric key that each algorithm needs (RFC 7518 §3.1, RFC 8037 §3.1). */
const NEEDS: Readonly<
  Partial<Record<SigningAlgorithm, { readonly type: string; readonly curve?: string; readonly is: string }>>
> = {
  RS256: { type: 'rsa', is: 'an RSA key' },
  RS384: { type: 'rsa', is: 'an RSA key' },
  RS512: { type: 'rsa', is: 'an RSA key' },
  PS256: { type: 'rsa', is: 'an RSA key' },
  PS384: { type: 'rsa', is: 'an RSA key' },
  PS512: { type: 'rsa', is: 'an RSA key' },
  ES256: { type: 'ec', curve: 'prime256v1', is: 'an EC key on P-256' },
  ES384: { type: 'ec', curve: 'secp384r1', is: 'an EC key on P-384' },
  ES512: { type: 'ec', curve: 'secp521r1', is: 'an EC key on P-521' },
  EdDSA: { type: 'ed25519', is: 'an Ed25519 key' },
}

/** RFC 7518 §3.3. */
const MIN_RSA_BITS = 2048

const NO_ES256K = 'ES256K (secp256k1) is not supported; use ES256 with a key on P-256'

/**
 * Reads a private key in PEM or, if the text contains no PEM, a shared secret. The algorithm defaults to the first one
 * of the key type.
 */
export function readKeyMaterial(given: {
  readonly text: string
  readonly algorithm?: string | undefined
  readonly certificate?: string | undefined
}): KeyMaterial | KeyProblem {
  const algorithm = SIGNING_ALGORITHMS.find(name => name === given.algorithm)
  if (given.algorithm !== undefined && algorithm === undefined) {
    const problem = `must be one of ${SIGNING_ALGORITHMS.join(', ')}`
    return { part: 'algorithm', problem: given.algorithm === 'ES256K' ? NO_ES256K : problem }
  }
  const isSymmetric = algorithm !== undefined && hashBytesOfSymmetric(algorithm) !== undefined
  if (given.text.includes('-----BEGIN')) {
    // A public key must never serve as a shared secret, nor the reverse (algorithm confusion).
    if (isSymmetric) return { part: 'key', problem: `${algorithm} needs a shared secret, this is a key in PEM` }
    return readAsymmetric(given.text, algorithm, given.certificate)
  }
  if (algorithm !== undefined && !isSymmetric) {
    return { part: 'key', problem: 'is not an unencrypted private key in PEM' }
  }
  if (given.certificate !== undefined) return { part: 'certificate', problem: 'a shared secret has no certificate' }
  return longEnough({ algorithm: algorithm ?? 'HS256', privateKey: given.text })
}

function readAsymmetric(
  pem: string,
  given: SigningAlgorithm | undefined,
  certificate: string | undefined,
): KeyMaterial | KeyProblem {
  const key = readPrivateKey(pem)
  if (key === undefined) return { part: 'key', problem: 'is not an unencrypted private key in PEM' }
  if (key.curve === 'secp256k1') return { part: 'key', problem: NO_ES256K }
  const algorithm = given ?? SIGNING_ALGORITHMS.find(name => fits(key, name))
  if (algorithm === undefined) return { part: 'key', problem: 'is of a kind that cannot sign tokens' }
  return fitting({ algorithm, privateKey: key.privatePem, publicKey: key.publicPem }, key, certificate)
}

/** Checks the public half of a key that a token keeps. */
export const readKeyInToken = (publicPem: string, { algorithm, certificate }: KeyInToken): KeyMaterial | KeyProblem =>
  fitting({ algorithm, privateKey: IN_TOKEN, publicKey: publicPem }, describePublicKey(publicPem), certificate)

function fitting(
  material: KeyMaterial,
  key: Omit<PrivateKey, 'privatePem'>,
  certificate: string | undefined,
): KeyMaterial | KeyProblem {
  const { algorithm } = material
  if (!fits(key, algorithm)) {
    const needed = NEEDS[algorithm]?.is ?? 'another key'
    return { part: 'key', problem: `${algorithm} needs ${needed}, this is ${key.curve ?? key.type}` }
  }
  if (key.bits !== undefined && key.bits < MIN_RSA_BITS) {
    return { part: 'key', problem: `an RSA key needs at least ${MIN_RSA_BITS} bits, this one has ${key.bits}` }
  }
  if (certificate === undefined) return material
  const own = readCertificates(certificate)?.[0]
  if (own === undefined) return { part: 'certificate', problem: 'is not an X.509 certificate in PEM' }
  // RFC 7517 §4.7: the key in the first certificate is the key of the document.
  if (own.publicPem !== key.publicPem) return { part: 'certificate', problem: 'is the certificate of another key' }
  return { ...material, certificate }
}

/** RFC 7518 §3.2: a shorter secret could be brute-forced from a token. */
function longEnough(secret: KeyMaterial): KeyMaterial | KeyProblem {
  const { algorithm, privateKey } = secret
  const bytes = Buffer.byteLength(privateKey)
  const minLength = hashBytesOfSymmetric(algorithm) ?? 0
  if (bytes >= minLength) return secret
  return { part: 'key', problem: `${algorithm} needs a secret of at least ${minLength} bytes, this one has ${bytes}` }
}

function fits(key: Pick<PrivateKey, 'type' | 'curve'>, algorithm: SigningAlgorithm): boolean {
  const needs = NEEDS[algorithm]
  return needs?.type === key.type && (needs.curve === undefined || needs.curve === key.curve)
}

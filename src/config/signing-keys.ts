import type { PrivateKey } from '../base/private-key.ts'
import { readPrivateKey } from '../base/private-key.ts'
import type { SigningAlgorithm } from '../model/signing-key.ts'
import { SIGNING_ALGORITHMS } from '../model/signing-key.ts'
import type { ZoneConfig } from '../model/zone.ts'
import type { ConfigFile } from './file.ts'
import type { Problems } from './problems.ts'

/** The keys of a zone as the configuration gives them: private halves in PEM, by key id. */
export interface SigningKeys {
  /** Id of the key that signs; the others verify what was signed before. */
  readonly active: string
  readonly keys: Readonly<Record<string, { readonly alg: SigningAlgorithm; readonly pem: string }>>
}

/** What a key must be for each algorithm (RFC 7518 §3.1, RFC 8037 §3.1). */
const NEEDS: Readonly<
  Record<SigningAlgorithm, { readonly type: string; readonly curve?: string; readonly is: string }>
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
const LEAST_RSA_BITS = 2048

/** Reads `signing_keys`; undefined when it is absent or wrong. */
export function checkSigningKeys(file: ConfigFile['signing_keys'], problems: Problems): SigningKeys | undefined {
  if (file === undefined || !problems.isSound('signing_keys')) return undefined
  const keys = Object.entries(file.keys).map(([id, { alg, pem }]) => {
    const key = `signing_keys.keys.${id}`
    if (pem === undefined) problems.add(key, 'needs pem or pem_file')
    return [id, checkKey(pem ?? '', alg, { pem: `${key}.pem`, alg: `${key}.alg` }, problems)] as const
  })
  return finish(keys, file.active, 'signing_keys.active', problems)
}

/**
 * Takes the keys out of a zone's settings (`tokenPolicy.keys`), because they must not be stored with them; `elsewhere`
 * are the keys of `signing_keys`, which leave no room for others.
 */
export function takeSigningKeys(
  config: ZoneConfig,
  path: string,
  { problems, elsewhere }: { problems: Problems; elsewhere?: SigningKeys | undefined },
): { config: ZoneConfig; signingKeys?: SigningKeys } {
  const policy: ZoneConfig['tokenPolicy'] & { keys?: Readonly<Record<string, ZoneKey>> } = config.tokenPolicy ?? {}
  const { keys: given = {}, ...tokenPolicy } = policy
  const ids = Object.keys(given)
  const active = policy.activeKeyId ?? undefined // the API takes null for "not set"
  const activePath = `${path}.tokenPolicy.activeKeyId`
  if (ids.length === 0) {
    if (active !== undefined && elsewhere?.active !== active) {
      problems.add(activePath, 'names a key, but there are no tokenPolicy.keys')
    }
    return { config }
  }
  if (elsewhere !== undefined) {
    problems.add(`${path}.tokenPolicy.keys`, 'cannot be given together with signing_keys')
    return { config }
  }
  const keys = Object.entries(given).map(([id, { signingKey, signingAlg }]) => {
    const key = `${path}.tokenPolicy.keys.${id}`
    const paths = { pem: `${key}.signingKey`, alg: `${key}.signingAlg` }
    return [id, checkKey(signingKey, signingAlg, paths, problems)] as const
  })
  if (active === undefined && ids.length > 1) problems.add(activePath, 'is missing')
  const signingKeys = finish(keys, active ?? ids[0] ?? '', activePath, problems)
  return { config: { ...config, tokenPolicy }, ...(signingKeys === undefined ? {} : { signingKeys }) }
}

interface ZoneKey {
  readonly signingKey: string
  readonly signingAlg?: string
}

function finish(
  keys: readonly (readonly [string, SigningKeys['keys'][string] | undefined])[],
  active: string,
  activePath: string,
  problems: Problems,
): SigningKeys | undefined {
  if (!keys.some(([id]) => id === active)) problems.add(activePath, `${active} is not among the keys`)
  const usable = keys.flatMap(([id, key]) => (key === undefined ? [] : [[id, key] as const]))
  return usable.length === keys.length ? { active, keys: Object.fromEntries(usable) } : undefined
}

function checkKey(
  pem: string,
  alg: string | undefined,
  paths: { readonly pem: string; readonly alg: string },
  problems: Problems,
): SigningKeys['keys'][string] | undefined {
  const key = readPrivateKey(pem)
  if (key === undefined) {
    if (pem !== '') problems.add(paths.pem, 'is not an unencrypted private key in PEM')
    return undefined
  }
  const algorithm = alg === undefined ? usualAlgorithm(key) : SIGNING_ALGORITHMS.find(name => name === alg)
  if (algorithm === undefined) {
    if (alg === undefined) problems.add(paths.pem, 'is of a kind that cannot sign tokens')
    else problems.add(paths.alg, `must be one of ${SIGNING_ALGORITHMS.join(', ')}`)
    return undefined
  }
  const needs = NEEDS[algorithm]
  if (key.type !== needs.type || (needs.curve !== undefined && key.curve !== needs.curve)) {
    problems.add(paths.pem, `${algorithm} needs ${needs.is}, this is ${key.curve ?? key.type}`)
    return undefined
  }
  if (key.bits !== undefined && key.bits < LEAST_RSA_BITS) {
    problems.add(paths.pem, `an RSA key needs at least ${LEAST_RSA_BITS} bits, this one has ${key.bits}`)
    return undefined
  }
  return { alg: algorithm, pem: key.privatePem }
}

/** The weakest algorithm that fits is the one that every client knows. */
const usualAlgorithm = (key: PrivateKey): SigningAlgorithm | undefined =>
  SIGNING_ALGORITHMS.find(
    name => NEEDS[name].type === key.type && (NEEDS[name].curve === undefined || NEEDS[name].curve === key.curve),
  )

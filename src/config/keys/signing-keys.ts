import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { isStorable } from '../../base/text/storable-text.ts'
import type { KeyInToken, Pkcs11Settings } from '../../model/tokens/key-in-token.ts'
import type { KeyMaterial, KeyProblem } from '../../model/tokens/key-material.ts'
import { readKeyMaterial, ZONE_KEY_LIMITS } from '../../model/tokens/key-material.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import { hashBytesOfSymmetric, SIGNING_ALGORITHMS } from '../../model/tokens/signing-key.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'
import type { Pkcs11File } from './pkcs11.ts'
import type { Problems } from '../problems.ts'

/** As in the file. */
export interface SigningKeysFile {
  readonly active: string
  readonly keys: Readonly<Record<string, OwnKeyFile>>
}

interface OwnKeyFile {
  readonly alg: string
  readonly pem?: string
  readonly secret?: string
  readonly pkcs11?: Pkcs11File
  readonly cert?: string
}

/** A key with its private half, or one in a token. */
export type ConfiguredKey = KeyMaterial | KeyInToken

/** The keys of a zone in the configuration, unencrypted, by key id. */
export interface SigningKeys {
  /** Id of the key that signs; the others only verify. */
  readonly active: string
  readonly keys: Readonly<Record<string, ConfiguredKey>>
}

type Paths = Readonly<Record<KeyProblem['part'], string>>

/** Reads `signing_keys`; undefined if absent or invalid. */
export function checkSigningKeys(file: SigningKeysFile | undefined, problems: Problems): SigningKeys | undefined {
  if (file === undefined || !problems.hasValidTypes('signing_keys')) return undefined
  const keys = Object.entries(file.keys).map(
    ([id, key]) => [id, checkOwnKey(key, `signing_keys.keys.${id}`, problems)] as const,
  )
  return finish(keys, file.active, { path: 'signing_keys.keys', activePath: 'signing_keys.active', problems })
}

/** Unlike in the zone API, secrets and PEM have different names, so that they cannot be confused. */
function checkOwnKey(key: OwnKeyFile, path: string, problems: Problems): ConfiguredKey | undefined {
  const { alg, pem, secret, pkcs11, cert } = key
  const algorithm = SIGNING_ALGORITHMS.find(name => name === alg)
  if (algorithm === undefined) return undefined // refused by the schema
  const wanted = hashBytesOfSymmetric(algorithm) === undefined ? 'pem' : 'secret'
  if (pkcs11) {
    const other = pem === undefined ? secret && 'secret' : 'pem'
    if (other) problems.add(`${path}.pkcs11`, `cannot be given together with ${other}`)
    const settings = checkPkcs11(pkcs11, algorithm, { path: `${path}.pkcs11`, problems })
    return { algorithm, pkcs11: settings, ...(cert !== undefined && { certificate: cert }) }
  }
  const [text, other] = wanted === 'pem' ? [pem, secret] : [secret, pem]
  if (other !== undefined) {
    problems.add(`${path}.${wanted === 'pem' ? 'secret' : 'pem'}`, `${algorithm} takes a ${wanted}`)
    return undefined
  }
  if (text === undefined) {
    problems.add(path, `needs ${wanted}${wanted === 'pem' ? ', pem_file or pkcs11' : ' or secret_file'}`)
    return undefined
  }
  const paths = { key: `${path}.${wanted}`, algorithm: `${path}.alg`, certificate: `${path}.cert` }
  return checkKey({ text, algorithm: alg, certificate: cert }, paths, problems)
}

/** Opens nothing: a check of the configuration needs no token. */
function checkPkcs11(
  { module, token, label, pin = '', sessions = 1 }: Pkcs11File,
  algorithm: SigningAlgorithm,
  { path, problems }: { readonly path: string; readonly problems: Problems },
): Pkcs11Settings {
  if (hashBytesOfSymmetric(algorithm) !== undefined) problems.add(path, `tokens do not support ${algorithm}`)
  if (pin === '') problems.add(path, 'needs pin_file or pin')
  if (!isAbsolute(module)) problems.add(`${path}.module`, 'must be an absolute path')
  else if (!existsSync(module)) problems.add(`${path}.module`, `${module} does not exist`)
  return { module, token, label, pin, sessions }
}

/**
 * Removes the keys from a zone's settings (`tokenPolicy.keys`), because they must not be stored there; `elsewhere` are
 * the keys of `signing_keys`, which exclude others.
 */
export function takeSigningKeys(
  config: ZoneConfig,
  path: string,
  { problems, elsewhere }: { problems: Problems; elsewhere?: SigningKeys | undefined },
): { config: ZoneConfig; signingKeys?: SigningKeys } {
  const policy: ZoneConfig['tokenPolicy'] & { keys?: Readonly<Record<string, ZoneKey>> } = config.tokenPolicy ?? {}
  const { keys: given = {}, ...tokenPolicy } = policy
  const ids = Object.keys(given)
  const active = policy.activeKeyId ?? undefined // null means "not set" in the API
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
  const keys = Object.entries(given).map(
    ([id, { signingKey: text, signingAlg: algorithm, signingCert: certificate }]) => {
      const key = `${path}.tokenPolicy.keys.${id}`
      const paths = { key: `${key}.signingKey`, algorithm: `${key}.signingAlg`, certificate: `${key}.signingCert` }
      return [id, checkKey({ text, algorithm, certificate }, paths, problems)] as const
    },
  )
  if (active === undefined && ids.length > 1) problems.add(activePath, 'is missing')
  const signingKeys = finish(keys, active ?? ids[0] ?? '', {
    path: `${path}.tokenPolicy.keys`,
    activePath,
    problems,
  })
  return { config: { ...config, tokenPolicy }, ...(signingKeys === undefined ? {} : { signingKeys }) }
}

interface ZoneKey {
  readonly signingKey: string
  readonly signingAlg?: string
  readonly signingCert?: string
}

function checkKey(
  given: Parameters<typeof readKeyMaterial>[0],
  paths: Paths,
  problems: Problems,
): KeyMaterial | undefined {
  const read = readKeyMaterial(given)
  if (!('problem' in read)) return read
  problems.add(paths[read.part], read.problem)
  return undefined
}

function finish(
  keys: readonly (readonly [string, ConfiguredKey | undefined])[],
  active: string,
  { path, activePath, problems }: { path: string; activePath: string; problems: Problems },
): SigningKeys | undefined {
  if (!keys.every(([id]) => isKeyId(id))) {
    problems.add(path, `has an id that is empty, longer than ${ZONE_KEY_LIMITS.id} characters, or cannot be stored`)
  }
  if (!keys.some(([id]) => id === active)) problems.add(activePath, `${active} is not among the keys`)
  const usable = keys.flatMap(([id, key]) => (key === undefined ? [] : [[id, key] as const]))
  return usable.length === keys.length ? { active, keys: Object.fromEntries(usable) } : undefined
}

const isKeyId = (id: string): boolean => id.trim() !== '' && id.length <= ZONE_KEY_LIMITS.id && isStorable(id)

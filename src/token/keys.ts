// The signing keys of each zone, opened. Owns key objects and signatures; refuses to know what is signed.
import { constants, createPrivateKey, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import type { KeyObject, SignKeyObjectInput } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { SigningAlgorithm, SigningKeyRecord } from '../model/signing-key.ts'
import type { Store } from '../store/store.ts'

/** A key that verifies, and signs when it has its private half. */
export interface ZoneKey {
  readonly keyId: string
  readonly algorithm: SigningAlgorithm
  readonly publicKey: KeyObject
  /** SPKI PEM, the `value` member of the key document. */
  readonly publicKeyPem: string
}

/** The key that a zone signs with. */
export interface SigningKey extends ZoneKey {
  /** The compact JWS (RFC 7515 §7.1) of a payload under this key; signs in the thread pool. */
  sign(type: string, payload: object, extraHeader?: Readonly<Record<string, string>>): Promise<string>
}

/** Thrown for a zone that has keys, but none that can sign. */
export class NoSigningKey extends Error {
  constructor(zoneId: string) {
    super(`zone ${zoneId} has keys but none to sign with`)
    this.name = 'NoSigningKey'
  }
}

/** Opens and remembers keys. */
export interface KeyRing {
  /** The zone's active key; one is made when the zone has no key at all. Throws `NoSigningKey`. */
  active(zoneId: string): Promise<SigningKey>
  /** The key with this id, to verify with. */
  find(zoneId: string, keyId: string): Promise<ZoneKey | undefined>
  /** Every public key of the zone, the active one first. */
  list(zoneId: string): Promise<readonly ZoneKey[]>
}

/** The text that a sealed private key is bound to, so that a row copied to another zone or id does not open. */
export const sealContext = (zoneId: string, keyId: string): string => `signing-key ${zoneId} ${keyId}`

interface Algorithm {
  readonly hash: string | null
  readonly options: Omit<SignKeyObjectInput, 'key'>
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const rawSignature = { dsaEncoding: 'ieee-p1363' } as const // RFC 7518 §3.4: R and S side by side, not DER

const ALGORITHMS: Readonly<Record<SigningAlgorithm, Algorithm>> = {
  RS256: { hash: 'sha256', options: {} },
  RS384: { hash: 'sha384', options: {} },
  RS512: { hash: 'sha512', options: {} },
  PS256: { hash: 'sha256', options: pss },
  PS384: { hash: 'sha384', options: pss },
  PS512: { hash: 'sha512', options: pss },
  ES256: { hash: 'sha256', options: rawSignature },
  ES384: { hash: 'sha384', options: rawSignature },
  ES512: { hash: 'sha512', options: rawSignature },
  EdDSA: { hash: null, options: {} },
}

/** The hash that belongs to a JWS algorithm, for at_hash and c_hash (OpenID Connect Core §3.1.3.6). */
export const hashOf = (algorithm: SigningAlgorithm): string => ALGORITHMS[algorithm].hash ?? 'sha512'

interface OpenedKeys {
  readonly active: SigningKey | undefined
  readonly byId: ReadonlyMap<string, ZoneKey>
  readonly list: readonly ZoneKey[]
}

/** Keys are opened once per version of a zone's key list, which the store caches and invalidates. */
export function createKeyRing(deps: { store: Store; vault: Vault; clock: Clock; random: Random }): KeyRing {
  const { store, vault, clock, random } = deps
  const opened = new WeakMap<readonly SigningKeyRecord[], OpenedKeys>()
  const making = new Map<string, Promise<readonly SigningKeyRecord[]>>()

  function open(records: readonly SigningKeyRecord[]): OpenedKeys {
    const known = opened.get(records)
    if (known) return known
    const list = records.map(openPublic).toSorted((a, b) => Number(isActive(records, b)) - Number(isActive(records, a)))
    const record = records.find(each => each.active && each.sealedPrivateKey !== undefined)
    const keys = {
      list,
      byId: new Map(list.map(key => [key.keyId, key])),
      active: record && openSigning(record, vault),
    }
    opened.set(records, keys)
    return keys
  }

  async function makeFirst(zoneId: string): Promise<readonly SigningKeyRecord[]> {
    const keyId = random.hex(8)
    const { privateKey, publicKey } = await generateRsa()
    return store.keys.saveFirst(zoneId, {
      zoneId,
      keyId,
      algorithm: 'RS256',
      sealedPrivateKey: vault.seal(privateKey, sealContext(zoneId, keyId)),
      publicKey,
      active: true,
      createdAt: clock.now(),
    })
  }

  return {
    async active(zoneId) {
      const keys = open(await store.keys.list(zoneId))
      if (keys.active) return keys.active
      const pending = making.get(zoneId) ?? makeFirst(zoneId).finally(() => making.delete(zoneId))
      making.set(zoneId, pending)
      const { active } = open(await pending)
      if (!active) throw new NoSigningKey(zoneId)
      return active
    },
    find: async (zoneId, keyId) => open(await store.keys.list(zoneId)).byId.get(keyId),
    list: async zoneId => open(await store.keys.list(zoneId)).list,
  }
}

const isActive = (records: readonly SigningKeyRecord[], key: ZoneKey): boolean =>
  records.some(record => record.keyId === key.keyId && record.active)

function openPublic(record: SigningKeyRecord): ZoneKey {
  const { keyId, algorithm, publicKey } = record
  return { keyId, algorithm, publicKey: createPublicKey(publicKey), publicKeyPem: publicKey }
}

function openSigning(record: SigningKeyRecord, vault: Vault): SigningKey {
  const { zoneId, keyId, algorithm, sealedPrivateKey = '' } = record
  const key = createPrivateKey(vault.open(sealedPrivateKey, sealContext(zoneId, keyId)))
  const { hash, options } = ALGORITHMS[algorithm]
  const input = { key, ...options }
  const headers = new Map<string, string>()

  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = (type: string): string => {
    const known = headers.get(type) ?? encode({ alg: algorithm, kid: keyId, typ: type })
    headers.set(type, known)
    return known
  }

  return {
    ...openPublic(record),
    sign(type, payload, extraHeader) {
      const head = extraHeader ? encode({ alg: algorithm, kid: keyId, typ: type, ...extraHeader }) : header(type)
      const data = `${head}.${encode(payload)}`
      return new Promise((resolve, reject) => {
        // The callback form signs in the thread pool: twice the tokens of the synchronous form, and no stall.
        sign(hash, Buffer.from(data, 'latin1'), input, (error, signature) => {
          if (error) reject(error)
          else resolve(`${data}.${signature.toString('base64url')}`)
        })
      })
    },
  }
}

function generateRsa(): Promise<{ privateKey: string; publicKey: string }> {
  return new Promise((resolve, reject) => {
    const encoding = {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    } as const
    generateKeyPair('rsa', encoding, (error, publicKey, privateKey) => {
      if (error) reject(error)
      else resolve({ privateKey, publicKey })
    })
  })
}

// The decrypted signing keys of each zone. Owns key objects and signatures; does not know what is signed.
import { createHmac, createPrivateKey, createPublicKey, createSecretKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Certificate } from '../base/certificate.ts'
import { readCertificates } from '../base/certificate.ts'
import { stopwatch } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { createFairQueue, UNBOUNDED } from '../base/fair-queue.ts'
import type { FairQueue } from '../base/fair-queue.ts'
import { createMainThreadShare } from '../base/main-thread-share.ts'
import type { MainThreadShare } from '../base/main-thread-share.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { KeyMaterial } from '../model/tokens/key-material.ts'
import { isInToken } from '../model/tokens/key-in-token.ts'
import { sealContexts } from '../model/seal-contexts.ts'
import type { Signature, SigningLocation } from '../model/tokens/signature.ts'
import type { SigningAlgorithm, SigningKeyRecord } from '../model/tokens/signing-key.ts'
import { hashBytesOfSymmetric } from '../model/tokens/signing-key.ts'
import type { Store } from '../store/store.ts'
import { hashOf, isQuick, signInPool, signNow } from './jws-algorithms.ts'
import { generateKey } from './key-generation.ts'
import type { Signer, TokenKeys } from './signer.ts'
import { SigningUnavailable } from './signer.ts'

/** A key for verification. */
export interface ZoneKey {
  /** The zone that owns the key; other zones may sign with it. */
  readonly zoneId: string
  readonly keyId: string
  /** The only algorithm allowed with this key. */
  readonly algorithm: SigningAlgorithm
  /** The public key, or the secret of a symmetric algorithm: never publish it unchecked. */
  readonly verifyKey: KeyObject
  /** SPKI PEM, the `value` member of the key document; absent for a shared secret. */
  readonly publicKeyPem?: string
  readonly certificates: readonly Certificate[]
  /** An opaque value that changes with any change of the key. */
  readonly revision: string
  readonly expiresAt?: Date
}

/** A key with a public half, which may be published. */
export type PublicZoneKey = ZoneKey & { readonly publicKeyPem: string }

/** Whether the key has a public half; false for a shared secret. */
export const isPublic = (key: ZoneKey): key is PublicZoneKey => key.publicKeyPem !== undefined

/** The key that a zone signs with. */
export interface SigningKey extends ZoneKey {
  /** The compact JWS (RFC 7515 §7.1) of a payload under this key. Throws `SigningUnavailable`. */
  sign(type: string, payload: object, extraHeader?: Readonly<Record<string, string>>): Promise<string>
}

/** Thrown for a zone that has keys, but none that can sign. */
export class NoSigningKey extends Error {
  constructor(zoneId: string) {
    super(`zone ${zoneId} has keys but none to sign with`)
    this.name = 'NoSigningKey'
  }
}

/** Decrypts and caches keys. A zone without an active key uses those of the default zone. */
export interface KeyRing {
  /** The zone's active key; the default zone gets one when it has no key at all. Throws `NoSigningKey`. */
  active(zoneId: string): Promise<SigningKey>
  /** A key of the zone that signs with the algorithm, the active one first; undefined if there is none. */
  withAlgorithm(zoneId: string, algorithm: SigningAlgorithm): Promise<SigningKey | undefined>
  /** The unexpired key with this id, to verify with. */
  find(zoneId: string, keyId: string): Promise<ZoneKey | undefined>
  /** Every unexpired key of the zone, shared secrets included, the active one first. */
  list(zoneId: string): Promise<readonly ZoneKey[]>
}

/** Makes the record of a key, with its private half or secret sealed. */
export function sealedKey(
  { zoneId, keyId, active, createdAt }: Pick<SigningKeyRecord, 'zoneId' | 'keyId' | 'active' | 'createdAt'>,
  { algorithm, privateKey, publicKey, certificate }: KeyMaterial,
  vault: Vault,
): SigningKeyRecord {
  return {
    zoneId,
    keyId,
    algorithm,
    sealedPrivateKey: vault.seal(privateKey, sealContexts.signingKey(zoneId, keyId)),
    ...(publicKey !== undefined && { publicKey }),
    ...(certificate !== undefined && { certificate }),
    active,
    createdAt,
  }
}

/** Opens the result of `sealedKey`: PKCS#8 PEM or a shared secret. Throws when nothing is sealed. */
export const openKey = ({ zoneId, keyId, sealedPrivateKey = '' }: SigningKeyRecord, vault: Vault): string =>
  vault.open(sealedPrivateKey, sealContexts.signingKey(zoneId, keyId))

interface OpenedKeys {
  readonly active: SigningKey | undefined
  readonly byId: ReadonlyMap<string, ZoneKey>
  readonly list: readonly ZoneKey[]
  /** By algorithm; opened at first use. */
  readonly others: Map<SigningAlgorithm, SigningKey | undefined>
}

/** Dependencies for opening private keys. */
interface Opening {
  readonly vault: Vault
  readonly defaultZoneId: string
  readonly tokenKeys: TokenKeys | undefined
  /** Of the signatures by quick algorithms. */
  readonly quickShare: MainThreadShare
  /** Slow signatures, which must not fill the pool: every write of SQLite waits for a thread of it, too (decision 0003). */
  readonly queue: FairQueue
  /** Absent if signatures are not measured. */
  readonly onSignature: ((signature: Signature) => void) | undefined
}

/** Twice what the code flow takes, and less than `client_credentials` does (decision 0006). */
const LARGE_SHARE = { share: 0.25, periodMilliseconds: 10 } as const

/** One more than can run, so that the next one is available. */
const SLOW_AT_ONCE = availableParallelism() + 1

/** Decrypts keys once per version of a zone's key list, which the store caches and invalidates. */
export function createKeyRing(deps: {
  store: Store
  vault: Vault
  clock: Clock
  random: Random
  defaultZoneId: string
  generateKey?: typeof generateKey
  /** Absent where the configuration has no key in a token. */
  tokenKeys?: TokenKeys | undefined
  /** Absent if signatures are not measured. */
  onSignature?: ((signature: Signature) => void) | undefined
}): KeyRing {
  const { store, vault, clock, random, defaultZoneId } = deps
  const generate = deps.generateKey ?? generateKey
  const opened = new WeakMap<readonly SigningKeyRecord[], OpenedKeys>()
  const opening: Opening = {
    vault,
    defaultZoneId,
    tokenKeys: deps.tokenKeys,
    quickShare: createMainThreadShare(LARGE_SHARE),
    queue: createFairQueue({ concurrency: SLOW_AT_ONCE, bounds: UNBOUNDED }),
    onSignature: deps.onSignature,
  }
  let creating: Promise<readonly SigningKeyRecord[]> | undefined

  function open(records: readonly SigningKeyRecord[]): OpenedKeys {
    const cached = opened.get(records)
    if (cached) return cached
    const isActive = new Set(records.filter(({ active }) => active).map(({ keyId }) => keyId))
    const list = records
      .flatMap(record => openVerifying(record, vault) ?? [])
      .toSorted((a, b) => Number(isActive.has(b.keyId)) - Number(isActive.has(a.keyId)))
    const record = records.find(each => each.active && each.sealedPrivateKey !== undefined)
    const keys = {
      list,
      byId: new Map(list.map(key => [key.keyId, key])),
      active: record && openSigning(record, opening),
      others: new Map<SigningAlgorithm, SigningKey | undefined>(),
    }
    opened.set(records, keys)
    return keys
  }

  async function createFirst(): Promise<readonly SigningKeyRecord[]> {
    const keyId = random.hex(8)
    const material = await generate('RS256', random)
    const record = { zoneId: defaultZoneId, keyId, active: true, createdAt: clock.now() }
    return store.keys.saveFirst(defaultZoneId, sealedKey(record, material, vault))
  }

  /** The zone whose keys the zone signs with. */
  async function signerOf(zoneId: string): Promise<string> {
    const isOwn = zoneId === defaultZoneId || (await store.keys.list(zoneId)).some(({ active }) => active)
    return isOwn ? zoneId : defaultZoneId
  }

  /** The keys in use for signing first, then others that only verify. */
  async function keysOf(zoneId: string): Promise<readonly OpenedKeys[]> {
    const zoneIds = new Set([await signerOf(zoneId), zoneId])
    return Promise.all(Array.from(zoneIds, async id => open(await store.keys.list(id))))
  }

  // Checked on each use, so that an expired key is refused before it is purged.
  const isUnexpired = ({ expiresAt }: ZoneKey): boolean => expiresAt === undefined || expiresAt > clock.now()

  return {
    async active(zoneId) {
      const signer = await signerOf(zoneId)
      const keys = open(await store.keys.list(signer))
      if (keys.active) return keys.active
      if (signer !== defaultZoneId) throw new NoSigningKey(zoneId)
      creating ??= createFirst().finally(() => {
        creating = undefined
      })
      const { active } = open(await creating)
      if (!active) throw new NoSigningKey(signer)
      return active
    },
    async withAlgorithm(zoneId, algorithm) {
      const records = await store.keys.list(await signerOf(zoneId))
      const { active, others } = open(records)
      if (active?.algorithm === algorithm) return active
      const cached = others.get(algorithm)
      if (cached) return cached
      // A key that is to expire was replaced, and signs nothing any more.
      const record = records.find(each => each.algorithm === algorithm && each.sealedPrivateKey && !each.expiresAt)
      const key = record && openSigning(record, opening)
      others.set(algorithm, key)
      return key
    },
    async find(zoneId, keyId) {
      for (const { byId } of await keysOf(zoneId)) {
        const key = byId.get(keyId)
        if (key && isUnexpired(key)) return key
      }
      return undefined
    },
    list: async zoneId => (await keysOf(zoneId)).flatMap(({ list }) => list).filter(isUnexpired),
  }
}

/** Undefined for a shared secret that is missing. */
function openVerifying(record: SigningKeyRecord, vault: Vault): ZoneKey | undefined {
  const { zoneId, keyId, algorithm, publicKey, sealedPrivateKey, certificate, expiresAt } = record
  const revision = hash(
    'sha256',
    JSON.stringify([keyId, algorithm, publicKey, sealedPrivateKey, certificate]),
    'base64url',
  )
  const shared = { zoneId, keyId, algorithm, revision, ...(expiresAt && { expiresAt }) }
  if (hashBytesOfSymmetric(algorithm) !== undefined) {
    if (sealedPrivateKey === undefined) return undefined
    return { ...shared, verifyKey: openSecret(record, vault), certificates: [] }
  }
  if (publicKey === undefined) return undefined
  const certificates = certificate === undefined ? [] : (readCertificates(certificate) ?? [])
  return { ...shared, verifyKey: createPublicKey(publicKey), publicKeyPem: publicKey, certificates }
}

const openSecret = (record: SigningKeyRecord, vault: Vault): KeyObject =>
  createSecretKey(Buffer.from(openKey(record, vault), 'utf8'))

/** Makes the signing function of a key. */
function signerOf(
  record: SigningKeyRecord,
  { vault, quickShare, queue, defaultZoneId, tokenKeys, onSignature }: Opening,
): Signer {
  const { algorithm } = record
  const measured = (place: SigningLocation, sign: Signer): Signer =>
    onSignature ? data => measure({ algorithm, place, onSignature }, () => sign(data)) : sign
  if (hashBytesOfSymmetric(algorithm) !== undefined) {
    const secret = openSecret(record, vault)
    return measured('main', async data => createHmac(hashOf(algorithm), secret).update(data, 'latin1').digest())
  }
  const privateKey = openKey(record, vault)
  if (isInToken(algorithm, privateKey)) {
    // The configuration defines such keys for the default zone only.
    const { zoneId, keyId, publicKey } = record
    if (tokenKeys && publicKey !== undefined && zoneId === defaultZoneId) {
      return measured('pkcs11', tokenKeys.signerOf(keyId, publicKey))
    }
    const missing = new SigningUnavailable(`signing key ${keyId} is in a token, which signing_keys does not name`)
    return measured('pkcs11', () => Promise.reject(missing))
  }
  const signingKey = { algorithm, key: createPrivateKey(privateKey) }
  if (!isQuick(algorithm)) {
    const requester = { zoneId: record.zoneId, address: undefined }
    return measured('pool', data => queue.run(requester, () => signInPool(data, signingKey)))
  }
  const inPool = measured('pool', data => signInPool(data, signingKey))
  const onMainThread = measured('main', async data => quickShare.run(() => signNow(data, signingKey)))
  return data => (quickShare.isLarge() ? inPool(data) : onMainThread(data))
}

/** Observes the result beside its caller, who waits no longer for it. */
function measure(
  { onSignature, ...which }: Pick<Signature, 'algorithm' | 'place'> & { onSignature: (signature: Signature) => void },
  sign: () => Promise<Buffer>,
): Promise<Buffer> {
  const elapsed = stopwatch()
  const signature = sign()
  const report = (isMade: boolean): void => onSignature({ ...which, milliseconds: elapsed(), isMade })
  signature.then(
    () => report(true),
    () => report(false),
  )
  return signature
}

function openSigning(record: SigningKeyRecord, opening: Opening): SigningKey | undefined {
  const { keyId, algorithm } = record
  const key = openVerifying(record, opening.vault)
  if (key === undefined) return undefined
  const signatureOf = signerOf(record, opening)
  const headers = new Map<string, string>()

  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = (type: string): string => {
    const encoded = headers.get(type) ?? encode({ alg: algorithm, kid: keyId, typ: type })
    headers.set(type, encoded)
    return encoded
  }

  return {
    ...key,
    async sign(type, payload, extraHeader) {
      const head = extraHeader ? encode({ alg: algorithm, kid: keyId, typ: type, ...extraHeader }) : header(type)
      const data = `${head}.${encode(payload)}`
      return `${data}.${(await signatureOf(data)).toString('base64url')}`
    },
  }
}

// One signing key of a zone: its sealed record, the key objects in it and its signatures. Does not know what is signed.
import { createHmac, createPrivateKey, createPublicKey, createSecretKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Certificate } from '../../base/certificates/certificate.ts'
import { readCertificates } from '../../base/certificates/certificate.ts'
import { stopwatch } from '../../base/clock.ts'
import type { FairQueue } from '../../base/concurrency/fair-queue.ts'
import type { MainThreadShare } from '../../base/concurrency/main-thread-share.ts'
import type { Vault } from '../../base/secrets.ts'
import type { KeyMaterial } from '../../model/tokens/key-material.ts'
import { isInToken } from '../../model/tokens/key-in-token.ts'
import { sealContexts } from '../../model/seal-contexts.ts'
import type { Signature, SigningLocation } from '../../model/tokens/signature.ts'
import type { SigningAlgorithm, SigningKeyRecord } from '../../model/tokens/signing-key.ts'
import { hashBytesOfSymmetric } from '../../model/tokens/signing-key.ts'
import { hashOf, isQuick, signInPool, signNow } from './jws-algorithms.ts'
import type { Signer, TokenKeys } from './signer.ts'
import { SigningUnavailable } from './signer.ts'
import type { SigningThread } from './signing-thread.ts'

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

/** Dependencies for opening private keys. */
export interface KeyOpening {
  readonly vault: Vault
  readonly defaultZoneId: string
  readonly tokenKeys: TokenKeys | undefined
  /** The share of the main thread that signatures by quick algorithms take. */
  readonly quickShare: MainThreadShare
  /** Signs in a thread while that share is large. */
  readonly thread: SigningThread
  /** Queues slow signatures, which must not fill the pool: every write of SQLite waits for a thread of it, too (decision 0003). */
  readonly queue: FairQueue
  /** Absent if signatures are not measured. */
  readonly onSignature: ((signature: Signature) => void) | undefined
}

/** Opens a key to verify with; undefined for a shared secret that is missing. */
export function openVerifying(record: SigningKeyRecord, vault: Vault): ZoneKey | undefined {
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
  { vault, quickShare, thread, queue, defaultZoneId, tokenKeys, onSignature }: KeyOpening,
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
    const missing = new SigningUnavailable(
      `signing key ${keyId} is in a hardware token that signing_keys does not list`,
    )
    return measured('pkcs11', () => Promise.reject(missing))
  }
  const signingKey = { algorithm, key: createPrivateKey(privateKey) }
  if (!isQuick(algorithm)) {
    const requester = { zoneId: record.zoneId, address: undefined }
    return measured('pool', data => queue.run(requester, () => signInPool(data, signingKey)))
  }
  const inThread = measured('thread', thread.signerOf(signingKey))
  const onMainThread = measured('main', async data => quickShare.run(() => signNow(data, signingKey)))
  return data => (quickShare.isLarge() && thread.isReady() ? inThread(data) : onMainThread(data))
}

/** Observes the result without delaying the caller. */
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

/** Opens a key to sign with; undefined for a shared secret that is missing. */
export function openSigning(record: SigningKeyRecord, opening: KeyOpening): SigningKey | undefined {
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

// The keys of each zone, opened once: which one signs, and which ones verify.
import { availableParallelism } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { createFairQueue, UNBOUNDED } from '../../base/concurrency/fair-queue.ts'
import { createMainThreadShare } from '../../base/concurrency/main-thread-share.ts'
import type { Random } from '../../base/random.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Signature } from '../../model/tokens/signature.ts'
import type { SigningAlgorithm, SigningKeyRecord } from '../../model/tokens/signing-key.ts'
import type { Store } from '../../store/store.ts'
import { generateKey } from './key-generation.ts'
import type { TokenKeys } from './signer.ts'
import { createSigningThread } from './signing-thread.ts'
import { openSigning, openVerifying, sealedKey } from './zone-key.ts'
import type { KeyOpening, SigningKey, ZoneKey } from './zone-key.ts'

/** Thrown if no key of a zone can sign, or none that fits a client. */
export class NoSigningKey extends Error {
  override readonly name = 'NoSigningKey'
}

const noneSigns = (zoneId: string): NoSigningKey => new NoSigningKey(`zone ${zoneId} has keys, but none that can sign`)

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

interface OpenedKeys {
  readonly active: SigningKey | undefined
  readonly byId: ReadonlyMap<string, ZoneKey>
  readonly list: readonly ZoneKey[]
  /** By algorithm; opened at first use. */
  readonly others: Map<SigningAlgorithm, SigningKey | undefined>
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
  /** Absent if the configuration has no key in a hardware token. */
  tokenKeys?: TokenKeys | undefined
  /** Absent if signatures are not measured. */
  onSignature?: ((signature: Signature) => void) | undefined
}): KeyRing {
  const { store, vault, clock, random, defaultZoneId } = deps
  const generate = deps.generateKey ?? generateKey
  const opened = new WeakMap<readonly SigningKeyRecord[], OpenedKeys>()
  const opening: KeyOpening = {
    vault,
    defaultZoneId,
    tokenKeys: deps.tokenKeys,
    quickShare: createMainThreadShare(LARGE_SHARE),
    thread: createSigningThread(),
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
  async function signingZoneOf(zoneId: string): Promise<string> {
    const isOwn = zoneId === defaultZoneId || (await store.keys.list(zoneId)).some(({ active }) => active)
    return isOwn ? zoneId : defaultZoneId
  }

  /** The keys in use for signing first, then others that only verify. */
  async function keysOf(zoneId: string): Promise<readonly OpenedKeys[]> {
    const zoneIds = new Set([await signingZoneOf(zoneId), zoneId])
    return Promise.all(Array.from(zoneIds, async id => open(await store.keys.list(id))))
  }

  // Checked on each use, so that an expired key is refused before it is purged.
  const isUnexpired = ({ expiresAt }: ZoneKey): boolean => expiresAt === undefined || expiresAt > clock.now()

  return {
    async active(zoneId) {
      const signingZoneId = await signingZoneOf(zoneId)
      const keys = open(await store.keys.list(signingZoneId))
      if (keys.active) return keys.active
      if (signingZoneId !== defaultZoneId) throw noneSigns(zoneId)
      creating ??= createFirst().finally(() => {
        creating = undefined
      })
      const { active } = open(await creating)
      if (!active) throw noneSigns(signingZoneId)
      return active
    },
    async withAlgorithm(zoneId, algorithm) {
      const records = await store.keys.list(await signingZoneOf(zoneId))
      const { active, others } = open(records)
      if (active?.algorithm === algorithm) return active
      const cached = others.get(algorithm)
      if (cached) return cached
      // A key with an expiry was replaced and no longer signs.
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

// The vault with the master keys of a database. Its digests use a separate key, which is stored encrypted in the database:
// another master key must not change the names of users, their codes, or the audit trail.
import type { Random } from '../base/random.ts'
import type { MasterVault } from '../base/secrets.ts'
import { createVault, digestKeyOf, MissingMasterKey, openDigestKey } from '../base/secrets.ts'
import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import { BootstrapError } from './bootstrap-error.ts'

/** Name of the sealed key of the digests among the keys of the server. */
const DIGEST_KEY_NAME = 'digests'

const CHECK = ['master-key', 'check'] as const
const checkOf = (vault: Pick<MasterVault, 'keyedDigest'>): string => vault.keyedDigest(CHECK.join(' '))

const needed = (cause: unknown): string =>
  cause instanceof MissingMasterKey ? `: it needs the key ${cause.keyId}` : ''

const NOT_THE_ONE = 'the master key is not the one that this database was made with'

/** Throws `BootstrapError` when none of the master keys is that of the database. */
export async function openVault({
  store,
  masterKeys,
  random,
  service,
}: {
  readonly store: Store
  readonly masterKeys: readonly Buffer[]
  readonly random: Random
  readonly service: string
}): Promise<MasterVault> {
  const kept = await store.serverKeys.find(DIGEST_KEY_NAME)
  if (kept) {
    try {
      return createVault(masterKeys, random, openDigestKey(kept.sealedPrivateKey, masterKeys, random))
    } catch (cause) {
      throw new BootstrapError(`${NOT_THE_ONE}${needed(cause)}`, { cause })
    }
  }
  // A database of an earlier version, whose digests are those of its master key, or a new one.
  const check = await store.bootstrap.applied(service, ...CHECK)
  if (check === undefined) return createVault(masterKeys, random)
  const first = masterKeys.map(digestKeyOf).find(key => checkOf(createVault(masterKeys, random, key)) === check)
  if (first === undefined) throw new BootstrapError(NOT_THE_ONE)
  return createVault(masterKeys, random, first)
}

/** Whether a master key belongs to the database already. */
export const hasMasterKey = async (store: Store, service: string): Promise<boolean> =>
  (await store.serverKeys.find(DIGEST_KEY_NAME)) !== undefined ||
  (await store.bootstrap.applied(service, ...CHECK)) !== undefined

/** Whether the database was made with the vault's digests; undefined for an empty one. */
export async function fitsDatabase(
  store: Store,
  service: string,
  vault: Pick<MasterVault, 'keyedDigest'>,
): Promise<boolean | undefined> {
  const stored = await store.bootstrap.applied(service, ...CHECK)
  return stored === undefined ? undefined : stored === checkOf(vault)
}

/** Marks the database as the vault's, and stores the key of its digests. */
export async function claimDatabase(
  { store, clock, vault }: { readonly store: Store; readonly clock: Clock; readonly vault: MasterVault },
  service: string,
): Promise<void> {
  if ((await fitsDatabase(store, service, vault)) !== true) {
    await store.bootstrap.remember(service, ...CHECK, checkOf(vault))
  }
  const kept =
    (await store.serverKeys.find(DIGEST_KEY_NAME)) ??
    (await store.serverKeys.saveFirst({
      name: DIGEST_KEY_NAME,
      sealedPrivateKey: vault.sealedDigestKey(),
      certificate: '',
      createdAt: clock.now(),
    }))
  // Two processes that start on an empty database with their keys in another order.
  if (!vault.hasDigestKey(kept.sealedPrivateKey)) throw new BootstrapError(`${NOT_THE_ONE}: start this process again`)
}

/** Throws `BootstrapError` when none of the master keys opens what every process needs. */
export async function refuseUselessKeys({
  store,
  masterKeys,
  random,
}: {
  readonly store: Store
  readonly masterKeys: readonly Buffer[]
  readonly random: Random
}): Promise<void> {
  const kept = await store.serverKeys.find(DIGEST_KEY_NAME)
  if (!kept) return
  try {
    openDigestKey(kept.sealedPrivateKey, masterKeys, random)
  } catch (cause) {
    throw new BootstrapError(`none of them opens the database${needed(cause)}`, { cause })
  }
}

import type { Clock } from '../base/clock.ts'
import type { Vault } from '../base/secrets.ts'
import type { SigningKeys } from '../config.ts'
import type { KeyMaterial } from '../model/key-material.ts'
import type { Store } from '../store/store.ts'
import { openKey, sealedKey } from '../token/keys.ts'
import type { Ledger } from './ledger.ts'

/** Dependencies of `applySigningKeys`. */
export interface SigningKeyDeps {
  readonly store: Store
  readonly vault: Vault
  readonly clock: Clock
  readonly ledger: Ledger
}

/**
 * Applies changed definitions only. The key activated with `latchkey keys` stays active until the file names another
 * one; a retired key stays retired until the file changes its material or activates it.
 */
export async function applySigningKeys(
  zoneId: string,
  { active, keys }: SigningKeys,
  deps: SigningKeyDeps,
): Promise<void> {
  const { store, vault, clock, ledger } = deps

  async function save(keyId: string, material: KeyMaterial, signs?: true): Promise<void> {
    const before = (await store.keys.list(zoneId)).find(record => record.keyId === keyId)
    const isActive = signs ?? before?.active ?? false
    const createdAt = before?.createdAt ?? clock.now()
    const record = sealedKey({ zoneId, keyId, active: isActive, createdAt }, material, vault)
    const isSame = before?.sealedPrivateKey !== undefined && openKey(before, vault) === material.privateKey
    const expiresAt = isSame && !isActive ? before.expiresAt : undefined
    await store.keys.save(zoneId, { ...record, ...(expiresAt && { expiresAt }) })
  }

  // The active key first: it replaces the previous one, so the zone always has an active key.
  const signing = keys[active]
  if (signing) {
    const definition = { active }
    await ledger.once({ zoneId, kind: 'active-key', key: '', definition }, () => save(active, signing, true))
  }
  for (const [keyId, material] of Object.entries(keys)) {
    const definition = material
    await ledger.once({ zoneId, kind: 'signing-key', key: keyId, definition }, () => save(keyId, material))
  }
}

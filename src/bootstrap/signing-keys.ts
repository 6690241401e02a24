import type { Clock } from '../base/clock.ts'
import type { Vault } from '../base/secrets.ts'
import type { ConfiguredKey, SigningKeys } from '../config.ts'
import type { KeyInToken } from '../model/tokens/key-in-token.ts'
import type { KeyMaterial } from '../model/tokens/key-material.ts'
import { readKeyInToken } from '../model/tokens/key-material.ts'
import type { Store } from '../store/store.ts'
import { openKey, sealedKey } from '../token/keys/zone-key.ts'
import type { TokenKeys } from '../token/keys/signer.ts'
import { SigningUnavailable } from '../token/keys/signer.ts'
import { BootstrapError } from './bootstrap-error.ts'
import type { Ledger } from './ledger.ts'

/** Dependencies of `applySigningKeys`. */
interface SigningKeyDeps {
  readonly store: Store
  readonly vault: Vault
  readonly clock: Clock
  readonly ledger: Ledger
  /** Absent where the configuration has no key in a token. */
  readonly tokenKeys?: TokenKeys | undefined
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

  async function save(keyId: string, given: ConfiguredKey, signs?: true): Promise<void> {
    const material = 'pkcs11' in given ? await materialInToken(keyId, given, deps.tokenKeys) : given
    const before = (await store.keys.list(zoneId)).find(record => record.keyId === keyId)
    const isActive = signs ?? before?.active ?? false
    const createdAt = before?.createdAt ?? clock.now()
    const record = sealedKey({ zoneId, keyId, active: isActive, createdAt }, material, vault)
    const isSame =
      before?.sealedPrivateKey !== undefined &&
      openKey(before, vault) === material.privateKey &&
      before.publicKey === material.publicKey
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
    const definition = 'pkcs11' in material ? definitionInToken(material) : material
    await ledger.once({ zoneId, kind: 'signing-key', key: keyId, definition }, () => save(keyId, material))
  }
}

/** The key is the same with another module path, PIN or number of sessions. */
const definitionInToken = ({ algorithm, certificate, pkcs11: { token, label } }: KeyInToken): object => ({
  algorithm,
  certificate,
  pkcs11: { token, label },
})

/** Asks the token for the public half. Throws `BootstrapError`. */
async function materialInToken(keyId: string, key: KeyInToken, tokenKeys: TokenKeys | undefined): Promise<KeyMaterial> {
  try {
    if (!tokenKeys) throw new SigningUnavailable('tokens are not opened here')
    const read = readKeyInToken(await tokenKeys.publicKeyOf(keyId), key)
    if (!('problem' in read)) return read
    throw new BootstrapError(`signing_keys.keys.${keyId}: ${read.problem}`)
  } catch (cause) {
    throw cause instanceof SigningUnavailable ? new BootstrapError(cause.message, { cause }) : cause
  }
}

import type { Vault } from '../base/secrets.ts'
import type { SamlKeys } from '../config/sections/saml.ts'
import type { SamlConfig, Zone } from '../model/zones/zone.ts'

/** The key pairs of a zone, and which of them is active. */
type Chosen = Pick<SamlConfig, 'keys' | 'activeKeyId'>

/** The keys of the file, sealed for the zone. */
export async function sealedSamlKeys(zoneId: string, { active, pairs }: SamlKeys, vault: Vault): Promise<Chosen> {
  const { sealSamlKey } = await import('../zones/saml-keys.ts') // only needed with keys
  const keys = Object.entries(pairs).map(([id, pair]) => [id, sealSamlKey(zoneId, id, pair, vault)] as const)
  return keys.length === 0 ? {} : { activeKeyId: active, keys: Object.fromEntries(keys) }
}

/**
 * The zone with the keys, which are those that it had unless the file has others. The settings of the file choose the
 * active one if they name one of them.
 */
export function withSamlKeys<Z extends Pick<Zone, 'config'>>(zone: Z, { keys, activeKeyId }: Chosen = {}): Z {
  if (keys === undefined) return zone
  const { samlConfig } = zone.config
  const chosen = samlConfig?.activeKeyId
  const isThere = typeof chosen === 'string' && Object.hasOwn(keys, chosen)
  const active = isThere ? chosen : activeKeyId
  const changed = { ...samlConfig, keys, ...(active !== undefined && { activeKeyId: active }) }
  return { ...zone, config: { ...zone.config, samlConfig: changed } }
}

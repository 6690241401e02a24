// Shows the JSON of zones: settings are stored without defaults and shown with them. Keys are never shown; they are
// read separately (saml-keys.ts, admin/zones/keys.ts).
import type { JsonRecord } from '../base/json.ts'
import { isJsonRecord } from '../base/json.ts'
import { showSettings } from '../records/settings.ts'
import type { zoneConfigSettings } from '../records/zone-config.ts'
import { LEGACY_SAML_KEY, samlActiveKeyId } from './saml-keys.ts'
import type { Zone, ZoneConfig } from '../model/zones/zone.ts'

/** The zone's chosen signing key. */
interface ShownKeys {
  readonly activeKeyId?: string | undefined
}

/** The record of a zone as shown by the API; `reduced` for callers with read access to this zone only. */
export function zoneToJson(
  zone: Zone,
  { activeKeyId }: ShownKeys,
  {
    settings,
    reduced = false,
  }: { readonly settings: ReturnType<typeof zoneConfigSettings>; readonly reduced?: boolean },
): JsonRecord {
  const { tokenPolicy, samlConfig, ...others } = showSettings(settings, zone.config)
  const config = reduced
    ? others
    : {
        ...others,
        tokenPolicy: { ...(isJsonRecord(tokenPolicy) && tokenPolicy), activeKeyId: activeKeyId ?? null },
        samlConfig: { ...(isJsonRecord(samlConfig) && samlConfig), ...shownSamlKeys(zone.config) },
      }
  return {
    id: zone.id,
    subdomain: zone.subdomain,
    name: zone.name,
    ...(zone.description !== undefined && { description: zone.description }),
    version: zone.version,
    active: zone.active,
    created: zone.createdAt.getTime(),
    last_modified: zone.updatedAt.getTime(),
    config,
  }
}

/** Certificates only; the old format repeats the key with the reserved name. */
function shownSamlKeys({ samlConfig = {} }: ZoneConfig): JsonRecord {
  const keys = samlConfig.keys ?? {}
  const shown = Object.entries(keys).map(([id, { certificate }]) => [id, { certificate }] as const)
  const legacy = Object.hasOwn(keys, LEGACY_SAML_KEY) ? keys[LEGACY_SAML_KEY] : undefined
  const activeKeyId = samlActiveKeyId(samlConfig)
  return {
    ...(activeKeyId !== undefined && { activeKeyId }),
    keys: Object.fromEntries(shown),
    ...(legacy && { certificate: legacy.certificate }),
  }
}

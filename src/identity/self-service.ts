import type { PageSettings } from '../model/settings.ts'
import { selfServiceLinks } from '../model/zone.ts'
import type { SelfServiceLinks, Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'

/** What decides about the links, beside the zone. */
export interface SelfServiceDeps {
  readonly store: { readonly providers: Pick<Store['providers'], 'findByOrigin'> }
  readonly serviceName: string
  readonly pageSettings: Pick<PageSettings, 'links'>
}

/** The zone's links for who has no account or forgot the password; none where its accounts are kept by somebody else. */
export async function selfServiceLinksIn(
  zone: Zone,
  { store, serviceName, pageSettings }: SelfServiceDeps,
): Promise<SelfServiceLinks> {
  const internal = await store.providers.findByOrigin(zone.id, serviceName)
  return internal?.config['disableInternalUserManagement'] === true ? {} : selfServiceLinks(zone, pageSettings.links)
}

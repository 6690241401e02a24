import type { PageSettings } from '../model/zones/settings.ts'
import { selfServiceLinks } from '../model/zones/zone.ts'
import type { SelfServiceLinks, Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

/** Dependencies of `selfServiceLinksIn`. */
interface SelfServiceDeps {
  readonly store: { readonly providers: Pick<Store['providers'], 'findByOrigin'> }
  readonly serviceName: string
  readonly pageSettings: Pick<PageSettings, 'links'>
}

const OWN_PAGES: SelfServiceLinks = { signup: '/create_account', passwd: '/forgot_password' }

/**
 * The zone's links for sign-up and a forgotten password, which lead to our own pages unless others are set; none if
 * `disableInternalUserManagement` is set.
 */
export async function selfServiceLinksIn(
  zone: Zone,
  { store, serviceName, pageSettings }: SelfServiceDeps,
): Promise<SelfServiceLinks> {
  const internal = await store.providers.findByOrigin(zone.id, serviceName)
  return internal?.config['disableInternalUserManagement'] === true
    ? {}
    : selfServiceLinks(zone, { ...OWN_PAGES, ...pageSettings.links })
}

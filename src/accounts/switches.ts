// Which self-service a zone allows. Fails closed: a zone without its internal provider allows none.
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

/** The self-service that is allowed. */
interface Switches {
  /** Changing accounts of the internal provider at all: `disableInternalUserManagement` turns it off. */
  readonly ownAccounts: boolean
  /** Signing up and resetting a forgotten password: `links.selfService.selfServiceLinksEnabled: false` turns it off. */
  readonly selfService: boolean
}

/** Dependencies of `switchesIn`. */
export interface SwitchDeps {
  readonly store: { readonly providers: Pick<Store['providers'], 'findByOrigin'> }
  /** Also the origin of the internal provider. */
  readonly serviceName: string
}

/** Reads records that are cached. */
export async function switchesIn(zone: Zone, { store, serviceName }: SwitchDeps): Promise<Switches> {
  const internal = await store.providers.findByOrigin(zone.id, serviceName)
  const ownAccounts = internal !== undefined && internal.active && !isDisabled(internal)
  return { ownAccounts, selfService: ownAccounts && zone.config.links?.selfService?.selfServiceLinksEnabled !== false }
}

const isDisabled = ({ config }: IdentityProvider): boolean => config['disableInternalUserManagement'] === true

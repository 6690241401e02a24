import { promptsOfProvider } from '../model/zones/identity-provider.ts'
import type { Prompt, Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

/** The form fields of the OpenID Connect provider with this origin, if it takes passwords and defines fields. */
export async function promptsOfOrigin(
  { providers }: { readonly providers: Pick<Store['providers'], 'findByOrigin'> },
  zone: Zone,
  origin: string | undefined,
): Promise<readonly Prompt[] | undefined> {
  const provider = origin === undefined ? undefined : await providers.findByOrigin(zone.id, origin)
  return provider?.active && provider.type === 'oidc1.0' ? promptsOfProvider(provider) : undefined
}

// Decides which providers a user name and password are sent to.
import type { Client } from '../model/clients/client.ts'
import { allowsProvider } from '../model/clients/client.ts'
import { LDAP_ORIGIN } from '../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { PasswordSignIn } from './password-sign-in.ts'
import type { ProviderSources } from './provider-sources.ts'

/** Why no provider was chosen. */
export type NoProvider = 'unusable-hint' | 'provider-barred' | 'no-provider' | 'several-providers'

/** The providers to ask, in order; none if the internal one would be asked, but is disabled. */
type PasswordProviders = (
  zone: Zone,
  signIn: Pick<PasswordSignIn, 'client' | 'origin' | 'field'>,
) => Promise<{ readonly providers: readonly IdentityProvider[] } | { readonly reason: NoProvider }>

/** `serviceName`: the origin and type of the internal provider. */
export function createPasswordProviders({
  store,
  open,
  serviceName,
}: {
  readonly store: Store
  readonly open: ProviderSources['open']
  readonly serviceName: string
}): PasswordProviders {
  /** Whether the internal provider is disabled and would have been chosen otherwise. */
  async function internalIsDisabled(zone: Zone, client: Client | undefined): Promise<boolean> {
    const internal = await store.providers.findByOrigin(zone.id, serviceName)
    return internal?.active === false && (!client || allowsProvider(client, serviceName))
  }

  const rank = (provider: IdentityProvider): number => (provider.type === serviceName ? 0 : 1)

  /** By the list of the store, which is another one after every change: a zone may have thousands of providers. */
  const ofPages = new WeakMap<readonly IdentityProvider[], ReadonlyMap<IdentityProvider, boolean>>()

  /** The active providers that take passwords, with whether pages may send them some. */
  async function takingPasswords(zone: Zone): Promise<ReadonlyMap<IdentityProvider, boolean>> {
    const active = await store.providers.listActive(zone.id)
    const known = ofPages.get(active)
    if (known) return known
    const found = new Map<IdentityProvider, boolean>()
    for (const provider of active) {
      const { password, relay } = await open(zone, provider)
      if (password || relay) found.set(provider, password !== undefined || relay?.onPages === true)
    }
    ofPages.set(active, found)
    return found
  }

  return async (zone, { client, origin, field }) => {
    const all = [...(await takingPasswords(zone))].flatMap(([provider, isOfPages]) =>
      isOfPages || field !== undefined ? [provider] : [],
    )
    const allowed = all.filter(provider => !client || allowsProvider(client, provider.originKey))
    if (origin !== undefined) {
      const named = all.find(provider => provider.originKey === origin)
      if (!named) return { reason: 'unusable-hint' }
      return allowed.includes(named) ? { providers: [named] } : { reason: 'provider-barred' }
    }
    const preferred = allowed.find(provider => provider.originKey === zone.config.defaultIdentityProvider)
    if (preferred) return { providers: [preferred] }
    if (allowed.length === 0) {
      return (await internalIsDisabled(zone, client)) ? { providers: [] } : { reason: 'no-provider' }
    }
    // The internal accounts and directories may be used together: they are tried in order.
    const chain = allowed.filter(provider => provider.type === serviceName || provider.type === LDAP_ORIGIN)
    if (chain.length > 0) return { providers: chain.toSorted((a, b) => rank(a) - rank(b)) }
    return allowed.length === 1 ? { providers: allowed } : { reason: 'several-providers' }
  }
}

// The service providers' code, loaded with the first SAML request: most servers have no SAML provider.
import type { ServiceProviderDeps, ServiceProviders } from './service-provider.ts'

/** The same as `createServiceProviders`. */
export function createDeferredServiceProviders(deps: ServiceProviderDeps): ServiceProviders {
  let loading: Promise<ServiceProviders> | undefined
  const load = (): Promise<ServiceProviders> =>
    (loading ??= import('./service-provider.ts').then(
      ({ createServiceProviders }) => createServiceProviders(deps),
      (cause: unknown) => {
        loading = undefined // the next request tries again
        throw cause
      },
    ))
  return { of: async zone => (await load()).of(zone) }
}

// The service providers' code, loaded with the first SAML request: most servers have no SAML provider.
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { ServiceProviderDeps, ServiceProviders } from './service-provider.ts'

/** The same as `createServiceProviders`. */
export function createDeferredServiceProviders(deps: ServiceProviderDeps): ServiceProviders {
  const load = loadOnce(async () => (await import('./service-provider.ts')).createServiceProviders(deps))
  return { of: async zone => (await load()).of(zone) }
}

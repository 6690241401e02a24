import { isJsonRecord } from '../base/json.ts'
import type { GlobalPolicies, IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Store } from '../store/store.ts'

/** The provider with its effective policies: one of internal accounts gets the policies of the server where it has none. */
export function withPoliciesOfServer<P extends Pick<IdentityProvider, 'originKey' | 'config'>>(
  provider: P,
  internalOrigin: string,
  policies: GlobalPolicies,
): P {
  if (provider.originKey !== internalOrigin) return provider
  const missing = Object.entries(policies).filter(([name]) => !isJsonRecord(provider.config[name]))
  if (missing.length === 0) return provider
  return { ...provider, config: { ...provider.config, ...Object.fromEntries(missing) } }
}

/**
 * The store, in which internal providers without a policy get the server's policy on every read. The API that changes
 * providers reads and writes what is stored.
 */
export function withGlobalPolicies(store: Store, internalOrigin: string, policies: GlobalPolicies): Store {
  if (Object.keys(policies).length === 0) return store
  const completed = (provider: IdentityProvider): IdentityProvider =>
    withPoliciesOfServer(provider, internalOrigin, policies)
  const { providers } = store
  /** By the list of the store, so that what others derive from a list can be kept as long. */
  const lists = new WeakMap<readonly IdentityProvider[], readonly IdentityProvider[]>()
  return {
    ...store,
    providers: {
      ...providers,
      async findByOrigin(zoneId, originKey) {
        const provider = await providers.findByOrigin(zoneId, originKey)
        return provider && completed(provider)
      },
      async listActive(zoneId) {
        const active = await providers.listActive(zoneId)
        const list = lists.get(active) ?? active.map(completed)
        lists.set(active, list)
        return list
      },
    },
  }
}

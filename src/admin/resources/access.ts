// Access to the management APIs.
import type { Service } from '../../model/service.ts'
import type { Access } from '../../web/route.ts'

/** For tokens with one of the scopes, and for administrators of the zone, also those of the default zone. */
export const managementAccess = (
  service: Service,
  ...scopes: readonly string[]
): Access & { readonly by: 'bearer' } => ({
  by: 'bearer',
  scopes: [service.scope('admin'), ...scopes],
  ofDefaultZone: ['zones.{zone}.admin'],
  acrossZones: true,
})

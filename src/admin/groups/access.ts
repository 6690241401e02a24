// Access to the endpoints below `/Groups`.
import type { Service } from '../../model/service.ts'
import type { Access } from '../../web/route.ts'

/** Access to the endpoints of groups of zones: with a token of the default zone and in it only. */
export const zoneGroupAccess = (service: Service): Access => ({
  by: 'bearer',
  scopes: [],
  ofDefaultZone: [service.scope('admin'), 'scim.zones'],
})

/** Paths that name a mapping: a group by id or name, and an external group, of LDAP unless there is an origin. */
export const MAPPING_PATHS = [
  '/Groups/External/groupId/:groupId/externalGroup/:externalGroup/origin/:origin',
  '/Groups/External/displayName/:displayName/externalGroup/:externalGroup/origin/:origin',
  '/Groups/External/groupId/:groupId/externalGroup/:externalGroup',
  '/Groups/External/displayName/:displayName/externalGroup/:externalGroup',
  // Deprecated.
  '/Groups/External/id/:groupId/:externalGroup',
  '/Groups/External/:displayName/:externalGroup',
] as const

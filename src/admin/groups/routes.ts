// The routes of `/Groups`, with the access that they require.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import { managementAccess } from '../resources/access.ts'
import { refuseMalformed } from '../resources/refusal.ts'
import { MAPPING_PATHS, zoneGroupAccess } from './access.ts'
import type { AdminDeps } from '../deps.ts'

/** A group with ten thousand members. */
const RECORD_LIMIT = 2 * 1024 * 1024

function routes(service: Service) {
  const reading = { access: managementAccess(service, 'scim.read') }
  const deleting = { access: managementAccess(service, 'scim.write') }
  const mapping = { ...deleting, body: 'json' } as const
  const writing = { access: managementAccess(service, 'scim.write', 'groups.update'), body: 'json' } as const
  const record = { ...writing, bodyLimit: RECORD_LIMIT }
  const ofZones = { access: zoneGroupAccess(service) }
  return {
    'GET /Groups': reading,
    'POST /Groups': record,
    'GET /Groups/:id': reading,
    'PUT /Groups/:id': record,
    'PATCH /Groups/:id': record,
    'DELETE /Groups/:id': deleting,
    'GET /Groups/:id/members': reading,
    'POST /Groups/:id/members': writing,
    'GET /Groups/:id/members/:memberId': reading,
    'PUT /Groups/:id/members/:memberId': writing,
    'DELETE /Groups/:id/members/:memberId': deleting,
    'GET /Groups/External': reading,
    'GET /Groups/External/list': reading,
    'POST /Groups/External': mapping,
    ...unmapping(deleting),
    'POST /Groups/zones': { ...ofZones, body: 'json' },
    'DELETE /Groups/zones/:userId/:zoneId': ofZones,
    'DELETE /Groups/zones/:userId/:zoneId/:scope': ofZones,
  } as const satisfies Record<RouteName, DeferredRoute>
}

type MappingRemoval = `DELETE ${(typeof MAPPING_PATHS)[number]}`

const unmapping = (route: DeferredRoute): Record<MappingRemoval, DeferredRoute> =>
  Object.fromEntries(MAPPING_PATHS.map(path => [`DELETE ${path}`, route])) as Record<MappingRemoval, DeferredRoute>

/** A route of groups. */
export type GroupRoute = keyof ReturnType<typeof routes>

/** `/Groups` and everything below it. */
export function groupEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, routes(deps.service), {
    errorHandler: refuseMalformed,
    deps,
    load: async () => [(await import('./groups.ts')).groupHandlers],
  })
}

// The routes of `/identity-zones`, with the access that they require.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { Access, Rights } from '../../web/route.ts'
import { zoneReaders } from './access.ts'
import { createZoneRefusals } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'

/** Records contain logos. */
const RECORD_LIMIT = 1024 * 1024

const by = (rights: Rights): Access => ({ by: 'bearer', acrossZones: true, ...rights })

function routes(service: Service) {
  const admin = service.scope('admin')
  const readers = zoneReaders(service)
  const toChange = by({ scopes: [admin, 'zones.write'], ofDefaultZone: ['zones.{zone}.admin'] })
  const toMakeOrDelete = by({ scopes: [], ofDefaultZone: [admin, 'zones.write', 'zones.{zone}.admin'] })
  const ofClients = { access: by({ scopes: [], ofDefaultZone: [admin, 'zones.write'] }), body: 'json' } as const
  return {
    'GET /identity-zones': { access: by(readers) },
    'POST /identity-zones': { access: toMakeOrDelete, body: 'json', bodyLimit: RECORD_LIMIT },
    'GET /identity-zones/:id': {
      access: by({ ...readers, ofDefaultZone: [...readers.ofDefaultZone, 'zones.{zone}.read'] }),
    },
    'PUT /identity-zones/:id': { access: toChange, body: 'json', bodyLimit: RECORD_LIMIT },
    'DELETE /identity-zones/:id': { access: toMakeOrDelete, body: 'json' },
    'POST /identity-zones/:id/clients': ofClients,
    'DELETE /identity-zones/:id/clients/:client_id': ofClients,
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of zones. */
export type ZoneRoute = keyof ReturnType<typeof routes>

/** `/identity-zones`, `/identity-zones/{id}` and the clients below the latter. */
export function zoneEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, routes(deps.service), {
    errorHandler: createZoneRefusals(deps.behaviour),
    deps,
    load: async () => [(await import('./zones.ts')).zoneHandlers],
  })
}

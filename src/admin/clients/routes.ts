// The routes of `/oauth/clients`, with the access that they require.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import { clientAccess } from './record.ts'
import type { AdminDeps } from '../deps.ts'

/** Batches of many clients. */
const BATCH_LIMIT = 1024 * 1024

function routes(service: Service) {
  const reading = { access: clientAccess(service, 'clients.read') }
  const deleting = { access: clientAccess(service, 'clients.write') }
  const writing = { ...deleting, body: 'json' } as const
  const batch = { access: clientAccess(service), body: 'json list', bodyLimit: BATCH_LIMIT } as const
  return {
    'GET /oauth/clients': reading,
    'POST /oauth/clients': writing,
    'GET /oauth/clients/:client_id': reading,
    'PUT /oauth/clients/:client_id': writing,
    'DELETE /oauth/clients/:client_id': deleting,
    'GET /oauth/clients/restricted': reading,
    'POST /oauth/clients/restricted': writing,
    'PUT /oauth/clients/restricted/:client_id': writing,
    'PUT /oauth/clients/:client_id/secret': { access: clientAccess(service, 'clients.secret'), body: 'json' },
    'PUT /oauth/clients/:client_id/clientjwt': { access: clientAccess(service, 'clients.trust'), body: 'json' },
    'GET /oauth/clients/meta': { access: { by: 'bearer', acrossZones: true } },
    'GET /oauth/clients/:client_id/meta': { access: { by: 'bearer', acrossZones: true } },
    'PUT /oauth/clients/:client_id/meta': writing,
    'GET /oauth/clients/:client_id/profile': reading,
    'POST /oauth/clients/tx': batch,
    'PUT /oauth/clients/tx': batch,
    'POST /oauth/clients/tx/delete': batch,
    'POST /oauth/clients/tx/secret': batch,
    'POST /oauth/clients/tx/modify': batch,
    // Without these two, the methods would address a client with the id `tx`.
    'GET /oauth/clients/tx': { access: clientAccess(service), refuses: true },
    'DELETE /oauth/clients/tx': { access: clientAccess(service), refuses: true },
    'GET /oauth/registration-tokens': { access: clientAccess(service) },
    'POST /oauth/registration-tokens': { access: clientAccess(service), body: 'json' },
    'DELETE /oauth/registration-tokens/:id': { access: clientAccess(service) },
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of clients. */
export type ClientRoute = keyof ReturnType<typeof routes>

/** `/oauth/clients` and everything below it, and `/oauth/registration-tokens`. */
export function clientEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, routes(deps.service), {
    deps,
    load: async () => [(await import('./clients.ts')).clientHandlers],
  })
}

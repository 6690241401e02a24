// The route of the stored audit trail.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { AdminDeps } from '../deps.ts'
import { managementAccess } from '../resources/access.ts'

const routes = (service: Service) =>
  ({
    'GET /audit/events': { access: managementAccess(service, 'audit.read') },
  }) as const satisfies Record<RouteName, DeferredRoute>

/** A route of the audit trail. */
export type AuditRoute = keyof ReturnType<typeof routes>

/** `GET /audit/events`. */
export function auditEndpoint(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, routes(deps.service), {
    deps,
    load: async () => [(await import('./events.ts')).auditHandlers],
  })
}

// The route of explanations.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { ExplainServices } from './deps.ts'

/** A question may hold a token of 64 KiB. */
const BODY_LIMIT = 160 * 1024

const routes = (service: Service) =>
  ({
    'POST /explain': {
      access: {
        by: 'bearer',
        scopes: [service.scope('admin')],
        ofDefaultZone: ['zones.{zone}.admin'],
        acrossZones: true,
      },
      body: 'json',
      bodyLimit: BODY_LIMIT,
    },
  }) as const satisfies Record<RouteName, DeferredRoute>

/** A route of explanations. */
export type ExplainRoute = keyof ReturnType<typeof routes>

/** `POST /explain`. */
export function explainEndpoint(app: FastifyInstance, services: ExplainServices): void {
  deferredRoutes(app, routes(services.service), {
    deps: services,
    load: async () => [(await import('./explain.ts')).explainHandler],
  })
}

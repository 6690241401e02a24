// The routes of `/identity-providers`, with the access that they require.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { AdminDeps } from '../deps.ts'
import { managementAccess } from '../resources/access.ts'

/** Bytes: metadata is part of a record, and its quotation marks and line breaks are escaped. */
const RECORD_LIMIT = 1024 * 1024

function routes(service: Service) {
  const reading = { access: managementAccess(service, 'idps.read') }
  const deleting = { access: managementAccess(service, 'idps.write') }
  const writing = { ...deleting, body: 'json' } as const
  const record = { ...writing, bodyLimit: RECORD_LIMIT }
  return {
    'GET /identity-providers': reading,
    'POST /identity-providers': record,
    'POST /identity-providers/test': writing,
    'GET /identity-providers/:id': reading,
    'PUT /identity-providers/:id': record,
    'DELETE /identity-providers/:id': deleting,
    'PATCH /identity-providers/:id/status': writing,
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of providers. */
export type ProviderRoute = keyof ReturnType<typeof routes>

/** `/identity-providers` and everything below it. */
export function providerEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, routes(deps.service), {
    deps,
    load: async () => [(await import('./providers.ts')).providerHandlers],
  })
}

// The routes of `/Users` and `/ids/Users`, with the access that they require.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { Access } from '../../web/route.ts'
import { managementAccess } from '../resources/access.ts'
import { refuseMalformed } from '../resources/refusal.ts'
import { denyMethods } from '../resources/denied.ts'
import type { AdminDeps } from '../deps.ts'

function routes(service: Service) {
  const reading = managementAccess(service, 'scim.read')
  const writing = managementAccess(service, 'scim.write')
  const creating = managementAccess(service, 'scim.write', 'scim.create')
  const ids: Access = { by: 'bearer', scopes: ['scim.userids'] }
  return {
    'GET /Users': { access: reading },
    'POST /Users': { access: creating, body: 'json' },
    'GET /Users/:id': { access: { ...reading, self: 'id' } },
    'PUT /Users/:id': { access: { ...writing, self: 'id' }, body: 'json' },
    'PATCH /Users/:id': { access: { ...writing, self: 'id' }, body: 'json' },
    'DELETE /Users/:id': { access: writing },
    'GET /Users/:id/verify': { access: creating, exposeHeadRoute: false }, // it changes the user
    'GET /Users/:id/verify-link': { access: managementAccess(service, 'scim.create'), exposeHeadRoute: false }, // it issues a code
    'PATCH /Users/:id/status': {
      access: managementAccess(service, 'scim.write', `${service.name}.account_status.write`),
      body: 'json',
    },
    'PUT /Users/:id/password': {
      access: { by: 'bearer', scopes: ['password.write'], resource: 'password' },
      body: 'json',
    },
    'GET /Users/:id/sessions': { access: managementAccess(service, 'scim.read', 'scim.write') },
    'DELETE /Users/:id/sessions': { access: writing },
    'GET /ids/Users': { access: ids },
    'POST /ids/Users': { access: ids },
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of users. */
export type UserRoute = keyof ReturnType<typeof routes>

/** `scim.write` is not enough to remove or replace a second factor. */
function factorRoutes(service: Service) {
  const administrators = managementAccess(service)
  return {
    'GET /Users/:id/mfa': { access: managementAccess(service, 'scim.read') },
    'DELETE /Users/:id/mfa': { access: administrators },
    'DELETE /Users/:id/mfa/passkeys/:passkey': { access: administrators },
    'DELETE /Users/:id/mfa/totp': { access: administrators },
    'DELETE /Users/:id/mfa/recovery-codes': { access: administrators },
    'POST /Users/:id/mfa/bypass': { access: administrators, body: 'json' },
    'DELETE /Users/:id/mfa/bypass': { access: administrators },
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of the second factors of a user. */
export type UserFactorRoute = keyof ReturnType<typeof factorRoutes>

/** `/Users` with everything below it, and `/ids/Users`. */
export function userEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, routes(deps.service), {
    errorHandler: refuseMalformed,
    deps,
    load: async () => [(await import('./users.ts')).userHandlers],
  })
  deferredRoutes(app, factorRoutes(deps.service), {
    errorHandler: refuseMalformed,
    deps,
    load: async () => [(await import('./factors.ts')).userFactorHandlers],
  })
  denyMethods(app, [
    ['/Users', ['PUT', 'PATCH', 'DELETE']],
    ['/Users/*', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']],
  ])
}

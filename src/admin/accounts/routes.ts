// The routes of the account APIs for login servers and administrators.
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../model/service.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { Access } from '../../web/route.ts'
import { malformedAs } from '../resources/refusal.ts'
import type { AdminDeps } from '../deps.ts'
import { managementAccess } from '../resources/access.ts'
import { denyMethods } from '../resources/denied.ts'

function codeRoutes(service: Service) {
  const scopes = [service.scope('admin'), 'oauth.login']
  const access: Access = { by: 'bearer', scopes, acrossZones: true, forLoginServers: true }
  return {
    // Each of the 65,536 characters may come as `\uXXXX`.
    'POST /Codes': { access, body: 'json', bodyLimit: 400 * 1024 },
    'GET /Codes/:code': { access, exposeHeadRoute: false }, // it consumes the code
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of `/Codes`. */
export type CodeRoute = keyof ReturnType<typeof codeRoutes>

/** `POST /Codes` and `GET /Codes/{code}`. */
export function codeEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, codeRoutes(deps.service), {
    errorHandler: malformedAs('code_store', 415),
    deps,
    load: async () => [(await import('./codes.ts')).codeHandlers],
  })
}

/** The route of invitations. */
export type InvitationRoute = 'POST /invite_users'

/** `POST /invite_users`; other methods are denied. */
export function invitationEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  const { service } = deps
  const access = managementAccess(service, 'scim.invite')
  const route: DeferredRoute = { access, body: 'json', bodyLimit: 512 * 1024 }
  deferredRoutes(
    app,
    { 'POST /invite_users': route },
    {
      errorHandler: malformedAs('invalid_request', 415),
      deps,
      load: async () => [(await import('./invitations.ts')).invitationHandlers],
    },
  )
  denyMethods(app, [['/invite_users', ['GET', 'PUT', 'PATCH', 'DELETE']]])
}

function passwordRoutes(service: Service) {
  const access: Access = { ...managementAccess(service, 'oauth.login'), forLoginServers: true }
  return {
    'POST /password_resets': { access, body: 'text' },
    'POST /password_change': { access, body: 'json' },
  } as const satisfies Record<RouteName, DeferredRoute>
}

/** A route of new passwords. */
export type PasswordRoute = keyof ReturnType<typeof passwordRoutes>

/** `POST /password_resets` and `POST /password_change`. */
export function passwordEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, passwordRoutes(deps.service), {
    errorHandler: malformedAs('scim', 415),
    deps,
    load: async () => [(await import('./passwords.ts')).passwordHandlers],
  })
}

// The route of the logout. Its code is loaded at the first one.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { OAuthDeps } from '../deps.ts'

const ends = {
  access: { by: 'anyone', because: 'it only ends the session of the browser that calls' },
  audience: 'page',
} as const

const ROUTES = {
  'GET /logout.do': { ...ends, exposeHeadRoute: false }, // it would end the session
  'POST /logout.do': { ...ends, antiForgery: { by: 'handler', because: 'applications post to it, too' } },
} as const satisfies Record<RouteName, DeferredRoute>

/** A route of the logout. */
export type LogoutRoute = keyof typeof ROUTES

/** `GET` and `POST /logout.do`, the `end_session_endpoint`. */
export function logoutEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    load: async () => [(await import('./logout.ts')).logoutHandlers],
  })
}

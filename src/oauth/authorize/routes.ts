// The routes of the authorization endpoint. Its code is loaded at the first authorization request.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { OAuthDeps } from '../deps.ts'

const open = {
  access: { by: 'anyone', because: 'the flow itself authenticates the user, by redirecting to sign-in' },
  audience: 'page',
} as const

const ROUTES = {
  // No HEAD, which would issue a code.
  'GET /oauth/authorize': { ...open, exposeHeadRoute: false },
  'POST /oauth/authorize': {
    ...open,
    antiForgery: { by: 'handler', because: 'applications may post requests, and only users approvals' },
  },
} as const satisfies Record<RouteName, DeferredRoute>

/** A route of the authorization endpoint. */
export type AuthorizeRoute = keyof typeof ROUTES

/** `GET` and `POST /oauth/authorize` (RFC 6749 §3.1, OpenID Connect Core §3.1.2). */
export function authorizeEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    load: async () => [(await import('./authorize.ts')).authorizeHandlers],
  })
}

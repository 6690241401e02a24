// The routes of `/approvals`.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { Access } from '../../web/route.ts'
import { createApprovalRefusals } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'

const access: Access = { by: 'bearer', resource: 'oauth', scopes: ['oauth.approvals'] }
const writing = { access, body: 'json list', bodyLimit: 1024 * 1024 } as const

const ROUTES = {
  'GET /approvals': { access },
  'PUT /approvals': writing,
  'PUT /approvals/:clientId': writing,
  'DELETE /approvals': { access },
} as const satisfies Record<RouteName, DeferredRoute>

/** A route of approvals. */
export type ApprovalRoute = keyof typeof ROUTES

/** `GET`, `PUT` and `DELETE /approvals`, and `PUT /approvals/{clientId}`. */
export function approvalEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  deferredRoutes(app, ROUTES, {
    errorHandler: createApprovalRefusals(deps.behaviour),
    deps,
    load: async () => [(await import('./approvals.ts')).approvalHandlers],
  })
}

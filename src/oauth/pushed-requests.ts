// The endpoint of pushed authorization requests (RFC 9126). Its code is loaded when it is first called.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../web/deferred-routes.ts'
import type { OAuthDeps } from './deps.ts'

/** Where clients push to, below the base URL. */
export const PUSH_PATH = '/oauth/par'

/** In bytes: enough for a request object of the largest size in a form. */
const BODY_LIMIT = 64 * 1024

/** `POST /oauth/par` (RFC 9126 §2). */
export function pushedRequestEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  deferredRoutes(
    app,
    { [`POST ${PUSH_PATH}`]: { access: { by: 'client' }, bodyLimit: BODY_LIMIT } },
    { deps, load: async () => [(await import('./authorize/push.ts')).pushHandler] },
  )
}

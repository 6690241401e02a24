// The sign-in page and what a signed-in user finds next: who may open it. Their code is loaded at the first visit.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../web/deferred-routes.ts'
import { checkedByHandler, open, own, ownForm } from './access.ts'
import type { LoginDeps } from './deps.ts'

const signIn = open('it is a sign-in page')
const step = open('it is a step of signing in')

const ROUTES = {
  'GET /login': signIn,
  'POST /login.do': { ...signIn, ...checkedByHandler('it shows an expired page again, with what was typed') },
  'POST /login/idp_discovery': { ...step, ...ownForm },
  'POST /origin-chooser': { ...step, ...ownForm },
  'GET /': own,
  'GET /home': own,
  'GET /zone.css': { ...open('colours are public'), audience: 'open' },
  // HEAD would invalidate the user's current code.
  'GET /passcode': { ...own, exposeHeadRoute: false },
} as const satisfies Record<RouteName, DeferredRoute>

/** One of these pages, or what its form is posted to. */
export type SignInRoute = keyof typeof ROUTES

/** The sign-in page and its form, the choice of a provider, the home page and passcodes. */
export function signInEndpoints(app: FastifyInstance, deps: LoginDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    load: async () => [
      (await import('./login.ts')).loginHandlers,
      (await import('./sign-in/discovery.ts')).discoveryHandlers,
      (await import('./home.ts')).homeHandlers,
      (await import('./passcode.ts')).passcodeHandlers,
    ],
  })
}

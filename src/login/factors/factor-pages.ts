// The pages of second factors and passkeys: who may open them. Their code is loaded at the first visit.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, On, RouteName } from '../../web/deferred-routes.ts'
import { checkedByHandler, demanded, formOf, open, own, ownForm } from '../access.ts'
import type { LoginDeps } from '../deps.ts'

const anyone = open('it is a sign-in page')
const step = { ...demanded, ...checkedByHandler('a step that was completed in another tab continues') } as const

const ROUTES = {
  'GET /second_factor': demanded,
  'POST /second_factor': step,
  'GET /second_factor/app': demanded,
  'POST /second_factor/app': step,
  'POST /second_factor/passkey': step,
  'POST /login/passkey/options': {
    ...anyone,
    ...checkedByHandler('it asks scripts to load the page again'),
    audience: 'api',
    body: 'form',
  },
  'POST /login/passkey': { ...anyone, ...checkedByHandler('it shows an expired page again') },
  'GET /profile/security': own,
  'GET /profile/security/passkey': own,
  'POST /profile/security/passkey': formOf('/profile/security/passkey'),
  'GET /profile/security/app': own,
  'POST /profile/security/app': formOf('/profile/security/app'),
  'GET /profile/security/codes': own,
  'POST /profile/security/codes': formOf('/profile/security'),
  'GET /profile/security/rename': own,
  'POST /profile/security/rename': formOf('/profile/security'),
  'GET /profile/security/remove': own,
  'POST /profile/security/remove': formOf('/profile/security'),
  'POST /profile/security/devices': formOf('/profile/security'),
  'GET /profile/security/offer': own,
  'POST /profile/security/offer': { ...own, ...ownForm },
} as const satisfies Record<RouteName, DeferredRoute>

/** One of these pages, or what its form is posted to. */
export type FactorPage = keyof typeof ROUTES

/** Proves a second factor, signs in with a passkey, and manages the user's factors. */
export function factorPages(app: FastifyInstance, deps: LoginDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    async load() {
      const factors = (await import('../../accounts/factors.ts')).createFactors(deps)
      const pages = [
        (await import('./second-factor.ts')).secondFactorHandlers,
        (await import('./passkey-sign-in.ts')).passkeySignInHandlers,
        (await import('./security.ts')).securityHandlers,
        (await import('./new-passkey.ts')).newPasskeyHandlers,
        (await import('./new-app.ts')).newAppHandlers,
        (await import('./rename-passkey.ts')).renamePasskeyHandlers,
        (await import('./remove-factor.ts')).removeFactorHandlers,
      ]
      return pages.map(setHandlers => (on: On<FactorPage>) => setHandlers(on, deps, factors))
    },
  })
}

// The pages of second factors and passkeys: who may open them. Their code is loaded at the first visit.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../web/deferred-routes.ts'
import type { FactorDeps } from '../accounts/factors.ts'
import type { PasskeySignInDeps } from './passkey-sign-in.ts'
import type { SecondFactorDeps } from './second-factor.ts'

/** For whoever owes something, and for nobody's benefit but theirs. */
const demanded = { access: { by: 'session', whileDemanded: true }, audience: 'page' } as const

const forAnyone = { access: { by: 'anyone', because: 'it is where one signs in' }, audience: 'page' } as const

const ROUTES = {
  'GET /second_factor': demanded,
  'POST /second_factor': demanded,
  'GET /second_factor/app': demanded,
  'POST /second_factor/app': demanded,
  'POST /second_factor/passkey': demanded,
  'POST /login/passkey/options': { ...forAnyone, audience: 'api', body: 'form' },
  'POST /login/passkey': forAnyone,
} as const satisfies Record<RouteName, DeferredRoute>

/** One of these pages, or what its form is posted to. */
export type FactorPage = keyof typeof ROUTES

/** Dependencies of all of them. */
export type FactorPageDeps = FactorDeps & SecondFactorDeps & PasskeySignInDeps

/** Proving a second factor. */
export function factorPages(app: FastifyInstance, deps: FactorPageDeps): void {
  deferredRoutes<FactorPage>(app, ROUTES, {
    async load() {
      const [{ createFactors }, { secondFactorHandlers }, { passkeySignInHandlers }] = await Promise.all([
        import('../accounts/factors.ts'),
        import('./second-factor.ts'),
        import('./passkey-sign-in.ts'),
      ])
      const factors = createFactors(deps)
      return on => {
        secondFactorHandlers(on, deps, factors)
        passkeySignInHandlers(on, deps, factors)
      }
    },
  })
}

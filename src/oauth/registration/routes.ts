// The endpoint at which clients register themselves, and the address at which each of them manages its registration.
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import { registrationPolicy } from '../../model/clients/registration.ts'
import { turnedOff } from '../../web/answers.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import { MalformedInput } from '../../web/requests/form.ts'
import { zoneIfFound } from '../../web/requests/request-context.ts'
import type { OAuthDeps } from '../deps.ts'

/** `registration_endpoint`. */
export const REGISTRATION_PATH = '/connect/register'

/** More than a client with ten keys and twenty redirect URIs needs. */
const BODY_LIMIT = 64 * 1024

const registering = {
  access: { by: 'anyone', because: 'open if the zone allows it, otherwise an initial access token is checked first' },
  body: 'json',
  bodyLimit: BODY_LIMIT,
} as const
const managing = {
  access: { by: 'anyone', because: 'a registration access token is checked first, which is not an access token' },
} as const

const ROUTES = {
  'POST /connect/register': registering,
  'GET /connect/register/:client_id': managing,
  'PUT /connect/register/:client_id': { ...managing, body: 'json', bodyLimit: BODY_LIMIT },
  'DELETE /connect/register/:client_id': managing,
} as const satisfies Record<RouteName, DeferredRoute>

/** A route of registration. */
export type RegistrationRoute = keyof typeof ROUTES

/** `/connect/register` and below. */
export function registrationEndpoints(app: FastifyInstance, deps: OAuthDeps): void {
  deferredRoutes(app, ROUTES, {
    errorHandler: (thrown, request) => {
      const zone = zoneIfFound(request)
      if (zone && registrationPolicy(zone, deps.service).mode === 'off') throw turnedOff() // whatever its body
      if (thrown instanceof MalformedInput) {
        throw new OAuthError('invalid_client_metadata', thrown.message, { cause: thrown }) // RFC 7591 §3.2.2
      }
      throw thrown
    },
    deps,
    load: async () => [(await import('./registration.ts')).registrationHandlers],
  })
}

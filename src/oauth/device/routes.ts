// Sign-in for devices without a browser (RFC 8628): where a device gets its codes, and the page where a user enters one.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import { turnedOff } from '../../web/answers.ts'
import type { OAuthDeps } from '../deps.ts'

/** `device_authorization_endpoint`. */
export const DEVICE_AUTHORIZATION_PATH = '/oauth/device_authorization'

/** `verification_uri`. */
export const DEVICE_PATH = '/device'

const page = {
  access: { by: 'anyone', because: 'it requires sign-in itself, and only if the zone supports the protocol' },
  audience: 'page',
} as const

const form = {
  ...page,
  antiForgery: { by: 'handler', because: 'a user who is not signed in is asked to sign in first' },
} as const

const ROUTES = {
  'POST /oauth/device_authorization': { access: { by: 'client' } },
  'GET /device': page,
  'POST /device': form,
  'POST /device/decision': form,
} as const satisfies Record<RouteName, DeferredRoute>

/** A route of the device grant. */
export type DeviceRoute = keyof typeof ROUTES

/** Refuses where the zone does not support the protocol. */
export function requireDeviceProtocol({ zone }: FastifyRequest, { behaviour }: Pick<OAuthDeps, 'behaviour'>): void {
  if (supportsProtocol(zone, 'deviceGrant', behaviour)) return
  throw turnedOff()
}

/** `/oauth/device_authorization`, and the page `/device`. */
export function deviceEndpoints(app: FastifyInstance, deps: OAuthDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    load: async () => [
      (await import('./device-authorization.ts')).deviceAuthorizationHandler,
      (await import('./device-page.ts')).devicePageHandlers,
    ],
  })
}

// Sign-in at SAML providers: the metadata for them, the ways to start it, and the assertion consumer. The routes are here; their
// code is loaded when the first of them is called. See docs/decisions/0014-upstream-sign-in.md.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import type { LoginDeps } from '../deps.ts'

/** Bytes: a document of 256 kB in base64, with every character percent-encoded that a form may encode, and line breaks. */
const MAX_ANSWER_BYTES = 512 * 1024

const audience = 'page'
const metadata = {
  access: { by: 'anyone', because: 'providers read it without an account (SAML Metadata §4.1)' },
  audience: 'open',
} as const
const start = {
  access: { by: 'anyone', because: 'it starts a sign-in' },
  audience,
  exposeHeadRoute: false, // each request starts a sign-in
} as const
const consumer = {
  access: { by: 'anyone', because: 'the signature proves the sender' },
  antiForgery: { by: 'nobody', because: 'providers post to it' },
  audience,
  bodyLimit: MAX_ANSWER_BYTES,
  exposeHeadRoute: false,
} as const

const ROUTES = {
  'GET /saml/metadata': metadata,
  'GET /saml/metadata/alias/:alias': metadata,
  'GET /saml/discovery': start,
  'GET /saml/login/alias/:alias': start,
  'GET /saml2/authenticate/:alias': start,
  'GET /saml/SSO': consumer,
  'POST /saml/SSO': consumer,
  'GET /saml/SSO/alias/:alias': consumer,
  'POST /saml/SSO/alias/:alias': consumer,
} as const satisfies Record<RouteName, DeferredRoute>

/** One of these routes. */
export type SamlRoute = keyof typeof ROUTES

/** `/saml/metadata`, `/saml/discovery`, `/saml/login/alias`, `/saml2/authenticate` and `/saml/SSO`. */
export function samlEndpoints(app: FastifyInstance, deps: LoginDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    load: async () => [
      (await import('./metadata.ts')).samlMetadataHandlers,
      (await import('./starts.ts')).samlStartHandlers,
      (await import('./consumer.ts')).samlConsumerHandlers,
    ],
  })
}

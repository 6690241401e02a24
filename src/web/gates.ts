// Runs before every handler: sets the fixed headers, resolves the zone, authorizes the caller, and refuses forged forms. Attached
// when a route is registered, from the route's config; no handler can run without it.
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Behaviour } from '../model/compatibility.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import type { Urls } from '../model/urls.ts'
import type { Store } from '../store/store.ts'
import { StoreUnreachable } from '../store/store.ts'
import type { DpopNonces } from '../token/sender/dpop-nonce.ts'
import { mentionsDpop } from '../token/sender/dpop.ts'
import type { BearerGate } from './callers/bearer.ts'
import type { Csrf } from './sessions/csrf.ts'
import type { Denial } from './sessions/denial.ts'
import { securityHeaders } from './headers.ts'
import { ownPath } from './requests/own-path.ts'
import { bodyForm, takesForm } from './route.ts'
import type { Access, RouteConfig } from './route.ts'
import type { Sessions } from './sessions/session.ts'
import { startOfZone } from './zones/zone.ts'
import { refuseZoneHeader, requestedZoneOf } from './zones/zone-switch.ts'
import type { SignInDemands } from './sessions/sign-in-demands.ts'

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Makes the function that `watchRoutes` calls for every route; it attaches the hooks. */
export function createGates(deps: {
  resolveZone: (request: FastifyRequest) => Promise<void>
  bearerGate: BearerGate
  sessions: Sessions
  csrf: Csrf
  denial: Denial
  signInDemands: SignInDemands
  checkOwnAccounts: (request: FastifyRequest) => Promise<void>
  urls: Urls
  behaviour: Behaviour
  nonces: DpopNonces
  store: Pick<Store, 'isUnreachable'>
}): (route: RouteOptions, config: RouteConfig) => void {
  const { resolveZone, bearerGate, sessions, csrf, denial, signInDemands, checkOwnAccounts } = deps
  const { urls, behaviour, nonces, store } = deps

  async function requireSession(
    request: FastifyRequest,
    reply: FastifyReply,
    { whileDemanded, formOf }: Extract<Access, { readonly by: 'session' }>,
  ): Promise<unknown> {
    const signedIn = await sessions.signedIn(request)
    const path = request.method === 'GET' ? request.url.slice(urls.basePath.length) : (formOf ?? targetOf(request))
    if (!signedIn) {
      return denial.askToSignIn(request, reply, path === undefined ? undefined : { path, reauthenticate: false })
    }
    const demand = whileDemanded ? undefined : await signInDemands.open(request, signedIn)
    return demand && signInDemands.raise(request, reply, demand, path)
  }

  /** Where a step of a sign-in was leading, which its form says: the session that knew it may have ended. */
  const targetOf = (request: FastifyRequest): string | undefined =>
    ownPath(urls.addressesOf(request.zone), bodyForm(request)?.get('form_redirect_uri'))

  const refuseForgery: Hook = async (request, reply) =>
    (await csrf.isGenuine(request)) ? undefined : denial.refuseForgery(request, reply)

  function gateFor(access: Access): Hook | undefined {
    switch (access.by) {
      case 'anyone':
      case 'client': // authenticated by the handler's first step, because it needs the parsed form
        return undefined
      case 'bearer':
        return request => bearerGate.check(request, access)
      case 'session':
        return (request, reply) => requireSession(request, reply, access)
    }
  }

  return (route, { access, audience, antiForgery, zone, body, withoutDatabase, ownAccounts }) => {
    const headers = securityHeaders(audience, urls.isHttps)
    const gate = gateFor(access)
    // Authorize before reading the body, except where the form may carry the token.
    const early = gate !== undefined && access.by === 'bearer' && !takesForm({ ...(body && { body }) })
    route.onRequest = async (request, reply) => {
      reply.headers(headers)
      if (zone === false) return
      // Caches may be stale by now: only routes made for this case may use them.
      if (!withoutDatabase && store.isUnreachable()) throw new StoreUnreachable('the database is unreachable')
      await resolveZone(request)
      if (mentionsDpop(request) && supportsProtocol(request.zone, 'dpop', behaviour)) {
        request.usesDpop = true
        reply.header('dpop-nonce', nonces.current(request.zone)) // for the next proof: RFC 9449 §8.2
      }
      const start = startOfZone(request, urls)
      if (start !== undefined) return reply.redirect(start, 302)
      if (access.by !== 'bearer' && requestedZoneOf(request)) throw refuseZoneHeader()
      if (ownAccounts) await checkOwnAccounts(request)
      if (early) await gate(request, reply)
    }
    route.preHandler = [...(gate && !early ? [gate] : []), ...(antiForgery?.by === 'gate' ? [refuseForgery] : [])]
  }
}

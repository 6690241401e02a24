import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { openDemand } from '../model/sign-in-demands.ts'
import type { SignInDemand } from '../model/sign-in-demands.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import type { Sessions } from './session.ts'

/** What signed-in persons still owe; see model/sign-in-demands.ts. */
export interface SignInDemands {
  /** What the person must do before anything else. */
  open(zone: Zone, user: User): Promise<SignInDemand | undefined>
  /** Redirects to the page of the demand and saves the path to return to. */
  raise(request: FastifyRequest, reply: FastifyReply, demand: SignInDemand, path?: string): Promise<FastifyReply>
}

/** One instance serves every zone. */
export function createSignInDemands(deps: {
  store: Store
  clock: Clock
  urls: Urls
  sessions: Sessions
}): SignInDemands {
  const { store, clock, urls, sessions } = deps
  return {
    async open(zone, user) {
      const provider = await store.providers.findByOrigin(zone.id, user.origin)
      return openDemand({ user, provider, now: clock.now() })
    },
    async raise(request, reply, demand, path) {
      if (path !== undefined) await sessions.saveRequest(request, reply, { path, reauthenticate: false })
      return reply.redirect(urls.ofZone(request.zone) + demand.path, 302)
    },
  }
}

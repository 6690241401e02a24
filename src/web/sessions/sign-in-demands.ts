import type { FastifyReply, FastifyRequest } from 'fastify'
import { levelOf, reaches } from '../../model/sessions/assurance.ts'
import type { SignInDemand } from '../../model/sessions/sign-in-demands.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { RememberedDevices } from './remembered-devices.ts'
import type { SignedInUser } from './current-session.ts'
import type { Sessions } from './session.ts'
import { goTo } from '../redirect.ts'

/** Open demands on signed-in users; see model/sessions/sign-in-demands.ts. */
export interface SignInDemands {
  /** The demand that the user must meet before anything else. */
  open(request: FastifyRequest, signedIn: SignedInUser): Promise<SignInDemand | undefined>
  /** Redirects to the page of the demand and saves the path to return to. */
  raise(request: FastifyRequest, reply: FastifyReply, demand: SignInDemand, path?: string): Promise<FastifyReply>
}

/** One instance serves every zone. */
export function createSignInDemands(deps: {
  urls: Urls
  sessions: Sessions
  remembered: RememberedDevices
  /** `createDemandFinder` of identity/. */
  findOutstandingDemand: (
    zone: Zone,
    user: User,
    signIn: { readonly acr: readonly string[] | undefined; readonly isRemembered: boolean },
  ) => Promise<SignInDemand | undefined>
}): SignInDemands {
  const { urls, sessions, remembered, findOutstandingDemand } = deps
  return {
    open(request, { user, session }) {
      const { acr } = session.signIn
      const isRemembered = !reaches(levelOf(acr), '2') && remembered.isRemembered(request, user)
      return findOutstandingDemand(request.zone, user, { acr, isRemembered })
    },
    async raise(request, reply, demand, path) {
      if (path !== undefined) await sessions.saveRequest(request, reply, { path, reauthenticate: false })
      return goTo(reply, demand.path, urls)
    },
  }
}

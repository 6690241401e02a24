import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { mustChangePassword, passwordPolicy } from '../model/password-policy.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import type { Sessions } from './session.ts'

/** A required password change: derived from account and policy at each request, so that no state is stored. */
export interface PasswordDemand {
  /** Whether the person must choose a new password before anything else. */
  isOpen(zone: Zone, user: User): Promise<boolean>
  /** Redirects to the password page and saves the path to return to. */
  raise(request: FastifyRequest, reply: FastifyReply, path?: string): Promise<FastifyReply>
}

/** Path of the password page, below the zone's base URL. */
export const PASSWORD_CHANGE_PATH = '/force_password_change'

/** One instance serves every zone. */
export function createPasswordDemand(deps: {
  store: Store
  clock: Clock
  urls: Urls
  sessions: Sessions
}): PasswordDemand {
  const { store, clock, urls, sessions } = deps
  return {
    async isOpen(zone, user) {
      if (user.passwordHash === undefined) return false // an account of another provider
      const policy = passwordPolicy(await store.providers.findByOrigin(zone.id, user.origin))
      return mustChangePassword(user, policy, clock.now())
    },
    async raise(request, reply, path) {
      if (path !== undefined) await sessions.saveRequest(request, reply, { path, reauthenticate: false })
      return reply.redirect(urls.ofZone(request.zone) + PASSWORD_CHANGE_PATH, 302)
    },
  }
}

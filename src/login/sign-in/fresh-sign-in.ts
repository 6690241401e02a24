// Requires a new sign-in where a session alone is not enough: its cookie or its device may have been stolen.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAbout, secondFactorPolicy } from '../../model/users/second-factor.ts'
import { freshnessOf } from '../../model/sessions/fresh-sign-in.ts'
import { SECOND_FACTOR_PATH } from '../../model/sessions/sign-in-demands.ts'
import { goTo } from '../../web/redirect.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { LoginDeps } from '../deps.ts'

/**
 * Handles requests of users who have just signed in. Others are redirected to the sign-in, or, without a required second
 * factor, to that page; both return to the path, below the zone's base URL.
 */
type FreshSignIn = (
  request: FastifyRequest,
  reply: FastifyReply,
  at: { readonly signedIn: SignedInUser; readonly path: string; readonly answer: () => Promise<FastifyReply> },
) => Promise<FastifyReply>

/** One instance serves every zone. */
export function createFreshSignIn({ sessions, denial, clock, urls, behaviour }: LoginDeps): FreshSignIn {
  return async (request, reply, { signedIn: { session, user }, path, answer }) => {
    const { zone } = request
    switch (freshnessOf(session, user, clock.now())) {
      case 'fresh':
        return answer()
      case 'old':
        return denial.askToSignIn(request, reply, { path, reauthenticate: true })
      case 'unproven':
        // Where the zone asks the user for no factor, there is no page to prove one.
        if (!isAbout(secondFactorPolicy(zone, behaviour), user)) return answer()
        await sessions.saveRequest(request, reply, { path, reauthenticate: false })
        return goTo(reply, SECOND_FACTOR_PATH, urls)
    }
  }
}

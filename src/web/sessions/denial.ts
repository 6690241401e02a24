import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SavedRequest } from '../../model/sessions/session.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Urls } from '../../model/urls.ts'
import { goTo } from '../redirect.ts'
import { sendJson } from '../requests/json.ts'
import { FORGED, PageError, wantsJson } from '../answers.ts'
import { isSafe } from '../route.ts'
import type { Sessions } from './session.ts'

/** Redirects anonymous visitors to sign-in, and refuses forged forms. */
export interface Denial {
  /** Redirects a user to sign-in and saves the requested URL; a program gets 403 (row M7). */
  askToSignIn(request: FastifyRequest, reply: FastifyReply, saved?: SavedRequest): Promise<FastifyReply>
  /** The answer to an unknown path (row M7). */
  refuseUnknownPath(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  /** Refuses a form without a valid anti-forgery value: with an error page if signed in, else with the sign-in page. */
  refuseForgery(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** One instance serves every zone. */
export function createDenial(deps: { sessions: Sessions; urls: Urls; behaviour: Behaviour }): Denial {
  const { sessions, urls, behaviour } = deps

  async function askToSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    saved?: SavedRequest,
  ): Promise<FastifyReply> {
    if (wantsJson(request) && behaviour.refusePrograms) {
      return refuseProgram(reply, 'Full authentication is required to access this resource')
    }
    if (saved) await sessions.saveRequest(request, reply, saved)
    await sessions.announce(request, reply)
    return goTo(reply, '/login', urls)
  }

  const failedSignInUrl = ({ zone }: FastifyRequest): string => `${urls.ofZone(zone)}/login?error=invalid_login_request`

  return {
    askToSignIn,
    async refuseUnknownPath(request, reply) {
      // UAA: an unknown path counts as a page, which requires a session. See docs/compatibility.md, M7.
      if (!behaviour.unknownPathIsNotFound && !(await sessions.signedIn(request))) {
        return isSafe(request.method) ? askToSignIn(request, reply) : reply.redirect(failedSignInUrl(request), 302)
      }
      throw new PageError(404, 'The address may be mistyped, or the page has moved.')
    },
    async refuseForgery(request, reply) {
      if (wantsJson(request)) return refuseProgram(reply, FORGED)
      if (await sessions.signedIn(request)) throw new PageError(403, FORGED, { code: 'invalid_request' })
      return reply.redirect(failedSignInUrl(request), 302)
    },
  }
}

/** Answers 403 as JSON. UAA: `error` holds the sentence instead of a code. */
export const refuseProgram = (reply: FastifyReply, sentence: string): FastifyReply =>
  sendJson(reply, { error: sentence }, 403)

// Accepts invitations. The link only shows the invitation and consumes nothing, because programs open links of mails; a
// form accepts it, or a sign-in at the user's provider, which must confirm the invited address.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptWithPassword, isServed, openInvitation, takeInvitation } from '../../accounts/accept-invitation.ts'
import type { OpenInvitation } from '../../accounts/accept-invitation.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import { INVITATION_PROBLEMS } from '../../pages/accounts/invitation.ts'
import type { InvitationProblem } from '../../pages/accounts/invitation.ts'
import { PageError } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import { queryForm } from '../../web/requests/query.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { postedForm } from '../../web/route.ts'
import type { AccountPage } from './account-pages.ts'
import { enterpriseInvitationHandler } from './enterprise-invitations.ts'
import { createInvitationAnswers } from './invitation-answers.ts'
import type { LoginDeps } from '../deps.ts'

const PATH = '/invitations/accept'

/** `GET /invitations/accept`, and what its forms are posted to. */
export function invitationHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { pages, urls, external } = deps
  const answers = createInvitationAnswers(PATH, deps)
  const { show, refuse, leadToSignIn } = answers

  on('GET /invitations/accept', async (request, reply) => {
    const query = queryForm(request)
    const code = query.get('code')
    if (code === undefined) throw new PageError(400, 'The code is missing.', { code: 'invalid_request' })
    const invitation = await openInvitation(request.zone, code, deps)
    if (!invitation) return refuse(request, reply, 'code_expired')
    if (!(await isServed(request.zone, invitation, deps))) return refuse(request, reply, 'no_suitable_idp')
    if (invitation.step === 'elsewhere') return leadToProvider(request, reply, { code, invitation })
    const named = query.get('error_message_code') ?? query.get('error_code')
    const problem = INVITATION_PROBLEMS.find(key => key === named)
    return show(request, reply, { code, invitation, problem })
  })

  async function leadToProvider(
    request: FastifyRequest,
    reply: FastifyReply,
    { code, invitation: { user } }: { code: string; invitation: OpenInvitation },
  ): Promise<FastifyReply> {
    if (request.method === 'HEAD') return reply.send() // starts no sign-in
    const signInTarget = { path: undefined, saved: undefined, client: undefined, hint: undefined }
    const to = { origin: user.origin, signInTarget, userName: user.email, invitation: code }
    return (await external.start(request, reply, to)) ? reply : refuse(request, reply, 'no_suitable_idp')
  }

  on('POST /invitations/accept.do', async (request, reply) => {
    const { zone } = request
    const form = postedForm(request)
    const code = form.get('code') ?? ''
    const invitation = await openInvitation(zone, code, deps)
    if (!invitation || (invitation.step !== 'password' && invitation.step !== 'agree')) {
      return refuse(request, reply, 'code_expired')
    }
    if (!(await isServed(zone, invitation, deps))) return refuse(request, reply, 'no_suitable_idp')
    if (invitation.step === 'agree') return agree(request, reply, code)
    const again = (problem: InvitationProblem): FastifyReply =>
      goTo(reply, `${PATH}?error_message_code=${problem}&code=${code}`, urls)
    const { consent } = await pages.brandingOf(zone)
    if (consent && form.get('does_user_consent') !== 'true') return again('missing_consent')
    const password = form.get('password') ?? ''
    if (password === '' || password !== form.get('password_confirmation')) return again('form_error')
    const result = await acceptWithPassword(zone, { code, password, from: auditOriginOf(request) }, deps)
    switch (result.outcome) {
      case 'expired':
        return refuse(request, reply, 'code_expired')
      case 'refused':
        return show(request, reply, { code, invitation, problem: { password: result.message }, status: 422 })
      case 'accepted':
        return leadToSignIn(request, reply, { userName: invitation.user.userName, ...result })
    }
  })

  /** The account already belongs to the user, so this only redirects to the target of the invitation. */
  async function agree(request: FastifyRequest, reply: FastifyReply, code: string): Promise<FastifyReply> {
    const taken = await takeInvitation(request.zone, code, deps)
    if (taken?.step !== 'agree') return refuse(request, reply, 'code_expired')
    return reply.redirect(
      (await returnUrl(request.zone, taken.requestedReturn, deps)) ?? `${urls.ofZone(request.zone)}/home`,
      302,
    )
  }

  enterpriseInvitationHandler(on, answers, deps)
}

// The responses of the invitation pages: the page, a refusal, and the redirect after accepting.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenInvitation } from '../../accounts/accept-invitation.ts'
import type { RequestedReturn } from '../../accounts/codes.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import { passwordPolicy, policyDemands } from '../../model/users/password-policy.ts'
import { invitationPage } from '../../pages/accounts/invitation.ts'
import type { InvitationProblem } from '../../pages/accounts/invitation.ts'
import { redirectToSignIn } from './self-service.ts'
import type { LoginDeps } from '../deps.ts'

/** What the page shows besides the invitation. */
interface Shown {
  readonly code: string
  readonly invitation?: OpenInvitation | undefined
  /** A key, or a sentence about the password. */
  readonly problem?: InvitationProblem | { readonly password: string } | undefined
  readonly status?: number
}

/** Each request ends with one of these. */
export interface InvitationAnswers {
  readonly show: (request: FastifyRequest, reply: FastifyReply, shown: Shown) => Promise<FastifyReply>
  /** The page without an invitation. */
  readonly refuse: (request: FastifyRequest, reply: FastifyReply, problem: InvitationProblem) => Promise<FastifyReply>
  /** Redirects to the sign-in page after accepting, and from there to the target of the invitation. */
  readonly leadToSignIn: (
    request: FastifyRequest,
    reply: FastifyReply,
    accepted: { readonly userName: string; readonly requestedReturn: RequestedReturn },
  ) => Promise<FastifyReply>
}

/** `path` is that of the page; the forms are posted below it. */
export function createInvitationAnswers(path: string, deps: LoginDeps): InvitationAnswers {
  const { store, sessions, pages, urls, behaviour, service } = deps

  async function show(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
    const { code, invitation, problem, status = 200 } = shown
    const signedIn = await sessions.signedIn(request)
    const chrome = await pages.chrome(request, reply, { form: true })
    const policy = passwordPolicy(await store.providers.findByOrigin(request.zone.id, service.name))
    const other = invitation && signedIn && signedIn.user.id !== invitation.user.id ? signedIn.user.userName : undefined
    const page = invitationPage(chrome, {
      action: `${urls.pathOf(request.zone)}${path}${invitation?.step === 'directory' ? '_enterprise' : ''}.do`,
      problem,
      ...(invitation && {
        invitation: {
          code,
          email: invitation.user.email,
          userName: invitation.user.userName,
          step: invitation.step === 'elsewhere' ? 'agree' : invitation.step,
          demands: policyDemands(policy, behaviour),
          consents: typeof problem === 'object', // it was refused before the password otherwise
          signedInAs: other,
        },
      }),
    })
    return pages.send(reply.status(status), page)
  }

  const refuse = (request: FastifyRequest, reply: FastifyReply, problem: InvitationProblem): Promise<FastifyReply> =>
    show(request, reply, { code: '', problem, status: 422 })

  async function leadToSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    { userName, requestedReturn }: { readonly userName: string; readonly requestedReturn: RequestedReturn },
  ): Promise<FastifyReply> {
    const done = {
      success: 'invite_accepted',
      userName,
      clientId: requestedReturn.clientId,
      url: await returnUrl(request.zone, requestedReturn, deps),
    }
    return redirectToSignIn(request, reply, done, deps)
  }

  return { show, refuse, leadToSignIn }
}

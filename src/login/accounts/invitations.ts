// Accepting invitations. The link shows what there is to accept and uses nothing up, because programs open links of mails; a
// form accepts, or the user's provider, which must vouch for the address that was invited.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptWithPassword, openInvitation, takeInvitation } from '../../accounts/accept-invitation.ts'
import type { AcceptDeps, OpenInvitation } from '../../accounts/accept-invitation.ts'
import type { RequestedReturn } from '../../accounts/codes.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import type { ReturnUrlDeps } from '../../accounts/return-url.ts'
import { switchesIn } from '../../accounts/switches.ts'
import type { Identity } from '../../identity/identity.ts'
import { LDAP_ORIGIN } from '../../model/zones/identity-provider.ts'
import { passwordPolicy, policyDemands } from '../../model/users/password-policy.ts'
import type { Urls } from '../../model/urls.ts'
import { invitationPage, INVITATION_PROBLEMS } from '../../pages/invitation.ts'
import type { InvitationProblem } from '../../pages/invitation.ts'
import { PageError } from '../../web/answers.ts'
import type { Csrf } from '../../web/sessions/csrf.ts'
import type { Denial } from '../../web/sessions/denial.ts'
import { EMPTY_FORM } from '../../web/requests/form.ts'
import { limitedSignIn } from '../../web/limits/limits.ts'
import type { Limits } from '../../web/limits/limits.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import type { PageWriter } from '../../web/pages.ts'
import { queryForm } from '../../web/requests/query.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { bodyForm } from '../../web/route.ts'
import type { Sessions } from '../../web/sessions/session.ts'
import type { ExternalSignIn } from '../external.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { AccountPage } from './account-pages.ts'
import { redirectToSignIn } from './self-service.ts'

/** Dependencies of `invitationHandlers`. */
export interface InvitationPageDeps extends AcceptDeps, Omit<ReturnUrlDeps, 'store'> {
  readonly sessions: Sessions
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly urls: Urls
  readonly external: ExternalSignIn
  readonly identity: Pick<Identity, 'signInWithPassword' | 'loginProviders'>
  readonly limits: Limits
}

const PATH = '/invitations/accept'

/** What stands on the page beside the invitation. */
interface Shown {
  readonly code: string
  readonly invitation?: OpenInvitation | undefined
  /** A key, or a sentence about the password. */
  readonly problem?: InvitationProblem | { readonly password: string } | undefined
  readonly status?: number
}

/** `GET /invitations/accept`, `POST /invitations/accept.do` and `POST /invitations/accept_enterprise.do`. */
export function invitationHandlers(on: On<AccountPage>, deps: InvitationPageDeps): void {
  const { store, sessions, denial, csrf, pages, urls, behaviour, service, external, identity, limits } = deps

  async function show(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
    const { code, invitation, problem, status = 200 } = shown
    const signedIn = await sessions.signedIn(request)
    const chrome = await pages.chrome(request, reply, { form: true })
    const policy = passwordPolicy(await store.providers.findByOrigin(request.zone.id, service.name))
    const other = invitation && signedIn && signedIn.user.id !== invitation.user.id ? signedIn.user.userName : undefined
    const page = invitationPage(chrome, {
      action: `${urls.pathOf(request.zone)}${PATH}${invitation?.step === 'directory' ? '_enterprise' : ''}.do`,
      problem,
      ...(invitation && {
        invitation: {
          code,
          email: invitation.user.email,
          userName: invitation.user.userName,
          step: invitation.step === 'elsewhere' ? 'agree' : invitation.step,
          demands: policyDemands(policy, behaviour),
          signedInAs: other,
        },
      }),
    })
    return pages.send(reply.status(status), page)
  }

  const refuse = (request: FastifyRequest, reply: FastifyReply, problem: InvitationProblem): Promise<FastifyReply> =>
    show(request, reply, { code: '', problem, status: 422 })

  /** Whether users may get accounts of the internal provider here; those of others have accounts there. */
  async function isServed({ zone }: FastifyRequest, { step }: OpenInvitation): Promise<boolean> {
    if (step === 'directory') return (await identity.loginProviders(zone)).some(({ origin }) => origin === LDAP_ORIGIN)
    return step === 'elsewhere' || (await switchesIn(zone, { store, serviceName: service.name })).ownAccounts
  }

  const returnUrlOf = ({ zone }: FastifyRequest, requestedReturn: RequestedReturn): Promise<string | undefined> =>
    returnUrl(zone, requestedReturn, deps)

  on('GET /invitations/accept', async (request, reply) => {
    const query = queryForm(request)
    const code = query.get('code')
    if (code === undefined) throw new PageError(400, 'The code is missing.', { code: 'invalid_request' })
    const invitation = await openInvitation(request.zone, code, deps)
    if (!invitation) return refuse(request, reply, 'code_expired')
    if (!(await isServed(request, invitation))) return refuse(request, reply, 'no_suitable_idp')
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
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const { zone } = request
    const form = bodyForm(request) ?? EMPTY_FORM
    const code = form.get('code') ?? ''
    const invitation = await openInvitation(zone, code, deps)
    if (!invitation || (invitation.step !== 'password' && invitation.step !== 'agree')) {
      return refuse(request, reply, 'code_expired')
    }
    if (!(await isServed(request, invitation))) return refuse(request, reply, 'no_suitable_idp')
    if (invitation.step === 'agree') return agree(request, reply, code)
    const again = (problem: InvitationProblem): FastifyReply =>
      reply.redirect(`${urls.ofZone(zone)}${PATH}?error_message_code=${problem}&code=${code}`, 302)
    const { consent } = await pages.brandingOf(zone)
    if (consent?.text !== undefined && !form.get('does_user_consent')) return again('missing_consent')
    const password = form.get('password') ?? ''
    if (password === '' || password !== form.get('password_confirmation')) return again('form_error')
    const result = await acceptWithPassword(zone, { code, password, from: auditOriginOf(request) }, deps)
    switch (result.outcome) {
      case 'expired':
        return refuse(request, reply, 'code_expired')
      case 'refused':
        return show(request, reply, { code, invitation, problem: { password: result.message }, status: 422 })
      case 'accepted':
        return leadToSignIn(request, reply, result.requestedReturn)
    }
  })

  async function leadToSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    requestedReturn: RequestedReturn,
  ): Promise<FastifyReply> {
    const done = {
      success: 'invite_accepted',
      clientId: requestedReturn.clientId,
      url: await returnUrlOf(request, requestedReturn),
    }
    return redirectToSignIn(request, reply, done, deps)
  }

  on('POST /invitations/accept_enterprise.do', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const { zone } = request
    const form = bodyForm(request) ?? EMPTY_FORM
    const code = form.get('code') ?? ''
    const invitation = await openInvitation(zone, code, deps)
    if (invitation?.step !== 'directory') return refuse(request, reply, 'code_expired')
    if (!(await isServed(request, invitation))) return refuse(request, reply, 'no_suitable_idp')
    const userName = form.get('enterprise_username') ?? ''
    const password = form.get('enterprise_password') ?? ''
    const from = contextOf(request)
    // The sign-in that follows asks for what is owed, such as a second factor.
    const signIn = { userName, password, origin: LDAP_ORIGIN, invited: invitation.user, opensSession: true }
    const result = await limitedSignIn(limits, { from, userName }, () => identity.signInWithPassword(from, signIn))
    if (result.outcome === 'no-provider') return refuse(request, reply, 'no_suitable_idp')
    if (result.outcome === 'refused') {
      const problem = result.reason === 'not-invited' ? 'invite.email_mismatch' : 'bad_credentials'
      return show(request, reply, { code, invitation, problem, status: 422 })
    }
    // Linking the account has ended its codes; this is for one that was linked before.
    await takeInvitation(zone, code, deps)
    await deps.users.verify(zone, result.user.id, { by: auditOriginOf(request) }) // the link was sent to the address
    return leadToSignIn(request, reply, invitation.requestedReturn)
  })

  /** The account is the user's already, so all that is left is where the invitation leads. */
  async function agree(request: FastifyRequest, reply: FastifyReply, code: string): Promise<FastifyReply> {
    const taken = await takeInvitation(request.zone, code, deps)
    if (taken?.step !== 'agree') return refuse(request, reply, 'code_expired')
    return reply.redirect(
      (await returnUrlOf(request, taken.requestedReturn)) ?? `${urls.ofZone(request.zone)}/home`,
      302,
    )
  }
}

// Accepts invitations with a user name and password of a directory, which must confirm the invited address.
import { isServed, openInvitation, takeInvitation } from '../../accounts/accept-invitation.ts'
import { LDAP_ORIGIN } from '../../model/zones/identity-provider.ts'
import type { On } from '../../web/deferred-routes.ts'
import { limitedSignIn } from '../../web/limits/limits.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { postedForm } from '../../web/route.ts'
import type { AccountPage } from './account-pages.ts'
import type { InvitationAnswers } from './invitation-answers.ts'
import type { LoginDeps } from '../deps.ts'

/** `POST /invitations/accept_enterprise.do`. */
export function enterpriseInvitationHandler(
  on: On<AccountPage>,
  { show, refuse, leadToSignIn }: InvitationAnswers,
  deps: LoginDeps,
): void {
  const { identity, limits } = deps

  on('POST /invitations/accept_enterprise.do', async (request, reply) => {
    const { zone } = request
    const form = postedForm(request)
    const code = form.get('code') ?? ''
    const invitation = await openInvitation(zone, code, deps)
    if (invitation?.step !== 'directory') return refuse(request, reply, 'code_expired')
    if (!(await isServed(zone, invitation, deps))) return refuse(request, reply, 'no_suitable_idp')
    const userName = form.get('enterprise_username') ?? ''
    const password = form.get('enterprise_password') ?? ''
    const from = contextOf(request)
    // The sign-in that follows requires what is still outstanding, such as a second factor.
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
    return leadToSignIn(request, reply, { userName: result.user.userName, ...invitation })
  })
}

// `code` in an authorization request: signs the user in whose password a client has checked with POST /autologin.
import { AUTOLOGIN_REFUSALS, redeemAutologin } from '../../../accounts/autologin.ts'
import { PageError } from '../../../web/answers.ts'
import { isNavigation } from '../../../web/requests/navigation.ts'
import { originOf } from '../../../web/requests/request-context.ts'
import type { AuthorizeContext } from '../context.ts'
import { findAuthenticatedUser } from './authenticated-user.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Signs the user in before the sign-in page is shown; ignores the code of another client. */
export async function signInByCode(context: AuthorizeContext, deps: OAuthDeps): Promise<void> {
  const { request, reply, form, params, silent, program, answer } = context
  const code = form.get('code')
  if (!code || form.get('response_type') !== 'code' || request.method !== 'GET') return
  if (silent || program || answer) return
  const { sessions, behaviour } = deps
  if (!isNavigation(request)) throw new PageError(403, AUTOLOGIN_REFUSALS.notInWindow)
  const signedIn = await sessions.signedIn(request)
  const result = await redeemAutologin(
    request.zone,
    {
      code,
      clientId: params.get('client_id') ?? '',
      keptUserId: behaviour.keepOtherSession ? signedIn?.user.id : undefined,
      signIn: (user, method) => sessions.signIn(request, reply, user, method),
      from: originOf(request),
    },
    deps,
  )
  switch (result.outcome) {
    case 'other-client':
      return
    case 'bad-code':
      throw new PageError(400, AUTOLOGIN_REFUSALS.badCode, { code: 'invalid_request' })
    case 'other-user':
      throw new PageError(403, AUTOLOGIN_REFUSALS.otherUser)
    case 'good':
      await findAuthenticatedUser(context, deps)
      // A password that was just checked satisfies `prompt=login` and `max_age`.
      if (context.asked.forceLogin !== undefined)
        context.asked = { ...context.asked, forceLogin: false, maxAge: undefined }
  }
}

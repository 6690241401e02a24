// A forgotten password: a mail with a link, and the page that it leads to. These pages do not reveal who has an
// account: everything that depends on it is done after the answer.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendAccountMail } from '../../accounts/account-mails.ts'
import type { AccountMailOrder } from '../../accounts/account-mails.ts'
import type { RequestedReturn } from '../../accounts/codes.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import { enteredAccountToReset, issueReset, peekReset, resetPassword } from '../../accounts/password-reset.ts'
import { passwordChangedMail } from '../../accounts/password-notice.ts'
import { passwordPolicy, policyDemands } from '../../model/users/password-policy.ts'
import type { User } from '../../model/users/user.ts'
import { forgottenPasswordPage, resetPasswordPage } from '../../pages/accounts/forgotten-password.ts'
import { isKeepable } from '../../records/kinds.ts'
import { goTo } from '../../web/redirect.ts'
import { queryForm } from '../../web/requests/query.ts'
import { originOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import { createTypedNames } from '../sign-in/typed-name.ts'
import {
  EMAIL_SENT_PATH,
  MISMATCH,
  checkSelfService,
  countMail,
  countMailOf,
  readRequestedReturn,
  redirectToSignIn,
  requiredField,
  runLater,
} from './self-service.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { AccountPage } from './account-pages.ts'
import type { LoginDeps } from '../deps.ts'

const MAX_NAME_LENGTH = 255

/** `/forgot_password`, `/forgot_password.do`, `/reset_password` and `/reset_password.do`. */
export function forgottenPasswordHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { pages, urls, limits, background, behaviour, csrf } = deps
  const typedNames = createTypedNames({ urls, shownAt: EMAIL_SENT_PATH })

  on('GET /forgot_password', async (request, reply) => {
    await checkSelfService(request, deps)
    return showForgotten(request, reply, readRequestedReturn(queryForm(request)))
  })

  on('POST /forgot_password.do', async (request, reply) => {
    await checkSelfService(request, deps)
    const form = postedForm(request)
    const userName = requiredField(form, 'username').trim()
    await countMail(request, userName.slice(0, MAX_NAME_LENGTH), limits)
    const order = { zone: request.zone, frame: await pages.mailFrame(request) }
    const asked = { userName, requestedReturn: readRequestedReturn(form), from: originOf(request) }
    if (userName.length <= MAX_NAME_LENGTH && isKeepable(userName)) {
      runLater(background, () => sendLink(order, asked, deps))
    }
    // Another site may post the form, but not choose what the page says.
    if (behaviour.keepTypedName && (await csrf.isGenuine(request))) typedNames.keep(reply, userName)
    return goTo(reply, `${EMAIL_SENT_PATH}?code=reset_password`, urls)
  })

  async function showForgotten(
    request: FastifyRequest,
    reply: FastifyReply,
    { clientId = '', redirectUri = '' }: RequestedReturn,
    expired = false,
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply, { form: true })
    return pages.send(
      reply.status(expired ? 422 : 200),
      forgottenPasswordPage(chrome, { clientId, redirectUri, expired }),
    )
  }

  const showExpired = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    showForgotten(request, reply, {}, true)

  async function showReset(
    request: FastifyRequest,
    reply: FastifyReply,
    { code, user, problem }: { code: string; user: User; problem?: string },
  ): Promise<FastifyReply> {
    const policy = passwordPolicy(await deps.store.providers.findByOrigin(request.zone.id, user.origin))
    const page = resetPasswordPage(await pages.chrome(request, reply, { form: true }), {
      code,
      userName: user.userName,
      email: user.email,
      demands: policyDemands(policy, deps.behaviour),
      problem,
    })
    return pages.send(reply.status(problem === undefined ? 200 : 422), page)
  }

  on('GET /reset_password', async (request, reply) => {
    const code = requiredField(queryForm(request), 'code')
    const good = await peekReset(request.zone, code, deps)
    return good ? showReset(request, reply, { code, user: good.user }) : showExpired(request, reply)
  })

  on('POST /reset_password.do', async (request, reply) => {
    const { zone } = request
    const form = postedForm(request)
    const code = requiredField(form, 'code')
    const password = requiredField(form, 'password')
    const again = requiredField(form, 'password_confirmation')
    const good = await peekReset(zone, code, deps)
    if (!good) return showExpired(request, reply)
    if (password === '' || password !== again) {
      return showReset(request, reply, { code, user: good.user, problem: MISMATCH })
    }
    const result = await resetPassword(zone, { code, password, by: originOf(request) }, deps)
    switch (result.outcome) {
      case 'invalid':
        return showExpired(request, reply)
      case 'refused': {
        // The code is consumed first, so that a concurrent request cannot use it.
        const { user, requestedReturn, endsAt, message } = result
        const { value } = await issueReset(zone, { user, requestedReturn, endsAt }, deps)
        return showReset(request, reply, { code: value, user, problem: message })
      }
      case 'changed': {
        const { user, requestedReturn } = result
        await passwordChangedMail({ zone, frame: await pages.mailFrame(request), user }, deps)
        const url = await returnUrl(zone, requestedReturn, deps)
        const { clientId } = requestedReturn
        const done = { success: 'password_reset', userName: user.userName, clientId, url }
        return redirectToSignIn(request, reply, done, deps)
      }
    }
  })
}

/** Sends the link, or a mail that the password is managed elsewhere; nothing to an inactive account. */
async function sendLink(
  order: Pick<AccountMailOrder, 'zone' | 'frame'>,
  {
    userName,
    requestedReturn,
    from,
  }: { readonly userName: string; readonly requestedReturn: RequestedReturn; readonly from: object },
  deps: LoginDeps,
): Promise<void> {
  const { zone } = order
  const found = await enteredAccountToReset(zone, userName, deps)
  if (!found?.user.active || !(await countMailOf(found.user, deps.limits))) return
  const { user } = found
  if (found.kept === 'elsewhere') {
    return sendAccountMail({ ...order, mail: 'passwordElsewhere', to: user.email }, deps)
  }
  const { value, expiresAt: usefulUntil } = await issueReset(zone, { user, requestedReturn }, deps)
  deps.audit({
    type: 'PasswordResetRequest',
    zoneId: zone.id,
    principal: user.id,
    origin: user.origin,
    ...from,
    data: user.email,
  })
  const path = `/reset_password?code=${value}`
  await sendAccountMail({ ...order, mail: 'resetPassword', to: user.email, path, usefulUntil }, deps)
}

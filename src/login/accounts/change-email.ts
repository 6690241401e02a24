// Changes the e-mail address of an account: a mail to the new address proves it, and another notifies the old one.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendAccountMail } from '../../accounts/account-mails.ts'
import type { AccountMailOrder } from '../../accounts/account-mails.ts'
import { issueCode, peekCode } from '../../accounts/codes.ts'
import type { RequestedReturn } from '../../accounts/codes.ts'
import { addressProblem, changeEmail, emailProblem } from '../../accounts/email-change.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import type { User } from '../../model/users/user.ts'
import { EMAIL_CHANGE_PATH } from '../../model/sessions/fresh-sign-in.ts'
import { changeEmailPage, emailSentPage, verifyEmailPage } from '../../pages/accounts/change-email.ts'
import type { ChangeEmailProps } from '../../pages/accounts/change-email.ts'
import { PageError } from '../../web/answers.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import { originOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { createFreshSignIn } from '../sign-in/fresh-sign-in.ts'
import { createTypedNames } from '../sign-in/typed-name.ts'
import {
  countMail,
  EMAIL_SENT_PATH,
  readRequestedReturn,
  redirectToSignIn,
  requiredField,
  runLater,
} from './self-service.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { AccountPage } from './account-pages.ts'
import type { LoginDeps } from '../deps.ts'

const PURPOSE = 'email-change'

/** The form, with the client and the URL to return to; the typed address never appears in URLs. */
function formPath({ clientId, redirectUri }: RequestedReturn): string {
  const query = new URLSearchParams({
    ...(clientId !== undefined && { client_id: clientId }),
    ...(redirectUri !== undefined && { redirect_uri: redirectUri }),
  }).toString()
  return query === '' ? EMAIL_CHANGE_PATH : `${EMAIL_CHANGE_PATH}?${query}`
}

/** `/change_email`, `/change_email.do`, `/email_sent` and `/verify_email`. */
export function changeEmailHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { sessions, pages, urls, service, behaviour } = deps
  const typedNames = createTypedNames({ urls, shownAt: EMAIL_SENT_PATH })
  // Access to the mail of the account is enough to reset its password.
  const afterFreshSignIn = createFreshSignIn(deps)

  /** The signed-in user; undefined if another provider manages the address. */
  async function ownerIn(request: FastifyRequest): Promise<SignedInUser | undefined> {
    const signedIn = await sessions.signedIn(request)
    return signedIn?.user.origin === service.name ? signedIn : undefined
  }

  const keptElsewhere = (reply: FastifyReply): FastifyReply =>
    goTo(reply, '/profile?error_message_code=email_change.non-uaa-origin', urls)

  on('GET /change_email', async (request, reply) => {
    const signedIn = await ownerIn(request)
    if (!signedIn) return keptElsewhere(reply)
    const { user } = signedIn
    const path = request.url.slice(urls.basePath.length)
    const form = queryForm(request)
    return afterFreshSignIn(request, reply, { signedIn, path, answer: () => showForm(request, reply, { user, form }) })
  })

  on('POST /change_email.do', async (request, reply) => {
    const signedIn = await ownerIn(request)
    if (!signedIn) return keptElsewhere(reply)
    const form = postedForm(request)
    const path = formPath(readRequestedReturn(form))
    return afterFreshSignIn(request, reply, {
      signedIn,
      path,
      answer: () => begin(request, reply, { user: signedIn.user, form }),
    })
  })

  /** Mails the code, if the address is valid. */
  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, form }: { readonly user: User; readonly form: Form },
  ): Promise<FastifyReply> {
    const email = requiredField(form, 'newEmail').trim()
    const problem = addressProblem(user, email, service)
    if (problem !== undefined) return showForm(request, reply, { user, form, problem })
    await countMail(request, email, deps.limits)
    await countMail(request, user.id, deps.limits)
    const { zone } = request
    const order = { zone, frame: await pages.mailFrame(request), former: user.email, email }
    runLater(deps.background, () => sendChangeMails(order, { user, form }, deps))
    if (behaviour.keepTypedName) typedNames.keep(reply, email)
    return goTo(reply, `${EMAIL_SENT_PATH}?code=email_change`, urls)
  }

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, form, problem }: Pick<ChangeEmailProps, 'problem'> & { readonly user: User; readonly form: Form },
  ): Promise<FastifyReply> {
    const { clientId = '', redirectUri = '' } = readRequestedReturn(form)
    const page = changeEmailPage(await pages.chrome(request, reply, { form: true }), {
      current: user.email,
      newEmail: form.get('newEmail')?.trim() ?? '',
      clientId,
      redirectUri,
      problem,
    })
    return pages.send(reply.status(problem === undefined ? 200 : 422), page)
  }

  on('GET /email_sent', async (request, reply) => {
    await sessions.signedIn(request) // for the layout: the user who changes an address is still signed in
    const code = queryForm(request).get('code')
    const typed = behaviour.keepTypedName ? typedNames.take(request, reply) : undefined
    return pages.send(reply, emailSentPage(await pages.chrome(request, reply), { code, typed }))
  })

  verifyHandlers(on, deps)
}

/**
 * Sends the code to the new address, or, if another user signs in with it, a notice to that user; and a notice to the old
 * address.
 */
async function sendChangeMails(
  order: Omit<AccountMailOrder, 'mail' | 'to'> & { readonly email: string },
  { user, form }: { readonly user: User; readonly form: Form },
  deps: LoginDeps,
): Promise<void> {
  const { zone, email } = order
  const isTaken = (await emailProblem(zone, { user, email }, deps)) !== undefined
  if (isTaken) {
    // As a new code would: whether an earlier one still works must not reveal it, either.
    await deps.store.oneTimeCodes.forget(zone.id, PURPOSE, user.id)
    await sendAccountMail({ ...order, mail: 'newEmailTaken', to: email }, deps)
  } else {
    const code = await issueCode(zone, { purpose: PURPOSE, user, data: { ...readRequestedReturn(form), email } }, deps)
    const path = `/verify_email?code=${code.value}`
    await sendAccountMail({ ...order, mail: 'verifyNewEmail', to: email, path, usefulUntil: code.expiresAt }, deps)
  }
  await sendAccountMail({ ...order, mail: 'emailChangeRequested', to: user.email }, deps)
}

/** `/verify_email`: only the POST changes anything, because programs open the links of mails, too. */
function verifyHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { sessions, pages, urls } = deps

  async function refuseCode(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!(await sessions.signedIn(request))) {
      throw new PageError(422, 'Your verification link has expired. Please request another.')
    }
    return goTo(reply, '/profile?error_message_code=email_change.invalid_code', urls)
  }

  on('GET /verify_email', async (request, reply) => {
    const code = requiredField(queryForm(request), 'code')
    const good = await peekCode(request.zone, { purpose: PURPOSE, value: code }, deps)
    if (!good) return refuseCode(request, reply)
    const { user, data } = good
    const signedIn = await sessions.signedIn(request)
    const page = verifyEmailPage(await pages.chrome(request, reply, { form: true }), {
      code,
      userName: user.userName,
      email: data.email,
      ...(signedIn && signedIn.user.id !== user.id && { other: signedIn.user.userName }),
    })
    return pages.send(reply, page)
  })

  on('POST /verify_email', async (request, reply) => {
    const { zone } = request
    const code = requiredField(postedForm(request), 'code')
    const signedIn = await sessions.signedIn(request)
    const changed = await changeEmail(zone, { purpose: PURPOSE, code, by: originOf(request) }, deps)
    switch (changed.outcome) {
      case 'invalid':
        return refuseCode(request, reply)
      case 'taken':
        throw new PageError(422, 'There is already a user with that email address.')
      case 'changed': {
        const { before, user, requestedReturn } = changed
        const notice = { zone, frame: await pages.mailFrame(request), former: before.email, email: user.email }
        await sendAccountMail({ ...notice, mail: 'emailChanged', to: before.email }, deps)
        const url = await returnUrl(zone, requestedReturn, { ...deps, fallback: 'change_email_redirect_url' })
        if (!signedIn) {
          const { clientId } = requestedReturn
          const done = { success: 'change_email_success', userName: user.userName, clientId, url }
          return redirectToSignIn(request, reply, done, deps)
        }
        // In the session of another user, too: the sign-in page would redirect that one to the home page without a message.
        const own = `${urls.ofZone(zone)}/profile?success_message_code=email_change.success`
        return reply.redirect(url ?? own, 302)
      }
    }
  })
}

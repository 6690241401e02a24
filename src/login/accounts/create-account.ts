// Sign-up and its verification. These pages do not reveal who has an account: everything that depends on it
// is done after the answer.
import { hashTyped } from '../../users/typed-password.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { returnUrl } from '../../accounts/return-url.ts'
import { peekSignUp, needsPassword, signUp, signUpProblem, verifySignUp } from '../../accounts/sign-up.ts'
import { digest } from '../../base/secrets.ts'
import { passwordPolicy, policyDemands } from '../../model/users/password-policy.ts'
import {
  activationExpiredPage,
  activationSentPage,
  createAccountPage,
  verifyAccountPage,
} from '../../pages/accounts/create-account.ts'
import type { CreateAccountProps } from '../../pages/accounts/create-account.ts'
import { passwordProblem } from '../../users/password-rules.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { queryForm } from '../../web/requests/query.ts'
import { contextOf, originOf } from '../../web/requests/request-context.ts'
import { requesterOf } from '../../web/requests/requester.ts'
import { postedForm } from '../../web/route.ts'
import { createTypedNames } from '../sign-in/typed-name.ts'
import {
  MISMATCH,
  checkSelfService,
  countMail,
  readRequestedReturn,
  redirectToSignIn,
  requiredField,
  runLater,
} from './self-service.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { AccountPage } from './account-pages.ts'
import type { LoginDeps } from '../deps.ts'

const SENT_PATH = '/accounts/email_sent'

/** `/create_account`, `/create_account.do`, `/accounts/email_sent` and `/verify_user`. */
export function createAccountHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { sessions, pages, urls, behaviour } = deps
  const sentTo = createTypedNames({ urls, shownAt: SENT_PATH })

  on('GET /create_account', async (request, reply) => {
    if (await sessions.signedIn(request)) return goTo(reply, '/home', urls)
    await checkSelfService(request, deps)
    return showForm(request, reply, queryForm(request))
  })

  on('POST /create_account.do', async (request, reply) => {
    if (await sessions.signedIn(request)) return goTo(reply, '/home', urls)
    await checkSelfService(request, deps)
    const { zone } = request
    const form = postedForm(request)
    const email = requiredField(form, 'email').trim()
    const password = requiredField(form, 'password')
    const again = requiredField(form, 'password_confirmation')
    const { consent } = await pages.brandingOf(zone)
    const refuse = (problem: CreateAccountProps['problem']): Promise<FastifyReply> =>
      showForm(request, reply, form, problem)
    if (consent && form.get('does_user_consent') !== 'true') return refuse('missing_consent')
    const problem = await signUpProblem(zone, email, deps)
    if (problem !== undefined) return refuse(problem)
    if (password === '' || password !== again) return refuse({ text: MISMATCH })
    const policy = await passwordProblem(zone, { password, owner: { userName: email, email } }, deps)
    if (policy !== undefined) return refuse({ text: policy })
    await countMail(request, email, deps.limits)
    const passwordHash = await hashTyped(password, deps.passwords, requesterOf(request))
    const wanted = {
      email,
      passwordHash,
      browser: deps.csrf.browserOf(request),
      requestedReturn: readRequestedReturn(form),
      frame: await pages.mailFrame(request),
      by: originOf(request),
    }
    runLater(deps.background, () => signUp(zone, wanted, deps))
    if (behaviour.keepTypedName) sentTo.keep(reply, email)
    return goTo(reply, SENT_PATH, urls)
  })

  on('GET /accounts/email_sent', async (request, reply) => {
    const email = behaviour.keepTypedName ? sentTo.take(request, reply) : undefined
    return pages.send(reply, activationSentPage(await pages.chrome(request, reply), email))
  })

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    form: Form,
    problem?: CreateAccountProps['problem'],
  ): Promise<FastifyReply> {
    const { zone } = request
    const { clientId = '', redirectUri = '' } = readRequestedReturn(form)
    const policy = passwordPolicy(await deps.store.providers.findByOrigin(zone.id, deps.service.name))
    const page = createAccountPage(await pages.chrome(request, reply, { form: true }), {
      email: form.get('email')?.trim() ?? '',
      clientId,
      redirectUri,
      demands: policyDemands(policy, deps.behaviour),
      consents: request.method === 'POST' && form.get('does_user_consent') === 'true',
      problem,
    })
    return pages.send(reply.status(problem === undefined ? 200 : 422), page)
  }

  verifyHandlers(on, deps)
}

/** `/verify_user`: only the POST verifies, because programs open the links of mails, too. */
function verifyHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { csrf, pages, urls, limits } = deps

  on('HEAD /verify_user', (_, reply) => goTo(reply, '/login', urls))

  on('GET /verify_user', async (request, reply) => {
    const code = requiredField(queryForm(request), 'code')
    const good = await peekSignUp(request.zone, code, deps)
    if (!good) return showExpired(request, reply)
    const page = verifyAccountPage(await pages.chrome(request, reply, { form: true }), {
      code,
      email: good.user.email,
      needsPassword: needsPassword(good, csrf.browserOf(request)),
    })
    return pages.send(reply, page)
  })

  on('POST /verify_user', async (request, reply) => {
    const { zone } = request
    const form = postedForm(request)
    const code = requiredField(form, 'code')
    const attempt = {
      code,
      password: form.get('password') ?? '',
      browser: csrf.browserOf(request),
      by: originOf(request),
    }
    const result = await limits.wrongPasswords.attempt(
      callerKey(contextOf(request), 'sign-up', digest(code)),
      () => verifySignUp(zone, attempt, deps),
      ({ outcome }) => outcome === 'wrong-password',
    )
    switch (result.outcome) {
      case 'invalid':
        return showExpired(request, reply)
      case 'wrong-password': {
        const { email } = result.seen.user
        const chrome = await pages.chrome(request, reply, { form: true })
        return pages.send(
          reply.status(422),
          verifyAccountPage(chrome, { code, email, needsPassword: true, isWrong: attempt.password !== '' }),
        )
      }
      case 'verified': {
        const url = await returnUrl(zone, result.requestedReturn, { ...deps, fallback: 'signup_redirect_url' })
        const { clientId } = result.requestedReturn
        const { userName } = result.user
        return redirectToSignIn(request, reply, { success: 'verify_success', userName, clientId, url }, deps)
      }
    }
  })

  const showExpired = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    pages.send(reply.status(422), activationExpiredPage(await pages.chrome(request, reply)))
}

// Adds a factor for a user who has none, or none that is sufficient for the application, during a sign-in, which then
// continues.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { provenBy } from '../../factors/authentication.ts'
import { hasFactor, mayAddAtSignIn } from '../../model/sessions/fresh-sign-in.ts'
import { SECOND_FACTOR_PATH } from '../../model/sessions/sign-in-demands.ts'
import { withFormRedirect } from '../../pages/parts/layout.ts'
import { appPage, recoveryCodesPage } from '../../pages/sign-in/second-factor.ts'
import { factorTexts } from '../../pages/texts/factor-texts.ts'
import type { FactorMethod } from '../../records/user.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import { postedForm } from '../../web/route.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { ProvenFactor } from '../../web/sessions/sign-in-sessions.ts'
import type { FactorPage } from './factor-pages.ts'
import { addsFactor, APP_PATH, ceremonyOf, enrolmentOf, nameOfBrowser, ownerOf } from './second-factor-task.ts'
import type { Shown, Task, Tasks } from './second-factor-task.ts'
import type { LoginDeps } from '../deps.ts'

/** Shared with the handlers of `/second_factor`. */
interface FirstFactorParts {
  readonly factors: Factors
  readonly tasks: Tasks
  readonly show: (request: FastifyRequest, reply: FastifyReply, shown: Shown) => Promise<FastifyReply>
  readonly signInAgain: (request: FastifyRequest, reply: FastifyReply, form: Form) => Promise<FastifyReply>
}

/** `/second_factor/app` and `/second_factor/passkey`. */
export function firstFactorHandlers(
  on: On<FactorPage>,
  { sessions, denial, csrf, pages, urls, clock }: LoginDeps,
  { factors, tasks, show, signInAgain }: FirstFactorParts,
): void {
  const { oneTimePasswords, passkeys, changes } = factors

  const pathOf = ({ zone }: FastifyRequest, path: string): string => urls.pathOf(zone) + path
  const mayEnrol = (task: Task | undefined, method: FactorMethod): task is Task =>
    task !== undefined && addsFactor(task) && task.reaching.includes(method)

  const mayAddNow = ({ session, user }: SignedInUser): boolean => mayAddAtSignIn(session, user, clock.now())

  /** A page that was made for a fresh sign-in can be sent for minutes; that is enough for a first factor only. */
  const mayFinish = (signedIn: SignedInUser): boolean => !hasFactor(signedIn.user) || mayAddNow(signedIn)

  /** The page that asks what is outstanding, for the target of the form. */
  const ask = async (request: FastifyRequest, reply: FastifyReply, form: Form): Promise<FastifyReply> =>
    goTo(reply, withFormRedirect(SECOND_FACTOR_PATH, await tasks.formRedirectUri(request, form)), urls)

  async function appLinks(request: FastifyRequest, form: Form) {
    const formRedirectUri = await tasks.formRedirectUri(request, form)
    const back = withFormRedirect(pathOf(request, SECOND_FACTOR_PATH), formRedirectUri)
    return { action: pathOf(request, APP_PATH), back, formRedirectUri }
  }

  on('GET /second_factor/app', async (request, reply) => {
    const form = queryForm(request)
    const task = await tasks.of(request, form)
    if (!mayEnrol(task, 'totp')) return ask(request, reply, form)
    const { signedIn } = task
    if (!mayAddNow(signedIn)) return signInAgain(request, reply, form)
    const chrome = await pages.chrome(request, reply, { form: true })
    const secret = await oneTimePasswords.begin(enrolmentOf(request, signedIn, chrome))
    return pages.send(reply, appPage(chrome, { ...(await appLinks(request, form)), secret }))
  })

  on('POST /second_factor/app', async (request, reply) => {
    const form = postedForm(request)
    const task = await tasks.of(request, form)
    if (!mayEnrol(task, 'totp')) return ask(request, reply, form)
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const { signedIn } = task
    if (!mayFinish(signedIn)) return signInAgain(request, reply, form)
    const chrome = await pages.chrome(request, reply, { form: true })
    const { enrol: texts } = factorTexts(chrome.texts)
    const enrolment = enrolmentOf(request, signedIn, chrome)
    const sealed = form.get('secret') ?? ''
    const result = await oneTimePasswords.confirm(sealed, form.get('code') ?? '', enrolment)
    if (result.outcome === 'confirmed') {
      const isKept = await changes.setTotp(await ownerOf(request, signedIn, pages), result.totp)
      // Otherwise another session of the user has added a factor first.
      if (!isKept) return ask(request, reply, form)
      return finish(request, reply, { signedIn, form, factor: { level: '2', amr: ['otp'] } })
    }
    const kept = await oneTimePasswords.again(sealed, enrolment)
    if (!kept && !mayAddNow(signedIn)) return signInAgain(request, reply, form)
    const secret = kept ?? (await oneTimePasswords.begin(enrolment))
    const problem = result.outcome === 'wrong' ? texts.wrongCode : texts.expired
    return pages.send(reply.status(422), appPage(chrome, { ...(await appLinks(request, form)), secret, problem }))
  })

  on('POST /second_factor/passkey', async (request, reply) => {
    const form = postedForm(request)
    const task = await tasks.of(request, form)
    if (!mayEnrol(task, 'passkey')) return ask(request, reply, form)
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const { signedIn } = task
    if (!mayFinish(signedIn)) return signInAgain(request, reply, form)
    const result = await passkeys.readRegistration(ceremonyOf(request, signedIn, urls), {
      user: signedIn.user,
      answer: form.get('credential') ?? '',
      name: nameOfBrowser(request, { texts: pages.texts(request) }),
    })
    if (result.outcome !== 'new') {
      return show(request, reply, { task, form, problem: texts => texts.enrol.failedPasskey })
    }
    const isKept = await changes.addPasskey(await ownerOf(request, signedIn, pages), result.passkey)
    if (!isKept) return ask(request, reply, form)
    return finish(request, reply, { signedIn, form, factor: provenBy(result.passkey) })
  })

  /** Adding a factor proves it. Recovery codes are shown to users who have none. */
  async function finish(
    request: FastifyRequest,
    reply: FastifyReply,
    { signedIn, form, factor }: { readonly signedIn: SignedInUser; readonly form: Form; readonly factor: ProvenFactor },
  ): Promise<FastifyReply> {
    const continueUrl = await tasks.continueUrl(request, form)
    if (!(await sessions.strengthen(request, reply, signedIn, factor))) return goTo(reply, '/login', urls)
    const codes = await factors.firstRecoveryCodes(await ownerOf(request, signedIn, pages))
    if (!codes) return goTo(reply, continueUrl, urls)
    const page = recoveryCodesPage(await pages.chrome(request, reply), {
      codes,
      userName: signedIn.user.userName,
      continueUrl: urls.ofZone(request.zone) + continueUrl,
    })
    return pages.send(reply, page)
  }
}

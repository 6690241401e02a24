// The second step of a sign-in: until the required factor is proven, the user can do nothing else. Users without one add
// one here (first-factor.ts), and users who must prove more than before, because an application requires it, do so here as
// well.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import type { Html } from '../../base/html.ts'
import { mayAddAtSignIn } from '../../model/sessions/fresh-sign-in.ts'
import { SECOND_FACTOR_PATH } from '../../model/sessions/sign-in-demands.ts'
import { siteName, withFormRedirect } from '../../pages/parts/layout.ts'
import type { Chrome } from '../../pages/parts/layout.ts'
import { enrolPage, provePage } from '../../pages/sign-in/second-factor.ts'
import type { FactorChoice } from '../../pages/sign-in/second-factor.ts'
import { factorTexts } from '../../pages/texts/factor-texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { limitedSignIn } from '../../web/limits/limits.ts'
import { queryForm } from '../../web/requests/query.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import type { FactorPage } from './factor-pages.ts'
import { createFactorProof } from './factor-proof.ts'
import { firstFactorHandlers } from './first-factor.ts'
import {
  addsFactor,
  APP_PATH,
  ceremonyOf,
  createTasks,
  ownerOf,
  PASSKEY_PATH,
  choicesOf,
} from './second-factor-task.ts'
import type { Shown, Task } from './second-factor-task.ts'
import type { LoginDeps } from '../deps.ts'

/** What both pages show. */
interface Shared {
  readonly chrome: Chrome
  readonly problem: string | undefined
  /** The URL to continue with. */
  readonly formRedirectUri: string | undefined
}

/** `/second_factor`, and `/second_factor/app` and `/second_factor/passkey` for a first factor. */
export function secondFactorHandlers(on: On<FactorPage>, deps: LoginDeps, factors: Factors): void {
  const { sessions, remembered, denial, csrf, pages, limits, urls } = deps
  const { changes, passkeys } = factors
  const tasks = createTasks(deps)
  const prove = createFactorProof(deps, factors)

  const pathOf = ({ zone }: FastifyRequest, path: string): string => urls.pathOf(zone) + path

  /** The page for the task: prove a factor, or add one. */
  async function show(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
    const { task, form, problem } = shown
    const asked = choicesOf(task).find(each => each === form.get('way'))
    const adds = addsFactor(task) && asked === undefined
    const { session, user } = task.signedIn
    if (adds && !mayAddAtSignIn(session, user, deps.clock.now())) return signInAgain(request, reply, form)
    const chrome = await pages.chrome(request, reply, { form: true })
    const shared: Shared = {
      chrome,
      problem: problem?.(factorTexts(chrome.texts), chrome.texts),
      formRedirectUri: await tasks.formRedirectUri(request, form),
    }
    if (shared.problem !== undefined) void reply.status(422)
    return pages.send(
      reply,
      await (adds ? enrolment(request, task, shared) : proof(request, task, { ...shared, asked })),
    )
  }

  async function enrolment(request: FastifyRequest, task: Task, { chrome, ...shared }: Shared): Promise<Html> {
    const { isFirstStep, isStepUp, signedIn, reaching } = task
    const account = { user: signedIn.user, siteName: siteName(chrome) }
    return enrolPage(chrome, {
      ...(reaching.includes('passkey') && {
        passkey: {
          action: pathOf(request, PASSKEY_PATH),
          options: await passkeys.registrationOptions(ceremonyOf(request, signedIn, urls), account),
        },
      }),
      ...(reaching.includes('totp') && { app: pathOf(request, APP_PATH) }),
      ...(isFirstStep && { code: `${pathOf(request, SECOND_FACTOR_PATH)}?way=recovery` }),
      isStepUp,
      ...shared,
    })
  }

  async function proof(
    request: FastifyRequest,
    task: Task,
    { chrome, asked, ...shared }: Shared & { readonly asked: FactorChoice | undefined },
  ): Promise<Html> {
    const { user } = task.signedIn
    const ways = choicesOf(task)
    const way = asked ?? ways[0] ?? 'recovery'
    const action = pathOf(request, SECOND_FACTOR_PATH)
    return provePage(chrome, {
      action,
      choice: way,
      others: ways.filter(each => each !== way),
      ...(way === 'passkey' && {
        options: await passkeys.authenticationOptions(ceremonyOf(request, task.signedIn, urls), user),
      }),
      // After a recovery code or an administrator's code, the browser cannot be remembered.
      rememberDays: way === 'recovery' ? 0 : task.rememberDays,
      ...(addsFactor(task) && { back: withFormRedirect(action, shared.formRedirectUri) }),
      isStuck: task.provable.length === 0 && !task.mayAdd,
      isBypass: (user.factors?.methods ?? []).length === 0,
      ...shared,
    })
  }

  /** A session alone must not be enough to add a factor to the account. */
  async function signInAgain(request: FastifyRequest, reply: FastifyReply, form: Form): Promise<FastifyReply> {
    return denial.askToSignIn(request, reply, { path: await tasks.continueUrl(request, form), reauthenticate: true })
  }

  on('GET /second_factor', async (request, reply) => {
    const form = queryForm(request)
    const task = await tasks.of(request, form)
    if (!task) return goTo(reply, await tasks.continueUrl(request, form), urls)
    return show(request, reply, { task, form })
  })

  on('POST /second_factor', async (request, reply) => {
    const form = postedForm(request)
    const task = await tasks.of(request, form)
    if (!task) return goTo(reply, await tasks.continueUrl(request, form), urls) // done in another tab
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const { user } = task.signedIn
    const proof = await limitedSignIn(limits, { from: contextOf(request), userName: user.userName }, () =>
      prove(request, task, form),
    )
    if (proof.outcome !== 'proved') return show(request, reply, { task, form, problem: proof.problem })
    const continueUrl = await tasks.continueUrl(request, form)
    const isSignedIn = await sessions
      .strengthen(request, reply, task.signedIn, proof.factor)
      .catch(async (cause: unknown) => {
        await proof.undo?.()
        throw cause
      })
    // Also where the session has ended meanwhile: the owner of the account must learn that the code is used up.
    if (!proof.isOwnFactor) await changes.reportCodeUsed(await ownerOf(request, task.signedIn, pages))
    if (!isSignedIn) return goTo(reply, '/login', urls)
    if (form.get('remember') === 'true' && proof.isOwnFactor) remembered.remember(request, reply, user)
    return goTo(reply, continueUrl, urls)
  })

  firstFactorHandlers(on, deps, { factors, tasks, show, signInAgain })
}

// Changes the user's own password; requires the current one.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { passwordChangedMail } from '../../accounts/password-notice.ts'
import { passwordPolicy, policyDemands } from '../../model/users/password-policy.ts'
import { changePasswordPage } from '../../pages/accounts/change-password.ts'
import { isOwnPassword, setNewPassword } from '../../users/password.ts'
import { PageError } from '../../web/answers.ts'
import { goTo } from '../../web/redirect.ts'
import { originOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { MISMATCH, requiredField } from './self-service.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { AccountPage } from './account-pages.ts'
import type { LoginDeps } from '../deps.ts'

const WRONG = 'Please enter a valid current password.'

/** `/change_password` and `/change_password.do`. */
export function changePasswordHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { store, sessions, pages, urls, limits, service, behaviour } = deps

  /** The user, whose password must be kept here. */
  async function owner(request: FastifyRequest): Promise<SignedInUser> {
    const signedIn = await sessions.signedIn(request)
    if (!signedIn) throw new Error('the gate requires a session')
    if (signedIn.user.origin === service.name) return signedIn
    throw new PageError(403, 'Your password is managed by your identity provider.')
  }

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, problem, isCurrentWrong }: { user: SignedInUser['user']; problem?: string; isCurrentWrong?: boolean },
  ): Promise<FastifyReply> {
    const policy = passwordPolicy(await store.providers.findByOrigin(request.zone.id, user.origin))
    const page = changePasswordPage(await pages.chrome(request, reply, { form: true }), {
      userName: user.userName,
      demands: policyDemands(policy, behaviour),
      problem,
      isCurrentWrong,
    })
    return pages.send(reply.status(problem === undefined ? 200 : 422), page)
  }

  on('GET /change_password', async (request, reply) => showForm(request, reply, await owner(request)))

  on('POST /change_password.do', async (request, reply) => {
    const { user, session } = await owner(request)
    const { zone } = request
    const form = postedForm(request)
    const current = requiredField(form, 'current_password')
    const password = requiredField(form, 'new_password')
    const again = requiredField(form, 'confirm_password')
    const refuse = (problem: string): Promise<FastifyReply> => showForm(request, reply, { user, problem })
    if (password === '' || password !== again) return refuse(MISMATCH)
    const from = originOf(request)
    const isRight = await limits.wrongPasswords.attempt(
      JSON.stringify(['own', zone.id, user.id]),
      () => isOwnPassword({ zone, user, password: current, countsFailures: true, ...from }, deps),
      found => !found,
    )
    if (!isRight) return showForm(request, reply, { user, problem: WRONG, isCurrentWrong: true })
    await limits.ownChanges.take(`${zone.id} ${user.id}`)
    const result = await setNewPassword({ zone, user, password, meetsDemand: false, ...from }, deps)
    switch (result.outcome) {
      case 'refused':
        return refuse(result.message)
      case 'too-many-conflicts':
        // It was changed elsewhere, which ended this session.
        return goTo(reply, '/', urls)
      case 'changed': {
        await sessions.renew(request, reply, { user: result.user, session })
        await passwordChangedMail({ zone, frame: await pages.mailFrame(request), user: result.user }, deps)
        // UAA: says nothing.
        return goTo(reply, behaviour.ownWords ? '/profile?success_message_code=password.changed' : '/profile', urls)
      }
    }
  })
}

// The required password change: until it is done, the user can do nothing else. Does not require the old password: the user
// has just used it to sign in, or has to do so again.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { passwordChangedMail } from '../../accounts/password-notice.ts'
import { setNewPassword } from '../../users/password.ts'
import { passwordPolicy, policyDemands } from '../../model/users/password-policy.ts'
import { PASSWORD_CHANGE_PATH } from '../../model/sessions/sign-in-demands.ts'
import { isFresh } from '../../model/sessions/session.ts'
import { forcePasswordChangePage } from '../../pages/accounts/force-password-change.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import { originOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { AccountPage } from './account-pages.ts'
import type { LoginDeps } from '../deps.ts'
import { MISMATCH } from './self-service.ts'

const COMPLETED_PATH = '/force_password_change_completed'
/** The pages of this step, where nothing is left to do after it. */
const OWN_PATH = new RegExp(`^(?:${PASSWORD_CHANGE_PATH}|${COMPLETED_PATH})(?![^/?#])`)

/** `GET` and `POST /force_password_change`, and `GET /force_password_change_completed`, which continues the sign-in. */
export function forcePasswordChangeHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const { store, sessions, denial, pages, urls, behaviour, signInDemands } = deps

  /** The signed-in user, if a password change is required of them; undefined otherwise. */
  async function demanded(request: FastifyRequest): Promise<SignedInUser | undefined> {
    const signedIn = await sessions.signedIn(request)
    const demand = signedIn && (await signInDemands.open(request, signedIn))
    return demand?.name === 'password-change' ? signedIn : undefined
  }

  /** A change may be required during a session, and an attacker who has stolen it does not know the password. */
  const mayChange = ({ session }: SignedInUser): boolean => isFresh(session, deps.clock.now())
  async function askAgain(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const path = (await sessions.savedRequest(request))?.path ?? '/'
    return denial.askToSignIn(request, reply, { path, reauthenticate: true })
  }

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, problem }: { user: SignedInUser['user']; problem?: string },
  ): Promise<FastifyReply> {
    const policy = passwordPolicy(await store.providers.findByOrigin(request.zone.id, user.origin))
    const page = forcePasswordChangePage(await pages.chrome(request, reply, { form: true }), {
      action: `${urls.pathOf(request.zone)}${PASSWORD_CHANGE_PATH}`,
      userName: user.userName,
      email: user.email,
      demands: policyDemands(policy, behaviour),
      ...(problem !== undefined && { problem }),
    })
    return pages.send(reply.status(problem === undefined ? 200 : 422), page)
  }

  on('GET /force_password_change', async (request, reply) => {
    const signedIn = await demanded(request)
    if (!signedIn) return goTo(reply, '/', urls)
    return mayChange(signedIn) ? showForm(request, reply, signedIn) : askAgain(request, reply)
  })

  on('POST /force_password_change', async (request, reply) => {
    const signedIn = await demanded(request)
    if (!signedIn) return goTo(reply, '/', urls)
    if (!mayChange(signedIn)) return askAgain(request, reply)
    const { user, session } = signedIn
    const form = postedForm(request)
    const password = form.get('password') ?? ''
    if (password === '' || password !== form.get('password_confirmation')) {
      return showForm(request, reply, { user, problem: MISMATCH })
    }
    const change = { zone: request.zone, user, password, meetsDemand: true, ...originOf(request) }
    const result = await setNewPassword(change, deps)
    switch (result.outcome) {
      case 'refused':
        return showForm(request, reply, { user, problem: result.message })
      case 'too-many-conflicts':
        // The password was changed elsewhere, which ended this session: redirect to sign-in, or on.
        return goTo(reply, '/', urls)
      case 'changed': {
        await sessions.renew(request, reply, { user: result.user, session })
        await passwordChangedMail(
          { zone: request.zone, frame: await pages.mailFrame(request), user: result.user },
          deps,
        )
        return goTo(reply, COMPLETED_PATH, urls)
      }
    }
  })

  on('GET /force_password_change_completed', async (request, reply) => {
    if (await demanded(request)) return goTo(reply, PASSWORD_CHANGE_PATH, urls)
    const path = (await sessions.savedRequest(request))?.path ?? '/'
    return goTo(reply, OWN_PATH.test(path) ? '/' : path, urls)
  })
}

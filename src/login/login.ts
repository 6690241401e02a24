// Signs a user in with a form, then redirects to the saved request; usually that is /oauth/authorize, which decides the
// next step.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInRefusal } from '../identity/source.ts'
import { changesFactors, OFFER_PATH } from '../model/sessions/fresh-sign-in.ts'
import { parseLoginHint } from '../model/sessions/login-hint.ts'
import type { SignInDemand } from '../model/sessions/sign-in-demands.ts'
import { mayBeOfferedPasskey, secondFactorPolicy } from '../model/users/second-factor.ts'
import type { AddressedZone } from '../model/request.ts'
import { userNameKey } from '../model/users/user.ts'
import type { User } from '../model/users/user.ts'
import { offerAccountChoice } from '../web/account-choice.ts'
import { PageError, acceptsPage, wantsJson } from '../web/answers.ts'
import type { On } from '../web/deferred-routes.ts'
import { goTo } from '../web/redirect.ts'
import type { Form } from '../web/requests/form.ts'
import { parseForm } from '../web/requests/form.ts'
import { limitedSignIn } from '../web/limits/limits.ts'
import { queryForm } from '../web/requests/query.ts'
import { postedForm } from '../web/route.ts'
import { MAX_PATH_LENGTH } from './external/attempts.ts'
import { createTypedNames } from './sign-in/typed-name.ts'
import type { SignInRoute } from './routes.ts'
import { contextOf } from '../web/requests/request-context.ts'
import { showSignInPage } from './sign-in/sign-in-page.ts'
import type { LoginDeps } from './deps.ts'

/** `GET /login` and `POST /login.do`. */
export function loginHandlers(on: On<SignInRoute>, deps: LoginDeps): void {
  const { identity, sessions, denial, csrf, urls, signInTargets } = deps
  const typedNames = createTypedNames({ urls, shownAt: '/login' })

  on('GET /login', async (request, reply) => {
    const query = queryForm(request)
    if (wantsJson(request)) return reply.send(await deps.serverInfo(request.zone, query))
    if (!acceptsPage(request)) throw new PageError(406, 'This address offers only HTML and JSON.')
    const signInTarget = await signInTargets.of(request, query)
    const signedIn = await sessions.signedIn(request)
    // Only where the session lasts until the next sign-in completes can a sign-in fail while a user is signed in.
    const showsError = deps.behaviour.keepSessionUntilLogin && query.get('error') !== undefined
    if (signedIn && !signInTarget.saved?.reauthenticate && !showsError) {
      // The back button leads here from the page of a demand. The home page would replace the saved request.
      const demand = await deps.signInDemands.open(request, signedIn)
      if (demand && !isLeftToNext(demand)) return deps.signInDemands.raise(request, reply, demand)
      return goTo(reply, '/home', urls)
    }
    // UAA: forgets the name. See docs/compatibility.md, P3.
    const typedName = deps.behaviour.keepTypedName ? typedNames.take(request, reply) : undefined
    const shownName = (query.get('error') ?? query.get('success')) ? typedName : undefined
    return showSignInPage({ request, reply, query, signInTarget, typedName: shownName }, deps)
  })

  on('POST /login.do', async (request, reply) => {
    const form = postedForm(request)
    if (!(await csrf.isGenuine(request))) return refuseForm(request, reply, form)
    const signInTarget = await signInTargets.of(request, form)
    const { path: destination, client } = signInTarget
    const userName = form.get('username') ?? ''
    const refuse = async (code: string): Promise<FastifyReply> => {
      // UAA: also where a session goes on. See docs/compatibility.md, A10.
      const goesOn = deps.behaviour.keepSessionUntilLogin && (await sessions.signedIn(request)) !== undefined
      if (!goesOn) sessions.setCurrentUser(reply, undefined)
      await signInTargets.keep(request, reply, signInTarget)
      if (deps.behaviour.keepTypedName) typedNames.keep(reply, userName)
      return goTo(reply, `/login?error=${code}`, urls)
    }
    const password = form.get('password') ?? ''
    if (userName === '' || password === '') return refuse('login_failure')
    const { origin } = parseLoginHint(form.get('login_hint') || undefined)
    const context = contextOf(request)
    const signIn = { userName, password, client, origin, opensSession: true }
    const result = await limitedSignIn(deps.limits, { from: context, userName }, () =>
      identity.signInWithPassword(context, signIn),
    )
    if (result.outcome !== 'signed-in') {
      return refuse(result.outcome === 'refused' ? messageCode(result.reason) : 'login_failure')
    }
    await sessions.signIn(request, reply, result.user, result)
    const signedIn = await sessions.signedIn(request)
    const demand = signedIn && (await deps.signInDemands.open(request, signedIn))
    if (demand && !isLeftToNext(demand)) return deps.signInDemands.raise(request, reply, demand, destination)
    if (
      signedIn &&
      !demand &&
      form.get('can_passkey') === 'true' &&
      offersPasskey(request.zone, signedIn.user, destination)
    ) {
      await sessions.saveRequest(request, reply, { path: destination ?? '/', reauthenticate: false })
      return goTo(reply, OFFER_PATH, urls)
    }
    return goTo(reply, destination ?? '/', urls)
  })

  /** UAA: the next page asks for the new password. See docs/compatibility.md, P4. */
  const isLeftToNext = ({ name }: SignInDemand): boolean =>
    name === 'password-change' && !deps.behaviour.newPasswordAtOnce

  /** Whether to offer a passkey before continuing: not if the next page adds one anyway. */
  const offersPasskey = (zone: AddressedZone, user: User, destination = '/'): boolean =>
    mayBeOfferedPasskey(secondFactorPolicy(zone, deps.behaviour), user, deps.service.name) &&
    !changesFactors(destination) &&
    destination.length <= MAX_PATH_LENGTH

  /**
   * Shows an expired page again with the typed values, except the password. One of a user who has signed in meanwhile, in
   * another tab, continues: the sign-in is later than the page that required it. If another user was typed, the user chooses.
   */
  async function refuseForm(request: FastifyRequest, reply: FastifyReply, form: Form): Promise<FastifyReply> {
    const signedIn = await sessions.signedIn(request)
    if (signedIn) {
      const isOlder = deps.behaviour.staleFormShownAgain && csrf.isFromBeforeSignIn(request) && !wantsJson(request)
      if (!isOlder) return denial.refuseForgery(request, reply)
      const { path = '/' } = await signInTargets.of(request, form)
      const { user } = signedIn
      if (!isNamed(user, form)) return offerAccountChoice({ request, reply: reply.status(403) }, { user, path }, deps)
      return goTo(reply, path, urls)
    }
    sessions.setCurrentUser(reply, undefined)
    const isStale = deps.behaviour.staleFormShownAgain && csrf.isStale(request)
    if (!isStale || wantsJson(request)) return denial.refuseForgery(request, reply)
    const fields = new URLSearchParams({ error: 'invalid_login_request' })
    for (const name of ['username', 'login_hint']) {
      const typed = form.get(name)
      if (typed !== undefined) fields.set(name, typed)
    }
    const query = parseForm(fields.toString())
    const signInTarget = await signInTargets.of(request, form)
    return showSignInPage({ request, reply: reply.status(403), query, signInTarget }, deps)
  }
}

/**
 * Whether the form names this user: nobody continues as a user other than the one who was typed. Providers may have users of the
 * same name, so a form that was for one of them names no user of another.
 */
function isNamed({ userName, origin }: User, form: Form): boolean {
  const hint = parseLoginHint(form.get('login_hint'))
  return userNameKey(userName) === userNameKey(form.get('username') ?? '') && (hint.origin ?? origin) === origin
}

function messageCode(reason: SignInRefusal): string {
  switch (reason) {
    case 'bad-credentials':
    case 'provider-disabled':
    case 'refused-upstream':
    case 'not-invited':
    case 'second-factor-required': // a browser is asked for it
      return 'login_failure'
    case 'account-locked':
      return 'account_locked'
    case 'account-not-precreated':
      return 'account_not_precreated'
    case 'account-not-verified':
      return 'account_not_verified'
    case 'password-change-required':
      return 'password_expired'
  }
}

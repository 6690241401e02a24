// Sign-in with a code: an application checks the password in its own form (POST), and redirects the browser here with the code
// that it gets (GET, or `code` at /oauth/authorize).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AUTOLOGIN_REFUSALS, issueAutologin, redeemAutologin } from '../accounts/autologin.ts'
import { isJsonRecord, memberOf } from '../base/json.ts'
import { basicChallenge } from '../clients/authentication/refusals.ts'
import { mayHandlePasswords } from '../model/clients/client-demands.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { PageError, prefersPage } from '../web/answers.ts'
import { goTo } from '../web/redirect.ts'
import { WrongContentType } from '../web/requests/bodies.ts'
import type { Form } from '../web/requests/form.ts'
import { refuseVouching } from '../web/callers/login-server.ts'
import { limitedSignIn } from '../web/limits/limits.ts'
import { isNavigation } from '../web/requests/navigation.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { queryForm } from '../web/requests/query.ts'
import { contextOf, originOf } from '../web/requests/request-context.ts'
import type { SignedInUser } from '../web/sessions/current-session.ts'
import type { LoginDeps } from './deps.ts'

const PATH = '/autologin'

/** `POST` and `GET /autologin`. */
export function autologinEndpoints(app: FastifyInstance, deps: LoginDeps): void {
  const { identity, authenticator, sessions, signInDemands, limits, urls, service, behaviour } = deps
  const posted = { access: { by: 'client' }, audience: 'api', body: 'form or json' } as const
  const access = { by: 'anyone', because: 'a single-use code identifies the user' } as const

  app.post(PATH, { config: posted, errorHandler: refuseOtherTypes }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const from = contextOf(request)
    refuseRepeated(request.body)
    const sent = (name: string): string | undefined => sentIn(request.body, name)
    // UAA: takes the credentials of the client from the header alone. See docs/compatibility.md, C1.
    const read = behaviour.assertionsEverywhere ? sent : () => undefined
    const { client } = await authenticator.authenticate(from, {
      authorization: authorizationOf(request),
      params: { get: name => read(name) || undefined, raw: read },
      endpoint: { path: PATH, allowsNone: false, allowsAssertion: behaviour.assertionsEverywhere },
    })
    if (!mayHandlePasswords(request.zone, client)) throw new OAuthError(behaviour.grantNotAllowed, NO_PASSWORDS)
    const [userName, password] = [sent('username'), sent('password')]
    if (!userName) throw refuse('No username in request')
    if (!password) throw refuse('No password in request')
    // The session that the code starts asks for a new password if one is required.
    const signIn = { userName, password, client, opensSession: true }
    const result = await limitedSignIn(limits, { from, userName }, () => identity.signInWithPassword(from, signIn))
    if (result.outcome === 'signed-in') {
      const { value: code } = await issueAutologin(request.zone, { user: result.user, client }, deps)
      return reply.send({ code, path: '/oauth/authorize' })
    }
    const isUnverified = result.outcome === 'refused' && result.reason === 'account-not-verified'
    throw isUnverified ? new OAuthError('access_denied', 'Account not verified') : refuse('Bad credentials')
  })

  const refuse = (description: string): OAuthError =>
    new OAuthError('invalid_client', description, { challenge: basicChallenge(service, 'Bad credentials') })

  // No HEAD, which would consume the code.
  app.get(PATH, { config: { access, audience: 'page' }, exposeHeadRoute: false }, async (request, reply) => {
    const query = queryForm(request)
    const code = query.get('code')
    if (!code) return goTo(reply, '/home', urls)
    const clientId = query.get('client_id')
    if (!clientId) throw mismatch(request, 'Cannot redeem provided code for user, client id missing')
    if (!isNavigation(request)) throw new PageError(403, AUTOLOGIN_REFUSALS.notInWindow)
    const signedIn = await sessions.signedIn(request)
    const keptUserId = behaviour.keepOtherSession ? signedIn?.user.id : undefined
    const path = await waitingPath(request, signedIn)
    const attempt = { code, clientId, keptUserId, from: originOf(request) }
    const result = await redeemAutologin(
      request.zone,
      { ...attempt, signIn: (user, method) => sessions.signIn(request, reply, user, method) },
      deps,
    )
    switch (result.outcome) {
      case 'bad-code':
        throw new PageError(400, AUTOLOGIN_REFUSALS.badCode, { code: 'invalid_request' })
      case 'other-client':
        throw mismatch(request, 'Cannot redeem provided code for user, client mismatch')
      case 'other-user':
        throw new PageError(403, AUTOLOGIN_REFUSALS.otherUser)
      case 'good':
        return goOn(request, reply, path)
    }
  })

  /** The request that waits for the sign-in: in a session it may have continued already. */
  async function waitingPath(request: FastifyRequest, signedIn: SignedInUser | undefined): Promise<string | undefined> {
    const saved = await sessions.savedRequest(request)
    const waits = !signedIn || saved?.reauthenticate || (await signInDemands.open(request, signedIn)) !== undefined
    return waits ? saved?.path : undefined
  }

  async function goOn(request: FastifyRequest, reply: FastifyReply, path: string | undefined): Promise<FastifyReply> {
    const signedIn = await sessions.signedIn(request)
    const demand = signedIn && (await signInDemands.open(request, signedIn))
    if (demand) return signInDemands.raise(request, reply, demand, path)
    return goTo(reply, path ?? '/home', urls)
  }

  /** UAA: has no page for it. See docs/compatibility.md, E4. */
  function mismatch(request: FastifyRequest, description: string): Error {
    if (!prefersPage(request)) return refuseVouching('unauthorized', description)
    return new PageError(behaviour.pageOfForeignCode ? 401 : 406, AUTOLOGIN_REFUSALS.badCode, { code: 'unauthorized' })
  }
}

const NO_PASSWORDS = 'This client may not send passwords'

/** A parameter of a form, or a member of JSON that is a text. */
function sentIn(body: unknown, name: string): string | undefined {
  if (isForm(body)) return body.get(name)
  const member = memberOf(body, name)
  return typeof member === 'string' ? member : undefined
}

function refuseRepeated(body: unknown): void {
  const [name] = isForm(body) ? body.repeated : []
  if (name === undefined) return
  throw new OAuthError('invalid_request', `The parameter ${name.slice(0, 100)} must not be repeated`)
}

const isForm = (body: unknown): body is Form => isJsonRecord(body) && typeof body['get'] === 'function'

/** UAA: 415 for a body that is neither. */
function refuseOtherTypes(thrown: unknown): never {
  if (!(thrown instanceof WrongContentType)) throw thrown
  throw new OAuthError({ error: 'invalid_request', status: 415 }, 'The content type must be a form or JSON', {
    cause: thrown,
  })
}

// The authorization endpoint: reads the request, asks `nextStep`, and does what it says. Every page of the flow returns
// here, and everything is decided anew each time.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import { displayName } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { userScopes } from '../model/scopes.ts'
import type { GrantedScopes, UserGroups } from '../model/scopes.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import { errorPage } from '../pages/error.ts'
import { rememberCodeUntil } from '../token/lifetimes.ts'
import { PageError, answerFor, plainDescription } from '../web/answers.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM, parseForm } from '../web/form.ts'
import { NEVER_CACHED, STRICT_TRANSPORT } from '../web/headers.ts'
import { encodeForm, queryForm, rawQuery } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Visitor } from '../web/session.ts'
import { AUTHORIZE_PATH, createApprovals } from './approve.ts'
import type { ApprovalDeps } from './approve.ts'
import type { Asker, AuthorizationRequest } from './authorization-request.ts'
import { findAsker, isSilent, promptWords, readAuthorizationRequest } from './authorization-request.ts'
import type { SignedIn } from './next-step.ts'
import { nextStep } from './next-step.ts'
import { readParams } from './params.ts'
import { RedirectRefusal, bareLocation, locationFor } from './respond.ts'
import type { ResponseTarget } from './respond.ts'
import { sessionIdFor, sessionState } from './session-state.ts'

/** What the authorization endpoint needs. */
export interface AuthorizeDeps extends ApprovalDeps {
  readonly csrf: Csrf
  readonly random: Random
  readonly behaviour: Behaviour
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
  readonly log: { fault(message: string, cause: unknown): void }
}

/** One request on its way through the endpoint. */
interface Passage {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The parameters, and the same as a query: what the browser comes back with. */
  readonly form: Form
  readonly query: string
  readonly silent: boolean
  /** What the person answered on the approval page a moment ago. */
  readonly answer?: Form
}

const CODE_LENGTH = 32
/** A longer query might not fit into the head of a request. */
const LONGEST_QUERY = 8000

/** `GET` and `POST /oauth/authorize` (RFC 6749 §3.1, OpenID Connect Core §3.1.2). */
export function authorizeEndpoint(app: FastifyInstance, deps: AuthorizeDeps): void {
  const { store, sessions, denial, csrf, pages, clock, random, urls, behaviour } = deps
  const approvals = createApprovals(deps)
  const config = {
    access: { by: 'anyone', because: 'the flow itself asks who is there, and sends the browser to sign in' },
    audience: 'page',
  } as const

  // No HEAD, which would issue a code.
  app.get(AUTHORIZE_PATH, { config, exposeHeadRoute: false }, (request, reply) => {
    const form = queryForm(request)
    return guide({ request, reply, form, query: rawQuery(request), silent: isSilent(form, behaviour) })
  })

  app.post(AUTHORIZE_PATH, { config }, async (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    const isAnswer = form.get('user_oauth_approval') !== undefined
    if ((isAnswer || !behaviour.postedRequests) && !csrf.isGenuine(request)) return denial.refuseForgery(request, reply)
    if (isAnswer) {
      const query = await approvals.recall({ request, reply }, form)
      if (query === undefined) return reply
      const asked = parseForm(query)
      return guide({ request, reply, form: asked, query, silent: isSilent(asked, behaviour), answer: form })
    }
    const query = encodeForm(form, [csrf.fieldName])
    if (query.length > LONGEST_QUERY) throw new PageError(400, 'The request is too long.', { code: 'invalid_request' })
    if (behaviour.postedRequests && !sessions.wasSent(request)) {
      // Another site's form comes without the session cookie; asked again by GET, the browser sends it (row P2).
      return reply.redirect(`${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`, 303)
    }
    return guide({ request, reply, form, query, silent: isSilent(form, behaviour) })
  })

  async function guide(passage: Passage): Promise<FastifyReply> {
    const { request, reply, form, silent } = passage
    let asker: Asker | undefined
    try {
      const visitor = await sessions.visitor(request)
      setHeaders(passage)
      // UAA: nothing is checked before the person signs in (row A1).
      if (!behaviour.validateBeforeLogin && !visitor && !silent) return await signIn(passage)
      const params = readParams(form)
      asker = await findAsker(request.zone, params, deps)
      if (!behaviour.validateBeforeLogin && !visitor) throw loginRequired(asker.target)
      const authorization = readAuthorizationRequest(asker, params, behaviour)
      const person = visitor && (await describe(authorization, visitor, passage))
      const step = nextStep(authorization, person, { now: clock.now(), behaviour })
      switch (step.kind) {
        case 'sign-in':
          return await signIn(passage)
        case 'approve':
          return await approvals.ask(passage, authorization, step.scopes)
        case 'switch-provider':
          return await offerSwitch(passage, authorization)
        case 'refuse':
          throw new RedirectRefusal(authorization.target, new OAuthError(step.error, step.description))
        case 'respond':
          return await respond(passage, authorization, step.scopes)
      }
    } catch (error) {
      if (error instanceof RedirectRefusal) return refuse(passage, error)
      if (!silent) throw error
      if (error instanceof PageError && !asker && !behaviour.usualSilentErrors) return reply.status(400).send('')
      const { status, error: code = 'server_error', description } = answerFor(error)
      if (!asker || status < 500) throw error
      // Nobody sees a page in a hidden frame: the client is told (row R7).
      deps.log.fault(`${request.method} ${AUTHORIZE_PATH}`, error)
      return refuse(passage, new RedirectRefusal(asker.target, new OAuthError(code, description)))
    }
  }

  /** What the specification fixes for this endpoint, redirects included. */
  function setHeaders({ request, reply, silent }: Passage): void {
    if (silent) {
      reply.headers(NEVER_CACHED)
      return
    }
    reply
      .removeHeader('pragma')
      .removeHeader('expires')
      .header('cache-control', 'no-store')
      .header('content-language', 'en')
    if (urls.isHttps || behaviour.strictTransportAlways) reply.header('strict-transport-security', STRICT_TRANSPORT)
    csrf.issue(request, reply)
  }

  /** What is known of the person, once their answer is stored. */
  async function describe(authorization: AuthorizationRequest, visitor: Visitor, passage: Passage): Promise<SignedIn> {
    const { client, requestedScopes } = authorization
    const { session, user } = visitor
    const { zone } = passage.request
    const groups = await deps.groupsOf(zone, user)
    const scopes = refusable(() => userScopes(client, requestedScopes, groups, behaviour))
    const { answer } = passage
    if (answer && !(scopes instanceof OAuthError))
      await approvals.record(user, authorization, { asked: scopes, answer })
    return {
      origin: user.origin,
      authenticatedAt: session.signIn.authenticatedAt,
      scopes,
      approvals: await store.approvals.list(zone.id, user.id, client.clientId, clock.now()),
      justApproved: answer !== undefined,
    }
  }

  /** The new sign-in answers a demand for one, so the request that is kept goes on without it (row A10). */
  async function signIn({ request, reply, form, query }: Passage): Promise<FastifyReply> {
    const path = `${AUTHORIZE_PATH}?${demandsSignIn(form) ? withoutDemand(form) : query}`
    const reauthenticate = (await sessions.visitor(request)) !== undefined
    if (reauthenticate && !behaviour.keepSessionUntilLogin) {
      await sessions.end(request, reply)
      return reply.redirect(urls.ofZone(request.zone) + path, 302)
    }
    return denial.askToSignIn(request, reply, { path, reauthenticate })
  }

  async function offerSwitch(
    { request, reply, query }: Passage,
    { client }: AuthorizationRequest,
  ): Promise<FastifyReply> {
    const target = `${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`
    const page = errorPage(await pages.chrome(request, reply, { form: true }), {
      status: 401,
      title: 'Another account is needed',
      description: `The application ${displayName(client)} is not authorized for your account.`,
      back: {
        text: 'Sign in with another account',
        url: `${urls.basePath}/logout.do?redirect=${encodeURIComponent(target)}`,
      },
    })
    return pages.send(reply.status(401), page)
  }

  async function respond(
    passage: Passage,
    authorization: AuthorizationRequest,
    scopes: GrantedScopes,
  ): Promise<FastifyReply> {
    const { request, reply } = passage
    const { client, target } = authorization
    const visitor = await sessions.visitor(request)
    if (!visitor) throw new Error('a response was decided on for nobody')
    const { signIn } = visitor.session
    const code = random.urlSafe(CODE_LENGTH)
    const now = clock.now()
    await store.codes.insert(request.zone.id, {
      zoneId: request.zone.id,
      codeDigest: digest(code),
      clientId: client.clientId,
      userId: visitor.user.id,
      scopes,
      authenticatedAt: signIn.authenticatedAt,
      amr: signIn.amr,
      sessionId: sessionIdFor(signIn, client.clientId),
      grantId: random.hex(16),
      expiresAt: addSeconds(now, behaviour.codeSeconds),
      keptUntil: rememberCodeUntil(request.zone, client, now, behaviour),
      ...(authorization.namedRedirectUri !== undefined && { redirectUri: authorization.namedRedirectUri }),
      ...(authorization.codeChallenge !== undefined && { codeChallenge: authorization.codeChallenge }),
      ...(authorization.codeChallengeMethod && { codeChallengeMethod: authorization.codeChallengeMethod }),
      ...(authorization.nonce !== undefined && { nonce: authorization.nonce }),
      ...(authorization.tokenFormat && { tokenFormat: authorization.tokenFormat }),
      ...(authorization.azAttr && { azAttr: authorization.azAttr }),
    })
    if (authorization.silent) sessions.setCurrentUser(reply, visitor.user.id)
    return reply.redirect(locationFor(target, { code, state: target.state, ...common(request, target, false) }), 302)
  }

  function refuse({ request, reply, silent }: Passage, { target, refusal }: RedirectRefusal): FastifyReply {
    const isNobody = request.person === undefined
    if (silent && refusal.error === 'login_required' && isNobody) sessions.setCurrentUser(reply, undefined)
    const shared = common(request, target, silent && refusal.error === 'login_required')
    const bare = silent && !behaviour.usualSilentErrors ? bareLocation(target, refusal.error, shared) : undefined
    const location =
      bare ??
      locationFor(target, {
        error: refusal.error,
        error_description: plainDescription(refusal.message, behaviour),
        state: target.state,
        ...refusal.extra,
        ...shared,
      })
    return reply.redirect(location, 302)
  }

  /** What every response carries in `standard`: `session_state` (row R6) and `iss` (row R5, RFC 9207 §2). */
  function common(
    request: FastifyRequest,
    target: ResponseTarget,
    uaaHasState: boolean,
  ): Record<string, string | undefined> {
    const userId = request.person?.id
    const withState = behaviour.sessionState || uaaHasState
    return {
      session_state: withState ? sessionState({ ...target, userId }, random) : undefined,
      iss: behaviour.issuerInResponse ? urls.issuer(request.zone) : undefined,
    }
  }
}

const loginRequired = (target: ResponseTarget): RedirectRefusal =>
  new RedirectRefusal(target, new OAuthError('login_required', 'The user must sign in'))

const demandsAge = (form: Form): boolean => /^\d+$/.test(form.get('max_age') ?? '')

const demandsSignIn = (form: Form): boolean => demandsAge(form) || promptWords(form.get('prompt') ?? '').has('login')

/** The request without the demand that a new sign-in has met. */
function withoutDemand(form: Form): string {
  const words = [...promptWords(form.get('prompt') ?? '')].filter(word => word !== 'login')
  const rest = encodeForm(form, demandsAge(form) ? ['prompt', 'max_age'] : ['prompt'])
  return words.length > 0 ? `${rest}&prompt=${encodeURIComponent(words.join(' '))}` : rest
}

function refusable<T>(decide: () => T): T | OAuthError {
  try {
    return decide()
  } catch (error) {
    if (error instanceof OAuthError) return error
    throw error
  }
}

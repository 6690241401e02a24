import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import type { Approval } from '../model/approval.ts'
import { APPROVAL_SECONDS } from '../model/approval.ts'
import { displayName } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/event.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { isAutoApproved, userScopes } from '../model/scopes.ts'
import type { GrantedScopes, UserGroups } from '../model/scopes.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import { approvalPage } from '../pages/approval.ts'
import { errorPage } from '../pages/error.ts'
import type { Store } from '../store/store.ts'
import { FORGED, PageError, plainDescription, wantsJson } from '../web/answers.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM, parseForm } from '../web/form.ts'
import { NEVER_CACHED, STRICT_TRANSPORT } from '../web/headers.ts'
import type { PageWriter } from '../web/pages.ts'
import { encodeForm, queryForm, rawQuery } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions, Visitor } from '../web/session.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { readAuthorizationRequest } from './authorization-request.ts'
import type { ScopeDecision, SignedIn } from './next-step.ts'
import { nextStep } from './next-step.ts'
import { readParams } from './params.ts'
import { RedirectRefusal, locationFor } from './respond.ts'
import type { ResponseTarget } from './respond.ts'
import { sessionIdFor, sessionState } from './session-state.ts'

/** What the authorization endpoint needs. */
export interface AuthorizeDeps {
  readonly store: Store
  readonly sessions: Sessions
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly clock: Clock
  readonly random: Random
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly audit: Audit
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
}

/** One request on its way through the endpoint. */
interface Passage {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The parameters, and the same as a query: what the browser comes back with. */
  readonly form: Form
  readonly query: string
  /** Whether the approval page was just answered with "allow". */
  readonly justApproved: boolean
}

const PATH = '/oauth/authorize'
const CODE_LENGTH = 32

/** `GET` and `POST /oauth/authorize` (RFC 6749 §3.1, OpenID Connect Core §3.1.2). */
export function authorizeEndpoint(app: FastifyInstance, deps: AuthorizeDeps): void {
  const { store, sessions, csrf, pages, clock, random, urls, behaviour } = deps
  const config = {
    access: { by: 'anyone', because: 'the flow itself asks who is there, and sends the browser to sign in' },
    audience: 'page',
  } as const

  app.get(PATH, { config }, (request, reply) => {
    const form = queryForm(request)
    return guide({ request, reply, form, query: rawQuery(request), justApproved: false })
  })

  app.post(PATH, { config }, (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    const isAnswer = form.get('user_oauth_approval') !== undefined
    if ((isAnswer || !behaviour.postedRequests) && !csrf.isGenuine(request)) return refuseForgery(request, reply)
    if (isAnswer) return takeAnswer(request, reply, form)
    return guide({ request, reply, form, query: encodeForm(form, [csrf.fieldName]), justApproved: false })
  })

  async function guide(passage: Passage): Promise<FastifyReply> {
    const { request, form } = passage
    try {
      const visitor = await sessions.visitor(request)
      setHeaders(passage)
      const params = readParams(form)
      if (!behaviour.validateBeforeLogin && !visitor && !isSilent(form)) {
        return await signIn(passage, undefined)
      }
      const authorization = await readAuthorizationRequest(request.zone, params, deps)
      const person = visitor && (await describe(authorization, visitor, passage))
      const step = nextStep(authorization, person, { now: clock.now(), behaviour })
      switch (step.kind) {
        case 'sign-in':
          return await signIn(passage, authorization)
        case 'approve':
          return await askForApproval(passage, authorization, step.scopes)
        case 'switch-provider':
          return await offerSwitch(passage, authorization)
        case 'refuse':
          throw new RedirectRefusal(authorization.target, new OAuthError(step.error, step.description))
        case 'respond':
          return await respond(passage, authorization, step.scopes)
      }
    } catch (error) {
      if (error instanceof RedirectRefusal) return refuse(passage, error)
      throw error
    }
  }

  /** What the specification fixes for this endpoint, redirects included. */
  function setHeaders({ request, reply, form }: Pick<Passage, 'request' | 'reply' | 'form'>): void {
    if (isSilent(form)) {
      reply.headers(NEVER_CACHED)
      return
    }
    reply
      .removeHeader('pragma')
      .removeHeader('expires')
      .header('cache-control', 'no-store')
      .header('content-language', 'en')
    if (urls.isHttps || behaviour.mode === 'standard') reply.header('strict-transport-security', STRICT_TRANSPORT)
    csrf.issue(request, reply)
  }

  async function describe(authorization: AuthorizationRequest, visitor: Visitor, passage: Passage): Promise<SignedIn> {
    const { client, requestedScopes } = authorization
    const { zone } = passage.request
    const [groups, approvals] = await Promise.all([
      deps.groupsOf(zone, visitor.user),
      store.approvals.list(zone.id, visitor.user.id, client.clientId, clock.now()),
    ])
    return {
      origin: visitor.user.origin,
      authenticatedAt: visitor.session.signIn.authenticatedAt,
      scopes: refusable(() => userScopes(client, requestedScopes, groups, behaviour)),
      approvals,
      justApproved: passage.justApproved,
    }
  }

  async function signIn(passage: Passage, authorization: AuthorizationRequest | undefined): Promise<FastifyReply> {
    const { request, reply, form } = passage
    if (wantsJson(request)) {
      throw new OAuthError(
        { error: 'unauthorized', status: 403 },
        'Full authentication is required to access this resource',
      )
    }
    // The new sign-in answers the demand, so the request goes on without it (row A10).
    const demanded = authorization !== undefined && (authorization.forceLogin || authorization.maxAge !== undefined)
    const query = demanded ? withoutDemand(form) : passage.query
    const reauthenticate = (await sessions.visitor(request)) !== undefined
    if (reauthenticate && !behaviour.keepSessionUntilLogin) await sessions.end(request, reply)
    await sessions.saveRequest(request, reply, { path: `${PATH}?${query}`, reauthenticate })
    return reply.redirect(`${urls.ofZone(request.zone)}/login`, 302)
  }

  async function askForApproval(
    passage: Passage,
    { client, target }: AuthorizationRequest,
    scopes: readonly ScopeDecision[],
  ): Promise<FastifyReply> {
    const { request, reply, query } = passage
    await sessions.setPendingApproval(request, query)
    const groups = await store.groups.findByNames(
      request.zone.id,
      scopes.map(each => each.scope),
    )
    const sentences = new Map(groups.map(group => [group.displayName.toLowerCase(), group.description]))
    const page = approvalPage(await pages.chrome(request, reply, { form: true }), {
      clientName: displayName(client),
      redirectUri: target.redirectUri,
      userName: request.person?.userName ?? '',
      action: `${urls.basePath}${PATH}`,
      formRedirectUri: `${urls.ofZone(request.zone)}${PATH}?${query}`,
      scopes: scopes.map(({ scope, state }, index) => ({
        name: `scope.${index}`,
        value: `scope.${scope}`,
        text: sentences.get(scope.toLowerCase()) ?? scope,
        state,
      })),
    })
    return pages.send(reply, page)
  }

  async function offerSwitch(
    { request, reply, query }: Passage,
    { client }: AuthorizationRequest,
  ): Promise<FastifyReply> {
    const target = `${urls.ofZone(request.zone)}${PATH}?${query}`
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

  /** The answer of the approval page; what was asked is taken from the session, never from the answer. */
  async function takeAnswer(request: FastifyRequest, reply: FastifyReply, answer: Form): Promise<FastifyReply> {
    const visitor = await sessions.visitor(request)
    if (!visitor) return reply.redirect(`${urls.ofZone(request.zone)}/login`, 302)
    const query = visitor.session.pendingApproval
    if (query === undefined) {
      throw new PageError(400, 'Cannot approve uninitialized authorization request.', { code: 'invalid_request' })
    }
    const shown = answer.get('form_redirect_uri')
    if (shown !== undefined && shown !== `${urls.ofZone(request.zone)}${PATH}?${query}`) {
      throw new PageError(400, 'Changes were detected from the original authorization request.', {
        code: 'invalid_request',
      })
    }
    await sessions.setPendingApproval(request, undefined)
    const passage: Passage = { request, reply, form: parseForm(query), query, justApproved: true }
    try {
      setHeaders(passage)
      await decide(passage, visitor, answer)
    } catch (error) {
      if (error instanceof RedirectRefusal) return refuse(passage, error)
      throw error
    }
    return guide(passage)
  }

  async function decide({ request, form }: Passage, { user }: Visitor, answer: Form): Promise<void> {
    const { zone } = request
    const authorization = await readAuthorizationRequest(zone, readParams(form), deps)
    const { client, target } = authorization
    if (answer.get('user_oauth_approval') !== 'true') {
      throw new RedirectRefusal(target, new OAuthError('access_denied', 'User denied access'))
    }
    const asked = userScopes(client, authorization.requestedScopes, await deps.groupsOf(zone, user), behaviour)
    const ticked = answer.names.filter(name => /^scope\.\d+$/.test(name)).flatMap(name => answer.all(name))
    if (ticked.some(value => !value.startsWith('scope.') || !asked.includes(value.slice('scope.'.length)))) {
      throw new RedirectRefusal(
        target,
        new OAuthError(
          'invalid_scope',
          'The requested scopes are invalid. Please use valid scope names in the request.',
        ),
      )
    }
    const now = clock.now()
    const decisions = asked
      .filter(scope => authorization.forceConsent || !isAutoApproved(client, scope))
      .map(
        (scope): Approval => ({
          zoneId: zone.id,
          userId: user.id,
          clientId: client.clientId,
          scope,
          status: ticked.includes(`scope.${scope}`) ? 'APPROVED' : 'DENIED',
          expiresAt: addSeconds(now, APPROVAL_SECONDS),
          updatedAt: now,
        }),
      )
    await store.approvals.save(zone.id, decisions)
    const data = decisions.map(({ scope, status }) => `${scope} ${status}`).join(', ')
    deps.audit({ type: 'ApprovalModifiedEvent', zoneId: zone.id, principal: user.id, clientId: client.clientId, data })
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
      expiresAt: addSeconds(clock.now(), behaviour.codeSeconds),
      ...(authorization.namedRedirectUri !== undefined && { redirectUri: authorization.namedRedirectUri }),
      ...(authorization.codeChallenge !== undefined && { codeChallenge: authorization.codeChallenge }),
      ...(authorization.codeChallengeMethod && { codeChallengeMethod: authorization.codeChallengeMethod }),
      ...(authorization.nonce !== undefined && { nonce: authorization.nonce }),
      ...(authorization.tokenFormat && { tokenFormat: authorization.tokenFormat }),
    })
    if (authorization.silent) sessions.setCurrentUser(reply, visitor.user.id)
    return reply.redirect(
      locationFor(target, { code, state: target.state, ...common(request, target, authorization.silent) }),
      302,
    )
  }

  function refuse({ request, reply, form }: Passage, { target, refusal }: RedirectRefusal): FastifyReply {
    const silent = isSilent(form)
    if (silent && refusal.error === 'login_required') sessions.setCurrentUser(reply, undefined)
    const location = locationFor(target, {
      error: refusal.error,
      error_description: plainDescription(refusal.message, behaviour),
      state: target.state,
      ...refusal.extra,
      ...common(request, target, silent && refusal.error === 'login_required'),
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
    const withState = behaviour.sessionState || (uaaHasState && userId === undefined)
    return {
      session_state: withState ? sessionState({ ...target, userId }, random) : undefined,
      iss: behaviour.issuerInResponse ? urls.issuer(request.zone) : undefined,
    }
  }

  async function refuseForgery(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (await sessions.visitor(request)) throw new PageError(403, FORGED, { code: 'invalid_request' })
    return reply.redirect(`${urls.ofZone(request.zone)}/login?error=invalid_login_request`, 302)
  }
}

/** Whether no page may be shown, as far as that can be told before the request is checked. */
const isSilent = (form: Form): boolean => (form.get('prompt') ?? '').startsWith('none')

/** The request without the demand that a new sign-in has met. */
function withoutDemand(form: Form): string {
  const words = (form.get('prompt') ?? '').split(' ').filter(word => word !== '' && word !== 'login')
  const rest = encodeForm(form, ['prompt', 'max_age'])
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

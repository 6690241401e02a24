// The authorization endpoint: reads the request, asks `nextStep`, and does what it says. Every page of the flow returns
// here, and everything is decided anew each time.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../../identity/identity.ts'
import { displayName } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { UserGroups } from '../../model/scopes.ts'
import type { TokenSettings } from '../../model/settings.ts'
import type { User } from '../../model/user.ts'
import type { Zone } from '../../model/zone.ts'
import { accountChoicePage } from '../../pages/account-choice.ts'
import { errorPage } from '../../pages/error.ts'
import type { TokenReader, VerifiedToken } from '../../token/reader.ts'
import { bearerHeader, inRealm, insufficientScope, withScopeChallenge } from '../../web/bearer.ts'
import { PageError, answerFor, prefersPage } from '../../web/answers.ts'
import type { Csrf } from '../../web/csrf.ts'
import type { Form } from '../../web/form.ts'
import { EMPTY_FORM, parseForm } from '../../web/form.ts'
import { NEVER_CACHED, STRICT_TRANSPORT } from '../../web/headers.ts'
import type { Limits } from '../../web/limits.ts'
import type { PasswordDemand } from '../../web/password-change.ts'
import { encodeForm, queryForm, rawQuery } from '../../web/query.ts'
import { bodyForm } from '../../web/route.ts'
import { AUTHORIZE_PATH, createApprovals } from './approve.ts'
import type { ApprovalDeps } from './approve.ts'
import { createDirectCredentials } from './credentials.ts'
import { createPeople } from './person.ts'
import type { Asker, AuthorizationRequest } from './request.ts'
import { findAsker, readAuthorizationRequest } from './request.ts'
import { createResponses } from './response.ts'
import type { Passage, ResponseDeps } from './response.ts'
import { nextStep } from './next-step.ts'
import { readParams } from '../params.ts'
import {
  hasSignInDemand,
  isSilent,
  markAskedForHint,
  wasAskedForHint,
  withoutAccountChoice,
  withoutSignInDemand,
} from './demands.ts'
import { RedirectRefusal, signInErrorMode } from './respond.ts'
import type { ResponseTarget } from './respond.ts'

/** What the authorization endpoint needs. */
export interface AuthorizeDeps extends ApprovalDeps, ResponseDeps {
  readonly identity: Identity
  readonly limits: Limits
  readonly passwordDemand: PasswordDemand
  readonly csrf: Csrf
  readonly reader: TokenReader
  readonly settings: TokenSettings
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
  readonly log: { fault(message: string, cause: unknown): void }
}

/** What a program may have posted to the wrong place, and must not see again in a URL. */
const SECRETS = [
  'password',
  'credentials',
  'client_secret',
  'client_assertion',
  'assertion',
  'code_verifier',
  'code',
  'passcode',
  'refresh_token',
  'access_token',
  'token',
]

/** A longer query might not fit into the head of a request. */
const LONGEST_QUERY = 8000

/** `GET` and `POST /oauth/authorize` (RFC 6749 §3.1, OpenID Connect Core §3.1.2). */
export function authorizeEndpoint(app: FastifyInstance, deps: AuthorizeDeps): void {
  const { sessions, denial, csrf, pages, clock, urls, behaviour, reader, service, passwordDemand: demand } = deps
  const approvals = createApprovals(deps)
  const responses = createResponses(deps)
  const people = createPeople({ ...deps, approvals })
  const credentials = createDirectCredentials({ ...deps, people, approvals, responses })
  const config = {
    access: { by: 'anyone', because: 'the flow itself asks who is there, and sends the browser to sign in' },
    audience: 'page',
  } as const

  // No HEAD, which would issue a code.
  app.get(AUTHORIZE_PATH, { config, exposeHeadRoute: false }, (request, reply) => {
    if (credentials.areIn(request)) return credentials.answer(request, reply)
    return isCall(request, queryForm(request))
      ? answerCall(request, reply, queryForm(request))
      : guide(passageOf(request, reply, { form: queryForm(request), query: keptQuery(request) }))
  })

  app.post(AUTHORIZE_PATH, { config }, async (request, reply) => {
    if (credentials.areIn(request)) return credentials.answer(request, reply)
    const form = bodyForm(request) ?? EMPTY_FORM
    if (isCall(request, form)) return answerCall(request, reply, form)
    const isAnswer = form.get('user_oauth_approval') !== undefined
    const isOpen = behaviour.postedRequests || isSilent(form, behaviour) // UAA: silence needs no value either
    // An answer of somebody who is not signed in, any more, decides nothing: they are asked to sign in.
    const mustProve = isAnswer ? (await sessions.visitor(request)) !== undefined : !isOpen
    if (mustProve && !(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    if (isAnswer) {
      const query = await approvals.recall({ request, reply }, form)
      if (query === undefined) return reply
      return guide({ ...passageOf(request, reply, { form: parseForm(query), query }), answer: form })
    }
    const query = encodeForm(form, [csrf.fieldName, ...SECRETS])
    if (query.length > LONGEST_QUERY) throw new PageError(400, 'The request is too long.', { code: 'invalid_request' })
    if (behaviour.postedRequests && !sessions.wasSent(request)) {
      // Another site's form comes without the session cookie; asked again by GET, the browser sends it (row P2).
      return reply.redirect(`${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`, 303)
    }
    return guide(passageOf(request, reply, { form, query }))
  })

  const passageOf = (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, query }: { form: Form; query: string },
  ): Passage => ({ request, reply, form, query, silent: isSilent(form, behaviour) })

  /** The token of a person, of scope `<service>.user`; any other genuine one is told what it lacks (RFC 6750 §3.1). */
  async function readCaller(request: FastifyRequest): Promise<VerifiedToken> {
    const token = await reader.read(request.zone, bearerHeader(request) ?? '').catch((error: unknown) => {
      throw inRealm(error, service)
    })
    const scope = service.scope('user')
    if (token.user && token.scopes.includes(scope)) return token
    const refusal = insufficientScope(behaviour.exactCallScope ? [scope] : [service.scope('admin'), scope])
    const realm = behaviour.exactCallScope ? service.oauthRealm : undefined
    throw withScopeChallenge(refusal, realm)
  }

  /** A program that has the person's token instead of the person asks for a code, and for nothing else. */
  async function answerCall(request: FastifyRequest, reply: FastifyReply, form: Form): Promise<FastifyReply> {
    const bearer = await readCaller(request)
    if (behaviour.stateWithToken && !form.get('state')) {
      throw new OAuthError('invalid_request', 'The state parameter is missing')
    }
    const query = encodeForm(form, SECRETS)
    return guide({ request, reply, form, query, silent: isSilent(form, behaviour), bearer })
  }

  async function guide(passage: Passage): Promise<FastifyReply> {
    const { request, reply, form, silent } = passage
    let asker: Asker | undefined
    try {
      const person = await people.find(passage)
      await setHeaders(passage)
      // UAA: nothing is checked before the person signs in (row A1).
      if (!behaviour.validateBeforeLogin && !person && !silent) return await signIn(passage)
      const isDemanded = person !== undefined && !passage.bearer && (await demand.isOpen(request.zone, person.user))
      if (!behaviour.validateBeforeLogin && isDemanded && !silent) return await demandPassword(passage)
      const params = readParams(form)
      asker = await findAsker(request.zone, params, deps)
      if (!behaviour.validateBeforeLogin && !person) throw loginRequired(asker.target)
      const asked = readAuthorizationRequest(asker, params, { zone: request.zone, behaviour })
      if (isDemanded && silent) throw passwordChangeRequired(asker.target, behaviour)
      if (isDemanded) return await demandPassword(passage)
      const authorization = passage.bearer ? { ...asked, chooseAccount: false } : asked // the token chose it
      const hinted = await people.hinted(authorization, passage)
      const signedIn = person && (await people.describe(authorization, { person, hinted }, passage))
      const step = nextStep(authorization, signedIn, { now: clock.now(), behaviour })
      switch (step.kind) {
        case 'sign-in':
          if (passage.bearer) throw loginRequired(asker.target)
          return await signIn(passage)
        case 'choose-account':
          return await offerAccounts(passage)
        case 'approve':
          return await approvals.ask(passage, authorization, step)
        case 'switch-provider':
          return await offerSwitch(passage, authorization)
        case 'refuse':
          throw new RedirectRefusal(authorization.target, new OAuthError(step.error, step.description))
        case 'respond':
          if (!person) throw new Error('a response was decided on for nobody')
          return await responses.grant(passage, authorization, { person, scopes: step.scopes })
      }
    } catch (error) {
      if (error instanceof RedirectRefusal) return responses.refuse(passage, error)
      if (!silent) throw error
      if (error instanceof PageError && !asker && !behaviour.usualSilentErrors) return reply.status(400).send('')
      const { status, error: code = 'server_error', description } = answerFor(error)
      if (!asker || status < 500) throw error
      // Nobody sees a page in a hidden frame: the client is told (row R7).
      deps.log.fault(`${request.method} ${AUTHORIZE_PATH}`, error)
      return responses.refuse(passage, new RedirectRefusal(asker.target, new OAuthError(code, description)))
    }
  }

  /** What the specification fixes for this endpoint, redirects included. */
  async function setHeaders({ request, reply, silent, bearer }: Passage): Promise<void> {
    if (silent) {
      reply.headers(NEVER_CACHED)
      return
    }
    reply.removeHeader('pragma').removeHeader('expires').header('cache-control', 'no-store')
    if (bearer) return
    reply.header('content-language', 'en')
    if (urls.isHttps || behaviour.strictTransportAlways) reply.header('strict-transport-security', STRICT_TRANSPORT)
    await csrf.issue(request, reply)
  }

  const demandPassword = ({ request, reply, query }: Passage): Promise<FastifyReply> =>
    demand.raise(request, reply, `${AUTHORIZE_PATH}?${query}`)

  /** The new sign-in answers the demands for one, so the request that is kept goes on without them (rows A10, A12). */
  async function signIn({ request, reply, form, query }: Passage): Promise<FastifyReply> {
    const left = hasSignInDemand(form) ? withoutSignInDemand(form) : query
    const isHinted = behaviour.honourIdTokenHint && form.get('id_token_hint') && !wasAskedForHint(form)
    const path = `${AUTHORIZE_PATH}?${isHinted ? markAskedForHint(left) : left}`
    const reauthenticate = (await sessions.visitor(request)) !== undefined
    if (reauthenticate && !behaviour.keepSessionUntilLogin) {
      await sessions.end(request, reply)
      return reply.redirect(urls.ofZone(request.zone) + path, 302)
    }
    return denial.askToSignIn(request, reply, { path, reauthenticate })
  }

  /** The account at hand goes on with the request; any other begins with a sign-in (OpenID Connect Core §3.1.2.1). */
  async function offerAccounts({ request, reply, form }: Passage): Promise<FastifyReply> {
    const path = `${AUTHORIZE_PATH}?${withoutAccountChoice(form)}`
    await sessions.saveRequest(request, reply, { path, reauthenticate: true })
    const page = accountChoicePage(await pages.chrome(request, reply, { form: true }), {
      userName: request.person?.userName ?? '',
      goOnUrl: urls.ofZone(request.zone) + path,
      signInUrl: `${urls.pathOf(request.zone)}/login`,
    })
    return pages.send(reply, page)
  }

  async function offerSwitch(
    { request, reply, query }: Passage,
    { client }: AuthorizationRequest,
  ): Promise<FastifyReply> {
    if (!prefersPage(request)) {
      const description = 'The application is not authorized for your account.'
      throw new PageError(401, description, { code: 'unauthorized_client' })
    }
    const target = `${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`
    const chrome = await pages.chrome(request, reply, { form: true })
    const texts = chrome.texts.error
    const page = errorPage(chrome, {
      status: 401,
      title: texts.switchTitle,
      description: texts.switchDescription(displayName(client)),
      back: {
        text: texts.switchAccount,
        url: `${urls.pathOf(request.zone)}/logout.do?redirect=${encodeURIComponent(target)}`,
      },
    })
    return pages.send(reply.status(401), page)
  }
}

/** Whether a program asks with the token of a person: a bearer, for a code, naming its client. */
const isCall = (request: FastifyRequest, form: Form): boolean =>
  bearerHeader(request) !== undefined &&
  (form.get('response_type') ?? '').startsWith('code') &&
  Boolean(form.get('client_id'))

/** The query to come back with; what browsers leave bare, such as a backslash, would be refused on the way back. */
function keptQuery(request: FastifyRequest): string {
  const query = rawQuery(request)
  const form = queryForm(request)
  if (form.names.some(name => SECRETS.includes(name))) return encodeForm(form, SECRETS)
  return /^[\x21\x22\x24-\x5b\x5d-\x7e]*$/.test(query) ? query : encodeForm(form)
}

const loginRequired = (target: ResponseTarget): RedirectRefusal =>
  new RedirectRefusal(target, new OAuthError('login_required', 'The user must sign in'))

/** In UAA it travels as a missing sign-in does (row R7). */
function passwordChangeRequired(target: ResponseTarget, behaviour: Behaviour): RedirectRefusal {
  const mode = behaviour.usualSilentErrors ? undefined : signInErrorMode(target)
  return new RedirectRefusal(target, new OAuthError('interaction_required', 'password change required'), mode)
}

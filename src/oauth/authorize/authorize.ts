// The authorization endpoint. Every page of the flow returns here, and every check is repeated each time.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import { PageError, answerFor } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Form } from '../../web/requests/form.ts'
import { parseForm } from '../../web/requests/form.ts'
import { NEVER_CACHED, STRICT_TRANSPORT } from '../../web/headers.ts'
import { encodeForm, queryForm, rawQuery } from '../../web/requests/query.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import { readParams } from '../params.ts'
import { recordRefusal } from '../refusal-event.ts'
import { askForApproval, findApprovals, keepPending, recordApproval, takePendingRequest } from './approve.ts'
import { signInByCode } from './user/autologin.ts'
import { carriedQuery } from './carried.ts'
import { AUTHORIZE_PATH, SECRETS, found } from './context.ts'
import type { AuthorizeContext } from './context.ts'
import {
  credentialsContext,
  hasCredentials,
  requirePasswordGrant,
  requirePasswordsAllowed,
  signInWithPassword,
} from './user/credentials.ts'
import { findLackingLevel, meetDemandsFirst, requireDemandsMet } from './demands.ts'
import { decide } from './next-step.ts'
import type { Step } from './next-step.ts'
import {
  findAuthenticatedUser,
  findScopes,
  isCall,
  readCaller,
  requireAuthenticatedUser,
  requireCodeForCall,
  signInFirst,
  switchProvider,
} from './user/authenticated-user.ts'
import { STANDARD_PARAMETERS, UAA_PARAMETERS } from './checks/parameter-checks.ts'
import type { Check } from './checks/parameter-checks.ts'
import { chooseAccount, isSilent, signIn } from './checks/prompt.ts'
import { refusalIn } from './refusal.ts'
import { RedirectRefusal } from './response/redirect.ts'
import { findClient, refuseRepeatedTarget, requireRedirectGrant, verifyRedirectUri } from './checks/target.ts'
import { refuse, requireGrantLast, requireScopesForTokens, respond } from './response/response.ts'
import type { AuthorizeRoute } from './routes.ts'
import { fromSource } from './sources/sources.ts'
import { isVouched, signInVouched, vouchedContext } from './user/vouched.ts'
import type { OAuthDeps } from '../deps.ts'

/** `compatibility: standard`: the request is checked before the user is asked to sign in. */
const STANDARD: readonly Check[] = [
  findAuthenticatedUser,
  setHeaders,
  refuseRepeatedTarget,
  findClient,
  ...STANDARD_PARAMETERS,
  requireCodeForCall,
  requirePasswordGrant,
  requirePasswordsAllowed,
  signInByCode,
  requireDemandsMet,
  signInWithPassword,
  signInVouched,
  requireAuthenticatedUser,
  findLackingLevel,
  findScopes,
  recordApproval,
  findApprovals,
  decide,
  requireScopesForTokens,
]

/** `compatibility: uaa`: sign-in comes first, and some checks are later or omitted (rows A1, A3, A4, A8, A12, A14, A18, A20). */
const UAA: readonly Check[] = [
  findAuthenticatedUser,
  setHeaders,
  signInByCode,
  signInFirst,
  meetDemandsFirst,
  findClient,
  requireRedirectGrant,
  verifyRedirectUri,
  requireAuthenticatedUser,
  ...UAA_PARAMETERS,
  requirePasswordsAllowed,
  requireDemandsMet,
  signInWithPassword,
  signInVouched,
  findLackingLevel,
  findScopes,
  recordApproval,
  findApprovals,
  decide,
  requireGrantLast,
  requireScopesForTokens,
]

/** The first step that a check names; `respond` when every check passed. */
async function firstStep(checks: readonly Check[], context: AuthorizeContext, deps: OAuthDeps): Promise<Step> {
  for (const check of checks) {
    const step = await check(context, deps)
    if (step) return step
  }
  return { kind: 'respond', scopes: found(context.granted) }
}

/** Runs the checks and the step that they lead to; a refusal goes to the client once its redirect URI is verified. */
async function answer(sent: AuthorizeContext, deps: OAuthDeps): Promise<FastifyReply> {
  const { request, reply } = sent
  const { standardAuthorizeChecks, standardSilentErrors } = deps.behaviour
  let context = sent
  try {
    context = await fromSource(sent, deps)
    const step = await firstStep(standardAuthorizeChecks ? STANDARD : UAA, context, deps)
    return await perform(step, context, deps)
  } catch (error) {
    // The request is repeated after the sign-in, and then recorded with its user.
    if (error instanceof RedirectRefusal && (await needsSignInFirst(context, error, deps))) return signIn(context, deps)
    record(error, context, deps)
    if (error instanceof RedirectRefusal) return refuse(context, error, deps)
    if (!context.silent) throw error
    const { target } = context.asked
    if (error instanceof PageError && !target && !standardSilentErrors) return reply.status(400).send('')
    const { status, error: code = 'server_error', description } = answerFor(error)
    if (!target || status < 500) throw error
    // A page in a hidden frame is seen by no user, so the client gets the error (row R7).
    deps.log.fault(`${request.method} ${AUTHORIZE_PATH}`, error)
    return refuse(context, new RedirectRefusal(target, new OAuthError(code, description)), deps)
  }
}

/**
 * RFC 9700 §4.11.2: a link to this server must not redirect on its own to an address of a self-registered client; the refusal comes
 * after the sign-in. Only `prompt=none` must be answered at once.
 */
async function needsSignInFirst(
  { request, silent, program }: AuthorizeContext,
  { target: { clientId } }: RedirectRefusal,
  { store, sessions }: OAuthDeps,
): Promise<boolean> {
  if (silent || program) return false
  const client = await store.clients.find(request.zone.id, clientId)
  return client?.registration !== undefined && (await sessions.signedIn(request)) === undefined
}

/** Records refusals of known clients, except `login_required`. */
function record(
  error: unknown,
  { request, params, asked, authenticatedUser }: AuthorizeContext,
  deps: OAuthDeps,
): void {
  const { client } = asked
  if (!client) return
  const of = {
    context: contextOf(request),
    client,
    params,
    endpoint: AUTHORIZE_PATH,
    userId: authenticatedUser?.user.id,
  }
  recordRefusal(refusalIn(error), of, deps)
}

async function perform(step: Step, context: AuthorizeContext, deps: OAuthDeps): Promise<FastifyReply> {
  const { request, reply, query } = context
  switch (step.kind) {
    case 'sign-in':
      return signIn(context, deps)
    case 'meet-demand':
      return deps.signInDemands.raise(request, reply, step.demand, `${AUTHORIZE_PATH}?${query()}`)
    case 'choose-account':
      return chooseAccount(context, deps)
    case 'switch-provider':
      return switchProvider(context, deps)
    case 'approve':
      return askForApproval(context, step, deps)
    case 'refuse':
      throw new RedirectRefusal(found(context.asked.target), new OAuthError(step.error, step.description))
    case 'respond':
      return respond(context, deps)
  }
}

/** Sets the handlers of the endpoint. */
export function authorizeHandlers(on: On<AuthorizeRoute>, deps: OAuthDeps): void {
  const { sessions, denial, csrf, urls, behaviour } = deps

  const contextOf = (
    sent: Pick<AuthorizeContext, 'request' | 'reply'>,
    form: Form,
    query: () => string,
  ): AuthorizeContext => ({
    ...sent,
    form,
    query,
    params: readParams(form),
    silent: isSilent(form, behaviour),
    asked: {},
  })

  on('GET /oauth/authorize', async (request, reply) => {
    if (isVouched(request)) return answer(await vouchedContext(request, reply, deps), deps)
    if (hasCredentials(request)) return answer(credentialsContext(request, reply), deps)
    const form = queryForm(request)
    if (isCall(request, form)) return answerCall(request, reply, form)
    return answer(
      contextOf({ request, reply }, form, () => keptQuery(request)),
      deps,
    )
  })

  on('POST /oauth/authorize', async (request, reply) => {
    if (isVouched(request)) return answer(await vouchedContext(request, reply, deps), deps)
    if (hasCredentials(request)) return answer(credentialsContext(request, reply), deps)
    const form = postedForm(request)
    if (isCall(request, form)) return answerCall(request, reply, form)
    const isAnswer = form.get('user_oauth_approval') !== undefined
    const isOpen = behaviour.postedRequests || isSilent(form, behaviour) // UAA: prompt=none needs no CSRF token either
    // An approval by a user who is no longer signed in has no effect: the user is asked to sign in.
    const mustProve = isAnswer ? (await sessions.signedIn(request)) !== undefined : !isOpen
    if (mustProve && !(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    if (isAnswer) {
      const pending = await takePendingRequest({ request, reply }, form, deps)
      if (pending === undefined) return reply
      const { query, listed } = pending
      const context = { ...contextOf({ request, reply }, parseForm(query), () => query), answer: { form, listed } }
      return answer(context, deps).catch(async (error: unknown) => {
        // The browser may send the form again.
        if (answerFor(error).status >= 500) await keepPending(request, pending, deps)
        throw error
      })
    }
    const query = carriedQuery(form)
    if (query.length > MAX_QUERY_LENGTH) {
      throw new PageError(400, 'The request is too long.', { code: 'invalid_request' })
    }
    if (behaviour.postedRequests && !sessions.wasSent(request)) {
      // Another site's form comes without the session cookie; asked again by GET, the browser sends it (row P2).
      return reply.redirect(`${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`, 303)
    }
    return answer(
      contextOf({ request, reply }, form, () => query),
      deps,
    )
  })

  /** A program with the user's token can request a code, and nothing else. */
  async function answerCall(request: FastifyRequest, reply: FastifyReply, form: Form): Promise<FastifyReply> {
    const bearer = await readCaller(request, deps)
    if (behaviour.stateWithToken && !form.get('state')) {
      throw new OAuthError('invalid_request', 'The state parameter is missing')
    }
    return answer(
      { ...contextOf({ request, reply }, form, () => encodeForm(form, SECRETS)), program: { by: 'token', bearer } },
      deps,
    )
  }
}

/** The specified headers of this endpoint, also on redirects. */
async function setHeaders(context: AuthorizeContext, { urls, behaviour, csrf }: OAuthDeps): Promise<void> {
  const { request, reply, silent, program } = context
  if (silent) {
    reply.headers(NEVER_CACHED)
    return
  }
  reply.removeHeader('pragma').removeHeader('expires').header('cache-control', 'no-store')
  if (program) return
  reply.header('content-language', 'en')
  if (urls.isHttps || behaviour.strictTransportAlways) reply.header('strict-transport-security', STRICT_TRANSPORT)
  await csrf.issue(request, reply)
}

/** A longer query might not fit into the head of a request. */
const MAX_QUERY_LENGTH = 8000

/** The query for the return; encodes characters that browsers leave unencoded, such as a backslash, which would be refused. */
function keptQuery(request: FastifyRequest): string {
  const query = rawQuery(request)
  const form = queryForm(request)
  if (form.names.some(name => SECRETS.includes(name))) return carriedQuery(form)
  return /^[\x21\x22\x24-\x5b\x5d-\x7e]*$/.test(query) ? query : encodeForm(form)
}

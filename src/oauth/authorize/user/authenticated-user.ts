// The checks of the user: who is signed in, which user the request names, which steps are required first, what they may grant.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { displayName } from '../../../model/clients/client.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { userScopes, withinToken } from '../../../model/tokens/scopes.ts'
import { sessionIdFor, signInTime } from '../../../model/sessions/session.ts'
import { errorPage } from '../../../pages/error.ts'
import { clientIdOf } from '../../../token/claims.ts'
import type { VerifiedToken } from '../../../token/token-validity.ts'
import { PageError, prefersPage } from '../../../web/answers.ts'
import { bearerHeader, inRealm, insufficientScope } from '../../../web/callers/authorization-header.ts'
import type { Form } from '../../../web/requests/form.ts'
import { requireNotExchanged, signInOf } from '../../presented-sign-in.ts'
import { AUTHORIZE_PATH, checkedRequest, found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { providerNotAllowed } from './credentials.ts'
import { LOGIN_REQUIRED } from '../next-step.ts'
import type { Step } from '../next-step.ts'
import { RedirectRefusal } from '../response/redirect.ts'
import { refusal } from '../refusal.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Finds the user of the browser session or of the bearer token. */
export async function findAuthenticatedUser(
  context: AuthorizeContext,
  { store, sessions, behaviour }: OAuthDeps,
): Promise<void> {
  const { request, form, program } = context
  if (signsInLater(context)) return
  if (program?.by === 'token') {
    const { bearer } = program
    if (!bearer.user) throw new Error('the token has no user')
    // A token can outlive its provider, but must not start a new grant.
    if (!(await store.providers.isOpen(request.zone.id, bearer.user.origin))) return
    // Without it the time is unknown: the token may be new and its grant old, because each refresh issues one.
    const at = bearer.claims['auth_time']
    const authenticatedAt = typeof at === 'number' ? new Date(at * 1000) : undefined
    const { amr, acr } = signInOf(bearer.claims, request.zone, behaviour)
    context.authenticatedUser = { user: bearer.user, authenticatedAt, amr, acr }
    return
  }
  const signedIn = await sessions.signedIn(request)
  if (!signedIn) return
  const { amr, acr } = signedIn.session.signIn
  const authenticatedAt = signInTime(signedIn.session, behaviour)
  const sessionId = sessionIdFor(signedIn.session.signIn, form.get('client_id') ?? '')
  context.authenticatedUser = { user: signedIn.user, authenticatedAt, amr, acr, sessionId }
}

/** Whether the request itself signs a user in, once it is checked. */
const signsInLater = ({ program }: AuthorizeContext): boolean => program !== undefined && program.by !== 'token'

/** A user must be signed in. */
export function requireAuthenticatedUser(context: AuthorizeContext): Step | undefined {
  const { authenticatedUser, silent, program } = context
  if (authenticatedUser || signsInLater(context)) return undefined
  return silent || program ? LOGIN_REQUIRED : { kind: 'sign-in' }
}

/** UAA: sign-in comes before every check of the request. See docs/compatibility.md, A1. */
export const signInFirst = (context: AuthorizeContext): Step | undefined =>
  context.authenticatedUser || context.silent || signsInLater(context) ? undefined : { kind: 'sign-in' }

/** Verifies `id_token_hint`, which must be an ID token of ours (row A12). */
export async function readIdTokenHint(
  context: AuthorizeContext,
  { reader, store, subjects }: OAuthDeps,
): Promise<void> {
  const hint = context.form.get('id_token_hint')
  if (!hint) return
  const { zone } = context.request
  const refuse = (description: string): RedirectRefusal =>
    new RedirectRefusal(found(context.asked.target), new OAuthError('invalid_request', description))
  const claims = await reader.readHint(zone, hint).catch((cause: unknown) => {
    if (!(cause instanceof OAuthError)) throw cause
  })
  const client = claims && (await store.clients.find(zone.id, clientIdOf(claims) ?? ''))
  if (!client || typeof claims['sub'] !== 'string') throw refuse('The id_token_hint was not issued by this server.')
  // The answer would tell a pairwise client which of another client's users is here, or the other way round.
  if (!subjects.areShared(zone, found(context.asked.client), client)) {
    throw refuse('The id_token_hint was issued to a client that has other subjects.')
  }
  context.hinted = { subject: claims['sub'], client }
}

/** Applies the scope rules for this user; a refusal is reported only after the earlier steps, such as sign-in. */
export async function findScopes(context: AuthorizeContext, { groupsOf, behaviour }: OAuthDeps): Promise<void> {
  const { client, requestedScopes } = checkedRequest(context)
  const groups = await groupsOf(context.request.zone, found(context.authenticatedUser).user)
  const { program } = context
  try {
    const scopes = userScopes({ client, requested: requestedScopes }, groups, behaviour)
    const isLimited = behaviour.codeWithinToken && program?.by === 'token'
    context.scopes = isLimited ? withinToken(scopes, program.bearer.scopes) : scopes
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    context.scopes = error
  }
}

/** Offers another sign-in to a user whose identity provider the client does not allow. */
export async function switchProvider(context: AuthorizeContext, { pages, urls }: OAuthDeps): Promise<FastifyReply> {
  const { request, reply, query } = context
  if (signsInLater(context)) throw providerNotAllowed()
  if (!prefersPage(request)) {
    const description = 'The application is not authorized for your account.'
    throw new PageError(401, description, { code: 'unauthorized_client' })
  }
  const target = `${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query()}`
  const chrome = await pages.chrome(request, reply, { form: true })
  const texts = chrome.texts.error
  const page = errorPage(chrome, {
    status: 401,
    title: texts.switchTitle,
    description: texts.switchDescription(displayName(found(context.asked.client))),
    back: {
      text: texts.switchAccount,
      url: `${urls.pathOf(request.zone)}/logout.do?redirect=${encodeURIComponent(target)}`,
    },
  })
  return pages.send(reply.status(401), page)
}

/** The token of a user, with the scope `<service>.user`; refuses any other (RFC 6750 §3.1). */
export async function readCaller(
  request: FastifyRequest,
  { reader, service, behaviour }: OAuthDeps,
): Promise<VerifiedToken> {
  const token = await readOriginal(request, reader).catch((error: unknown) => {
    throw inRealm(error, service)
  })
  const scope = service.scope('user')
  if (token.user && token.scopes.includes(scope)) return token
  throw insufficientScope(behaviour.exactCallScope ? [scope] : [service.scope('admin'), scope])
}

async function readOriginal(request: FastifyRequest, reader: OAuthDeps['reader']): Promise<VerifiedToken> {
  const token = await reader.read(request, bearerHeader(request) ?? '')
  requireNotExchanged(token.claims)
  return token
}

/**
 * A program with the token of a user gets a code, which its client must redeem: tokens would be those of a client that takes no
 * part, and would renew the token without a credential. Also where a pushed or signed request asks for them (row A18).
 */
export function requireCodeForCall(context: AuthorizeContext, deps: OAuthDeps): void {
  const { responseType } = checkedRequest(context)
  if (context.program?.by !== 'token' || (responseType.size === 1 && responseType.has('code'))) return
  throw refusal(
    context,
    deps,
    new OAuthError('unauthorized_client', 'The token of a user gives a code and nothing else'),
  )
}

/** Whether a program calls with the bearer token of a user, requesting a code for a client. */
export const isCall = (request: FastifyRequest, form: Form): boolean =>
  bearerHeader(request) !== undefined &&
  (form.get('response_type') ?? '').startsWith('code') &&
  Boolean(form.get('client_id'))

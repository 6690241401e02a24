// The response of a decided authorization request: issues codes and tokens, and sends them, or a refusal, to the client.
import type { FastifyReply } from 'fastify'
import { addSeconds } from '../../../base/clock.ts'
import { digest } from '../../../base/secrets.ts'
import type { Authorization, TokenKind } from '../../../model/tokens/authorization.ts'
import { demandsOn } from '../../../model/clients/client-demands.ts'
import type { Client } from '../../../model/clients/client.ts'
import { displayName } from '../../../model/clients/client.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { isPairwiseIn } from '../../../model/tokens/subject.ts'
import { supportsProtocol } from '../../../model/zones/protocols.ts'
import type { Zone } from '../../../model/zones/zone.ts'
import { formPostPage } from '../../../pages/form-post.ts'
import type { AnsweringSession } from '../../../store/sessions/session-store.ts'
import type { TokenResponse } from '../../../token/issuer.ts'
import { rememberCodeUntil } from '../../../token/lifetimes.ts'
import { revocationSignature } from '../../../token/revocation-signature.ts'
import { PageError, plainDescription } from '../../../web/answers.ts'
import { sessionState } from '../../session-state.ts'
import { checkedRequest, found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { RedirectRefusal, bareLocation, errorMode, locationFor } from './redirect.ts'
import type { ResponseParameters, ResponseTarget } from './redirect.ts'
import { inSignedResponse } from './signed-response.ts'
import { grantsAllowInUaa } from './response-type.ts'
import type { ResponseMode, ResponseType } from './response-type.ts'
import { contextOf } from '../../../web/requests/request-context.ts'
import type { OAuthDeps } from '../../deps.ts'

const CODE_LENGTH = 32

/** UAA: the last check asks whether the client's grants allow the response. See docs/compatibility.md, A4. */
export function requireGrantLast(context: AuthorizeContext): void {
  const { client, target, responseType } = checkedRequest(context)
  if (grantsAllowInUaa(client, responseType)) return
  throw new RedirectRefusal(target, new OAuthError('invalid_client', 'Unauthorized grant type'), 'fragment')
}

/** Tokens need scopes; a code without any is refused at the token endpoint. See docs/compatibility.md, R3. */
export function requireScopesForTokens(context: AuthorizeContext): void {
  const { target, responseType } = checkedRequest(context)
  if (found(context.granted).length > 0 || tokensOf(responseType).length === 0) return
  throw new RedirectRefusal(target, new OAuthError('invalid_token', 'No scopes were granted'), 'fragment')
}

/** Issues what was requested, and sends it. */
export async function respond(context: AuthorizeContext, deps: OAuthDeps): Promise<FastifyReply> {
  const { request, reply, silent, program } = context
  const { store, sessions } = deps
  const { client, target, responseType } = checkedRequest(context)
  // A session records every client that got a response, so that its end can be notified to them.
  const idDigest = program ? undefined : await sessions.lacksClient(request, client.clientId)
  const answering =
    idDigest === undefined ? undefined : { idDigest, isNotified: wantsLogoutNotice(request.zone, client, deps) }
  if (answering && !responseType.has('code')) {
    const { clientId } = client
    await store.sessions.addClient(request.zone.id, answering.idDigest, { clientId, isNotified: answering.isNotified })
  }
  const shared = sharedParameters(context, { target, isStateExpected: silent && target.mode === 'fragment' }, deps)
  const make = async (): Promise<ResponseParameters> =>
    signedIfAsked(context, target, { parameters: { ...(await issue(context, answering, deps)), ...shared }, deps })
  // At once: tokens issued by the second of two concurrent responses must not be returned.
  const [use, making] = await Promise.allSettled([useUp(context, deps), make()])
  const isFirst = use.status === 'fulfilled' && use.value
  if (making.status === 'rejected') {
    if (isFirst) await giveBack(context, deps)
    throw making.reason
  }
  if (use.status === 'rejected') throw use.reason
  if (!isFirst) throw new PageError(400, 'The request has already been answered.', { code: 'invalid_request_uri' })
  if (silent && !program) sessions.setCurrentUser(reply, found(context.authenticatedUser).user.id)
  return send(context, { target, mode: target.mode, parameters: making.value }, deps)
}

/** A request that was pushed (RFC 9126 §7.3), or has a `jti`, is answered once; false for the second of two answers. */
async function useUp({ request, source }: AuthorizeContext, { store }: OAuthDeps): Promise<boolean> {
  const { pushed, once } = source ?? {}
  if (once) return store.assertions.use(request.zone.id, once.idDigest, once.until)
  return pushed === undefined || store.pushedRequests.take(request.zone.id, pushed.idDigest)
}

/** Lets the browser try again with a request that could not be answered. */
async function giveBack({ request, source }: AuthorizeContext, { store }: OAuthDeps): Promise<void> {
  const { pushed, once } = source ?? {}
  if (once) await store.assertions.release(request.zone.id, once.idDigest)
  else if (pushed) await store.pushedRequests.insert(request.zone.id, pushed)
}

/** Sends a refusal to the client (RFC 6749 §4.1.2.1). */
export async function refuse(
  context: AuthorizeContext,
  { target, refusal, mode }: RedirectRefusal,
  deps: OAuthDeps,
): Promise<FastifyReply> {
  const { request, reply, silent, program } = context
  const { sessions, behaviour } = deps
  const isFirst = await useUp(context, deps)
  const isLoginRequired = silent && refusal.error === 'login_required'
  if (isLoginRequired && request.user === undefined && !program) sessions.setCurrentUser(reply, undefined)
  // UAA: a required new password is returned like a missing sign-in, unlike an approval with the same code (row R7).
  const isPasswordDue = !target.isSigned && refusal.error === 'interaction_required' && mode !== undefined
  const isStateExpected = isLoginRequired || (silent && isPasswordDue)
  const shared = sharedParameters(context, { target, isStateExpected }, deps)
  if (isPasswordDue) {
    return reply.redirect(locationFor(target.redirectUri, mode, { error: refusal.error, ...shared }), 302)
  }
  // A response that names its issuer is complete: its client follows newer standards than UAA's.
  const isBare = silent && !behaviour.standardSilentErrors && !target.isSigned && shared['iss'] === undefined
  const bare = isBare ? bareLocation(target, refusal.error, shared) : undefined
  if (bare !== undefined) return reply.redirect(bare, 302)
  const plain = {
    error: refusal.error,
    error_description: plainDescription(refusal.message, behaviour),
    state: target.state,
    ...refusal.extra,
    ...shared,
  }
  const parameters = await signedIfAsked(context, target, { parameters: plain, deps }).catch(async (cause: unknown) => {
    if (isFirst) await giveBack(context, deps)
    throw cause
  })
  return send(context, { target, mode: mode ?? errorMode(target, behaviour), parameters }, deps)
}

/** The parameters of a success, in the order of the specification except for those that every response has. */
async function issue(
  context: AuthorizeContext,
  answering: AnsweringSession | undefined,
  deps: OAuthDeps,
): Promise<ResponseParameters> {
  const { zone } = context.request
  const { client, target, responseType, namedScopes, nonce, tokenFormat, azAttr, resources } = checkedRequest(context)
  const scopes = found(context.granted)
  // One id for all: the second use of the code revokes what came with it as well (row T11).
  const grantId = deps.random.hex(16)
  const code = responseType.has('code') ? await issueCode(context, { grantId, answering }, deps) : undefined
  const tokens = tokensOf(responseType)
  if (tokens.length === 0) return { code, state: target.state }
  const { user, authenticatedAt, amr, acr, sessionId } = found(context.authenticatedUser)
  const decided: Authorization = {
    zone,
    client,
    grantType: responseType.has('code') ? 'authorization_code' : 'implicit',
    subject: {
      kind: 'user',
      user,
      ...(authenticatedAt && { authenticatedAt }),
      amr,
      acr,
      ...(sessionId !== undefined && { sessionId }),
    },
    scopes,
    tokens,
    grantId,
    ...(code !== undefined && { code }),
    ...(target.state !== undefined && { state: target.state }),
    ...(nonce !== undefined && { nonce }),
    ...(tokenFormat && { format: tokenFormat }),
    ...(azAttr && { azAttr }),
    ...(resources && { resources }),
  }
  const issued = await deps.issuer.issue(decided, contextOf(context.request))
  const isAsAsked = namedScopes.length === scopes.length && scopes.every(scope => namedScopes.includes(scope))
  return {
    token_type: issued.token_type,
    access_token: issued.access_token ?? undefined,
    id_token: issued.id_token,
    code,
    state: target.state,
    expires_in: String(issued.expires_in),
    scope: isAsAsked ? undefined : issued.scope, // RFC 6749 §4.2.2
    nonce: issued.nonce,
    jti: issued.jti,
    az_attr: mapText(issued.az_attr),
  }
}

/** Stores a code and, in the same transaction, records in the session that the client has a response. */
async function issueCode(
  context: AuthorizeContext,
  { grantId, answering }: { readonly grantId: string; readonly answering: AnsweringSession | undefined },
  { store, clock, random, behaviour }: OAuthDeps,
): Promise<string> {
  const { zone } = context.request
  const authorization = checkedRequest(context)
  const { client } = authorization
  const authenticatedUser = found(context.authenticatedUser)
  const code = random.urlSafe(CODE_LENGTH)
  const now = clock.now()
  await store.codes.insert(
    zone.id,
    {
      zoneId: zone.id,
      codeDigest: digest(code),
      clientId: client.clientId,
      userId: authenticatedUser.user.id,
      scopes: found(context.granted),
      ...(authenticatedUser.authenticatedAt && { authenticatedAt: authenticatedUser.authenticatedAt }),
      amr: authenticatedUser.amr,
      ...(authenticatedUser.acr && { acr: authenticatedUser.acr }),
      grantId,
      revocationSignature: revocationSignature(client, authenticatedUser.user),
      expiresAt: addSeconds(now, Math.min(behaviour.codeSeconds, demandsOn(zone, client).codeSeconds)),
      keptUntil: rememberCodeUntil(zone, client, now, behaviour),
      ...(authenticatedUser.sessionId !== undefined && { sessionId: authenticatedUser.sessionId }),
      ...(authorization.namedRedirectUri !== undefined && { redirectUri: authorization.namedRedirectUri }),
      ...(authorization.codeChallenge !== undefined && { codeChallenge: authorization.codeChallenge }),
      ...(authorization.codeChallengeMethod && { codeChallengeMethod: authorization.codeChallengeMethod }),
      ...(authorization.nonce !== undefined && { nonce: authorization.nonce }),
      ...(authorization.tokenFormat && { tokenFormat: authorization.tokenFormat }),
      ...(authorization.azAttr && { azAttr: authorization.azAttr }),
      ...(authorization.jkt !== undefined && { jkt: authorization.jkt }),
      ...(authorization.resources && { resources: authorization.resources }),
    },
    answering,
  )
  return code
}

/** `session_state` (row R6) and `iss` (row R5, RFC 9207 §2). */
function sharedParameters(
  { request, program, asked }: AuthorizeContext,
  { target, isStateExpected }: { readonly target: ResponseTarget; readonly isStateExpected: boolean },
  { behaviour, random, urls }: OAuthDeps,
): ResponseParameters {
  // It is a digest of the account's id, which a pairwise client could compare with ids known to others.
  const { client } = asked
  const mayCompare = !client || !isPairwiseIn(request.zone, client, behaviour)
  const withState = !program && mayCompare && (behaviour.sessionState || isStateExpected)
  const namesIssuer =
    behaviour.issuerInResponse || (client && demandsOn(request.zone, client).issuerInResponse) === true
  return {
    session_state: withState ? sessionState({ ...target, userId: request.user?.id }, random) : undefined,
    iss: namesIssuer ? urls.issuer(request.zone) : undefined,
  }
}

/** The parameters as they are sent: all in one signed parameter, if the response mode asks for that. */
const signedIfAsked = async (
  { request }: AuthorizeContext,
  target: ResponseTarget,
  unsigned: { readonly parameters: ResponseParameters; readonly deps: OAuthDeps },
): Promise<ResponseParameters> =>
  target.isSigned ? inSignedResponse(request.zone, target, unsigned) : unsigned.parameters

async function send(
  { request, reply }: AuthorizeContext,
  { target, mode, parameters }: { target: ResponseTarget; mode: ResponseMode; parameters: ResponseParameters },
  deps: OAuthDeps,
): Promise<FastifyReply> {
  const { store, pages } = deps
  if (mode !== 'form_post') return reply.redirect(locationFor(target.redirectUri, mode, parameters), 302)
  const fields = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  const client = await store.clients.find(request.zone.id, target.clientId)
  const page = formPostPage(await pages.chrome(request, reply), {
    clientName: client ? displayName(client) : target.clientId,
    action: target.redirectUri,
    fields: Object.fromEntries(fields),
  })
  return pages.send(reply, page)
}

/** Whether the client has a back channel for logouts (OpenID Connect Back-Channel Logout §2.2). */
const wantsLogoutNotice = (zone: Zone, client: Client, { behaviour }: Pick<OAuthDeps, 'behaviour'>): boolean =>
  client.backchannelLogoutUri !== undefined && supportsProtocol(zone, 'backchannelLogout', behaviour)

function tokensOf(type: ResponseType): readonly TokenKind[] {
  return [
    ...(type.has('token') ? (['access_token'] as const) : []),
    ...(type.has('id_token') ? (['id_token'] as const) : []),
  ]
}

/** UAA: attributes in a response of this endpoint are written like `{k=v, l=w}`. */
function mapText(attributes: TokenResponse['az_attr']): string | undefined {
  if (!attributes) return undefined
  return `{${Object.entries(attributes)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')}}`
}

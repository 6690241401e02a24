import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authorization } from '../model/tokens/authorization.ts'
import { demandsOn } from '../model/clients/client-demands.ts'
import type { Confirmation } from '../model/tokens/confirmation.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { RequestContext } from '../model/request.ts'
import { bearerPath } from '../model/zones/saml-paths.ts'
import { samlEntityIdOf } from '../model/zones/zone.ts'
import { StoreUnreachable } from '../store/store.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import type { ProvingRequest } from '../token/sender/sender.ts'
import { PageError } from '../web/answers.ts'
import { bearerHeader, inRealm, insufficientScope } from '../web/callers/authorization-header.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import type { AuthenticatedClient } from '../clients/authentication/authentication.ts'
import type { AuthenticatingEndpoint } from '../clients/authentication/method.ts'
import { clientCredentials } from './grants/client-credentials.ts'
import type { Grant } from './grants/grant.ts'
import { GRANTS } from './grants/grants.ts'
import { password } from './grants/password.ts'
import { userToken } from './grants/user-token.ts'
import { authorizeVouched, isVouched, vouchedCaller } from './grants/vouched.ts'
import type { VouchedCaller } from './grants/vouched.ts'
import { formOf, parseParams, queryNames, tokenFormatOf } from './params.ts'
import type { Params } from './params.ts'
import { requireNotExchanged } from './presented-sign-in.ts'
import { recordingRefusals } from './refusal-event.ts'
import {
  findGrant,
  requireClientLevel,
  requireGrantOfClient,
  requireGrantOfProfile,
  requireScopesForPassword,
  withRequest,
} from './token-rules.ts'
import { callerKey } from '../web/limits/limits.ts'
import { contextOf } from '../web/requests/request-context.ts'
import type { OAuthDeps } from './deps.ts'

const ENDPOINT: AuthenticatingEndpoint = { path: '/oauth/token', allowsNone: true, allowsAssertion: true }

/** Bytes of a form at the alias: an assertion with the groups of its user, in base64, is longer than other forms. */
const ALIAS_BODY_LIMIT = 384 * 1024

const ROUTE = { exposeHeadRoute: false, config: { access: { by: 'client' }, audience: 'api' } } as const

/** `POST /oauth/token` (RFC 6749 §3.2), and its alias that is the audience of SAML assertions (RFC 7522). */
export function tokenEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  const { behaviour } = deps
  const allowed = queryNames(behaviour)

  async function grantOf(request: FastifyRequest, params: Params, endpoint: AuthenticatingEndpoint): Promise<Grant> {
    const type = params.get('grant_type')
    // UAA: the client authenticates before the grant is read. See docs/compatibility.md, C11.
    if (!behaviour.grantBeforeClient && !GRANTS.some(grant => grant.type === type)) {
      await authenticate(request, { params, endpoint }, deps)
    }
    return findGrant(request.zone, type, deps)
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: AuthenticatingEndpoint,
  ): Promise<FastifyReply> {
    const context = contextOf(request)
    const params = parseParams(formOf(request, deps.settings, allowed), deps.behaviour)
    const grant = await grantOf(request, params, endpoint)
    // Other grants would fail late, for example after contacting a provider.
    if (grant !== clientCredentials && deps.store.isUnreachable()) {
      throw new StoreUnreachable('the database is unreachable')
    }
    const caller = isVouched(request, params, behaviour)
      ? await vouchedCaller(request, { params, endpoint }, deps)
      : await callerOf(request, { grant, params, endpoint }, deps)
    const of = { context, client: caller.client, params, endpoint: ENDPOINT.path }
    return recordingRefusals(of, deps, () => grantTo(caller, { request, reply, context, params, grant }, deps))
  }

  // UAA: GET is treated like POST. See docs/compatibility.md, C5.
  const method = deps.settings.queryString ? ['GET', 'POST'] : ['POST']
  const handler = (request: FastifyRequest, reply: FastifyReply) => answer(request, reply, ENDPOINT)
  const config = { ...ROUTE.config, withoutDatabase: true } as const
  app.route({ ...ROUTE, config, method, url: '/oauth/token', handler })
  app.route<{ Params: { entity: string } }>({
    ...ROUTE,
    method,
    url: '/oauth/token/alias/:entity',
    bodyLimit: ALIAS_BODY_LIMIT,
    handler: answerAtAlias,
  })

  function answerAtAlias(
    request: FastifyRequest<{ Params: { entity: string } }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { entity } = request.params
    if (entity !== samlEntityIdOf(request.zone, deps.samlEntityId)) {
      throw new PageError(404, 'The entity id in the path is not that of this zone.')
    }
    return answer(request, reply, { ...ENDPOINT, path: bearerPath(entity) })
  }
}

interface TokenRequest {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly context: RequestContext
  readonly params: Params
  readonly grant: Grant
}

/** Runs the grant, and issues the tokens that it authorizes. */
async function grantTo(
  caller: Caller | VouchedCaller,
  { request, reply, context, params, grant }: TokenRequest,
  deps: OAuthDeps,
): Promise<FastifyReply> {
  const { client, clientAuthMethod } = caller
  if (grant === password && !('server' in caller)) requireScopesForPassword(client, deps)
  requireGrantOfClient(request.zone, { client, type: grant.type, params }, deps)
  if (grant !== userToken) tokenFormatOf(params) // an unknown one is refused before anything is consumed
  const limitsProofs = clientAuthMethod === 'none' && context.headers['dpop'] !== undefined
  if (limitsProofs) deps.limits.vainProofs.check(() => callerKey(context, 'proofs'))
  const keepsProof = grant.usesProof === true && !('server' in caller)
  const confirmation = await confirmationOf({ request: context, client, keepsProof }, grant, deps)
  const proof = keepsProof && confirmation ? await deps.senders.unusedProof(context) : undefined
  let undo = (): Promise<void> => Promise.resolve()
  const undoOnFailure = (how: typeof undo): void => void (undo = how)
  let report = (): void => {}
  const onIssued = (how: typeof report): void => void (report = how)
  const asked = { ...context, client, params, clientAuthMethod, confirmation, proof, undoOnFailure, onIssued }
  const authorize = async (): Promise<Authorization> =>
    'server' in caller
      ? authorizeVouched(asked, caller.server, deps)
      : grant.authorize({ ...asked, bearer: caller.bearer }, deps)
  const decide = async (): Promise<Authorization> => {
    const decided = await (limitsProofs ? withLimitedProofs(context, authorize, deps) : authorize())
    await requireClientLevel(decided, deps)
    return decided
  }
  const authorization = await decide().catch(async (cause: unknown) => {
    if (!(cause instanceof OAuthError)) await undo()
    throw cause
  })
  // The refresh token of `user_token` is for another client, which does not have the caller's key.
  const isForCaller = authorization.client.clientId === client.clientId
  const bound = confirmation && isForCaller ? { ...authorization, confirmation } : authorization
  const tokens = await deps.issuer.issue(withRequest(bound, params, deps), context).catch(async (cause: unknown) => {
    await undo()
    throw cause
  })
  report()
  return reply.type('application/json;charset=UTF-8').send(JSON.stringify(tokens))
}

/**
 * A proof that holds costs a row of the database, even if the grant fails. Of clients without a credential, which
 * anyone can name, those whose grant fails are limited by their address.
 */
async function withLimitedProofs<T>(
  context: RequestContext,
  work: () => Promise<T>,
  { limits }: OAuthDeps,
): Promise<T> {
  const settled = await limits.vainProofs.attempt(
    callerKey(context, 'proofs'),
    async () => (await Promise.allSettled([work()]))[0],
    // A device that polls within its interval has a valid code (RFC 8628 §3.5).
    outcome => outcome.status === 'rejected' && !isPending(outcome.reason),
  )
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

const isPending = (reason: unknown): boolean => reason instanceof OAuthError && reason.error === 'authorization_pending'

/**
 * What the tokens will be bound to. Refuses a grant that the client's demands rule out, and a client that must bind its tokens
 * and does not.
 */
async function confirmationOf(asked: ProvingRequest, grant: Grant, deps: OAuthDeps): Promise<Confirmation | undefined> {
  const { request, client } = asked
  const { zone } = request
  requireGrantOfProfile(zone, { client, type: grant.type }, deps)
  const confirmation = await deps.senders.confirmationOf(asked)
  const { bound, certificateOnly } = demandsOn(zone, client)
  const isBound = certificateOnly ? confirmation?.['x5t#S256'] !== undefined : confirmation !== undefined
  if (isBound || !bound) return confirmation
  const description = `This client must bind its tokens, ${certificateOnly ? 'to its certificate' : 'by DPoP or by its certificate'}`
  throw new OAuthError('invalid_request', description, { rule: 'sender-constrained' })
}

/** The authenticated client, or the user's token with the client that it was issued to. */
interface Caller extends AuthenticatedClient {
  readonly bearer?: VerifiedToken
}

/** Authenticates the client or, for some grants, a user by an access token with the scope `<service>.user`. */
async function callerOf(
  request: FastifyRequest,
  { grant, params, endpoint }: { grant: Grant; params: Params; endpoint: AuthenticatingEndpoint },
  deps: OAuthDeps,
): Promise<Caller> {
  const bearer = grant.caller === 'user-token' ? bearerHeader(request) : undefined
  // In this grant `client_id` names the receiving client; without it the caller is a client.
  if (bearer !== undefined && params.get('client_id') !== undefined) {
    const token = await readUser(request, bearer, deps)
    return { client: token.client, bearer: token }
  }
  const caller = await authenticate(request, { params, endpoint }, deps)
  if (grant.caller === 'user-token') throw withoutUser()
  return caller
}

const authenticate = (
  request: FastifyRequest,
  { params, endpoint }: { params: Params; endpoint: AuthenticatingEndpoint },
  { authenticator }: OAuthDeps,
): Promise<Caller> =>
  authenticator.authenticate(contextOf(request), { authorization: authorizationOf(request), params, endpoint })

/** Reads a user's token; refuses one without the scope `<service>.user`. */
async function readUser(
  request: FastifyRequest,
  bearer: string,
  { reader, service, behaviour }: OAuthDeps,
): Promise<VerifiedToken> {
  const scope = service.scope('user')
  try {
    const token = await reader.read(request, bearer)
    if (!token.user) throw withoutUser()
    if (!token.scopes.includes(scope)) {
      throw insufficientScope(behaviour.exactCallScope ? [scope] : [service.scope('admin'), scope])
    }
    requireNotExchanged(token.claims)
    return token
  } catch (error) {
    throw inRealm(error, service)
  }
}

const withoutUser = (): OAuthError => new OAuthError('unauthorized', 'Authentication containing a user is required')

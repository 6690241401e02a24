import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authorization } from '../model/authorization.ts'
import { mayUseGrant } from '../model/client.ts'
import type { Client } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { samlEntityIdOf } from '../model/zone.ts'
import type { TokenIssuer } from '../token/issuer.ts'
import { PageError } from '../web/answers.ts'
import { basicChallenge } from '../clients/authentication/authentication.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { AuthenticatingEndpoint } from '../clients/authentication/method.ts'
import type { Grant, GrantDeps } from './grants/grant.ts'
import { GRANTS } from './grants/grants.ts'
import { password } from './grants/password.ts'
import { azAttrOf, parseParams } from './params.ts'
import type { Params } from './params.ts'
import { createCallerFinder } from './token-caller.ts'
import { formOf } from './transport.ts'

/** What the token endpoint needs. */
export interface TokenEndpointDeps extends GrantDeps {
  readonly authenticator: ClientAuthenticator
  readonly issuer: TokenIssuer
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
}

const ENDPOINT: AuthenticatingEndpoint = { path: '/oauth/token', allowsNone: true, allowsAssertion: true }

const ALIAS = '/oauth/token/alias'

const ROUTE = { exposeHeadRoute: false, config: { access: { by: 'client' }, audience: 'api' } } as const

/** `POST /oauth/token` (RFC 6749 §3.2), and the same at the address that SAML assertions are made out to (RFC 7522). */
export function tokenEndpoint(app: FastifyInstance, deps: TokenEndpointDeps): void {
  const { behaviour, service } = deps
  const findCaller = createCallerFinder(deps)
  const mayHaveQuery = !behaviour.refuseEveryQuery
  const none = service.scope('none')

  async function grantOf(
    { zone, headers, ip }: FastifyRequest,
    params: Params,
    endpoint: AuthenticatingEndpoint,
  ): Promise<Grant> {
    const type = params.get('grant_type')
    // UAA: who comes is asked before what they want. See docs/compatibility.md, C11.
    if (!behaviour.grantBeforeClient && !GRANTS.some(grant => grant.type === type)) {
      await deps.authenticator.authenticate(zone, { authorization: headers.authorization, params, endpoint }, ip)
    }
    return findGrant(type, deps)
  }

  const isWithoutScopes = ({ scope }: Client): boolean =>
    !behaviour.grantBeforeScope && scope.every(name => name === none)

  /** UAA verifies the password first; that would let any client try passwords. See docs/compatibility.md, C11. */
  const withoutScopes = (): OAuthError =>
    new OAuthError('invalid_scope', `[${none}] is invalid. This user is not allowed any of the requested scopes`, {
      challenge: basicChallenge(service),
    })

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: AuthenticatingEndpoint,
  ): Promise<FastifyReply> {
    const { zone, ip: remoteAddress } = request
    const params = parseParams(formOf(request, deps.settings, { mayHaveQuery }), deps.behaviour)
    const grant = await grantOf(request, params, endpoint)
    const { client, claim, bearer } = await findCaller(request, params, { grant, endpoint })
    if (grant === password && isWithoutScopes(client)) throw withoutScopes()
    if (!mayUseGrant(client, grant.type))
      throw new OAuthError(deps.behaviour.grantNotAllowed, 'Unauthorized grant type')
    const { method } = request
    const { accept } = request.headers
    const asked = { zone, client, params, clientAuthMethod: claim, bearer, remoteAddress, method, accept }
    const authorization = await grant.authorize(asked, deps)
    const tokens = await deps.issuer.issue(withRequestClaims(authorization, params, deps), remoteAddress)
    return reply.type('application/json;charset=UTF-8').send(JSON.stringify(tokens))
  }

  // UAA: GET is treated like POST. See docs/compatibility.md, C5.
  const method = deps.settings.queryString ? ['GET', 'POST'] : ['POST']
  const handler = (request: FastifyRequest, reply: FastifyReply) => answer(request, reply, ENDPOINT)
  app.route({ ...ROUTE, method, url: '/oauth/token', handler })
  app.route<{ Params: { entity: string } }>({ ...ROUTE, method, url: `${ALIAS}/:entity`, handler: answerAtAlias })

  function answerAtAlias(
    request: FastifyRequest<{ Params: { entity: string } }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { entity } = request.params
    if (entity !== samlEntityIdOf(request.zone, deps.samlEntityId)) {
      throw new PageError(404, 'There is no such entity id here.')
    }
    const path = `${ALIAS}/${encodeURIComponent(entity)}`
    // UAA: takes no signed assertion of the client here. See docs/compatibility.md, C1.
    return answer(request, reply, { path, allowsNone: false, allowsAssertion: deps.behaviour.assertionsEverywhere })
  }
}

/** What any request may give along for its tokens; a refresh goes on with what the first one gave. */
function withRequestClaims(
  authorization: Authorization,
  params: Params,
  { behaviour }: { behaviour: Behaviour },
): Authorization {
  if (authorization.refreshed) return authorization
  const azAttr = azAttrOf(params)
  const nonce = behaviour.ignoreTokenNonce ? undefined : params.get('nonce')
  if (azAttr === undefined && nonce === undefined) return authorization
  return { ...authorization, ...(azAttr && { azAttr }), ...(nonce !== undefined && { nonce }) }
}

function findGrant(type: string | undefined, { behaviour }: GrantDeps): Grant {
  if (type === undefined) throw new OAuthError('invalid_request', 'Missing grant type')
  if (type === 'implicit') {
    throw new OAuthError(behaviour.implicitAtToken, 'Implicit grant type not supported from token endpoint')
  }
  const grant = GRANTS.find(each => each.type === type)
  if (!grant) throw new OAuthError('unsupported_grant_type', 'Unsupported grant type')
  return grant
}

import type { FastifyInstance } from 'fastify'
import { mayUseGrant } from '../model/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { TokenIssuer } from '../token/issuer.ts'
import { bodyForm } from '../web/route.ts'
import type { AuthenticatingEndpoint, ClientAuthenticator } from './client-auth/client-auth.ts'
import { authorizationCode } from './grants/authorization-code.ts'
import { clientCredentials } from './grants/client-credentials.ts'
import type { Grant, GrantDeps } from './grants/grant.ts'
import { password } from './grants/password.ts'
import { refreshToken } from './grants/refresh-token.ts'
import { parseParams } from './params.ts'
import { NO_POST, refuseMethods } from './refuse-methods.ts'

/** Every grant of the token endpoint; discovery and the client API's validation read the same list. */
export const GRANTS: readonly Grant[] = [authorizationCode, clientCredentials, password, refreshToken]

/** What the token endpoint needs. */
export interface TokenEndpointDeps extends GrantDeps {
  readonly authenticator: ClientAuthenticator
  readonly issuer: TokenIssuer
}

const ENDPOINT: AuthenticatingEndpoint = { path: '/oauth/token', allowsNone: true, allowsAssertion: true }

/** `POST /oauth/token` (RFC 6749 §3.2). */
export function tokenEndpoint(app: FastifyInstance, deps: TokenEndpointDeps): void {
  app.post('/oauth/token', { config: { access: { by: 'client' }, audience: 'api' } }, async (request, reply) => {
    if (request.url.includes('?')) {
      throw new OAuthError('query_string_not_allowed', 'Parameters must be passed in the body of the request')
    }
    const { zone, ip: remoteAddress } = request
    const params = parseParams(bodyForm(request), deps.behaviour)
    const grant = findGrant(params.get('grant_type'), deps)
    const credentials = { authorization: request.headers.authorization, params, endpoint: ENDPOINT }
    const { client, claim } = await deps.authenticator.authenticate(zone, credentials, remoteAddress)
    if (!mayUseGrant(client, grant.type))
      throw new OAuthError(deps.behaviour.grantNotAllowed, 'Unauthorized grant type')
    const authorization = await grant.authorize({ zone, client, params, clientAuthMethod: claim, remoteAddress }, deps)
    const tokens = await deps.issuer.issue(authorization)
    return reply.type('application/json;charset=UTF-8').send(JSON.stringify(tokens))
  })

  refuseMethods(app, '/oauth/token', { allow: 'POST', refuse: NO_POST })
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

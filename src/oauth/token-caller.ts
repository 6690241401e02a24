// Who calls the token endpoint: a client that proves who it is, or for some grants a user by an access token.
import type { FastifyRequest } from 'fastify'
import type { Client } from '../model/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import type { TokenReader, VerifiedToken } from '../token/reader.ts'
import { bearerHeader, inRealm, insufficientScope } from '../web/authorization-header.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { AuthenticatingEndpoint } from '../clients/authentication/method.ts'
import type { Grant } from './grants/grant.ts'
import type { Params } from './params.ts'

/** A caller that was found genuine. */
export interface Caller {
  /** The client that authenticated, or the one that the user's token was issued to. */
  readonly client: Client
  /** The claim `client_auth_method`; absent when the client proved a real secret. */
  readonly claim?: string
  /** The token of the user who calls. */
  readonly bearer?: VerifiedToken
}

/** Finds callers; throws the refusals of client authentication, or of a bearer of the scope `<service>.user`. */
export function createCallerFinder(deps: {
  authenticator: ClientAuthenticator
  reader: TokenReader
  service: Service
}): (
  request: FastifyRequest,
  params: Params,
  of: { grant: Grant; endpoint: AuthenticatingEndpoint },
) => Promise<Caller> {
  const { authenticator } = deps

  return async (request, params, { grant, endpoint }) => {
    const bearer = grant.caller === 'user-token' ? bearerHeader(request) : undefined
    // Here `client_id` names the client that receives the token: whoever leaves it out calls as a client.
    if (bearer !== undefined && params.get('client_id') !== undefined) {
      const token = await readUser(request, bearer, deps)
      return { client: token.client, bearer: token }
    }
    const credentials = { authorization: request.headers.authorization, params, endpoint }
    const caller = await authenticator.authenticate(request.zone, credentials, request.ip)
    if (grant.caller === 'user-token') throw withoutUser()
    return caller
  }
}

/** The token of a person who lets a program act, of scope `<service>.user`; refuses every other in the bearer's realm. */
async function readUser(
  request: FastifyRequest,
  bearer: string,
  { reader, service }: { reader: TokenReader; service: Service },
): Promise<VerifiedToken> {
  const scope = service.scope('user')
  try {
    const token = await reader.read(request.zone, bearer)
    if (!token.user) throw withoutUser()
    if (!token.scopes.includes(scope)) throw insufficientScope([scope])
    return token
  } catch (error) {
    throw inRealm(error, service)
  }
}

const withoutUser = (): OAuthError => new OAuthError('unauthorized', 'Authentication containing a user is required')

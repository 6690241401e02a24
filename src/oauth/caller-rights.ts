// For endpoints of operators that take either kind of credential: a bearer token, or those of a client.
import type { FastifyRequest } from 'fastify'
import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { TokenReader } from '../token/reader.ts'
import { bearerHeader, inRealm, insufficientScope } from '../web/bearer.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import { parseParams } from './params.ts'

/** Refuses whoever is not an administrator of the whole server, which the default zone alone appoints. */
export function createAdministratorCheck(deps: {
  authenticator: ClientAuthenticator
  reader: TokenReader
  service: Service
  behaviour: Behaviour
}): (request: FastifyRequest, path: string) => Promise<void> {
  const { authenticator, reader, service, behaviour } = deps
  const admin = service.scope('admin')

  /** The default zone's rights of the caller; throws where the credentials are not good. */
  async function rightsOf(request: FastifyRequest, path: string): Promise<readonly string[]> {
    const bearer = bearerHeader(request)
    if (bearer !== undefined) {
      const token = await reader.read(request.zone, bearer)
      return token.client.zoneId === service.name ? token.scopes : []
    }
    const { client } = await authenticator.authenticate(
      request.zone,
      {
        authorization: request.headers.authorization,
        params: parseParams(undefined, behaviour),
        endpoint: { path, allowsNone: false, allowsAssertion: false },
      },
      request.ip,
    )
    return client.zoneId === service.name ? client.authorities : []
  }

  return async (request, path) => {
    try {
      if (!(await rightsOf(request, path)).includes(admin)) throw insufficientScope([admin])
    } catch (error) {
      throw bearerHeader(request) === undefined ? error : inRealm(error, service)
    }
  }
}

import type { FastifyRequest } from 'fastify'
import type { ClientAuthenticator } from '../../clients/authentication/authentication.ts'
import type { ClientAuthRequest } from '../../clients/authentication/method.ts'
import type { Service } from '../../model/service.ts'
import type { TokenReader } from '../../token/reader.ts'
import { bearerHeader, inRealm, insufficientScope } from './authorization-header.ts'
import { authorizationOf } from '../requests/plain-basic.ts'
import { contextOf } from '../requests/request-context.ts'

/** Dependencies of `requireServerAdministrator`. */
export interface ServerAdministratorDeps {
  readonly authenticator: ClientAuthenticator
  readonly reader: TokenReader
  readonly service: Service
}

/**
 * Throws unless the caller administers the whole server, a right that only the default zone grants. Accepts a bearer token,
 * or a client's secret in the header; does not read the body.
 */
export async function requireServerAdministrator(
  request: FastifyRequest,
  path: string,
  deps: ServerAdministratorDeps,
): Promise<void> {
  const admin = deps.service.scope('admin')
  try {
    if (!(await rightsOf(request, path, deps)).includes(admin)) throw insufficientScope([admin])
  } catch (error) {
    throw bearerHeader(request) === undefined ? error : inRealm(error, deps.service)
  }
}

/** The caller's rights in the default zone; throws for bad credentials. */
async function rightsOf(
  request: FastifyRequest,
  path: string,
  { authenticator, reader, service }: ServerAdministratorDeps,
): Promise<readonly string[]> {
  const bearer = bearerHeader(request)
  if (bearer !== undefined) {
    const token = await reader.read(request, bearer)
    return token.client.zoneId === service.name ? token.scopes : []
  }
  const credentials: ClientAuthRequest = {
    authorization: authorizationOf(request),
    params: { get: () => undefined, raw: () => undefined },
    endpoint: { path, allowsNone: false, allowsAssertion: false },
  }
  const { client } = await authenticator.authenticate(contextOf(request), credentials)
  return client.zoneId === service.name ? client.authorities : []
}

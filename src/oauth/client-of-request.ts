// For endpoints of other areas that a client calls by its own credentials.
import type { FastifyRequest } from 'fastify'
import type { Behaviour } from '../model/compatibility.ts'
import type { Client } from '../model/client.ts'
import type { TokenSettings } from '../model/settings.ts'
import { bodyForm } from '../web/route.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import { parseParams } from './params.ts'
import { formOf } from './transport.ts'

/** Authenticates the client of a request to the path as the token endpoint does; one without a credential is refused. */
export function createClientOfRequest(deps: {
  authenticator: ClientAuthenticator
  behaviour: Behaviour
  settings: TokenSettings
}): (request: FastifyRequest, path: string) => Promise<Client> {
  const { authenticator, behaviour, settings } = deps
  return async (request, path) => {
    // What stands in a query has no meaning here, unless credentials are wanted there.
    const params = parseParams(settings.queryString ? formOf(request, settings) : bodyForm(request), behaviour)
    const endpoint = { path, allowsNone: false, allowsAssertion: behaviour.assertionsEverywhere }
    const { authorization } = request.headers
    return (await authenticator.authenticate(request.zone, { authorization, params, endpoint }, request.ip)).client
  }
}

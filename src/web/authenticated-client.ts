import type { FastifyRequest } from 'fastify'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { Client } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { TokenSettings } from '../model/settings.ts'
import { EMPTY_FORM, joinForms } from './form.ts'
import { queryForm, refuseRepeated } from './query.ts'
import { bodyForm } from './route.ts'
import { authorizationOf } from './plain-basic.ts'

/** What authenticating clients outside of the OAuth endpoints depends on. */
export interface AuthenticatedClientDeps {
  readonly authenticator: ClientAuthenticator
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
}

/**
 * Authenticates the client of a request to the path by its own credentials, in the header or in the body; the query counts
 * only where the settings allow secrets in URLs. Throws the refusals of client authentication.
 */
export async function authenticatedClient(
  request: FastifyRequest,
  path: string,
  { authenticator, behaviour, settings }: AuthenticatedClientDeps,
): Promise<Client> {
  const body = bodyForm(request) ?? EMPTY_FORM
  const form = settings.queryString ? joinForms(queryForm(request), body) : body
  refuseRepeated(form, form.repeated, behaviour)
  const { client } = await authenticator.authenticate(
    request.zone,
    {
      authorization: authorizationOf(request),
      params: { get: name => form.get(name) || undefined, raw: name => form.get(name) },
      endpoint: { path, allowsNone: false, allowsAssertion: behaviour.assertionsEverywhere },
    },
    request.ip,
  )
  return client
}

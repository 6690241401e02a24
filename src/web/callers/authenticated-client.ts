import type { FastifyRequest } from 'fastify'
import type { ClientAuthenticator } from '../../clients/authentication/authentication.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import { joinForms } from '../requests/form.ts'
import { queryForm, refuseRepeated } from '../requests/query.ts'
import { postedForm } from '../route.ts'
import { authorizationOf } from '../requests/plain-basic.ts'
import { contextOf } from '../requests/request-context.ts'

/** Dependencies of `authenticatedClient`, for endpoints outside of `/oauth`. */
export interface AuthenticatedClientDeps {
  readonly authenticator: ClientAuthenticator
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
}

/**
 * Authenticates a client by its credentials in the header or body, or in the query if the settings allow secrets in URLs.
 * Throws an `OAuthError` for missing, repeated or wrong credentials.
 */
export async function authenticatedClient(
  request: FastifyRequest,
  path: string,
  { authenticator, behaviour, settings }: AuthenticatedClientDeps,
): Promise<Client> {
  const body = postedForm(request)
  const form = settings.queryString ? joinForms(queryForm(request), body) : body
  refuseRepeated(form, form.repeated, behaviour)
  const { client } = await authenticator.authenticate(contextOf(request), {
    authorization: authorizationOf(request),
    params: { get: name => form.get(name) || undefined, raw: name => form.get(name) },
    endpoint: { path, allowsNone: false, allowsAssertion: behaviour.assertionsEverywhere },
  })
  return client
}

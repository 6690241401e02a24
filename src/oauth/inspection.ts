// What introspection and its predecessor /check_token share: who may inspect a token, and which claims are shown.
import type { FastifyRequest } from 'fastify'
import type { Client } from '../model/clients/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { bearerHeader, inRealm, insufficientScope } from '../web/callers/authorization-header.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { contextOf } from '../web/requests/request-context.ts'
import type { Params } from './params.ts'
import type { OAuthDeps } from './deps.ts'

/** Claims that the inspection endpoints show, in this order. */
const SHOWN = [
  'user_id',
  'user_name',
  'email',
  'client_id',
  'exp',
  'authorities',
  'scope',
  'jti',
  'aud',
  'sub',
  'iss',
  'iat',
  'cid',
  'grant_type',
  'azp',
  'auth_time',
  'amr',
  'acr',
  'zid',
  'rev_sig',
  'nonce',
  'origin',
  'az_attr',
  'ext_attr',
  'client_auth_method',
  'cnf',
  'act',
] as const

/** Returns the caller: a client with the resource authority, by its credentials, or for introspection by a token of its own. */
export async function requireInspector(
  request: FastifyRequest,
  { params, basicOnly = false }: { readonly params: Params; readonly basicOnly?: boolean },
  { reader, authenticator, service, behaviour }: OAuthDeps,
): Promise<Client> {
  const authority = service.scope('resource')
  const refusal = (): OAuthError =>
    behaviour.reportInspectorScope
      ? insufficientScope([authority])
      : new OAuthError('access_denied', 'Access is denied')
  const bearer = basicOnly ? undefined : bearerHeader(request)
  if (bearer !== undefined) {
    const { user, scopes, client } = await reader.read(request, bearer).catch((error: unknown) => {
      throw inRealm(error, service)
    })
    if (!user && scopes.includes(authority)) return client
    throw refusal()
  }
  const allowsAssertion = !basicOnly && behaviour.assertionsEverywhere
  const endpoint = { path: basicOnly ? '/check_token' : '/introspect', allowsNone: false, allowsAssertion }
  const credentials = { authorization: authorizationOf(request), params, endpoint }
  const { client } = await authenticator.authenticate(contextOf(request), credentials)
  if (client.authorities.includes(authority)) return client
  throw refusal()
}

/** Whether the token has a row, which can be revoked. */
export const isRevocable = ({ stored }: VerifiedToken): boolean => stored !== undefined

/** The claims of the token that are shown. */
export function shownClaims({ claims }: VerifiedToken): Record<string, unknown> {
  return Object.fromEntries(SHOWN.map(name => [name, claims[name]]))
}

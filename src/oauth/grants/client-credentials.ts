import type { Authorization } from '../../model/tokens/authorization.ts'
import { clientScopes, parseScope } from '../../model/tokens/scopes.ts'
import { tokenFormatOf } from '../params.ts'
import type { DecidedRequest, Grant } from './grant.ts'

/** A client acts for itself (RFC 6749 §4.4). */
export const clientCredentials: Grant = {
  type: 'client_credentials',
  caller: 'client',
  authorize: request => Promise.resolve(authorizeClient(request)),
}

/** What the client gets for itself. */
export function authorizeClient({ zone, client, params, clientAuthMethod, because }: DecidedRequest): Authorization {
  return {
    zone,
    client,
    grantType: 'client_credentials',
    subject: { kind: 'client' },
    scopes: clientScopes(client, parseScope(params.get('scope')), because),
    tokens: ['access_token'], // RFC 6749 §4.4.3: no refresh token
    format: tokenFormatOf(params),
    clientAuthMethod,
  }
}

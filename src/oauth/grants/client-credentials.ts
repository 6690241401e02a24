import { clientScopes, parseScope } from '../../model/scopes.ts'
import { tokenFormatOf } from '../params.ts'
import type { Grant } from './grant.ts'

/** A client acts for itself (RFC 6749 §4.4). */
export const clientCredentials: Grant = {
  type: 'client_credentials',
  caller: 'client',
  authorize({ zone, client, params, clientAuthMethod }) {
    return Promise.resolve({
      zone,
      client,
      grantType: 'client_credentials',
      subject: { kind: 'client' },
      scopes: clientScopes(client, parseScope(params.get('scope'))),
      tokens: ['access_token'], // RFC 6749 §4.4.3: no refresh token
      format: tokenFormatOf(params),
      clientAuthMethod,
    })
  },
}

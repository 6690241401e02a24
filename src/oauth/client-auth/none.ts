import { isPublic } from '../../model/client.ts'
import { isWellFormed } from '../pkce.ts'
import type { Params } from '../params.ts'
import type { ClientAuthMethod } from './client-auth.ts'

/** No credential: for clients with `allowpublic`, which prove themselves by PKCE or by a rotating refresh token. */
export const none: ClientAuthMethod = {
  name: 'none',
  read({ authorization, params, endpoint }) {
    const clientId = params.get('client_id')
    const bare = authorization === undefined && params.raw('client_secret') === undefined
    return endpoint.allowsNone && bare && clientId !== undefined && carriesProof(params)
      ? { clientId, secret: '' }
      : undefined
  },
  verify: (_, client) => Promise.resolve(isPublic(client)),
}

function carriesProof(params: Params): boolean {
  switch (params.get('grant_type')) {
    case 'authorization_code':
      return params.get('code') !== undefined && isWellFormed(params.get('code_verifier') ?? '')
    case 'refresh_token':
      return params.get('refresh_token') !== undefined
    default:
      return false
  }
}

import { isPublic } from '../../model/clients/client.ts'
import { isWellFormed } from '../../model/tokens/pkce.ts'
import { carriesAssertion } from './client-assertion.ts'
import type { ClientAuthMethod, CredentialParams } from './method.ts'
import { DEVICE_CODE } from '../../model/clients/grant-types.ts'

/** No credential: for clients with `allowpublic`, whose requests carry a PKCE verifier or a rotating refresh token. */
export const none: ClientAuthMethod = {
  name: 'none',
  recognises(request) {
    const { authorization, params, endpoint, certificate } = request
    const bare = authorization === undefined && params.raw('client_secret') === undefined
    const isNamed = params.get('client_id') !== undefined
    return (
      certificate === undefined && // the client's record says what it is for
      endpoint.allowsNone &&
      bare &&
      isNamed &&
      !carriesAssertion(request) &&
      carriesProof(endpoint.path, params)
    )
  },
  read: ({ params }) => ({
    clientId: params.get('client_id') ?? '',
    clientAuthMethod: 'none',
    verify: client => Promise.resolve(client !== undefined && isPublic(client)),
  }),
}

function carriesProof(path: string, params: CredentialParams): boolean {
  // RFC 8628 §3.1: the codes that it gets are useless until a user approves the request.
  if (path === '/oauth/device_authorization') return true
  if (path === '/oauth/revoke') return true // RFC 7009 §2.1: the client named must be the one that the token was issued to
  if (path === '/oauth/par') return true // RFC 9126 §2: it reveals nothing that a browser could not request itself
  switch (params.get('grant_type')) {
    case 'authorization_code':
      return params.get('code') !== undefined && isWellFormed(params.get('code_verifier') ?? '')
    case 'refresh_token':
      return params.get('refresh_token') !== undefined
    case DEVICE_CODE:
      return true // without a code the grant itself refuses the request
    default:
      return false
  }
}

// Why a client is not authenticated, with the challenge that the refusal carries.
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Service } from '../../model/service.ts'
import type { ClientAuthDeps, ClientAuthRequest } from './method.ts'

/** The challenge of client authentication (RFC 7617 §2); UAA adds the failure, always under the same code. */
export const basicChallenge = ({ clientRealm }: Service, failure?: string): string =>
  `Basic realm="${clientRealm}"${failure === undefined ? '' : `, error="unauthorized", error_description="${failure}"`}`

/** The refusals of client authentication. */
export function createRefusals({
  service,
  store,
  behaviour,
}: Pick<ClientAuthDeps, 'store' | 'behaviour'> & { readonly service: Service }) {
  // UAA: the header says "Bad credentials" regardless of the body.
  const challenge = basicChallenge(service, 'Bad credentials')
  const badClient = (description: string): OAuthError => new OAuthError('invalid_client', description, { challenge })

  /** Adds the challenge of client authentication to a refusal, and the client to its detail; rethrows anything else. */
  function challenged(cause: unknown, client?: Client): OAuthError {
    if (!(cause instanceof OAuthError)) throw cause
    const isNamed = client !== undefined && cause.detail !== undefined
    const detail = isNamed ? `client ${client.clientId}: ${cause.detail}` : cause.detail
    return new OAuthError('invalid_client', cause.message, { challenge, detail, cause })
  }

  /** The refusal without a usable credential. That a client has no secret is public: /oauth/authorize shows it too. */
  async function missingCredential(
    { id }: AddressedZone,
    { authorization, params, endpoint }: ClientAuthRequest,
  ): Promise<OAuthError> {
    const clientId = params.get('client_id')
    if (clientId !== undefined && authorization === undefined) {
      const client = await store.clients.find(id, clientId)
      return badClient(client?.secrets.length === 0 ? 'Missing credentials' : 'Bad credentials')
    }
    const isToken = endpoint.path.startsWith('/oauth/token')
    if (isToken && authorization === undefined && !behaviour.reportMissingCredentials) {
      return badClient('Bad credentials')
    }
    const description = behaviour.reportMissingCredentials
      ? 'The request has no client credentials'
      : 'An Authentication object was not found in the SecurityContext'
    return new OAuthError(behaviour.missingClientCredentials, description, {
      challenge: basicChallenge(service, behaviour.bareChallenge ? undefined : description),
    })
  }

  return { badClient, challenged, missingCredential }
}

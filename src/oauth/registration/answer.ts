// The response about a registered client (RFC 7591 §3.2.1, RFC 7592 §3).
import { epochSeconds } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Client } from '../../model/clients/client.ts'
import { clientMetadataFields } from '../../records/client-metadata.ts'
import { clientFields } from '../../records/client.ts'
import { showRecord } from '../../records/record.ts'

/** Values of the response that the stored client does not have. */
interface AnswerFacts {
  /** `registration_client_uri`. */
  readonly uri: string
  readonly token: string
  /** A new secret; an existing one is stored as a hash, and never returned again. */
  readonly secret?: string | undefined
  readonly noneScope: string
  readonly substitutes: SubstituteAlgorithms
}

/** The algorithms that it gets instead of those it registered, or of the default of the standards. */
export interface SubstituteAlgorithms {
  readonly idToken?: string | undefined
  readonly response?: string | undefined
}

const METADATA = Object.fromEntries(
  Object.entries(clientFields).filter(
    ([name]) => Object.hasOwn(clientMetadataFields, name) || name === 'postLogoutRedirectUris',
  ),
) as Pick<typeof clientFields, keyof typeof clientMetadataFields | 'postLogoutRedirectUris'> // the filter says so

/** The client information response. */
export function clientInformation(client: Client, { uri, token, secret, noneScope, substitutes }: AnswerFacts): object {
  const { jwks, jwksUri, name, registration } = client
  return {
    client_id: client.clientId,
    client_id_issued_at: epochSeconds(client.createdAt),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: token,
    registration_client_uri: uri,
    ...(name !== undefined && { client_name: name }),
    redirect_uris: client.redirectUris,
    grant_types: client.authorizedGrantTypes,
    response_types: registration?.responseTypes ?? [],
    scope: client.scope.filter(scope => scope !== noneScope).join(' '),
    ...showRecord(METADATA, client),
    ...(substitutes.idToken !== undefined && { id_token_signed_response_alg: substitutes.idToken }),
    ...(substitutes.response !== undefined && { authorization_signed_response_alg: substitutes.response }),
    ...(jwks !== undefined && { jwks: parseJson(jwks) }),
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
  }
}

// The pure rules of clients; the record itself is described in records/client.ts.
import type { Client, ClientSecret } from '../../records/client.ts'

export type { Client, ClientSecret, Registration } from '../../records/client.ts'

/** Whether the client was given the grant type. */
export const mayUseGrant = (client: Client, grantType: string): boolean =>
  client.authorizedGrantTypes.includes(grantType)

/** Whether the client has keys, a certificate, trust in another issuer, or a non-empty secret. */
export const hasCredential = (
  client: Pick<Client, 'tokenEndpointAuthMethod' | 'jwks' | 'jwksUri' | 'jwtCreds'> & {
    readonly secrets: readonly Pick<ClientSecret, 'empty'>[]
  },
): boolean =>
  client.tokenEndpointAuthMethod === 'tls_client_auth' ||
  client.jwks !== undefined ||
  client.jwksUri !== undefined ||
  client.jwtCreds !== undefined ||
  client.secrets.some(secret => secret.empty !== true)

/** Whether the client may be public, that is, authenticate with `none`. */
export const isPublic = (client: Client): boolean => client.allowPublic === true

/** The error description for a user of a provider that the client does not allow. */
export const PROVIDER_BARRED = "Client is not authorized for specified user's identity provider."

/** Whether users of the provider with this origin may use the client. */
export const allowsProvider = (client: Client, origin: string): boolean =>
  client.allowedProviders === undefined || client.allowedProviders.includes(origin)

/** The name shown to users. */
export const displayName = (client: Client): string => client.name ?? client.clientId

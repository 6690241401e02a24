// The wire's form of a stored client. Nothing that proves who the client is ever stands in it: no secret, no keys.
import type { Client } from './client.ts'

/** Whether a member of the record is left out: a list of clients does not tell the groups that each one demands. */
export interface ClientView {
  readonly inList?: boolean
}

/**
 * A stored client as the API answers it. `redirect_uri`, lifetimes, `name` and their like are absent where they were
 * never set; `autoapprove` is `["true"]` where everything is approved.
 */
export const clientToJson = (
  client: Client,
  { inList = false }: ClientView = {},
): Readonly<Record<string, unknown>> => ({
  ...client.additional,
  client_id: client.clientId,
  scope: client.scope,
  resource_ids: ['none'],
  authorized_grant_types: client.authorizedGrantTypes,
  ...(client.redirectUris.length > 0 && { redirect_uri: client.redirectUris }),
  autoapprove: client.autoapprove === true ? ['true'] : client.autoapprove,
  authorities: client.authorities,
  ...(client.accessTokenSeconds !== undefined && { access_token_validity: client.accessTokenSeconds }),
  ...(client.refreshTokenSeconds !== undefined && { refresh_token_validity: client.refreshTokenSeconds }),
  ...(client.allowPublic !== undefined && { allowpublic: client.allowPublic }),
  ...(client.name !== undefined && { name: client.name }),
  ...(client.allowedProviders !== undefined && { allowedproviders: client.allowedProviders }),
  ...(client.tokenSalt !== undefined && { token_salt: client.tokenSalt }),
  ...(!inList && { required_user_groups: client.requiredUserGroups }),
  lastModified: client.updatedAt.getTime(),
})

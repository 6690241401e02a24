// Clients between records and rows.
import type { ClientMetadata } from '../model/client-metadata.ts'
import type { Client, ClientSecret } from '../model/client.ts'
import { flag, fromJson, toJson, withoutNulls } from './rows.ts'
import type { ClientRow, Flag } from './schema.ts'

/** A client as it is kept. */
export const toClientRow = (zoneId: string, client: Client): ClientRow => ({
  zone_id: zoneId,
  client_id: client.clientId,
  secrets: toJson(client.secrets),
  authorized_grant_types: toJson(client.authorizedGrantTypes),
  redirect_uris: toJson(client.redirectUris),
  scope: toJson(client.scope),
  authorities: toJson(client.authorities),
  autoapprove: toJson(client.autoapprove),
  allow_public: client.allowPublic === undefined ? null : flag(client.allowPublic),
  access_token_seconds: client.accessTokenSeconds ?? null,
  refresh_token_seconds: client.refreshTokenSeconds ?? null,
  name: client.name ?? null,
  allowed_providers: client.allowedProviders === undefined ? null : toJson(client.allowedProviders),
  required_user_groups: toJson(client.requiredUserGroups),
  token_salt: client.tokenSalt ?? null,
  incarnation: client.incarnation ?? null,
  jwks: client.jwks ?? null,
  jwks_uri: client.jwksUri ?? null,
  additional: toJson(client.additional),
  created_at: client.createdAt.getTime(),
  updated_at: client.updatedAt.getTime(),
})

/** A client as it is used. */
export const toClient = (row: ClientRow): Client =>
  withoutNulls<Client>({
    zoneId: row.zone_id,
    clientId: row.client_id,
    secrets: fromJson<readonly ClientSecret[]>(row.secrets),
    authorizedGrantTypes: fromJson<readonly string[]>(row.authorized_grant_types),
    redirectUris: fromJson<readonly string[]>(row.redirect_uris),
    scope: fromJson<readonly string[]>(row.scope),
    authorities: fromJson<readonly string[]>(row.authorities),
    autoapprove: fromJson<true | readonly string[]>(row.autoapprove),
    allowPublic: row.allow_public === null ? null : row.allow_public === 1,
    accessTokenSeconds: row.access_token_seconds,
    refreshTokenSeconds: row.refresh_token_seconds,
    name: row.name,
    allowedProviders: row.allowed_providers === null ? null : fromJson<readonly string[]>(row.allowed_providers),
    requiredUserGroups: fromJson<readonly string[]>(row.required_user_groups),
    tokenSalt: row.token_salt,
    incarnation: row.incarnation,
    jwks: row.jwks,
    jwksUri: row.jwks_uri,
    additional: fromJson<Readonly<Record<string, unknown>>>(row.additional),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  })

/** The columns of a client that are no part of its record. */
export interface MetadataRow {
  client_id: string
  name: string | null
  show_on_home_page: Flag
  app_launch_url: string | null
  app_icon: string | null
  created_by: string | null
}

/** How a client is shown. */
export const toMetadata = (row: MetadataRow): ClientMetadata =>
  withoutNulls<ClientMetadata>({
    clientId: row.client_id,
    clientName: row.name,
    showOnHomePage: row.show_on_home_page === 1,
    appLaunchUrl: row.app_launch_url,
    appIcon: row.app_icon,
    createdBy: row.created_by,
  })

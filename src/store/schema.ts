// The rows and columns of each table. An absent member of a record is null here. Every key begins with the zone; expired
// rows are found by an index on `expires_at`.
import { approvalFields } from '../records/approval.ts'
import type { ApprovalRow } from '../records/approval.ts'
import { columnsOf } from '../records/record.ts'
import { groupFields } from '../records/group.ts'
import type { GroupFieldsRow } from '../records/group.ts'
import { userFields } from '../records/user.ts'
import type { UserFieldsRow } from '../records/user.ts'
import { providerFields } from '../records/provider.ts'

/** 0 or 1: PostgreSQL takes no boolean for an integer column, SQLite has none. */
export type Flag = 0 | 1

/** A zone; looked up by `subdomain_lower`. */
export interface ZoneRow {
  id: string
  subdomain: string
  subdomain_lower: string
  name: string
  description: string | null
  active: Flag
  version: number
  config: string
  created_at: number
  updated_at: number
}
/** Columns of `zones`. */
export const ZONE_COLUMNS = [
  'id',
  'subdomain',
  'subdomain_lower',
  'name',
  'description',
  'active',
  'version',
  'config',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof ZoneRow)[]

/** A user; `user_name_lower`, which has the Unicode form of `userNameKey`, is unique with the origin. */
export interface UserRow extends UserFieldsRow {
  user_name_lower: string
}
/** Columns of `users`. */
export const USER_COLUMNS: readonly (keyof UserRow)[] = [...columnsOf(userFields), 'user_name_lower']

/** A passkey of a user; `id` is ours, `credential_id` the authenticator's. */
export interface PasskeyRow {
  zone_id: string
  credential_id: string
  id: string
  user_id: string
  public_key: string
  counter: number
  transports: string
  aaguid: string
  is_backup_eligible: Flag | null
  is_backed_up: Flag
  is_attested: Flag
  has_verified_user: Flag | null
  name: string
  created_at: number
  last_used_at: number | null
}
/** Columns of `passkeys`. */
export const PASSKEY_COLUMNS = [
  'zone_id',
  'credential_id',
  'id',
  'user_id',
  'public_key',
  'counter',
  'transports',
  'aaguid',
  'is_backup_eligible',
  'is_backed_up',
  'is_attested',
  'has_verified_user',
  'name',
  'created_at',
  'last_used_at',
] as const satisfies readonly (keyof PasskeyRow)[]

/** The secret of a user's one-time passwords; `last_step` is the last time step that was used. */
export interface TotpRow {
  zone_id: string
  user_id: string
  sealed_secret: string
  last_step: number
  created_at: number
  last_used_at: number | null
}
/** Columns of `totp_secrets`. */
export const TOTP_COLUMNS = [
  'zone_id',
  'user_id',
  'sealed_secret',
  'last_step',
  'created_at',
  'last_used_at',
] as const satisfies readonly (keyof TotpRow)[]

/** A code that stands in for a second factor once. */
export interface FactorCodeRow {
  zone_id: string
  user_id: string
  code_digest: string
  kind: string
  created_at: number
  expires_at: number | null
}
/** Columns of `factor_codes`. */
export const FACTOR_CODE_COLUMNS = [
  'zone_id',
  'user_id',
  'code_digest',
  'kind',
  'created_at',
  'expires_at',
] as const satisfies readonly (keyof FactorCodeRow)[]

/** An e-mail address or telephone number of a user, for filters; `attribute` is SCIM's name. */
export interface UserValueRow {
  zone_id: string
  user_id: string
  attribute: string
  position: number
  value: string
  value_lower: string
  type: string | null
  is_primary: Flag
}
/** Columns of `user_values`. */
export const USER_VALUE_COLUMNS = [
  'zone_id',
  'user_id',
  'attribute',
  'position',
  'value',
  'value_lower',
  'type',
  'is_primary',
] as const satisfies readonly (keyof UserValueRow)[]

/** A group; `display_name_lower` is unique. */
export interface GroupRow extends GroupFieldsRow {
  display_name_lower: string
}
/** Columns of `groups`. */
export const GROUP_COLUMNS: readonly (keyof GroupRow)[] = [...columnsOf(groupFields), 'display_name_lower']

/** Membership of a user or a group in a group. */
export interface GroupMemberRow {
  zone_id: string
  group_id: string
  member_id: string
  member_type: string
  origin: string
}
/** Columns of `group_members`. */
export const GROUP_MEMBER_COLUMNS = [
  'zone_id',
  'group_id',
  'member_id',
  'member_type',
  'origin',
] as const satisfies readonly (keyof GroupMemberRow)[]

/** Mapping of a provider's group to a group of the zone. */
export interface ExternalGroupRow {
  zone_id: string
  group_id: string
  origin: string
  external_group: string
  created_at: number | null
}
/** Columns of `external_groups`. */
export const EXTERNAL_GROUP_COLUMNS = [
  'zone_id',
  'group_id',
  'origin',
  'external_group',
  'created_at',
] as const satisfies readonly (keyof ExternalGroupRow)[]

/** Columns of `identity_providers`. */
export const PROVIDER_COLUMNS = columnsOf(providerFields)

/** A signing key; at most one of a zone is active. */
export interface SigningKeyRow {
  zone_id: string
  key_id: string
  algorithm: string
  sealed_private_key: string | null
  /** Empty for a shared secret. */
  public_key: string
  certificate: string | null
  active: Flag
  created_at: number
  expires_at: number | null
}
/** Columns of `signing_keys`. */
export const SIGNING_KEY_COLUMNS = [
  'zone_id',
  'key_id',
  'algorithm',
  'sealed_private_key',
  'public_key',
  'certificate',
  'active',
  'created_at',
  'expires_at',
] as const satisfies readonly (keyof SigningKeyRow)[]

/** Columns of `approvals`. */
export const APPROVAL_COLUMNS: readonly (keyof ApprovalRow)[] = columnsOf(approvalFields)

/** An authorization code; used ones are kept for a while, for reuse detection. */
export interface CodeRow {
  zone_id: string
  code_digest: string
  client_id: string
  user_id: string
  redirect_uri: string | null
  scopes: string
  code_challenge: string | null
  code_challenge_method: string | null
  nonce: string | null
  token_format: string | null
  authenticated_at: number
  amr: string
  acr: string | null
  session_id: string | null
  grant_id: string
  az_attr: string | null
  rev_sig: string | null
  jkt: string | null
  resources: string | null
  expires_at: number
  kept_until: number
  used_at: number | null
}
/** Columns of `authorization_codes`. */
export const CODE_COLUMNS = [
  'zone_id',
  'code_digest',
  'client_id',
  'user_id',
  'redirect_uri',
  'scopes',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'token_format',
  'authenticated_at',
  'amr',
  'acr',
  'session_id',
  'grant_id',
  'az_attr',
  'rev_sig',
  'jkt',
  'resources',
  'expires_at',
  'kept_until',
  'used_at',
] as const satisfies readonly (keyof CodeRow)[]

/** A stored token. */
export interface TokenRow {
  zone_id: string
  id_digest: string
  kind: string
  format: string
  client_id: string
  user_id: string | null
  grant_id: string | null
  claims: string
  used_at: number | null
  issued_at: number
  expires_at: number
}
/** Columns of `tokens`. */
export const TOKEN_COLUMNS = [
  'zone_id',
  'id_digest',
  'kind',
  'format',
  'client_id',
  'user_id',
  'grant_id',
  'claims',
  'used_at',
  'issued_at',
  'expires_at',
] as const satisfies readonly (keyof TokenRow)[]

/**
 * A browser session. In an anonymous one `user_id`, the eleven columns after it and `clients` are null.
 * `clients` has one JSON string per line, so that a client is added without reading the others.
 */
export interface SessionRow {
  zone_id: string
  id_digest: string
  user_id: string | null
  origin: string | null
  authenticated_at: number | null
  is_time_unknown: Flag | null
  was_demanded: Flag | null
  amr: string | null
  acr: string | null
  session_salt: string | null
  user_agent: string | null
  remote_address: string | null
  provider_session: string | null
  by_path: Flag | null
  password_revision: string | null
  clients: string | null
  saved_request: string | null
  pending_approval: string | null
  created_at: number
  last_seen_at: number
  expires_at: number
}
/** Columns of `sessions`. */
export const SESSION_COLUMNS = [
  'zone_id',
  'id_digest',
  'user_id',
  'origin',
  'authenticated_at',
  'is_time_unknown',
  'was_demanded',
  'amr',
  'acr',
  'session_salt',
  'user_agent',
  'remote_address',
  'provider_session',
  'by_path',
  'password_revision',
  'clients',
  'saved_request',
  'pending_approval',
  'created_at',
  'last_seen_at',
  'expires_at',
] as const satisfies readonly (keyof SessionRow)[]

/** A session as it is inserted: the provider's ID token is large, and read when it is needed only. */
export interface InsertedSessionRow extends SessionRow {
  sealed_id_token: string | null
}

/** A one-time code. */
export interface OneTimeCodeRow {
  zone_id: string
  purpose: string
  code_digest: string
  /** Unique in the zone; null where an account may have several. */
  slot: string | null
  user_id: string | null
  password_revision: string | null
  data: string | null
  expires_at: number
}
/** Columns of `one_time_codes`. */
export const ONE_TIME_CODE_COLUMNS = [
  'zone_id',
  'purpose',
  'code_digest',
  'slot',
  'user_id',
  'password_revision',
  'data',
  'expires_at',
] as const satisfies readonly (keyof OneTimeCodeRow)[]

/** A mail that waits to be sent. */
export interface MailRow {
  id: string
  zone_id: string
  sealed: string
  created_at: number
  next_attempt_at: number
  attempts: number
  useful_until: number
}
/** Columns of `outgoing_mails`. */
export const MAIL_COLUMNS = [
  'id',
  'zone_id',
  'sealed',
  'created_at',
  'next_attempt_at',
  'attempts',
  'useful_until',
] as const satisfies readonly (keyof MailRow)[]

/** A pushed authorization request. */
export interface PushedRequestRow {
  zone_id: string
  id_digest: string
  client_id: string
  parameters: string
  is_signed: number
  expires_at: number
  kept_until: number
}
/** Columns of `pushed_requests`. */
export const PUSHED_REQUEST_COLUMNS = [
  'zone_id',
  'id_digest',
  'client_id',
  'parameters',
  'is_signed',
  'expires_at',
  'kept_until',
] as const satisfies readonly (keyof PushedRequestRow)[]

/** Nouns for the messages of `AlreadyExists`, by table. */
const NOUNS: Readonly<Record<string, string>> = {
  zones: 'zone',
  clients: 'client',
  users: 'user',
  groups: 'group',
  identity_providers: 'identity provider',
  signing_keys: 'signing key',
  authorization_codes: 'authorization code',
  tokens: 'token',
  sessions: 'session',
}

/** The noun for a record of the table, for messages. */
export const nounOf = (table: string | undefined): string => NOUNS[table ?? ''] ?? 'record'

/** Joins columns with commas. */
export const list = (columns: readonly string[]): string => columns.join(', ')

/** `insert into` with every column given by an argument of its name. */
export const insertInto = (table: string, columns: readonly string[]): string =>
  `insert into ${table} (${list(columns)}) values (${columns.map(column => `:${column}`).join(', ')})`

const given = (column: string): string => `${column} = :${column}`

/** `update` of every column except the keys, which select the row. */
export function updateByKey(table: string, columns: readonly string[], keys: readonly string[]): string {
  const changed = columns.filter(column => !keys.includes(column))
  return `update ${table} set ${changed.map(given).join(', ')} where ${keys.map(given).join(' and ')}`
}

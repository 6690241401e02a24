// The record of a client, as `/oauth/clients`, the configuration and the database have it (§3.1 of the interface's page).
import type { JsonRecord } from '../base/json.ts'
import { everythingOrList, flag, jsonText, list, milliseconds, oneOf, own, seconds, string, wordList } from './kinds.ts'
import { describeRecord } from './record.ts'
import type { RecordOf, RowOf } from './record.ts'

/** A secret at rest. */
export interface ClientSecret {
  /** argon2id in PHC form, or bcrypt from an import. */
  readonly hash: string
  /** The value that `rev_sig` uses: fixed when the secret was last really changed, not when its hash was renewed. */
  readonly revision: string
  /** Set when it is the empty string, with which anybody can authenticate: such a client has no credential to speak of. */
  readonly empty?: true
}

/** What the header of a JWT access token may say of its type, the default first. */
export const ACCESS_TOKEN_TYPES = ['JWT', 'at+jwt'] as const

/** One of `ACCESS_TOKEN_TYPES`. */
export type AccessTokenType = (typeof ACCESS_TOKEN_TYPES)[number]

/** The fields of a client. What a request sends beside them is kept in `additional`. */
export const clientFields = describeRecord({
  clientId: {
    wire: 'client_id',
    kind: string,
    column: 'client_id',
    storage: 'text',
    required: true,
    filter: 'text',
    sort: true,
    schema: { minLength: 1, maxLength: 255 },
    about: 'Unique in the zone.',
  },
  scope: {
    wire: 'scope',
    kind: wordList,
    column: 'scope',
    storage: 'json',
    keptBy: 'empty',
    filter: 'list',
    sort: true,
    about: 'What tokens of its users may carry; may hold wildcards.',
  },
  /** Kept for clients that expect it. */
  resourceIds: {
    wire: 'resource_ids',
    sent: 'never',
    kind: list,
    storage: 'none',
    optional: true,
    always: ['none'],
    about: 'Always the same.',
  },
  authorizedGrantTypes: {
    wire: 'authorized_grant_types',
    kind: wordList,
    column: 'authorized_grant_types',
    storage: 'json',
    required: true,
    keptBy: 'empty',
    filter: 'list',
    sort: true,
    about: 'The grants it may use.',
  },
  redirectUris: {
    wire: 'redirect_uri',
    kind: list,
    column: 'redirect_uris',
    storage: 'json',
    shown: 'unless empty',
    keptBy: 'empty',
    attribute: 'web_server_redirect_uri',
    filter: 'list',
    sort: true,
    about: 'Where browsers may be sent back to.',
  },
  autoapprove: {
    wire: 'autoapprove',
    kind: everythingOrList,
    column: 'autoapprove',
    storage: 'json',
    show: (value: true | readonly string[]) => (value === true ? ['true'] : value),
    shownAs: list,
    keptBy: 'empty or false',
    // In lists, everything is the one entry that answers show.
    expression: `case autoapprove when 'true' then '["true"]' else autoapprove end`,
    filter: 'list',
    sort: true,
    about: 'true, or the scopes that are granted without asking the person.',
  },
  authorities: {
    wire: 'authorities',
    kind: wordList,
    column: 'authorities',
    storage: 'json',
    keptBy: 'empty',
    sort: true,
    about: 'What its own tokens may carry.',
  },
  accessTokenSeconds: {
    wire: 'access_token_validity',
    kind: seconds,
    column: 'access_token_seconds',
    storage: 'integer',
    optional: true,
    keptBy: 'null',
    filter: 'number',
    sort: true,
    about: 'Lifetime of access tokens in seconds.',
  },
  refreshTokenSeconds: {
    wire: 'refresh_token_validity',
    kind: seconds,
    column: 'refresh_token_seconds',
    storage: 'integer',
    optional: true,
    keptBy: 'null',
    filter: 'number',
    sort: true,
    about: 'Lifetime of refresh tokens in seconds.',
  },
  /** Absent when never configured: that differs from `false` (PKCE at the token endpoint). */
  allowPublic: {
    wire: 'allowpublic',
    kind: flag,
    column: 'allow_public',
    storage: 'flag',
    optional: true,
    about: 'Whether the client may come without a credential (PKCE).',
  },
  name: {
    wire: 'name',
    kind: string,
    column: 'name',
    storage: 'text',
    optional: true,
    about: 'The name shown to people.',
  },
  /** Absent means all. */
  allowedProviders: {
    wire: 'allowedproviders',
    kind: list,
    column: 'allowed_providers',
    storage: 'json',
    optional: true,
    about: 'Origins of the providers whose users may use it; absent means all.',
  },
  tokenSalt: {
    wire: 'token_salt',
    kind: string,
    column: 'token_salt',
    storage: 'text',
    optional: true,
    about: 'Changing it makes every token of the client invalid.',
  },
  requiredUserGroups: {
    wire: 'required_user_groups',
    kind: list,
    column: 'required_user_groups',
    storage: 'json',
    shown: 'alone',
    filter: 'list',
    about: 'Groups that a user must be in.',
  },
  updatedAt: {
    wire: 'lastModified',
    sent: 'never',
    kind: own<Date>(),
    column: 'updated_at',
    storage: 'time',
    show: (value: Date) => value.getTime(),
    shownAs: milliseconds,
    filter: 'date',
    sort: true,
    about: 'Milliseconds since 1970; ignored in requests.',
  },
  accessTokenType: {
    wire: 'accessTokenType',
    kind: oneOf(ACCESS_TOKEN_TYPES),
    storage: 'attribute',
    optional: true,
    about: 'The `typ` of JWT access tokens, instead of the zone’s; RFC 9068 has at+jwt.',
  },
  idTokenMinimal: {
    wire: 'id_token_minimal',
    kind: flag,
    storage: 'attribute',
    optional: true,
    about: 'Whether ID tokens leave out every claim that OpenID Connect does not ask for.',
  },
  requireNonce: {
    wire: 'require_nonce',
    kind: flag,
    storage: 'attribute',
    optional: true,
    about: 'Whether requests whose answer has an ID token must carry a nonce.',
  },
  postLogoutRedirectUris: {
    wire: 'post_logout_redirect_uris',
    kind: list,
    storage: 'attribute',
    optional: true,
    about: 'Where browsers may be sent after a logout.',
  },
  createdWith: { wire: 'createdwith', sent: 'never', kind: string, storage: 'attribute', optional: true },
  /** Used only where `jwksUri` is absent; public members only. */
  jwks: {
    wire: 'jwks',
    kind: jsonText,
    column: 'jwks',
    storage: 'text',
    optional: true,
    shown: 'never',
    about: 'Public keys for private_key_jwt: a JWK set or JWK, or JSON text of one.',
  },
  jwksUri: {
    wire: 'jwks_uri',
    kind: string,
    column: 'jwks_uri',
    storage: 'text',
    optional: true,
    shown: 'never',
    about: 'Where those keys are published; wins over jwks.',
  },
  /** Oldest first, at most two: both authenticate, the newest one feeds `rev_sig`. */
  secrets: { kind: own<readonly ClientSecret[]>(), column: 'secrets', storage: 'json' },
  /** Random, different for each record that ever had the id: tokens of a deleted client stay dead. Absent in older records. */
  incarnation: { kind: own<string>(), column: 'incarnation', storage: 'text', optional: true },
  /** Whatever else the API was given, such as `post_logout_redirect_uris`; returned as it is. */
  additional: {
    kind: own<JsonRecord>(),
    column: 'additional',
    storage: 'json',
    attribute: 'additional_information',
    sort: true,
  },
  zoneId: { kind: own<string>(), column: 'zone_id', storage: 'text' },
  createdAt: { kind: own<Date>(), column: 'created_at', storage: 'time' },
})

/** What comes with a client and is kept as `secrets`: never shown. */
export const clientSecretFields = describeRecord({
  first: {
    wire: 'client_secret',
    kind: string,
    storage: 'none',
    optional: true,
    shown: 'never',
    about: 'Kept as a hash.',
  },
  second: {
    wire: 'secondary_client_secret',
    kind: string,
    storage: 'none',
    optional: true,
    shown: 'never',
    about: 'A second valid secret, for changing the first without an interruption.',
  },
})

/** An application that asks for tokens. Created and changed through the client API or the bootstrap. */
export interface Client extends RecordOf<typeof clientFields> {}

/** A client as the database keeps it. */
export interface ClientRow extends RowOf<typeof clientFields> {}

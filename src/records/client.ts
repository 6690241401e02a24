// The record of a client in `/oauth/clients`, the configuration file and the database.
import * as v from 'valibot'
import type { JsonRecord } from '../base/json.ts'
import { clientMetadataFields } from './client-metadata.ts'
import {
  everythingOrList,
  flag,
  jsonText,
  lifetime,
  limitOrFlag,
  list,
  milliseconds,
  oneOf,
  own,
  string,
  wordList,
} from './kinds.ts'
import { jwtCredentials, JWT_CREDENTIALS_SCHEMA, shownJwtCredentials } from './jwt-credential.ts'
import { describeRecord } from './record.ts'
import type { RecordOf, RowOf } from './record.ts'
import { FACTOR_METHODS } from './user.ts'

/** A secret at rest. */
export interface ClientSecret {
  /** argon2id in PHC form, or bcrypt from an import. */
  readonly hash: string
  /** The value used by `rev_sig`: changes with the secret, not when its hash is renewed. */
  readonly revision: string
  /** Set for the empty string, with which anyone can authenticate: such a client is treated as one without a credential. */
  readonly empty?: true
}

/** Registration data; only clients that registered themselves have it (RFC 7591). */
export interface Registration {
  /** Digest of the registration access token (RFC 7592); a client that is described by its document has none. */
  readonly tokenDigest?: string
  /** Its id is the address of the document that describes it; it is not stored. */
  readonly byDocument?: true
  /** The response types that it may use. */
  readonly responseTypes: readonly string[]
}

/** Requirements of a client; weaker ones than the zone's have no effect. */
const CLIENT_REQUIREMENTS = ['optional', 'required', 'groups'] as const

/** Maximum number of groups or providers in a second-factor policy: they are compared at sign-ins. */
export const MAX_POLICY_NAMES = 100

/** The `typ` headers of JWT access tokens, the default first. */
export const ACCESS_TOKEN_TYPES = ['JWT', 'at+jwt'] as const

/** One of `ACCESS_TOKEN_TYPES`. */
export type AccessTokenType = (typeof ACCESS_TOKEN_TYPES)[number]

/** The fields of a client. Other members of a request are stored in `additional`. */
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
    about: 'Scopes that tokens of its users may have; may contain wildcards.',
  },
  /** Shown for clients that expect it. */
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
    about: 'Allowed redirect URIs.',
  },
  autoapprove: {
    wire: 'autoapprove',
    kind: everythingOrList,
    column: 'autoapprove',
    storage: 'json',
    show: (value: true | readonly string[]) => (value === true ? ['true'] : value),
    shownAs: list,
    keptBy: 'empty', // `false` revokes it
    // Filters compare `true` as the list with the entry "true" that responses show.
    expression: `case autoapprove when 'true' then '["true"]' else autoapprove end`,
    filter: 'list',
    sort: true,
    about: 'true, or the scopes that are granted without asking the user.',
  },
  authorities: {
    wire: 'authorities',
    kind: wordList,
    column: 'authorities',
    storage: 'json',
    keptBy: 'empty',
    sort: true,
    about: 'Scopes that its own tokens may have.',
  },
  accessTokenSeconds: {
    wire: 'access_token_validity',
    kind: lifetime,
    column: 'access_token_seconds',
    storage: 'integer',
    optional: true,
    keptBy: 'null or blank', // `uaac client add -i` sends an unanswered question as the empty string
    filter: 'number',
    sort: true,
    about: 'Lifetime of access tokens in seconds; -1 is that of the server, whatever the zone’s.',
  },
  refreshTokenSeconds: {
    wire: 'refresh_token_validity',
    kind: lifetime,
    column: 'refresh_token_seconds',
    storage: 'integer',
    optional: true,
    keptBy: 'null or blank', // `uaac client add -i` sends an unanswered question as the empty string
    filter: 'number',
    sort: true,
    about: 'Lifetime of refresh tokens in seconds; -1 is that of the server, whatever the zone’s.',
  },
  /** Absent if never set, which differs from `false` for PKCE at the token endpoint. */
  allowPublic: {
    wire: 'allowpublic',
    kind: flag,
    column: 'allow_public',
    storage: 'flag',
    optional: true,
    about: 'Whether the client may be public: use PKCE instead of a credential.',
  },
  name: {
    wire: 'name',
    kind: string,
    column: 'name',
    storage: 'text',
    optional: true,
    about: 'The name shown to users.',
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
  refreshTokenUnique: {
    wire: 'refreshTokenUnique',
    kind: limitOrFlag,
    storage: 'attribute',
    optional: true,
    about: 'Maximum number of refresh tokens that a user has of the client, instead of the zone’s refreshTokenUnique.',
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
    about: 'Whether ID tokens omit every claim that OpenID Connect does not require; `acr` stays.',
  },
  requireNonce: {
    wire: 'require_nonce',
    kind: flag,
    storage: 'attribute',
    optional: true,
    about: 'Whether requests that return an ID token must have a nonce.',
  },
  postLogoutRedirectUris: {
    wire: 'post_logout_redirect_uris',
    kind: list,
    storage: 'attribute',
    optional: true,
    about: 'Allowed redirect URIs after a logout.',
  },
  secondFactor: {
    wire: 'secondFactor',
    kind: v.strictObject(
      {
        requirement: oneOf(CLIENT_REQUIREMENTS, 'has a requirement that is not one of'),
        groups: v.optional(v.pipe(list, v.maxLength(MAX_POLICY_NAMES, `has more than ${MAX_POLICY_NAMES} groups`))),
        methods: v.optional(
          v.pipe(
            v.array(oneOf(FACTOR_METHODS, 'has methods that are not among')),
            v.minLength(1, 'has no methods'),
            v.readonly(),
          ),
        ),
      },
      'must be an object with requirement, groups and methods',
    ),
    storage: 'attribute',
    optional: true,
    about:
      'Who needs a second factor for it, beyond the policy of the zone: optional, required or groups; and which factors are accepted.',
  },
  ...clientMetadataFields,
  createdWith: { wire: 'createdwith', sent: 'never', kind: string, storage: 'attribute', optional: true },
  /** Used only without `jwksUri`; public members only. */
  jwks: {
    wire: 'jwks',
    kind: jsonText,
    column: 'jwks',
    storage: 'text',
    optional: true,
    shown: 'never',
    about: 'Public keys for private_key_jwt: a JWK set or JWK, as an object or a JSON string.',
  },
  jwksUri: {
    wire: 'jwks_uri',
    kind: string,
    column: 'jwks_uri',
    storage: 'text',
    optional: true,
    shown: 'never',
    about: 'URL of the public keys; takes precedence over jwks.',
  },
  /** Absent rather than empty. */
  jwtCreds: {
    wire: 'jwt_creds',
    kind: jwtCredentials,
    shownAs: shownJwtCredentials,
    schema: JWT_CREDENTIALS_SCHEMA,
    storage: 'attribute',
    optional: true,
    keptBy: 'null',
    about:
      'Issuers and subjects whose JWTs authenticate it: iss, sub and aud, each compared exactly; without aud they must be for this server. A list, or its JSON as a string. An empty list removes them.',
  },
  /** At most two, oldest first. Both authenticate; the newest determines `rev_sig`. */
  secrets: { kind: own<readonly ClientSecret[]>(), column: 'secrets', storage: 'json' },
  /** Absent for clients that an administrator made. */
  registration: { kind: own<Registration>(), column: 'registration', storage: 'json', optional: true },
  /**
   * Random per record, so that tokens of a deleted client stay invalid if the id is reused. Absent in older records.
   */
  incarnation: { kind: own<string>(), column: 'incarnation', storage: 'text', optional: true },
  /** Other members that the API received; returned unchanged. */
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

/** The secrets in requests, stored in `secrets` and never shown. */
export const clientSecretFields = describeRecord({
  first: {
    wire: 'client_secret',
    kind: string,
    storage: 'none',
    optional: true,
    shown: 'never',
    about: 'Stored as a hash.',
  },
  second: {
    wire: 'secondary_client_secret',
    kind: string,
    storage: 'none',
    optional: true,
    shown: 'never',
    about: 'A second valid secret, for rotation without downtime.',
  },
})

/** An application that requests tokens. Created and changed through the client API or the bootstrap. */
export interface Client extends RecordOf<typeof clientFields> {}

/** A client's database row. */
export interface ClientRow extends RowOf<typeof clientFields> {}

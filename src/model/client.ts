/** An application that asks for tokens. Created and changed through the client API or the bootstrap. */
export interface Client {
  readonly zoneId: string
  readonly clientId: string
  /** Oldest first, at most two: both authenticate, the newest one feeds `rev_sig`. */
  readonly secrets: readonly ClientSecret[]
  readonly authorizedGrantTypes: readonly string[]
  readonly redirectUris: readonly string[]
  /** What its users' tokens may carry; may hold wildcards. */
  readonly scope: readonly string[]
  /** What its own tokens may carry. */
  readonly authorities: readonly string[]
  readonly autoapprove: true | readonly string[]
  /** Absent when never configured: that differs from `false` (PKCE at the token endpoint). */
  readonly allowPublic?: boolean
  readonly accessTokenSeconds?: number
  readonly refreshTokenSeconds?: number
  readonly name?: string
  /** Origins whose users may use the client; absent means all. */
  readonly allowedProviders?: readonly string[]
  readonly requiredUserGroups: readonly string[]
  readonly tokenSalt?: string
  /**
   * A random mark of this record among all that ever had its id, so that tokens of one that was deleted stay dead when
   * somebody makes another; never shown. Absent for records that are older than the mark.
   */
  readonly incarnation?: string
  readonly jwks?: string
  readonly jwksUri?: string
  /** Everything else that the API was given, such as `post_logout_redirect_uris`; returned as it is. */
  readonly additional: Readonly<Record<string, unknown>>
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A secret at rest. */
export interface ClientSecret {
  /** argon2id in PHC form, or bcrypt from an import. */
  readonly hash: string
  /** The value that `rev_sig` uses: fixed when the secret was last really changed, not when its hash was renewed. */
  readonly revision: string
  /** Set when it is the empty text, with which anybody can authenticate: such a client has no credential to speak of. */
  readonly empty?: true
}

/** Every grant type that a client may be given, whether or not the token endpoint serves it yet. */
export const GRANT_TYPES = [
  'authorization_code',
  'implicit',
  'password',
  'client_credentials',
  'refresh_token',
  'user_token',
  'urn:ietf:params:oauth:grant-type:saml2-bearer',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
] as const

/** Whether the client was given the grant type. */
export const mayUseGrant = (client: Client, grantType: string): boolean =>
  client.authorizedGrantTypes.includes(grantType)

/** Whether the client can prove who it is by something that others do not have. */
export const hasCredential = (client: Client): boolean =>
  client.jwks !== undefined || client.jwksUri !== undefined || client.secrets.some(secret => secret.empty !== true)

/** Whether the client is allowed to come without a credential. */
export const isPublic = (client: Client): boolean => client.allowPublic === true

/** Whether users of the provider with this origin may use the client. */
export const allowsProvider = (client: Client, origin: string): boolean =>
  client.allowedProviders === undefined || client.allowedProviders.includes(origin)

/** The name shown to people. */
export const displayName = (client: Client): string => client.name ?? client.clientId

/** A list of texts among the free attributes; anything else counts as empty. */
export function textList(client: Client, attribute: string): readonly string[] {
  const value = client.additional[attribute]
  const list = typeof value === 'string' ? [value] : value
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : []
}

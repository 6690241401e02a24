import { SESSION_IDLE_SECONDS } from './session.ts'

/** Settings of the whole server, under the names that the reference system gives them. */
export interface TokenSettings {
  /** `jwt.token.queryString.enabled`: whether credentials and tokens may stand in the query of a URL. */
  readonly queryString: boolean
  /** `jwt.token.refresh.restrict_grant`: whether only the scope `<service>.offline_token` leads to a refresh token. */
  readonly restrictRefresh: boolean
  /** `jwt.token.refresh.grace_seconds`: how long a rotated refresh token may be used once more; 0 is not at all. */
  readonly refreshGraceSeconds: number
  /** `jwt.token.claims.exclude`: claims that access and ID tokens do without. */
  readonly excludedClaims: readonly string[]
  /** `authentication.enableUriEncodingCompatibilityMode`: whether Basic credentials are taken as they are. */
  readonly plainBasicCredentials: boolean
  /** `uaa.oauth.redirect_uri.allow_unsafe_matching: false`: whether redirect URIs are matched without leniency in `uaa`, as they always are in `standard`. */
  readonly strictRedirects: boolean
  /** `oauth.id_token.disable`: whether the authorization endpoint takes `id_token` out of `response_type`. */
  readonly idTokenDisabled: boolean
  /** `login.aliasEntitiesEnabled`: whether identity providers and users may have a copy in another zone. */
  readonly aliasEntities: boolean
  /** `scim.userids_enabled: false`: whether /ids/Users is off. */
  readonly userIdsDisabled: boolean
  /** `zones.internal.hostnames`: further host names of the default zone, lower case; subdomains of them are other zones. */
  readonly internalHostnames: readonly string[]
}

/** What holds where the configuration says nothing. */
export const DEFAULT_SETTINGS: TokenSettings = {
  queryString: false,
  restrictRefresh: false,
  refreshGraceSeconds: 0,
  excludedClaims: [],
  plainBasicCredentials: false,
  strictRedirects: false,
  idTokenDisabled: false,
  aliasEntities: false,
  userIdsDisabled: false,
  internalHostnames: [],
}

/** What pages and sessions are like in every zone, under the names that the reference system gives them. */
export interface PageSettings {
  /** `links.global`: where pages lead in a zone that says nothing itself; with variables as in the links of zones. */
  readonly links: { readonly signup?: string; readonly passwd?: string; readonly homeRedirect?: string }
  /** `servlet.idle-timeout`. */
  readonly idleSeconds: number
  /** `servlet.session-cookie.max-age`; absent: the browser forgets the cookie when it is closed. */
  readonly cookieSeconds?: number
}

/** See `DEFAULT_SETTINGS`. */
export const DEFAULT_PAGE_SETTINGS: PageSettings = { links: {}, idleSeconds: SESSION_IDLE_SECONDS }

/**
 * Claims that tokens cannot do without: this server reads them when the token comes back, or OpenID Connect and RFC 9068
 * say that whoever receives the token must.
 */
export const NEEDED_CLAIMS: ReadonlySet<string> = new Set([
  'at_hash',
  'aud',
  'azp',
  'c_hash',
  'client_id',
  'exp',
  'grant_id',
  'grant_type',
  'iat',
  'iss',
  'jti',
  'nonce',
  'rev_sig',
  'revocable',
  'scope',
  'sid',
  'sub',
  'user_id',
  'zid',
])

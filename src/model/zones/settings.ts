import { SESSION_IDLE_SECONDS } from '../sessions/session.ts'

/** Settings of the whole server, with UAA's names. */
export interface TokenSettings {
  /** `jwt.token.queryString.enabled`: whether credentials and tokens are accepted in the query of a URL. */
  readonly queryString: boolean
  /** `jwt.token.refresh.restrict_grant`: whether a refresh token requires the scope `<service>.offline_token`. */
  readonly restrictRefresh: boolean
  /** `jwt.token.refresh.grace_seconds`: seconds in which a rotated refresh token may be used again; 0: never. */
  readonly refreshGraceSeconds: number
  /** `jwt.token.claims.exclude`: claims that access and ID tokens omit. */
  readonly excludedClaims: readonly string[]
  /** `authentication.enableUriEncodingCompatibilityMode`: whether Basic credentials are read literally. */
  readonly plainBasicCredentials: boolean
  /**
   * `uaa.oauth.redirect_uri.allow_unsafe_matching: false`: exact matching of redirect URIs in `uaa`, as in `standard`.
   */
  readonly strictRedirects: boolean
  /** `oauth.id_token.disable`: whether the authorization endpoint removes `id_token` from `response_type`. */
  readonly idTokenDisabled: boolean
  /** `login.aliasEntitiesEnabled`: whether identity providers and users may have a copy in another zone. */
  readonly aliasEntities: boolean
  /** `scim.userids_enabled: false`: whether /ids/Users is off. */
  readonly userIdsDisabled: boolean
  /** `clientMaxCount`, `userMaxCount` and `groupMaxCount`: most records on a page of UAA's lists. */
  readonly maxCounts: { readonly clients: number; readonly users: number; readonly groups: number }
  /**
   * `zones.internal.hostnames`: further host names of the default zone, lower case; their subdomains are other zones.
   */
  readonly internalHostnames: readonly string[]
}

/** The defaults of the configuration. */
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
  maxCounts: { clients: 500, users: 500, groups: 500 },
  internalHostnames: [],
}

/** Settings of pages and sessions in every zone, with UAA's names. */
export interface PageSettings {
  /** `links.global`: links of zones without their own; with the same variables. */
  readonly links: { readonly signup?: string; readonly passwd?: string; readonly homeRedirect?: string }
  /** `servlet.idle-timeout`. */
  readonly idleSeconds: number
  /** `servlet.session-cookie.max-age`; if absent, a session cookie. */
  readonly cookieSeconds?: number
}

/** See `DEFAULT_SETTINGS`. */
export const DEFAULT_PAGE_SETTINGS: PageSettings = { links: {}, idleSeconds: SESSION_IDLE_SECONDS }

/**
 * Claims that cannot be excluded: this server needs them to verify its tokens, or OpenID Connect or RFC 9068 require
 * recipients to check them.
 */
export const NEEDED_CLAIMS: ReadonlySet<string> = new Set([
  'approved_client',
  'at_hash',
  'aud',
  'c_hash',
  'client_id',
  'cnf',
  'exchanged_from',
  'exp',
  'grant_id',
  'grant_type',
  'iat',
  'iss',
  'jti',
  'nonce',
  'rev_sig',
  'revocable',
  's_hash',
  'scope',
  'sid',
  'sub',
  'user_id',
  'zid',
])

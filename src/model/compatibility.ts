// The only code that reads the compatibility mode. Each row has the id of a difference in docs/compatibility.md and the
// value of each mode; the rest of the source uses `Behaviour`.
import type { OAuthErrorCode } from './oauth-error.ts'

/** `standard`: the specified interface plus current standards; `uaa`: UAA 77, even where a standard differs. */
export type CompatibilityMode = 'standard' | 'uaa'

/** The code and HTTP status of an error. */
export interface Refusal {
  readonly error: OAuthErrorCode
  readonly status: number
}

const refusal = (error: OAuthErrorCode, status: number): Refusal => ({ error, status })

const invalidGrant = refusal('invalid_grant', 400)
const invalidRequest = refusal('invalid_request', 400)

const rows = {
  /** M1: the path after the zone's base URL in `iss`. */
  issuerPath: { id: 'M1', standard: '', uaa: '/oauth/token' },
  /** M4: whether discovery shows more than the members of the specification. */
  fullMetadata: { id: 'M4', standard: true, uaa: false },
  /** M6: whether /token_keys shows all public keys to everyone, with a cacheable response. */
  allPublicKeys: { id: 'M6', standard: true, uaa: false },
  /** M7: whether an unknown path is 404 for anonymous users; otherwise they are redirected to sign-in. */
  unknownPathIsNotFound: { id: 'M7', standard: true, uaa: false },
  /** M7: whether anonymous requests for JSON are refused; otherwise they are redirected to sign-in like browsers. */
  refusePrograms: { id: 'M7', standard: true, uaa: false },
  /** M8: whether a trailing slash makes it another path. */
  exactPaths: { id: 'M8', standard: true, uaa: false },
  /** M9: whether /info accepts GET only. */
  getInfoOnly: { id: 'M9', standard: true, uaa: false },
  /** M9: whether /info shows exactly the known build properties. */
  knownBuildFacts: { id: 'M9', standard: true, uaa: false },
  /** M9: whether /info shows the version of this server; otherwise that of the UAA whose interface it has. */
  ownVersion: { id: 'M9', standard: true, uaa: false },
  /** M10: whether every error of the management APIs has a JSON body; otherwise some have none. */
  bodyInEveryRefusal: { id: 'M10', standard: true, uaa: false },
  /** M11: whether a malformed request to /approvals gets a specific error; otherwise always the same sentence. */
  explainedApprovalErrors: { id: 'M11', standard: true, uaa: false },
  /** M12: whether the challenge for a token that lacks a right has realm and error; otherwise one of the two. */
  fullRightsChallenge: { id: 'M12', standard: true, uaa: false },
  /** M13: whether `Bearer` in the Authorization header must be followed by a space. */
  spaceAfterBearer: { id: 'M13', standard: true, uaa: false },
  /** M14: whether the refusal of a provider record describes the problem, and that of a client record the spelling used here. */
  namesBadSetting: { id: 'M14', standard: true, uaa: false },
  /** M15: whether a provider of an unknown type is refused; nobody could sign in with it. */
  knownProviderTypes: { id: 'M15', standard: true, uaa: false },
  /** M16: whether pages of other origins may not read the responses of the authorization endpoint, whatever `cors` allows. */
  unsharedAuthorization: { id: 'M16', standard: true, uaa: false },
  /** M17: whether the bare code of /email_verifications is labelled as text; otherwise as JSON, which it is not. */
  codeIsText: { id: 'M17', standard: true, uaa: false },
  /** M18: whether administrators of some zones get the same refusal for an unknown zone as for that of others. */
  unknownZoneIsForbidden: { id: 'M18', standard: true, uaa: false },
  /**
   * A1: which list of checks in oauth/authorize/authorize.ts applies. The lists differ in their order, and in the
   * checks of A3, A4, A8, A12, A14, A18 and A20.
   */
  standardAuthorizeChecks: { id: 'A1', standard: true, uaa: false },
  /** A2: whether a POST without `user_oauth_approval` is an authorization request that needs no CSRF token. */
  postedRequests: { id: 'A2', standard: true, uaa: false },
  /** A3: whether a repeated parameter is refused (RFC 6749 §3.1); otherwise the first one wins. */
  refuseRepeated: { id: 'A3', standard: true, uaa: false },
  /** A5: whether the error for a missing response_type includes `state`. */
  fullErrors: { id: 'A5', standard: true, uaa: false },
  /** A6: whether `response_mode` is supported; otherwise the response type determines it. */
  responseModes: { id: 'A6', standard: true, uaa: false },
  /** A7: whether a requested ID token is refused if `openid` is not granted; otherwise it is omitted. */
  idTokenNeedsOpenid: { id: 'A7', standard: true, uaa: false },
  /** A7: whether OpenID scopes that a client lacks are dropped instead of refused if `openid` is requested. */
  dropForeignOpenidScopes: { id: 'A7', standard: true, uaa: false },
  /** A7: whether `email`, `phone` and `address` are default groups of every zone, so that they can be granted. */
  contactScopesForAll: { id: 'A7', standard: true, uaa: false },
  /** A9: whether prompt is a list of values; otherwise it begins with `none` or is `login`. */
  promptWords: { id: 'A9', standard: true, uaa: false },
  /** A10: whether a forced sign-in keeps the old session until the new one succeeds. */
  keepSessionUntilLogin: { id: 'A10', standard: true, uaa: false },
  /** A13: whether a `login_hint` that matches no provider is a user name; otherwise it is a domain only. */
  hintMayBeName: { id: 'A13', standard: true, uaa: false },
  /** A15: whether a redirect URI must equal a registered one; otherwise UAA's lenient rules apply. */
  exactRedirectUri: { id: 'A15', standard: true, uaa: false },
  /** A16: whether PKCE is checked strictly and required of clients without a credential. */
  strictPkce: { id: 'A16', standard: true, uaa: false },
  /** A17: whether a request with a bearer token instead of a session must have a `state`. */
  stateWithToken: { id: 'A17', standard: true, uaa: false },
  /** A18: whether a code obtained with a bearer token is limited to the token's scopes. */
  codeWithinToken: { id: 'A18', standard: true, uaa: false },
  /** A18: whether the refusal of an unsuitable bearer token names only the scope that is needed. */
  exactCallScope: { id: 'A18', standard: true, uaa: false },
  /** A19: whether the approval page as JSON has our own members instead of UAA's request object. */
  ownApprovalModel: { id: 'A19', standard: true, uaa: false },
  /** R1: whether errors are returned like a success; otherwise in the fragment only with `token` and `prompt=none`. */
  errorsLikeSuccess: { id: 'R1', standard: true, uaa: false },
  /** R2: whether only an unknown client and an invalid redirect URI are error pages. */
  redirectErrors: { id: 'R2', standard: true, uaa: false },
  /** R3: whether a request without any approved scope is refused; otherwise its code fails at the token endpoint. */
  refuseNothingApproved: { id: 'R3', standard: true, uaa: false },
  /** R5: whether authorization responses carry `iss` (RFC 9207). */
  issuerInResponse: { id: 'R5', standard: true, uaa: false },
  /** R6: whether every browser-flow response carries `session_state`. */
  sessionState: { id: 'R6', standard: true, uaa: false },
  /** R7: the error of `prompt=none` if approval is needed. */
  consentRequired: { id: 'R7', standard: 'consent_required', uaa: 'interaction_required' },
  /**
   * R7: whether errors of `prompt=none` are like all others; otherwise minimal, and an empty 400 for an invalid client.
   */
  standardSilentErrors: { id: 'R7', standard: true, uaa: false },
  /** R8: whether error descriptions are limited to the characters of RFC 6749 appendix A.8. */
  plainDescriptions: { id: 'R8', standard: true, uaa: false },
  /** R10: lifetime of an authorization code in seconds. */
  codeSeconds: { id: 'R10', standard: 60, uaa: 300 },
  /** T1: whether ID tokens carry at_hash, c_hash and s_hash. */
  tokenHashes: { id: 'T1', standard: true, uaa: false },
  /** T3, T6, T7: whether claims about the user depend on the granted scopes. */
  claimsByScope: { id: 'T3', standard: true, uaa: false },
  /** T4: whether ID tokens carry a session id. */
  sessionIdClaim: { id: 'T4', standard: true, uaa: false },
  /** T5: whether userinfo is served by GET and POST only (OpenID Connect Core §5.3.1). */
  getOrPostUserinfo: { id: 'T5', standard: true, uaa: false },
  /** T7: the form of JWT access tokens (RFC 9068 §2). */
  standardAccessTokens: { id: 'T7', standard: true, uaa: false },
  /** T9: default lifetime of an access token in seconds. */
  accessTokenSeconds: { id: 'T9', standard: 3600, uaa: 43_200 },
  /** T9: seconds by which `expires_in` is less than the lifetime: UAA rounds the remaining time down. */
  expiresInLag: { id: 'T9', standard: 0, uaa: 1 },
  /** T10: whether the reuse of a rotated refresh token revokes its grant (RFC 9700 §4.14.2). */
  revokeReusedFamily: { id: 'T10', standard: true, uaa: false },
  /** T11: whether the reuse of a code revokes the tokens issued from it (RFC 6749 §4.1.2). */
  revokeReusedCode: { id: 'T11', standard: true, uaa: false },
  /**
   * T12: whether a token is accepted at this server's own APIs only while the user approves its scopes, as introspection reports
   * it.
   */
  ownApisNeedApproval: { id: 'T12', standard: true, uaa: false },
  /** C1: whether client assertions are accepted at every endpoint; otherwise at the token endpoint and its alias only. */
  assertionsEverywhere: { id: 'C1', standard: true, uaa: false },
  /** C1: whether `client_secret=` of a client without a secret counts as absent (RFC 6749 §3.2). */
  ignoreEmptySecret: { id: 'C1', standard: true, uaa: false },
  /** C2: whether two methods of client authentication in one request are refused (RFC 6749 §2.3). */
  refuseTwoMethods: { id: 'C2', standard: true, uaa: false },
  /**
   * C3: whether an assertion's audience may be the issuer or the called endpoint; otherwise the token endpoint only.
   */
  assertionForIssuer: { id: 'C3', standard: true, uaa: false },
  /** C4: whether an assertion is accepted once and lives an hour at most; otherwise until it expires. */
  assertionOnce: { id: 'C4', standard: true, uaa: false },
  /** C5: whether the token endpoint ignores `nonce`; otherwise it puts it into tokens and the response. */
  ignoreTokenNonce: { id: 'C5', standard: true, uaa: false },
  /** C5: whether any parameter in the query of a POST is refused; otherwise it may have those that are not secret. */
  refuseQueryParameters: { id: 'C5', standard: true, uaa: false },
  /** C5: whether a body of another type is refused where a form is expected; otherwise it is ignored. */
  refuseOtherBodies: { id: 'C5', standard: true, uaa: false },
  /** C5: whether a passcode always counts; otherwise only if `Accept` begins with JSON or a form. */
  passcodeForAnyAccept: { id: 'C5', standard: true, uaa: false },
  /** C6: whether a request without a token gets a challenge without `error` (RFC 6750 §3.1). */
  bareChallenge: { id: 'C6', standard: true, uaa: false },
  /** C7: whether introspection responses follow RFC 7662 §2.2. */
  standardIntrospection: { id: 'C7', standard: true, uaa: false },
  /** C7: whether the error for a client that may not introspect names the missing scope. */
  reportInspectorScope: { id: 'C7', standard: true, uaa: false },
  /** C13: whether display metadata are only those that were set: otherwise every client is listed, and has an icon. */
  describedClientsOnly: { id: 'C13', standard: true, uaa: false },
  /**
   * C13: whether the list of providers contains only stored ones; otherwise also the initial rows of UAA's database.
   */
  storedProvidersOnly: { id: 'C13', standard: true, uaa: false },
  /** C13: whether a zone may get an issuer by a change that keeps its active key without naming it. */
  issuerWithKeptKey: { id: 'C13', standard: true, uaa: false },
  /** C13: whether clients of the configuration follow the API's grant rules and have no extra redirect URIs. */
  strictConfiguredClients: { id: 'C13', standard: true, uaa: false },
  /** C9: whether a token of this server used as an assertion must have a matching audience. */
  strictOwnAssertions: { id: 'C9', standard: true, uaa: false },
  /**
   * C9: whether a provider's token used as an assertion must have been issued to this server, if it names a party or several
   * audiences.
   */
  assertionsForUsOnly: { id: 'C9', standard: true, uaa: false },
  /** C10: whether SAML providers may sign users in without a request, unless `allowIdpInitiated` of the record says. */
  unsolicitedSignIn: { id: 'C10', standard: false, uaa: true },
  /** C10: whether sign-in at a SAML provider starts at `/saml/discovery`, by the links that UAA's clients know. */
  samlDiscoveryLinks: { id: 'C10', standard: false, uaa: true },
  /** C10: whether a SAML provider must name users in the format that its record asks for, if it asks for one. */
  requestedNameIdOnly: { id: 'C10', standard: true, uaa: false },
  /** C10: whether the SAML metadata offers names that stay the same first, and no transient ones. */
  stableSamlNamesFirst: { id: 'C10', standard: true, uaa: false },
  /** C10: whether a SAML provider may create the name of a user who has none yet (`AllowCreate`, SAML Core §3.4.1.1). */
  allowsNewSamlNames: { id: 'C10', standard: true, uaa: false },
  /** C11: wrong user name or password, or a passcode of a deleted user. */
  badCredentials: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_client', 401) },
  /** C11: the password is missing. */
  missingPassword: { id: 'C11', standard: invalidRequest, uaa: refusal('invalid_client', 401) },
  /** C11: the passcode is empty. */
  missingPasscode: { id: 'C11', standard: invalidRequest, uaa: refusal('unauthorized', 401) },
  /** C11: the passcode is wrong, used or expired. */
  badPasscode: { id: 'C11', standard: invalidGrant, uaa: refusal('unauthorized', 401) },
  /** C11: there is no assertion. */
  missingAssertion: { id: 'C11', standard: invalidRequest, uaa: refusal('unauthorized', 401) },
  /** C11: verification of the assertion failed: signature, audience, time or revocation. */
  untrustedAssertion: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_token', 401) },
  /** C14: whether a directory is used only for names without an internal password; otherwise after every wrong one. */
  directoryForUnknownNames: { id: 'C14', standard: true, uaa: false },
  /** C15: where the users of a directory are if its record does not say it; otherwise such a record cannot be used. */
  directoryPlaces: {
    id: 'C15',
    standard: undefined,
    uaa: { pattern: 'cn={0},ou=Users,dc=test,dc=com', searchBase: 'dc=test,dc=com' },
  },
  /** C11: the assertion is malformed, of an unknown provider, or matches no account. */
  unusableAssertion: { id: 'C11', standard: invalidGrant, uaa: refusal('unauthorized', 401) },
  /** C11: whether a SAML assertion of an unknown issuer is refused with that as the description. */
  reportUnknownIssuer: { id: 'C11', standard: true, uaa: false },
  /** C11: the account is locked, its provider is disabled, or a password change is required. */
  signInRefused: { id: 'C11', standard: invalidGrant, uaa: refusal('unauthorized', 401) },
  /** C12: whether a locked account is indistinguishable from a wrong password, in timing too. */
  hideLockout: { id: 'C12', standard: true, uaa: false },
  /** C11: the account is not verified. */
  unverifiedAccount: { id: 'C11', standard: invalidGrant, uaa: refusal('access_denied', 403) },
  /** C11: the login hint matches no provider that takes passwords. */
  unusableLoginHint: { id: 'C11', standard: invalidRequest, uaa: refusal('unauthorized', 401) },
  /** C11: the client does not allow the provider of the hint. */
  providerBarred: { id: 'C11', standard: refusal('unauthorized_client', 400), uaa: refusal('unauthorized', 401) },
  /** C11: the client does not allow the user's provider, which is known only after sign-in. */
  userProviderBarred: {
    id: 'C11',
    standard: refusal('unauthorized_client', 400),
    uaa: refusal('unauthorized_client', 401),
  },
  /** C11: the client allows no provider that takes passwords. */
  noProviderLeft: { id: 'C11', standard: refusal('unauthorized_client', 400), uaa: refusal('invalid_client', 401) },
  /** C11: several providers are possible. */
  severalProvidersLeft: { id: 'C11', standard: invalidRequest, uaa: refusal('invalid_client', 401) },
  /** C11: the client may not use the grant. */
  grantNotAllowed: { id: 'C11', standard: refusal('unauthorized_client', 400), uaa: refusal('invalid_client', 401) },
  /** C11: the refresh token is unknown, expired, revoked or wrongly signed, or its scopes or approvals were lost. */
  badRefreshToken: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_token', 401) },
  /** C11: refreshing is restricted, and the refresh token lacks the offline scope. */
  offlineScopeMissing: { id: 'C11', standard: invalidGrant, uaa: refusal('insufficient_scope', 403) },
  /** C11: the code belongs to another client. */
  foreignCode: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_client', 401) },
  /** C11: the user lost a group that the client requires. */
  requiredGroupsLost: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_token', 401) },
  /** C11: nothing is left to grant. */
  nothingGranted: { id: 'C11', standard: refusal('invalid_scope', 400), uaa: refusal('invalid_token', 401) },
  /** C11: grant_type=implicit at the token endpoint. */
  implicitAtToken: { id: 'C11', standard: refusal('unsupported_grant_type', 400), uaa: invalidGrant },
  /** C11: a request without client credentials. */
  missingClientCredentials: { id: 'C11', standard: refusal('invalid_client', 401), uaa: refusal('unauthorized', 401) },
  /** C11: whether the error says that credentials are missing; otherwise that they are bad. */
  reportMissingCredentials: { id: 'C11', standard: true, uaa: false },
  /** C11: whether a missing or unknown grant is refused before the client is authenticated. */
  grantBeforeClient: { id: 'C11', standard: true, uaa: false },
  /** C11: whether another client's id with valid credentials gets a Basic challenge; otherwise Bearer. */
  basicForForeignId: { id: 'C11', standard: true, uaa: false },
  /** C11: whether the grant is checked before the scopes, for a client without scopes. */
  grantBeforeScope: { id: 'C11', standard: true, uaa: false },
  /** C11: there is no signing key. */
  noSigningKey: { id: 'C11', standard: refusal('server_error', 500), uaa: refusal('unauthorized', 401) },
  /** E1: a login server's request for a token in which the client does not authenticate. */
  badClientOfLoginServer: { id: 'E1', standard: refusal('invalid_client', 401), uaa: refusal('unauthorized', 401) },
  /** E1: whether a request of a login server without `add_new` gets that error; otherwise its token has no user. */
  rejectMissingAddNew: { id: 'E1', standard: true, uaa: false },
  /** E2: whether a new user of a login server has only the names that it sends; otherwise the parts of the address. */
  namesAsSent: { id: 'E2', standard: true, uaa: false },
  /** E3: whether the answer about a user authenticated by a login server has the e-mail address. */
  emailOfVouched: { id: 'E3', standard: true, uaa: false },
  /** E4: whether the sign-in code of one user leaves the session of another alone; otherwise it replaces it. */
  keepOtherSession: { id: 'E4', standard: true, uaa: false },
  /** E4: whether a sign-in code of another client has a page of its own; otherwise 406. */
  pageOfForeignCode: { id: 'E4', standard: true, uaa: false },
  /** L1: whether a logout by POST needs no CSRF token. */
  openLogoutPost: { id: 'L1', standard: true, uaa: false },
  /** L4, L5: whether logout follows RP-Initiated Logout: verified hint, exact targets, otherwise a confirmation. */
  rpInitiatedLogout: { id: 'L4', standard: true, uaa: false },
  /** L7: whether a provider returns to the exact URL of the logout request; otherwise to its path, with a `state`. */
  upstreamReturnByQuery: { id: 'L7', standard: false, uaa: true },
  /** P1: whether pages carry a second content security policy and a referrer policy. */
  extraPageHeaders: { id: 'P1', standard: true, uaa: false },
  /** P1: whether responses of /oauth/authorize have Strict-Transport-Security over http too, as specified. */
  strictTransportAlways: { id: 'P1', standard: true, uaa: false },
  /** P3: whether the path of the CSRF cookie is `/`; otherwise that of the base URL. */
  csrfCookieAtRoot: { id: 'P3', standard: true, uaa: false },
  /** P3: whether forms of anonymous users need the visitor cookie; otherwise scripts need none. */
  visitorCookieNeeded: { id: 'P3', standard: true, uaa: false },
  /** P3: whether an expired sign-in form is shown again with its input; otherwise `/login` shows an error. */
  staleFormShownAgain: { id: 'P3', standard: true, uaa: false },
  /** P3: whether the sign-in page keeps the name that was typed at a failed sign-in, in a cookie of a minute. */
  keepTypedName: { id: 'P3', standard: true, uaa: false },
  /** P2: whether the session cookie is named after the service and prefixed under https; otherwise JSESSIONID. */
  ownSessionCookie: { id: 'P2', standard: true, uaa: false },
  /** P4: whether pages have our own texts in the negotiated language; otherwise those that UAA's clients look for. */
  ownWords: { id: 'P4', standard: true, uaa: false },
  /** P2: whether a session cookie is set only with a session; otherwise a redirect to sign-in sets one, too. */
  noEmptySessions: { id: 'P2', standard: true, uaa: false },
  /**
   * P4: whether a `;` in a path is a character like any other (RFC 3986 §3.3); otherwise it is refused as malicious.
   */
  plainSemicolons: { id: 'P4', standard: true, uaa: false },
  /** P4: whether a password sign-in leads at once to the page of a required new password; otherwise the next page does. */
  newPasswordAtOnce: { id: 'P4', standard: true, uaa: false },
  /** P4: the status of a direct visit to /rejected. */
  rejectedStatus: { id: 'P4', standard: 400, uaa: 200 },
  /** P5: minimum password length unless the policy sets one. */
  minPasswordLength: { id: 'P5', standard: 8, uaa: 0 },
  /** P7: whether common passwords and those made of the account's own words are refused unless the policy says. */
  refuseGuessablePasswords: { id: 'P7', standard: true, uaa: false },
  /** P8: whether passcodes are twenty characters in groups that can be read out; otherwise 32 of base64url. */
  groupedPasscodes: { id: 'P8', standard: true, uaa: false },
  /** P8: whether tokens from a passcode show when and how the user signed in, where tokens contain levels. */
  passcodeTokensShowSignIn: { id: 'P8', standard: true, uaa: false },
  /** P13: whether a string that an OpenID Connect or OAuth provider sends as groups is one name; otherwise split at commas. */
  stringIsOneGroup: { id: 'P13', standard: true, uaa: false },
  /** T2: whether `acr` is one class; otherwise an object with all of them. */
  acrAsText: { id: 'T2', standard: true, uaa: false },
  /** P12: the default second-factor requirement of a zone. */
  secondFactorByDefault: { id: 'P12', standard: 'optional', uaa: 'off' },
  /**
   * N1: whether a zone supports the protocols that came after UAA unless its `protocols` say otherwise;
   * `model/zones/protocols.ts` asks.
   */
  furtherProtocols: { id: 'N1', standard: true, uaa: false },
  /** P10: whether the time at which the provider authenticated the user counts; otherwise that of the return. */
  upstreamAuthTime: { id: 'P10', standard: true, uaa: false },
  /** P10: whether `max_age`, `acr_values`, `login_hint` and `ui_locales` are passed on to the provider. */
  requestPassedOn: { id: 'P10', standard: true, uaa: false },
  /** P11: whether the userinfo endpoint is called for claims that an ID token lacks. */
  userinfoCompletes: { id: 'P11', standard: true, uaa: false },
  /** P6: whether linking by e-mail address must be enabled in the provider's record. */
  linkByEmailWhereAsked: { id: 'P6', standard: true, uaa: false },
  /** P4: whether a failed sign-in with a provider shows its error at the callback; otherwise at /oauth_error. */
  externalFailureInPlace: { id: 'P4', standard: true, uaa: false },
  /**
   * P4: whether a sign-in with a provider without a pending request redirects to the start page; otherwise to /home.
   */
  externalSignInLeadsToStart: { id: 'P4', standard: true, uaa: false },
  /**
   * P9: whether an account made by sign-up has no password until it is verified; otherwise a sign-in with the new password
   * answers that it is not, which reveals to an attacker that the address had no account before.
   */
  passwordWithVerification: { id: 'P9', standard: true, uaa: false },
} as const satisfies Record<string, { id: string; standard: unknown; uaa: unknown }>

type Rows = typeof rows
type Widened<T> = T extends boolean ? boolean : T extends number ? number : T extends Refusal ? Refusal : T

/** The value of each difference in one mode. */
export type Behaviour = { readonly [K in keyof Rows]: Widened<Rows[K]['standard'] | Rows[K]['uaa']> } & {
  readonly mode: CompatibilityMode
}

function columnOf(mode: CompatibilityMode): Behaviour {
  const column = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row[mode]]))
  return { ...column, mode } as Behaviour // each entry has the type of its row
}

const columns: Readonly<Record<CompatibilityMode, Behaviour>> = {
  standard: columnOf('standard'),
  uaa: columnOf('uaa'),
}

/** The column of the table that `mode` names; the same object each time, as thousands of configured clients ask for it. */
export const behaviourOf = (mode: CompatibilityMode): Behaviour => columns[mode]

/** The rows by name with their ids, for the test that compares them with docs/compatibility.md. */
export const differenceIds: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(rows).map(([name, row]) => [name, row.id]),
)

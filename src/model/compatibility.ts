// The one table that reads the compatibility switch. Each row names the difference by its id in docs/compatibility.md
// and gives what either mode does; the rest of the source asks a `Behaviour` and never the mode.
import type { OAuthErrorCode } from './oauth-error.ts'

/** `standard`: the specified interface plus today's standards; `uaa`: the wire of UAA 77, also where a standard differs. */
export type CompatibilityMode = 'standard' | 'uaa'

/** The code and HTTP status that an error is answered with. */
export interface Refusal {
  readonly error: OAuthErrorCode
  readonly status: number
}

const refusal = (error: OAuthErrorCode, status: number): Refusal => ({ error, status })

const invalidGrant = refusal('invalid_grant', 400)
const invalidRequest = refusal('invalid_request', 400)

const rows = {
  /** M1: what follows the zone's base URL in `iss`. */
  issuerPath: { id: 'M1', standard: '', uaa: '/oauth/token' },
  /** M4: whether discovery shows more than the members of the specification. */
  fullMetadata: { id: 'M4', standard: true, uaa: false },
  /** M6: who sees which keys at /token_keys, and whether an answer may be kept. */
  allPublicKeys: { id: 'M6', standard: true, uaa: false },
  /** M7: what an unknown path gives to a person who is not signed in. */
  unknownPathIsNotFound: { id: 'M7', standard: true, uaa: false },
  /** M7: whether a program that is not signed in is refused where people are; otherwise it is sent to sign in, too. */
  refusePrograms: { id: 'M7', standard: true, uaa: false },
  /** M8: whether a slash behind a path makes it another one. */
  exactPaths: { id: 'M8', standard: true, uaa: false },
  /** M9: whether /info is read by GET alone. */
  getInfoOnly: { id: 'M9', standard: true, uaa: false },
  /** M9: whether /info tells every fact of the build that is known, and none that is not. */
  knownBuildFacts: { id: 'M9', standard: true, uaa: false },
  /** M9: whether /info links self-service only where it is configured; otherwise to the addresses that UAA has for it. */
  configuredLinksOnly: { id: 'M9', standard: true, uaa: false },
  /** M10: whether every refusal of the management APIs has a JSON body; otherwise some are a status and nothing else. */
  bodyInEveryRefusal: { id: 'M10', standard: true, uaa: false },
  /**
   * A1: which list of checks /oauth/authorize makes, in oauth/authorize/authorize.ts. The lists differ in their order, and in
   * the checks of A3, A4, A8, A12, A14 and A20.
   */
  standardAuthorizeChecks: { id: 'A1', standard: true, uaa: false },
  /** A2: whether a POST without `user_oauth_approval` is an authorization request that needs no anti-forgery value. */
  postedRequests: { id: 'A2', standard: true, uaa: false },
  /** A3: whether a repeated parameter is refused (RFC 6749 §3.1); otherwise the first one wins. */
  refuseRepeated: { id: 'A3', standard: true, uaa: false },
  /** A5: whether a missing response_type is answered with `state`. */
  fullErrors: { id: 'A5', standard: true, uaa: false },
  /** A6: whether the request chooses how the answer travels; otherwise the response type does. */
  responseModes: { id: 'A6', standard: true, uaa: false },
  /** A7: whether an ID token that was asked for is refused when `openid` is not granted; otherwise it is left out. */
  idTokenNeedsOpenid: { id: 'A7', standard: true, uaa: false },
  /** A7: whether OpenID scopes that a client lacks are dropped beside `openid` rather than refused. */
  dropForeignOpenidScopes: { id: 'A7', standard: true, uaa: false },
  /** A7: whether `email`, `phone` and `address` are default groups of every zone, so that every advertised scope can be granted. */
  contactScopesForAll: { id: 'A7', standard: true, uaa: false },
  /** A9: whether prompt is a list of words; otherwise it begins with `none` or is `login`. */
  promptWords: { id: 'A9', standard: true, uaa: false },
  /** A10: whether a forced sign-in keeps the old session until the new one succeeds. */
  keepSessionUntilLogin: { id: 'A10', standard: true, uaa: false },
  /** A13: whether text in `login_hint` that leads to no provider is a user name; otherwise it is a domain and nothing else. */
  hintMayBeName: { id: 'A13', standard: true, uaa: false },
  /** A15: whether a redirect URI must be equal to a registered one; otherwise the lenient rules hold. */
  exactRedirectUri: { id: 'A15', standard: true, uaa: false },
  /** A16: whether PKCE is checked strictly and demanded of clients without a credential. */
  strictPkce: { id: 'A16', standard: true, uaa: false },
  /** A17: whether a request in which a token stands for the person must carry a state. */
  stateWithToken: { id: 'A17', standard: true, uaa: false },
  /** A18: whether a code for a person whose token stands for them is worth no more than that token. */
  codeWithinToken: { id: 'A18', standard: true, uaa: false },
  /** A18: whether a token that cannot stand for a person is told the realm and the one scope that helps. */
  exactCallScope: { id: 'A18', standard: true, uaa: false },
  /** A19: whether the approval page as JSON has members of our own, and not the reference system's object of the request. */
  ownApprovalModel: { id: 'A19', standard: true, uaa: false },
  /** R1: whether an error travels as the success would have; otherwise in the fragment with `token` and silence only. */
  errorsLikeSuccess: { id: 'R1', standard: true, uaa: false },
  /** R2: whether only an unknown client and a bad redirect URI are shown as a page. */
  redirectErrors: { id: 'R2', standard: true, uaa: false },
  /** R3: whether a request of which nothing was approved is refused; otherwise its code fails at the token endpoint. */
  refuseNothingApproved: { id: 'R3', standard: true, uaa: false },
  /** R5: whether authorization responses carry `iss` (RFC 9207). */
  issuerInResponse: { id: 'R5', standard: true, uaa: false },
  /** R6: whether every browser-flow response carries `session_state`. */
  sessionState: { id: 'R6', standard: true, uaa: false },
  /** R7: the error when silence was asked for but approval is needed. */
  consentRequired: { id: 'R7', standard: 'consent_required', uaa: 'interaction_required' },
  /** R7: whether errors of silent requests are like all others; otherwise bare, and for a bad client an empty 400. */
  standardSilentErrors: { id: 'R7', standard: true, uaa: false },
  /** R8: whether error descriptions are limited to the characters of RFC 6749 appendix A.8. */
  plainDescriptions: { id: 'R8', standard: true, uaa: false },
  /** R10: seconds that an authorization code lives. */
  codeSeconds: { id: 'R10', standard: 60, uaa: 300 },
  /** T1: whether ID tokens carry at_hash and c_hash. */
  tokenHashes: { id: 'T1', standard: true, uaa: false },
  /** T3, T6: whether claims about the person follow the granted scopes. */
  claimsByScope: { id: 'T3', standard: true, uaa: false },
  /** T4: whether ID tokens carry a session id. */
  sessionIdClaim: { id: 'T4', standard: true, uaa: false },
  /** T5: whether userinfo is served by GET and POST only (OpenID Connect Core §5.3.1). */
  getOrPostUserinfo: { id: 'T5', standard: true, uaa: false },
  /** T7: the form of JWT access tokens (RFC 9068 §2). */
  standardAccessTokens: { id: 'T7', standard: true, uaa: false },
  /** T9: seconds that an access token lives when neither client nor zone says otherwise. */
  accessTokenSeconds: { id: 'T9', standard: 3600, uaa: 43_200 },
  /** T9: seconds that `expires_in` is behind the life of a new token: UAA tells the whole seconds that are left. */
  expiresInLag: { id: 'T9', standard: 0, uaa: 1 },
  /** T10: whether the reuse of a rotated refresh token revokes its family (RFC 9700 §4.14.2). */
  revokeReusedFamily: { id: 'T10', standard: true, uaa: false },
  /** T11: whether the reuse of a code revokes what the code gave (RFC 6749 §4.1.2). */
  revokeReusedCode: { id: 'T11', standard: true, uaa: false },
  /** C1: whether signed assertions authenticate a client at every endpoint that does; otherwise at the token endpoint. */
  assertionsEverywhere: { id: 'C1', standard: true, uaa: false },
  /** C2: whether two methods of client authentication in one request are refused (RFC 6749 §2.3). */
  refuseTwoMethods: { id: 'C2', standard: true, uaa: false },
  /** C3: whether an assertion may be meant for the issuer or the endpoint called; otherwise for the token endpoint only. */
  assertionForIssuer: { id: 'C3', standard: true, uaa: false },
  /** C4: whether an assertion is good once and for an hour at most; otherwise until it expires. */
  assertionOnce: { id: 'C4', standard: true, uaa: false },
  /** C5: whether a nonce is no matter of the token endpoint; otherwise it takes one, and repeats it in its answer. */
  ignoreTokenNonce: { id: 'C5', standard: true, uaa: false },
  /** C5: whether a POST's query is refused whole; otherwise it may have parameters that are no secret. */
  refuseEveryQuery: { id: 'C5', standard: true, uaa: false },
  /** C5: whether a body that is no form is refused where a form belongs; otherwise it counts as none. */
  refuseOtherBodies: { id: 'C5', standard: true, uaa: false },
  /** C5: whether the presence of a passcode is enough; otherwise it counts only where JSON or a form is accepted first. */
  passcodeForAnyAccept: { id: 'C5', standard: true, uaa: false },
  /** C6: whether a request without a token gets a challenge without `error` (RFC 6750 §3.1). */
  bareChallenge: { id: 'C6', standard: true, uaa: false },
  /** C7: whether introspection answers as RFC 7662 §2.2 says. */
  standardIntrospection: { id: 'C7', standard: true, uaa: false },
  /** C7: whether a client that may not inspect tokens is told the scope that would help; otherwise access is denied. */
  tellInspectorScope: { id: 'C7', standard: true, uaa: false },
  /** C13: whether the list of clients' descriptions has only those that are described. */
  describedClientsOnly: { id: 'C13', standard: true, uaa: false },
  /** C13: whether the list of providers has only records; otherwise also the idle rows that UAA's database begins with. */
  storedProvidersOnly: { id: 'C13', standard: true, uaa: false },
  /** C13: whether clients of the configuration follow the API's rules for grants, and their self-service targets are only kept. */
  strictConfiguredClients: { id: 'C13', standard: true, uaa: false },
  /** C9: whether a token of this server works as an assertion only for whom it was issued to. */
  strictOwnAssertions: { id: 'C9', standard: true, uaa: false },
  /** C11: wrong user name or password, or a passcode of somebody who is gone. */
  badCredentials: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_client', 401) },
  /** C11: the password is missing. */
  missingPassword: { id: 'C11', standard: invalidRequest, uaa: refusal('invalid_client', 401) },
  /** C11: a passcode was to come, and is empty. */
  missingPasscode: { id: 'C11', standard: invalidRequest, uaa: refusal('unauthorized', 401) },
  /** C11: the passcode is wrong, used or expired. */
  badPasscode: { id: 'C11', standard: invalidGrant, uaa: refusal('unauthorized', 401) },
  /** C11: there is no assertion. */
  missingAssertion: { id: 'C11', standard: invalidRequest, uaa: refusal('unauthorized', 401) },
  /** C11: nothing proves what the assertion says: signature, audience or time is wrong, or it was revoked. */
  untrustedAssertion: { id: 'C11', standard: invalidGrant, uaa: refusal('invalid_token', 401) },
  /** C11: the assertion is unreadable, of no provider that is known, or leads to no account. */
  unusableAssertion: { id: 'C11', standard: invalidGrant, uaa: refusal('unauthorized', 401) },
  /** C11: the account is locked, its provider disabled, or a new password is due. */
  signInRefused: { id: 'C11', standard: invalidGrant, uaa: refusal('unauthorized', 401) },
  /** C12: whether a locked account is answered like a wrong password, after the same time; otherwise it is told. */
  hideLockout: { id: 'C12', standard: true, uaa: false },
  /** C11: the account is not verified. */
  unverifiedAccount: { id: 'C11', standard: invalidGrant, uaa: refusal('access_denied', 403) },
  /** C11: the login hint fits no provider that takes passwords. */
  unusableLoginHint: { id: 'C11', standard: invalidRequest, uaa: refusal('unauthorized', 401) },
  /** C11: the provider named is barred to the client. */
  providerBarred: { id: 'C11', standard: refusal('unauthorized_client', 400), uaa: refusal('unauthorized', 401) },
  /** C11: the user's provider is barred to the client, which shows only after the sign-in. */
  userProviderBarred: {
    id: 'C11',
    standard: refusal('unauthorized_client', 400),
    uaa: refusal('unauthorized_client', 401),
  },
  /** C11: no provider that takes passwords is left for the client. */
  noProviderLeft: { id: 'C11', standard: refusal('unauthorized_client', 400), uaa: refusal('invalid_client', 401) },
  /** C11: several providers are left and nothing chooses. */
  severalProvidersLeft: { id: 'C11', standard: invalidRequest, uaa: refusal('invalid_client', 401) },
  /** C11: the client may not use the grant. */
  grantNotAllowed: { id: 'C11', standard: refusal('unauthorized_client', 400), uaa: refusal('invalid_client', 401) },
  /** C11: the refresh token is unknown, expired, revoked, badly signed, or what it stands for was lost. */
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
  /** C11: whether a token request without credentials is told that they are missing; otherwise that they are bad. */
  tellMissingCredentials: { id: 'C11', standard: true, uaa: false },
  /** C11: whether a grant that is missing or unknown is refused before the client is authenticated. */
  grantBeforeClient: { id: 'C11', standard: true, uaa: false },
  /** C11: whether another client's id beside good credentials is answered with their own challenge; otherwise with Bearer. */
  basicForForeignId: { id: 'C11', standard: true, uaa: false },
  /** C11: whether a client without scopes is told first that it may not use the password grant. */
  grantBeforeScope: { id: 'C11', standard: true, uaa: false },
  /** C11: there is no key to sign with. */
  noSigningKey: { id: 'C11', standard: refusal('server_error', 500), uaa: refusal('unauthorized', 401) },
  /** L1: whether a logout by POST needs no anti-forgery value. */
  openLogoutPost: { id: 'L1', standard: true, uaa: false },
  /** L4, L5: whether logout follows RP-Initiated Logout: verified hint, exact targets, else a confirmation. */
  rpInitiatedLogout: { id: 'L4', standard: true, uaa: false },
  /** P1: whether pages carry a second content security policy and a referrer policy. */
  extraPageHeaders: { id: 'P1', standard: true, uaa: false },
  /** P1: whether answers of /oauth/authorize carry Strict-Transport-Security over http as well, as was specified. */
  strictTransportAlways: { id: 'P1', standard: true, uaa: false },
  /** P3: whether the path of the anti-forgery cookie is `/`; otherwise that of the base URL. */
  csrfCookieAtRoot: { id: 'P3', standard: true, uaa: false },
  /** P3: whether forms of people who are not signed in need the visitor's cookie; otherwise a script, no browser, does without. */
  visitorCookieNeeded: { id: 'P3', standard: true, uaa: false },
  /** P3: whether a sign-in form that was open for too long is shown again with what was typed; otherwise `/login` tells. */
  staleFormShownAgain: { id: 'P3', standard: true, uaa: false },
  /** P2: whether the session cookie is named after the service and prefixed under https; otherwise JSESSIONID. */
  ownSessionCookie: { id: 'P2', standard: true, uaa: false },
  /** P4: whether pages have our own words, in the language that is asked for; otherwise those that UAA's clients look for. */
  ownWords: { id: 'P4', standard: true, uaa: false },
  /** P4: whether `/authenticate` is unknown; otherwise it is an address that has no GET. */
  authenticateIsUnknown: { id: 'P4', standard: true, uaa: false },
  /** P2: whether a session cookie waits for a session; otherwise who is sent to sign in gets one, behind which nothing stands. */
  noEmptySessions: { id: 'P2', standard: true, uaa: false },
  /** P4: whether a `;` in a path is a character like any other (RFC 3986 §3.3); otherwise it is refused as malicious. */
  plainSemicolons: { id: 'P4', standard: true, uaa: false },
  /** P4: the status of a direct visit to /rejected. */
  rejectedStatus: { id: 'P4', standard: 400, uaa: 200 },
  /** P5: how many characters a password needs where the policy is silent. */
  minPasswordLength: { id: 'P5', standard: 8, uaa: 0 },
  /** P6: whether an address finds an account that nobody signed in to yet only where the provider's record asks for it. */
  linkByEmailWhereAsked: { id: 'P6', standard: true, uaa: false },
  /** P4: whether a failed sign-in at another provider is told where it ended; otherwise at /oauth_error. */
  externalFailureInPlace: { id: 'P4', standard: true, uaa: false },
  /** P4: whether a sign-in at another provider that nothing waits for leads to the start page; otherwise to /home. */
  externalSignInLeadsToStart: { id: 'P4', standard: true, uaa: false },
} as const satisfies Record<string, { id: string; standard: unknown; uaa: unknown }>

type Rows = typeof rows
type Widened<T> = T extends boolean ? boolean : T extends number ? number : T extends Refusal ? Refusal : T

/** What this server does at each point where the modes differ. */
export type Behaviour = { readonly [K in keyof Rows]: Widened<Rows[K]['standard'] | Rows[K]['uaa']> } & {
  readonly mode: CompatibilityMode
}

/** The column of the table that `mode` names. */
export function behaviourOf(mode: CompatibilityMode): Behaviour {
  const column = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row[mode]]))
  return { ...column, mode } as Behaviour // each entry has the type that its row gives
}

/** The rows by name with their ids, for the test that compares them with docs/compatibility.md. */
export const differenceIds: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(rows).map(([name, row]) => [name, row.id]),
)

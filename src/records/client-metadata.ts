// The metadata of OAuth and OpenID Connect clients, under the names of RFC 7591 §2, OpenID Connect Dynamic Client
// Registration §2 and the standards that extend them. Rules between members are next to the protocols.
import * as v from 'valibot'
import { flag, list, oneOf, string } from './kinds.ts'
import { PROFILES } from './profiles.ts'
import { describeRecord } from './record.ts'
import { exchangeRules } from './token-exchange.ts'

/** Algorithms for signatures of clients and for them; `none` and shared secrets are not among them. */
export const CLIENT_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

/** What a client may sign with: one of them has a newer name (RFC 9864 §2.2), which discovery lists too. */
const CLIENT_SIGNATURES = [...CLIENT_ALGORITHMS, 'Ed25519'] as const

/** One of `CLIENT_ALGORITHMS`. */
export type ClientAlgorithm = (typeof CLIENT_ALGORITHMS)[number]

/** The values of `token_endpoint_auth_method`. */
const CLIENT_AUTH_METHOD_NAMES = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
  'none',
] as const

const MAX_AGE = 2 ** 31 - 1
const MAX_AGE_PROBLEM = `must be a whole number of seconds, from 0 to ${MAX_AGE}`

const age = v.pipe(
  v.number(MAX_AGE_PROBLEM),
  v.integer(MAX_AGE_PROBLEM),
  v.minValue(0, MAX_AGE_PROBLEM),
  v.maxValue(MAX_AGE, MAX_AGE_PROBLEM),
)

const MAX_URI_LENGTH = 2048

const text = v.pipe(string, v.maxLength(MAX_URI_LENGTH, `must have at most ${MAX_URI_LENGTH} characters`))

/** One attribute of a client, shown and stored under its standard name. */
const attribute = <const W extends string, const K extends v.GenericSchema<unknown, unknown>>(
  wire: W,
  kind: K,
  about: string,
) => ({ wire, kind, storage: 'attribute', optional: true, about }) as const

/** Members of the record of a client. */
export const clientMetadataFields = describeRecord({
  tokenEndpointAuthMethod: attribute(
    'token_endpoint_auth_method',
    oneOf(CLIENT_AUTH_METHOD_NAMES),
    'The only method by which it may authenticate; unless set, every method that it has a credential for.',
  ),
  tokenEndpointAuthSigningAlg: attribute(
    'token_endpoint_auth_signing_alg',
    oneOf(CLIENT_SIGNATURES),
    'The only algorithm of its assertions.',
  ),
  tlsClientAuthSubjectDn: attribute('tls_client_auth_subject_dn', text, 'Subject of its certificate (RFC 4514).'),
  tlsClientAuthSanDns: attribute('tls_client_auth_san_dns', text, 'A DNS name of its certificate.'),
  tlsClientAuthSanUri: attribute('tls_client_auth_san_uri', text, 'A URI of its certificate.'),
  tlsClientAuthSanIp: attribute('tls_client_auth_san_ip', text, 'An IP address of its certificate.'),
  tlsClientAuthSanEmail: attribute('tls_client_auth_san_email', text, 'An e-mail address of its certificate.'),
  certificateBoundTokens: attribute(
    'tls_client_certificate_bound_access_tokens',
    flag,
    'Whether its tokens are bound to its certificate (RFC 8705 §3).',
  ),
  dpopBoundTokens: attribute(
    'dpop_bound_access_tokens',
    flag,
    'Whether its tokens are bound to a key by DPoP, always (RFC 9449 §5.2).',
  ),
  requestObjectSigningAlg: attribute(
    'request_object_signing_alg',
    oneOf(CLIENT_SIGNATURES),
    'The only algorithm of its request objects.',
  ),
  requireSignedRequestObject: attribute(
    'require_signed_request_object',
    flag,
    'Whether its authorization requests must be signed (RFC 9101 §10.5).',
  ),
  requestUris: attribute('request_uris', list, 'Where its request objects may be fetched from.'),
  requirePushedRequests: attribute(
    'require_pushed_authorization_requests',
    flag,
    'Whether its authorization requests must be pushed (RFC 9126 §6).',
  ),
  authorizationSignedResponseAlg: attribute(
    'authorization_signed_response_alg',
    oneOf(CLIENT_ALGORITHMS),
    'The algorithm of signed authorization responses (JARM §3).',
  ),
  idTokenSignedResponseAlg: attribute(
    'id_token_signed_response_alg',
    oneOf(CLIENT_ALGORITHMS),
    'The algorithm of its ID tokens; unless set, that of the active key, or RS256 for clients that registered themselves.',
  ),
  userinfoSignedResponseAlg: attribute(
    'userinfo_signed_response_alg',
    oneOf(CLIENT_ALGORITHMS),
    'The algorithm of signed userinfo responses, which are JSON unless set.',
  ),
  introspectionSignedResponseAlg: attribute(
    'introspection_signed_response_alg',
    oneOf(CLIENT_ALGORITHMS),
    'The algorithm of signed introspection responses, RS256 unless set (RFC 9701 §6).',
  ),
  subjectType: attribute(
    'subject_type',
    oneOf(['public', 'pairwise']),
    'Whether its users have the same subject for every client, or one for its sector.',
  ),
  sectorIdentifierUri: attribute(
    'sector_identifier_uri',
    text,
    'A list of redirect URIs whose host is the sector (OpenID Connect Core §8.1).',
  ),
  defaultMaxAge: attribute('default_max_age', age, 'The `max_age` of requests without one, in seconds.'),
  requireAuthTime: attribute('require_auth_time', flag, 'Whether its ID tokens must have `auth_time`.'),
  defaultAcrValues: attribute('default_acr_values', list, 'The `acr_values` of requests without any.'),
  initiateLoginUri: attribute(
    'initiate_login_uri',
    text,
    'Where a sign-in that begins here is sent to (OpenID Connect Core §4).',
  ),
  logoUri: attribute('logo_uri', text, 'Its logo.'),
  clientUri: attribute('client_uri', text, 'Its home page.'),
  policyUri: attribute('policy_uri', text, 'Its privacy policy.'),
  tosUri: attribute('tos_uri', text, 'Its terms of service.'),
  contacts: attribute('contacts', list, 'E-mail addresses of the responsible people.'),
  applicationType: attribute('application_type', oneOf(['web', 'native']), 'What kind of application it is.'),
  softwareId: attribute('software_id', text, 'The same for every copy of the software.'),
  softwareVersion: attribute('software_version', text, 'The version of the software.'),
  frontchannelLogoutUri: attribute(
    'frontchannel_logout_uri',
    text,
    'Loaded by the browser when a session ends (Front-Channel Logout §2).',
  ),
  frontchannelLogoutSessionRequired: attribute(
    'frontchannel_logout_session_required',
    flag,
    'Whether `iss` and `sid` are added to it.',
  ),
  backchannelLogoutUri: attribute(
    'backchannel_logout_uri',
    text,
    'Called when a session ends (Back-Channel Logout §2.2).',
  ),
  backchannelLogoutSessionRequired: attribute(
    'backchannel_logout_session_required',
    flag,
    'Whether logout tokens must have `sid`.',
  ),
  profile: attribute('profile', oneOf(PROFILES), 'The profile of FAPI that it must meet.'),
  tokenExchange: attribute(
    'tokenExchange',
    exchangeRules,
    'What it may exchange tokens for (RFC 8693): rules with audience, subjects, scopes and mode.',
  ),
  resources: attribute('resources', list, 'The resources that it may name in requests (RFC 8707).'),
})

// Discovery metadata. Every list comes from the code that uses it.
import type { FastifyInstance } from 'fastify'
import { LEVELS } from '../model/sessions/assurance.ts'
import type { Level } from '../model/sessions/assurance.ts'
import { AUTHORIZE_GRANT_TYPES, hasGrantType } from '../model/clients/grant-types.ts'
import { LANGUAGES } from '../model/language.ts'
import { methodsFor, secondFactorPolicy } from '../model/users/second-factor.ts'
import { registrationPolicy } from '../model/clients/registration.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { AddressedZone } from '../model/request.ts'
import { FOREIGN_ALGORITHMS } from '../token/foreign-keys.ts'
import { isPublic } from '../token/keys/zone-key.ts'
import { METADATA_AT_ORIGIN } from '../web/zones/zone.ts'
import { CLIENT_AUTH_METHODS } from '../clients/authentication/authentication.ts'
import { sendJson } from '../web/requests/json.ts'
import { CODE_CHALLENGE_METHODS } from './pkce.ts'
import {
  FURTHER_RESPONSE_TYPES,
  RESPONSE_MODES,
  SIGNED_RESPONSE_MODES,
  SPECIFIED_RESPONSE_TYPES,
} from './authorize/response/response-type.ts'
import { REGISTRATION_PATH } from './registration/routes.ts'
import { withinProfile } from './profile-metadata.ts'
import { endpointAliases, protocolMetadata } from './protocol-metadata.ts'
import { CHECK_SESSION_PATH } from './session-frames.ts'
import { GRANTS } from './grants/grants.ts'
import type { OAuthDeps } from './deps.ts'

/** Scopes with a meaning of their own, as the specification lists them. */
const SCOPES = ['openid', 'profile', 'email', 'phone', 'roles', 'user_attributes']

/** Scopes that the metadata lists: none that administers, because programs request all that they find there. */
export const listedScopes = ({ fullMetadata }: Pick<Behaviour, 'fullMetadata'>): readonly string[] =>
  fullMetadata ? [...SCOPES, 'address'] : SCOPES

const CLAIMS = [
  'sub',
  'user_name',
  'origin',
  'iss',
  'auth_time',
  'amr',
  'acr',
  'client_id',
  'aud',
  'zid',
  'grant_type',
  'user_id',
  'azp',
  'scope',
  'exp',
  'iat',
  'jti',
  'rev_sig',
  'cid',
  'given_name',
  'family_name',
  'phone_number',
  'email',
]

const FULL_CLAIMS = [
  'name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'updated_at',
  'email_verified',
  'phone_number_verified',
  'address',
  'user_attributes',
  'sid',
]

/** What the endpoints accept, for the OpenAPI document; each list comes from the code that uses it. */
export const SUPPORTED = {
  responseTypes: [...SPECIFIED_RESPONSE_TYPES, ...FURTHER_RESPONSE_TYPES],
  responseModes: [...RESPONSE_MODES, ...SIGNED_RESPONSE_MODES],
  codeChallengeMethods: CODE_CHALLENGE_METHODS,
} as const

const config = {
  access: { by: 'anyone', because: 'public by definition: Discovery §4, RFC 8414' },
  audience: 'open',
  withoutDatabase: true,
} as const

/** Where a base URL has a path, RFC 8414 §3.1 puts the document before it, outside of everything else. */
export function metadataAtOrigin(app: FastifyInstance, deps: OAuthDeps): void {
  const { basePath } = deps.urls
  serveMetadata(app, deps, [METADATA_AT_ORIGIN + basePath, `${METADATA_AT_ORIGIN}${basePath}/oauth/token`])
}

function serveMetadata(app: FastifyInstance, deps: OAuthDeps, paths: readonly string[]): void {
  for (const path of paths) {
    app.get(path, { config }, async ({ zone }, reply) => {
      // A shared secret is the zone's own: to a client, HS256 would mean the client's secret (OpenID Connect Core §10.1).
      const published = (await deps.keys.list(zone.id)).filter(isPublic)
      const algorithms = [...new Set(published.map(key => key.algorithm))]
      return sendJson(reply, metadata(zone, algorithms, deps))
    })
  }
}

/** Discovery (OpenID Connect Discovery §4, RFC 8414). */
export function metadataEndpoints(app: FastifyInstance, deps: OAuthDeps): void {
  serveMetadata(app, deps, [
    '/.well-known/openid-configuration',
    '/oauth/token/.well-known/openid-configuration', // below UAA's issuer (row M2)
    METADATA_AT_ORIGIN, // RFC 8414 (row M3), for either issuer
    `${METADATA_AT_ORIGIN}/oauth/token`,
  ])
}

/** The levels that users of the zone can reach here; none without second factors. */
function levelsOf(
  zone: AddressedZone,
  { behaviour, verifiesAttestation }: Pick<OAuthDeps, 'behaviour' | 'verifiesAttestation'>,
): readonly Level[] {
  const policy = secondFactorPolicy(zone, behaviour)
  if (policy.requirement === 'off') return []
  const isReached = (level: Level): boolean =>
    level === '1' || ((level !== 'phrh' || verifiesAttestation) && methodsFor(level, policy).length > 0)
  return LEVELS.filter(isReached)
}

/** The document of a zone, in the order of the specification. */
function metadata(
  zone: AddressedZone,
  algorithms: readonly string[],
  { urls, service, behaviour, verifiesAttestation, mutualTls }: OAuthDeps,
): Readonly<Record<string, unknown>> {
  const base = urls.ofZone(zone)
  const methods = CLIENT_AUTH_METHODS.map(method => method.name)
  const provenMethods = methods.filter(name => name !== 'none')
  const specified = {
    issuer: urls.issuer(zone),
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    userinfo_endpoint: `${base}/userinfo`,
    jwks_uri: `${base}/token_keys`,
    end_session_endpoint: `${base}/logout.do`,
    scopes_supported: listedScopes(behaviour),
    subject_types_supported: ['public'],
    token_endpoint_auth_methods_supported: behaviour.fullMetadata ? methods : provenMethods,
    token_endpoint_auth_signing_alg_values_supported: behaviour.fullMetadata ? FOREIGN_ALGORITHMS : ['RS256', 'HS256'],
    response_types_supported: behaviour.fullMetadata
      ? [...SPECIFIED_RESPONSE_TYPES, ...FURTHER_RESPONSE_TYPES]
      : SPECIFIED_RESPONSE_TYPES,
    // RS256 is always listed (Discovery §3); the others are the algorithms of the zone's keys.
    id_token_signing_alg_values_supported: behaviour.fullMetadata
      ? [...new Set(['RS256', ...algorithms])]
      : ['RS256', 'HS256'],
    id_token_encryption_alg_values_supported: ['none'],
    claim_types_supported: ['normal'],
    claims_supported: behaviour.fullMetadata ? [...CLAIMS, ...FULL_CLAIMS] : CLAIMS,
    claims_parameter_supported: false,
    service_documentation: `${base}/`,
    // The specified language first, then the other languages of the pages.
    ui_locales_supported: behaviour.ownWords ? ['en-US', ...LANGUAGES.slice(1)] : ['en-US'],
    code_challenge_methods_supported: CODE_CHALLENGE_METHODS,
  }
  const levels = levelsOf(zone, { behaviour, verifiesAttestation })
  const described = { ...specified, ...(levels.length > 0 && { acr_values_supported: levels }) }
  if (!behaviour.fullMetadata) return described
  const facts = { base, algorithms: algorithms.length > 0 ? algorithms : ['RS256'], urls, behaviour, mutualTls }
  const document = {
    ...described,
    grant_types_supported: [...GRANTS.map(({ type }) => type), ...AUTHORIZE_GRANT_TYPES].filter(type =>
      hasGrantType(zone, type, behaviour),
    ),
    response_modes_supported: RESPONSE_MODES,
    introspection_endpoint: `${base}/introspect`,
    introspection_endpoint_auth_methods_supported: provenMethods,
    // RFC 8414 §2: required where signed assertions are among the methods.
    introspection_endpoint_auth_signing_alg_values_supported: FOREIGN_ALGORITHMS,
    revocation_endpoint: `${base}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: FOREIGN_ALGORITHMS,
    check_session_iframe: `${base}${CHECK_SESSION_PATH}`,
    authorization_response_iss_parameter_supported: true,
    ...(registrationPolicy(zone, service).mode !== 'off' && { registration_endpoint: `${base}${REGISTRATION_PATH}` }),
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    ...protocolMetadata(zone, facts),
  }
  return withinProfile(zone, { ...document, ...endpointAliases(zone, document, facts) })
}

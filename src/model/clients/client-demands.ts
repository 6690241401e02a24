// What a client must do beyond what the grants require of all clients: by its record, by its zone, or by a profile of FAPI
// that either of them has. The endpoints ask here and nowhere else.
import type { ClientAlgorithm } from '../../records/client-metadata.ts'
import { PROFILES } from '../../records/profiles.ts'
import type { Profile } from '../../records/profiles.ts'
import type { Client } from './client.ts'
import type { Zone } from '../zones/zone.ts'
import { DEVICE_CODE, TOKEN_EXCHANGE } from './grant-types.ts'

interface ClientDemands {
  /** The profile that asks for it. */
  readonly profile: Profile | undefined
  /** Authorization requests are pushed (RFC 9126). */
  readonly pushed: boolean
  /** Authorization requests are signed (RFC 9101). */
  readonly signedRequests: boolean
  /** Authorization responses are signed (JARM). */
  readonly signedResponses: boolean
  /** Authorization responses have `iss` (RFC 9207), also in `uaa`. */
  readonly issuerInResponse: boolean
  /** The authorization endpoint returns only codes; requests must have a redirect URI and PKCE with S256. */
  readonly codeWithProofOnly: boolean
  /** Codes come with an ID token or in a signed response; requests have what FAPI 1.0 Advanced §5.2.2 asks for. */
  readonly signedCodesOnly: boolean
  /** Maximum lifetime of a code, in seconds. */
  readonly codeSeconds: number
  /** Tokens are bound to their sender. */
  readonly bound: boolean
  /** That sender is known by a certificate: the profile is older than DPoP. */
  readonly certificateOnly: boolean
  /** Redirect URIs are https, also those of programs on devices. */
  readonly httpsOnly: boolean
  /** The accepted methods of client authentication; if absent, all that it has a credential for. */
  readonly authMethods: readonly string[] | undefined
  /** An assertion names the issuer as its audience, and nothing else. */
  readonly issuerAsAudience: boolean
  /** The algorithms of everything that is signed by or for it; all if absent. */
  readonly algorithms: readonly ClientAlgorithm[] | undefined
  /** The grants that it may use; all that its record has if absent. */
  readonly grantTypes: readonly string[] | undefined
  readonly keepsRefreshToken: boolean
}

/** FAPI 2.0 Security Profile §5.4.1. */
const FAPI_ALGORITHMS: readonly ClientAlgorithm[] = ['PS256', 'ES256', 'EdDSA']

/** FAPI 1.0 Advanced §8.6; §5.2.2 has mutual TLS as the only way to bind tokens, Baseline §5.2.2 https for redirect URIs. */
const FAPI1_ALGORITHMS: readonly ClientAlgorithm[] = ['PS256', 'ES256']

/** FAPI 2.0 Security Profile §5.3.2.1, FAPI 1.0 Advanced §5.2.2: proofs of a key, never a shared secret. */
const FAPI_AUTH_METHODS: readonly string[] = ['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']

/** FAPI 2.0 Security Profile §5.3.2; FAPI 1.0 has no others: neither passwords nor tokens in the front channel. */
const FAPI_GRANT_TYPES: readonly string[] = [
  'authorization_code',
  'client_credentials',
  'refresh_token',
  DEVICE_CODE,
  TOKEN_EXCHANGE,
]

/** The profile of the client or its zone; of two different ones the later in the list. */
export const profileOf = ({ config }: Pick<Zone, 'config'>, client: Pick<Client, 'profile'>): Profile | undefined =>
  PROFILES.findLast(each => each === config.profile || each === client.profile)

type DemandingMembers = Pick<
  Client,
  'profile' | 'tokenEndpointAuthMethod' | 'requirePushedRequests' | 'requireSignedRequestObject'
>

/** Must be cheap: called for every token request. */
export function demandsOn(zone: Pick<Zone, 'config'>, client: DemandingMembers): ClientDemands {
  const profile = profileOf(zone, client)
  const isFapi = profile !== undefined
  const isFirst = profile === 'fapi1-advanced'
  const isSigned = profile === 'fapi2-message-signing'
  const { tokenEndpointAuthMethod: method } = client
  return {
    profile,
    pushed: (isFapi && !isFirst) || client.requirePushedRequests === true || zone.config.requirePushedRequests === true,
    signedRequests: isSigned || isFirst || client.requireSignedRequestObject === true,
    signedResponses: isSigned,
    issuerInResponse: isFapi && !isFirst,
    codeWithProofOnly: isFapi && !isFirst,
    signedCodesOnly: isFirst,
    codeSeconds: isFapi ? 60 : Number.POSITIVE_INFINITY,
    bound: isFapi,
    certificateOnly: isFirst,
    httpsOnly: isFirst,
    authMethods: method === undefined ? (isFapi ? FAPI_AUTH_METHODS : undefined) : allowed(method, isFapi),
    issuerAsAudience: isFapi && !isFirst,
    algorithms: isFapi ? (isFirst ? FAPI1_ALGORITHMS : FAPI_ALGORITHMS) : undefined,
    grantTypes: isFapi ? FAPI_GRANT_TYPES : undefined,
    keepsRefreshToken: isFapi,
  }
}

/** The method of the record, unless the profile rules it out. */
const allowed = (method: string, isFapi: boolean): readonly string[] =>
  isFapi && !FAPI_AUTH_METHODS.includes(method) ? [] : [method]

/** Whether the client may send the passwords of users: not one that registered itself, and not one whose profile forbids it. */
export function mayHandlePasswords(
  zone: Pick<Zone, 'config'>,
  client: DemandingMembers & Pick<Client, 'registration'>,
): boolean {
  const { grantTypes } = demandsOn(zone, client)
  return client.registration === undefined && (!grantTypes || grantTypes.includes('password'))
}

/** OpenID Connect Registration §2, RFC 9701 §6. */
export const DEFAULT_ALGORITHM: ClientAlgorithm = 'RS256'

/**
 * The algorithm of ID tokens and signed responses for a client that registered itself without naming one (OpenID Connect
 * Registration §2, JARM §3), or with `isFixed` for any client, if the zone has a key for it. Undefined: that of the active key,
 * or of the profile.
 */
export function defaultAlgorithm(
  zone: Pick<Zone, 'config'>,
  client: DemandingMembers & Pick<Client, 'registration'>,
  { isFixed }: { readonly isFixed: boolean },
): ClientAlgorithm | undefined {
  if (!isFixed && client.registration === undefined) return undefined
  return demandsOn(zone, client).algorithms === undefined ? DEFAULT_ALGORITHM : undefined
}

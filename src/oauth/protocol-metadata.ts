// The discovery metadata of the protocols that a zone can turn off: one entry for each.
import type { Behaviour } from '../model/compatibility.ts'
import { demandsOn } from '../model/clients/client-demands.ts'
import type { Protocol } from '../model/zones/protocols.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import { possibleTlsMethods } from '../model/clients/mutual-tls.ts'
import type { MutualTlsSettings } from '../model/clients/mutual-tls.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Urls } from '../model/urls.ts'
import { FOREIGN_ALGORITHMS } from '../token/foreign-keys.ts'
import { CLIENT_AUTH_METHODS } from '../clients/authentication/authentication.ts'
import { RESPONSE_MODES, SIGNED_RESPONSE_MODES } from './authorize/response/response-type.ts'
import { PUSH_PATH } from './pushed-requests.ts'

/** What the members are made from. */
interface Facts {
  /** The URL of the zone, without a slash at the end. */
  readonly base: string
  /** The algorithms of the zone's published keys; as long as there is none, that of its first key. */
  readonly algorithms: readonly string[]
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly mutualTls?: MutualTlsSettings | undefined
}

type Members = Readonly<Record<string, unknown>>

/** An entry may name the members of other entries: the later one counts. */
const PROTOCOL_METADATA: { readonly [P in Protocol]?: (zone: AddressedZone, facts: Facts) => Members } = {
  deviceGrant: (_, { base }) => ({ device_authorization_endpoint: `${base}/oauth/device_authorization` }),
  dpop: () => ({ dpop_signing_alg_values_supported: FOREIGN_ALGORITHMS }),
  requestObjects: ({ config }) => ({
    request_parameter_supported: true,
    request_uri_parameter_supported: true,
    require_request_uri_registration: true,
    request_object_signing_alg_values_supported: FOREIGN_ALGORITHMS,
    ...(demandsOn({ config }, {}).signedRequests && { require_signed_request_object: true }),
  }),
  pushedRequests: ({ config }, { base }) => ({
    pushed_authorization_request_endpoint: `${base}${PUSH_PATH}`,
    require_pushed_authorization_requests: demandsOn({ config }, {}).pushed,
  }),
  signedResponses: (_, { algorithms }) => ({
    response_modes_supported: [...RESPONSE_MODES, ...SIGNED_RESPONSE_MODES],
    authorization_signing_alg_values_supported: algorithms,
  }),
  frontchannelLogout: () => ({ frontchannel_logout_supported: true, frontchannel_logout_session_supported: true }),
  backchannelLogout: () => ({ backchannel_logout_supported: true, backchannel_logout_session_supported: true }),
  signedUserinfo: (_, { algorithms }) => ({ userinfo_signing_alg_values_supported: algorithms }),
  signedIntrospection: (_, { algorithms }) => ({ introspection_signing_alg_values_supported: algorithms }),
  mutualTls: (_, { mutualTls }) => (mutualTls ? certificateMembers(mutualTls) : {}),
  clientMetadataDocuments: () => ({ client_id_metadata_document_supported: true }),
  pairwiseSubjects: () => ({ subject_types_supported: ['public', 'pairwise'] }),
}

/** RFC 8705 §3.3. */
function certificateMembers(settings: MutualTlsSettings): Members {
  const methods = [...CLIENT_AUTH_METHODS.map(({ name }) => name), ...possibleTlsMethods(settings)]
  return {
    token_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_methods_supported: methods.filter(name => name !== 'none'),
    revocation_endpoint_auth_methods_supported: methods,
    tls_client_certificate_bound_access_tokens: true,
  }
}

/** Endpoints where clients authenticate or present tokens. */
const WITH_CERTIFICATES = [
  'token_endpoint',
  'userinfo_endpoint',
  'introspection_endpoint',
  'revocation_endpoint',
  'pushed_authorization_request_endpoint',
  'device_authorization_endpoint',
] as const

/** RFC 8705 §5: the endpoints of the document again, where the proxy asks for certificates. */
export function endpointAliases(
  zone: AddressedZone,
  document: Members,
  { base, behaviour, urls }: Pick<Facts, 'base' | 'behaviour' | 'urls'>,
): Members {
  const aliasBase = urls.certificateBaseOf(zone)
  if (aliasBase === undefined || !supportsProtocol(zone, 'mutualTls', behaviour)) return {}
  const aliases = WITH_CERTIFICATES.flatMap(name => {
    const url = document[name]
    return typeof url === 'string' ? [[name, aliasBase + url.slice(base.length)] as const] : []
  })
  return { mtls_endpoint_aliases: Object.fromEntries(aliases) }
}

/** The members of every protocol that the zone supports. */
export function protocolMetadata(zone: AddressedZone, facts: Facts): Members {
  const supported = Object.entries(PROTOCOL_METADATA).flatMap(
    ([protocol, members]) =>
      supportsProtocol(zone, protocol as Protocol, facts.behaviour) ? [members(zone, facts)] : [], // its keys are protocols
  )
  return Object.fromEntries(supported.flatMap(members => Object.entries(members)))
}

// Reports what a client lacks to meet its or its zone's profile, so that administrators can fix it before users are refused.
import { demandsOn } from '../model/clients/client-demands.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { MutualTlsSettings } from '../model/clients/mutual-tls.ts'
import { possibleTlsMethods, tlsMethodOf } from '../model/clients/mutual-tls.ts'
import { algorithmNamed } from '../model/tokens/signing-key.ts'
import type { Protocol } from '../model/zones/protocols.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { KeyRing } from '../token/keys/keys.ts'
import type { ClientDefinition } from './client-json.ts'
import { hasKeys } from './client-update.ts'
import { unprotectedProblem } from './redirect-uri-form.ts'

/** Something to change: a member of the client, a setting of the zone, or a key of the server's configuration. */
interface ProfileProblem {
  readonly key: string
  readonly message: string
  /** The required changes. */
  readonly of: 'client' | 'zone' | 'server'
}

interface Deps {
  readonly keys: KeyRing
  readonly behaviour: Behaviour
  /** Absent: no certificates are requested. */
  readonly mutualTls?: MutualTlsSettings | undefined
}

/** What the profile rules out of the client, each value on its own; nothing for a client without a profile. */
export function ruledOut(zone: Pick<Zone, 'config'>, client: ClientDefinition): readonly ProfileProblem[] {
  const demands = demandsOn(zone, client)
  if (demands.profile === undefined) return []
  const problems: ProfileProblem[] = []
  const miss = (key: string, message: string): void => void problems.push({ of: 'client', key, message })

  const { tokenEndpointAuthMethod: method, allowPublic, redirectUris, authorizedGrantTypes: grantTypes } = client
  const methods = demands.authMethods ?? []
  if (methods.length === 0) miss('token_endpoint_auth_method', `${method} is not allowed`)
  else if (!hasProof(client)) miss('jwks', `it has no key or certificate to authenticate with: ${methods.join(' or ')}`)
  else if (demands.signedRequests && grantTypes.includes('authorization_code') && !hasKeys(client)) {
    miss('jwks', 'it has no key to sign authorization requests with')
  }
  if (allowPublic === true) miss('allowpublic', 'it must not be public')

  for (const type of grantTypes) {
    if (demands.grantTypes?.includes(type) === false) {
      miss('authorized_grant_types', `the profile does not allow ${type}`)
    }
  }
  for (const uri of redirectUris) {
    const problem = unprotectedProblem(uri, demands)
    if (problem !== undefined) miss('redirect_uri', `${uri} ${problem}`)
  }
  if (demands.certificateOnly && client.certificateBoundTokens !== true) {
    miss(
      'tls_client_certificate_bound_access_tokens',
      'it must be true: the profile binds tokens to a certificate alone',
    )
  }

  for (const [key, algorithm] of Object.entries({
    token_endpoint_auth_signing_alg: client.tokenEndpointAuthSigningAlg,
    request_object_signing_alg: client.requestObjectSigningAlg,
    id_token_signed_response_alg: client.idTokenSignedResponseAlg,
    userinfo_signed_response_alg: client.userinfoSignedResponseAlg,
    introspection_signed_response_alg: client.introspectionSignedResponseAlg,
    authorization_signed_response_alg: client.authorizationSignedResponseAlg,
  })) {
    if (algorithm !== undefined && demands.algorithms?.some(each => each === algorithmNamed(algorithm)) === false) {
      miss(key, `${algorithm} is not one of ${demands.algorithms.join(', ')}`)
    }
  }
  return problems
}

/** Everything that is missing; nothing for a client without a profile. */
export async function profileProblems(
  zone: Zone,
  client: ClientDefinition,
  { keys, behaviour, mutualTls }: Deps,
): Promise<readonly ProfileProblem[]> {
  const demands = demandsOn(zone, client)
  if (demands.profile === undefined) return []
  const problems: ProfileProblem[] = [...ruledOut(zone, client)]
  const missInZone = (key: string, message: string): void => void problems.push({ of: 'zone', key, message })

  const usable = await Promise.all((demands.algorithms ?? []).map(each => keys.withAlgorithm(zone.id, each)))
  if (!usable.some(Boolean)) {
    missInZone('tokenPolicy.keys', `the zone has no key for any of ${demands.algorithms?.join(', ')}`)
  }

  const isSupported = (protocol: Protocol): boolean => supportsProtocol(zone, protocol, behaviour)
  const needed: readonly (readonly [Protocol, boolean])[] = [
    ['pushedRequests', demands.pushed],
    ['requestObjects', demands.signedRequests],
    ['signedResponses', demands.signedResponses],
  ]
  for (const [protocol, isNeeded] of needed) {
    if (isNeeded && !isSupported(protocol)) missInZone(`protocols.${protocol}`, 'it is disabled in the zone')
  }
  const tlsMethod = tlsMethodOf(client)
  const asksCertificates = isSupported('mutualTls')
  const needsCertificate = tlsMethod !== undefined || demands.certificateOnly
  if (needsCertificate && !asksCertificates) missInZone('protocols.mutualTls', 'it is disabled in the zone')
  if (mutualTls === undefined && (needsCertificate || client.certificateBoundTokens === true)) {
    problems.push({ of: 'server', key: 'mutual_tls', message: 'the server does not request client certificates' })
  } else if (tlsMethod !== undefined && !possibleTlsMethods(mutualTls).includes(tlsMethod)) {
    problems.push({ of: 'server', key: 'mutual_tls.trusted_ca', message: 'the server has no trusted CA' })
  }
  if (
    demands.bound &&
    !demands.certificateOnly &&
    !isSupported('dpop') &&
    !(asksCertificates && mutualTls !== undefined)
  ) {
    missInZone(
      'protocols.dpop',
      'it is disabled in the zone, and tokens must be bound to their sender, but certificates are not available here',
    )
  }
  return problems
}

/** Whether it can authenticate without a shared secret. */
const hasProof = (client: ClientDefinition): boolean =>
  [
    client.jwks,
    client.jwksUri,
    client.tlsClientAuthSubjectDn,
    client.tlsClientAuthSanDns,
    client.tlsClientAuthSanUri,
    client.tlsClientAuthSanIp,
    client.tlsClientAuthSanEmail,
  ].some(each => each !== undefined)

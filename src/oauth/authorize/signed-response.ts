// Signed authorization responses (JARM): all parameters in one JWT, in success and in error.
import { addSeconds } from '../../base/clock.ts'
import { defaultAlgorithm, demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { SigningKey } from '../../token/keys/zone-key.ts'
import { isPublic } from '../../token/keys/zone-key.ts'
import type { AuthorizeDeps } from './context.ts'
import type { ResponseParameters, ResponseTarget } from './redirect.ts'

/** JARM §2.1 recommends at most ten minutes. */
const RESPONSE_SECONDS = 300

interface Unsigned {
  readonly parameters: ResponseParameters
  readonly deps: Pick<AuthorizeDeps, 'store' | 'keys' | 'clock' | 'urls'>
}

/** The one parameter `response` in place of all others. */
export async function inSignedResponse(
  zone: AddressedZone,
  { clientId }: Pick<ResponseTarget, 'clientId'>,
  { parameters, deps }: Unsigned,
): Promise<ResponseParameters> {
  const { store, clock, urls } = deps
  const client = await store.clients.find(zone.id, clientId) // cached
  const key = client && (await responseKey(zone, client, deps))
  if (!key) throw new OAuthError('server_error', 'The zone has no key for signed responses to this client')
  const exp = Math.floor(addSeconds(clock.now(), RESPONSE_SECONDS).getTime() / 1000)
  const claims = { ...parameters, iss: urls.issuer(zone), aud: clientId, exp }
  return { response: await key.sign('JWT', claims) }
}

/** Those that clients expect, if the active key is a shared secret. */
const COMMON = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

/**
 * The key of the algorithm that the client registered, or of its default; otherwise the active one, if others can verify with it,
 * regardless of the profile.
 */
export async function responseKey(
  zone: Zone,
  client: Client,
  { keys }: Pick<Unsigned['deps'], 'keys'>,
): Promise<SigningKey | undefined> {
  const { authorizationSignedResponseAlg: own } = client
  const { algorithms } = demandsOn(zone, client)
  const isAllowed = (algorithm: string): boolean => algorithms?.some(one => one === algorithm) !== false
  // A zone may have got its profile after the client got its algorithm.
  if (own !== undefined && isAllowed(own)) return keys.withAlgorithm(zone.id, own)
  const usual = defaultAlgorithm(zone, client)
  const usualKey = usual && (await keys.withAlgorithm(zone.id, usual))
  if (usualKey) return usualKey
  const active = await keys.active(zone.id)
  if (isAllowed(active.algorithm) && isPublic(active)) return active
  for (const algorithm of algorithms ?? COMMON) {
    const key = await keys.withAlgorithm(zone.id, algorithm)
    if (key) return key
  }
  return undefined
}

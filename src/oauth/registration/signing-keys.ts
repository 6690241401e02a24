// What a client signs needs a key that this server can verify it with. Otherwise each of its requests would fail, and nothing
// would tell its developer why.
import type { ClientDefinition } from '../../clients/client-json.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { foreignAlgorithmsAmong, verifiesWith } from '../../token/foreign-keys.ts'

/** The problem of a client without a key for its assertions or its request objects; undefined if its keys are at a URL. */
export function signingKeyProblem(zone: Zone, client: ClientDefinition): string | undefined {
  const { jwks, jwksUri, tokenEndpointAuthMethod, tokenEndpointAuthSigningAlg, requestObjectSigningAlg } = client
  const { algorithms, signedRequests } = demandsOn(zone, client)
  if (jwksUri !== undefined) return undefined
  if (jwks === undefined) return signedRequests ? 'signed authorization requests need jwks or jwks_uri' : undefined
  const uses = [
    { mustSign: tokenEndpointAuthMethod === 'private_key_jwt', own: tokenEndpointAuthSigningAlg },
    { mustSign: signedRequests, own: requestObjectSigningAlg },
  ]
  for (const { mustSign, own } of uses) {
    const accepted = foreignAlgorithmsAmong(own === undefined ? algorithms : [own])
    if (mustSign && !verifiesWith(jwks, accepted)) {
      return `no key of jwks can verify signatures by ${accepted.join(', ')}; RSA keys need 2048 to 8192 bits`
    }
  }
  return undefined
}

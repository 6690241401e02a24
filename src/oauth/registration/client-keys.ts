// What a client signs needs a key that this server can verify it with. Otherwise each of its requests would fail, and nothing
// would tell its developer why.
import type { ClientDefinition } from '../../clients/client-json.ts'
import { hasUsableKey } from '../../token/foreign-keys.ts'

/** The problem of the keys of a client that must sign; undefined if there is none, or if its keys are at a URL. */
export function keysProblem({
  jwks,
  tokenEndpointAuthMethod,
  requireSignedRequestObject,
}: Pick<ClientDefinition, 'jwks' | 'tokenEndpointAuthMethod' | 'requireSignedRequestObject'>): string | undefined {
  const mustSign = tokenEndpointAuthMethod === 'private_key_jwt' || requireSignedRequestObject === true
  if (!mustSign || jwks === undefined || hasUsableKey(jwks)) return undefined
  return 'no key of jwks can verify signatures: RSA keys need 2048 to 8192 bits; the curves are P-256, P-384, P-521 and Ed25519'
}

// The algorithms that sign for a client instead of those that it registered.
import { DEFAULT_ALGORITHM } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { clientKey } from '../../token/keys/key-choice.ts'
import { NoSigningKey } from '../../token/keys/keys.ts'
import { isPublic } from '../../token/keys/zone-key.ts'
import type { SigningKey } from '../../token/keys/zone-key.ts'
import type { SubstituteAlgorithms } from './answer.ts'
import type { OAuthDeps } from '../deps.ts'

/**
 * The algorithms of the client's ID tokens and signed responses that are not those it registered, or where it registered none, not
 * the default (OpenID Connect Registration §3.2, JARM §3).
 */
export async function substitutesFor(
  zone: AddressedZone,
  client: Client,
  { keys, behaviour }: Pick<OAuthDeps, 'keys' | 'behaviour'>,
): Promise<SubstituteAlgorithms> {
  if ((await keys.list(zone.id)).length === 0) return {}
  const signing = { zone, client, keys }
  return {
    idToken: await substitute(clientKey('id_token', signing), client.idTokenSignedResponseAlg),
    response: supportsProtocol(zone, 'signedResponses', behaviour)
      ? await substitute(clientKey('response', signing), client.authorizationSignedResponseAlg)
      : undefined,
  }
}

/** The algorithm of the key, if the client would expect another one. */
async function substitute(
  finding: Promise<SigningKey>,
  registered: SigningAlgorithm | undefined,
): Promise<SigningAlgorithm | undefined> {
  try {
    const key = await finding
    return key.algorithm === (registered ?? DEFAULT_ALGORITHM) || !isPublic(key) ? undefined : key.algorithm
  } catch (error) {
    if (error instanceof NoSigningKey) return undefined // what is signed for the client will fail
    throw error
  }
}

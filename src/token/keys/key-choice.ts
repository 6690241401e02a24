// Which key of a zone signs what a client gets.
import type { Client } from '../../model/clients/client.ts'
import { defaultAlgorithm, demandsOn } from '../../model/clients/client-demands.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { KeyRing } from './keys.ts'
import type { SigningKey } from './zone-key.ts'
import { isPublic } from './zone-key.ts'
import { NoSigningKey } from './keys.ts'

/** What a client verifies itself. Logout tokens have the key of ID tokens (OpenID Connect Back-Channel Logout §2.6). */
type SignedForClient = 'id_token' | 'userinfo' | 'introspection' | 'response'

interface Signing {
  readonly zone: Zone
  readonly client: Client
  readonly keys: Pick<KeyRing, 'active' | 'withAlgorithm'>
}

/** For a client that cannot verify with a shared secret of the zone. */
const COMMON: readonly SigningAlgorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** The algorithm that the client has registered. */
function registered(kind: SignedForClient, zone: Zone, client: Client): SigningAlgorithm | undefined {
  switch (kind) {
    case 'id_token':
      return client.idTokenSignedResponseAlg
    case 'userinfo':
      return client.userinfoSignedResponseAlg
    // A zone may have got its profile after the client got its algorithm.
    case 'introspection':
      return allowed(client.introspectionSignedResponseAlg, zone, client)
    case 'response':
      return allowed(client.authorizationSignedResponseAlg, zone, client)
  }
}

const allowed = <A extends string>(algorithm: A | undefined, zone: Zone, client: Client): A | undefined =>
  demandsOn(zone, client).algorithms?.some(one => one === algorithm) === false ? undefined : algorithm

async function usableKey({ zone, client, keys }: Signing, isUsable: (key: SigningKey) => boolean): Promise<SigningKey> {
  const active = await keys.active(zone.id)
  const { algorithms } = demandsOn(zone, client)
  const isAllowed = !algorithms || algorithms.some(one => one === active.algorithm)
  if (isAllowed && isUsable(active)) return active
  const others = algorithms ?? COMMON
  for (const algorithm of others) {
    const key = await keys.withAlgorithm(zone.id, algorithm)
    if (key) return key
  }
  throw new NoSigningKey(`the zone has no key for ${others.join(', ')}, one of which ${client.clientId} requires`)
}

/**
 * For access and refresh tokens: the active key, unless the client's demands ask for other algorithms than it has. Throws
 * `NoSigningKey`.
 */
export const tokenKey = (signing: Signing): Promise<SigningKey> => usableKey(signing, () => true)

/**
 * The key of the algorithm that the client has registered for it; otherwise of its default one, if the zone has such a key;
 * otherwise the one of access tokens. Responses, unlike ID tokens, are never signed with a shared secret of the zone. Throws
 * `NoSigningKey`.
 */
export async function clientKey(kind: SignedForClient, signing: Signing): Promise<SigningKey> {
  const { zone, client, keys } = signing
  const own = registered(kind, zone, client)
  const algorithm = own ?? defaultAlgorithm(zone, client, { isFixed: kind === 'introspection' })
  const key = algorithm && (await keys.withAlgorithm(zone.id, algorithm))
  if (key) return key
  if (own !== undefined) throw new NoSigningKey(`the zone has no key for ${own}, which ${client.clientId} requires`)
  return usableKey(signing, kind === 'response' || kind === 'introspection' ? isPublic : () => true)
}

/** The key, or the refusal of a token that cannot be signed. */
export async function signable(
  key: Promise<SigningKey>,
  { noSigningKey }: Pick<Behaviour, 'noSigningKey'>,
): Promise<SigningKey> {
  try {
    return await key
  } catch (cause) {
    if (!(cause instanceof NoSigningKey)) throw cause
    throw new OAuthError(noSigningKey, 'Unable to sign token, misconfigured JWT signing keys', {
      detail: cause.message,
      rule: 'signing-key',
      cause,
    })
  }
}

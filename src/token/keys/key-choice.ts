// Which key of a zone signs the tokens of a client.
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import { defaultAlgorithm, demandsOn } from '../../model/clients/client-demands.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { KeyRing } from './keys.ts'
import type { SigningKey } from './zone-key.ts'
import { NoSigningKey } from './keys.ts'

/** Chooses keys; refuses if the zone has none that the client can use. */
export interface KeyChoice {
  /** The active key, unless the client's demands ask for other algorithms than it has. */
  keyFor(zone: Zone, client: Client): Promise<SigningKey>
  /** The key of the client's own or default algorithm for ID tokens; `active` if it has neither. */
  idTokenKey(of: Pick<Authorization, 'zone' | 'client'>, active: SigningKey): Promise<SigningKey>
}

/** One instance serves every zone. */
export function createKeyChoice({
  keys,
  behaviour,
}: {
  readonly keys: Pick<KeyRing, 'active' | 'withAlgorithm'>
  readonly behaviour: Behaviour
}): KeyChoice {
  const unsignable = (detail: string, cause?: unknown): OAuthError =>
    new OAuthError(behaviour.noSigningKey, 'Unable to sign token, misconfigured JWT signing keys', {
      detail,
      rule: 'signing-key',
      cause,
    })

  async function signingKey(zone: Zone): Promise<SigningKey> {
    try {
      return await keys.active(zone.id)
    } catch (cause) {
      if (!(cause instanceof NoSigningKey)) throw cause
      throw unsignable(cause.message, cause)
    }
  }

  async function idTokenKey(
    { zone, client }: Pick<Authorization, 'zone' | 'client'>,
    active: SigningKey,
  ): Promise<SigningKey> {
    const { idTokenSignedResponseAlg: own } = client
    const algorithm = own ?? defaultAlgorithm(zone, client)
    if (algorithm === undefined || algorithm === active.algorithm) return active
    const key = await keys.withAlgorithm(zone.id, algorithm)
    if (key) return key
    if (own === undefined) return active
    throw unsignable(`the zone has no key for ${algorithm}, which ${client.clientId} requires`)
  }

  /** The active key, unless the client's demands ask for other algorithms than it has. */
  async function keyFor(zone: Zone, client: Client): Promise<SigningKey> {
    const active = await signingKey(zone)
    const { algorithms } = demandsOn(zone, client)
    if (!algorithms || algorithms.some(one => one === active.algorithm)) return active
    for (const algorithm of algorithms) {
      const key = await keys.withAlgorithm(zone.id, algorithm)
      if (key) return key
    }
    throw unsignable(`the zone has no key for ${algorithms.join(', ')}, one of which ${client.clientId} requires`)
  }

  return { keyFor, idTokenKey }
}

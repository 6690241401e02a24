// The level that an application requires of a sign-in: by `acr_values` of its request (OpenID Connect Core §3.1.2.1, RFC 9470
// §4), or by the client's own policy. Both can only require more than the zone.
import { lowestOf, stronger } from './assurance.ts'
import type { Level } from './assurance.ts'
import { asksForSecondFactor, isAbout, methodsFor } from '../users/second-factor.ts'
import type { Requirement, SecondFactorPolicy } from '../users/second-factor.ts'
import type { FactorMethod } from '../../records/user.ts'
import type { User } from '../users/user.ts'

/** The demands of an application, and the user they apply to. */
export interface LevelRequest {
  /** As the request has it: words with blanks between, the first one preferred. */
  readonly acrValues: string | undefined
  /** The policy of the client. */
  readonly client:
    | {
        readonly requirement?: Requirement | undefined
        readonly groups?: readonly string[] | undefined
        readonly methods?: readonly FactorMethod[] | undefined
      }
    | undefined
  readonly user: Pick<User, 'origin' | 'factors'>
  readonly groupNames: readonly string[]
}

/**
 * The `acr_values` of an authorization request: its own, or the default of its client where it has none or an empty one
 * (OpenID Connect Registration §2).
 */
export const levelsAsked = (
  acrValues: string | undefined,
  client: { readonly defaultAcrValues?: readonly string[] | undefined } | undefined,
): string | undefined => (acrValues === undefined || acrValues === '' ? client?.defaultAcrValues?.join(' ') : acrValues)

/** A level to reach, and the factors that reach it. */
export interface RequiredLevel {
  readonly level: Level
  /** Empty where nothing that counts in the zone reaches it. */
  readonly methods: readonly FactorMethod[]
}

/**
 * What the sign-in must reach for this application; undefined if one factor is enough. Of several levels the weakest is
 * enough. Where the zone has no second factors, `acr_values` has no effect.
 */
export function requiredLevel(
  zone: SecondFactorPolicy,
  { acrValues, client, user, groupNames }: LevelRequest,
): RequiredLevel | undefined {
  if (!isAbout(zone, user)) return undefined
  const byRequest = lowestOf((acrValues ?? '').split(' ')) ?? '1'
  const policy = {
    ...zone,
    requirement: client?.requirement ?? 'off',
    groups: client?.groups ?? [],
    methods: client?.methods ?? zone.methods,
  }
  if (!asksForSecondFactor(policy, user, groupNames)) {
    return byRequest === '1' ? undefined : { level: byRequest, methods: methodsFor(byRequest, zone) }
  }
  const methods = zone.methods.filter(method => policy.methods.includes(method))
  // Where only passkeys count, level 2 would do with a one-time password.
  const level = stronger(byRequest, methods.includes('totp') ? '2' : 'phr')
  return { level, methods: methodsFor(level, { methods }) }
}

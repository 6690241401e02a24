/** A source of identities as it is configured: the internal accounts, or an LDAP, SAML or OpenID Connect provider. */
export interface IdentityProvider {
  readonly zoneId: string
  readonly id: string
  readonly originKey: string
  readonly type: string
  readonly name: string
  readonly active: boolean
  /** In the shape of the provider API; each type knows its own members. */
  readonly config: Readonly<Record<string, unknown>>
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** When failed sign-ins lock an account (`config.lockoutPolicy`). */
export interface LockoutPolicy {
  /** There is no value that never locks: 0 counts as 1. */
  readonly lockoutAfterFailures: number
  /** Only failures of the last so many seconds count. */
  readonly countFailuresWithin: number
  /** The lock lasts so many seconds from the last counted failure, but never beyond the counting window. */
  readonly lockoutPeriodSeconds: number
}

const DEFAULT_LOCKOUT: LockoutPolicy = { lockoutAfterFailures: 5, countFailuresWithin: 1200, lockoutPeriodSeconds: 300 }

/** The provider's lockout policy; an incomplete one counts as absent, so that a gap never switches the lock off. */
export function lockoutPolicy(provider: IdentityProvider): LockoutPolicy {
  const policy = provider.config['lockoutPolicy']
  if (typeof policy !== 'object' || policy === null) return DEFAULT_LOCKOUT
  const value = (name: keyof LockoutPolicy): number | undefined => {
    const number: unknown = Reflect.get(policy, name)
    return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined
  }
  const lockoutAfterFailures = value('lockoutAfterFailures')
  const countFailuresWithin = value('countFailuresWithin')
  const lockoutPeriodSeconds = value('lockoutPeriodSeconds')
  if (lockoutAfterFailures === undefined || countFailuresWithin === undefined || lockoutPeriodSeconds === undefined) {
    return DEFAULT_LOCKOUT
  }
  return { lockoutAfterFailures, countFailuresWithin, lockoutPeriodSeconds }
}

/** The moment until which the failures lock the account, or undefined when it is open. */
export function lockedUntil(policy: LockoutPolicy, failures: readonly Date[], now: Date): Date | undefined {
  const since = now.getTime() - policy.countFailuresWithin * 1000
  const newestFirst = failures
    .map(failure => failure.getTime())
    .filter(time => time > since)
    .toSorted((a, b) => b - a)
  const newest = newestFirst[0]
  const decisive = newestFirst[Math.max(policy.lockoutAfterFailures, 1) - 1]
  if (newest === undefined || decisive === undefined) return undefined
  // When the decisive failure leaves the counting window, too few are left.
  const until = Math.min(newest + policy.lockoutPeriodSeconds * 1000, decisive + policy.countFailuresWithin * 1000)
  return until > now.getTime() ? new Date(until) : undefined
}

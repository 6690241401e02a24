import { addSeconds } from '../base/clock.ts'
import { lockedUntil, withoutAttempt } from '../model/zones/identity-provider.ts'
import type { LockoutPolicy } from '../model/zones/identity-provider.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'

/** A password that is tried for an account which is not locked. */
interface Guess {
  readonly user: User
  readonly policy: LockoutPolicy
  /** The failures that count now. */
  readonly failures: readonly Date[]
  readonly now: Date
  readonly matches: () => Promise<boolean>
}

/**
 * Tries it and counts it unless it is right. After a failure every attempt counts from its beginning, so that those that other
 * processes make at the same time cannot pass the policy together; before one, several of the user's own can be made at once.
 * `locked`: too many were made meanwhile; the password was not checked.
 */
export async function countedGuess(
  { user, policy, failures, now, matches }: Guess,
  { events }: Pick<Store, 'events'>,
): Promise<'right' | 'wrong' | 'locked'> {
  const { zoneId, id } = user
  const since = addSeconds(now, -policy.countFailuresWithin)
  if (failures.length === 0) {
    if (await matches()) return 'right'
    await events.recordFailure(zoneId, id, now)
    await events.failures(zoneId, id, since) // takes as long as a later guess
    return 'wrong'
  }
  const failure = await events.recordFailure(zoneId, id, now)
  let isWrong = false
  try {
    const others = withoutAttempt(await events.failures(zoneId, id, since), now)
    if (lockedUntil(policy, others, now)) return 'locked'
    isWrong = !(await matches())
    return isWrong ? 'wrong' : 'right'
  } finally {
    // Also when too many hashes wait: a busy server must not lock accounts.
    if (!isWrong) await events.forgetFailure(zoneId, failure)
  }
}

import { addSeconds } from '../../base/clock.ts'
import { createKeyedQueue } from '../../base/concurrency/keyed-queue.ts'
import { lockedUntil, lockoutPolicy } from '../../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { User } from '../../model/users/user.ts'
import type {
  IdentitySourceType,
  PasswordAttempt,
  RefusedSignIn,
  SignInRefusal,
  SignInResult,
  SourceDeps,
} from '../source.ts'
import { requesterOf } from '../../model/request.ts'
import { countedGuess } from '../../users/counted-guess.ts'
import { hashTyped, matchingForm, passwordForm } from '../../users/typed-password.ts'
import type { RequestOrigin } from '../../model/request.ts'
import { userNameKey } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'

const refused = (reason: SignInRefusal, user?: User): RefusedSignIn => ({
  outcome: 'refused',
  reason,
  ...(user && { userId: user.id }),
})

/** The internal provider: accounts with a password here, a lockout policy and a verified address. */
export const internalSource = (serviceName: string): IdentitySourceType => {
  const queued = createKeyedQueue()
  return {
    type: serviceName,
    open: (zone, provider, deps) => ({
      password: {
        async check(from, attempt) {
          // One at a time per name: concurrent guesses must not be checked before earlier failures are counted.
          const key = JSON.stringify([zone.id, provider.originKey, userNameKey(attempt.userName)])
          return queued(key, () => check(deps, { from, provider, attempt }))
        },
      },
    }),
  }
}

interface Attempt {
  readonly from: RequestOrigin
  readonly provider: IdentityProvider
  readonly attempt: PasswordAttempt
}

/** The account once a sign-in is recorded. */
export const afterSignIn = (user: User, now: Date): User => ({
  ...user,
  lastLogonAt: now,
  ...(user.lastLogonAt && { previousLogonAt: user.lastLogonAt }),
})

/** Why the correct password is not enough; undefined if it is. */
export async function problemOf(
  { zone, user, opensSession }: { readonly zone: Zone; readonly user: User; readonly opensSession: boolean },
  { findOutstandingDemand }: Pick<SourceDeps, 'findOutstandingDemand'>,
): Promise<SignInRefusal | undefined> {
  if (!user.verified) return 'account-not-verified'
  return opensSession ? undefined : (await findOutstandingDemand(zone, user, {}))?.refusal
}

async function check(deps: SourceDeps, { from, provider, attempt }: Attempt): Promise<SignInResult> {
  const { store, passwords, clock, behaviour } = deps
  const { userName } = attempt
  const { zone } = from
  const requester = requesterOf(from)
  const policy = lockoutPolicy(provider)
  const now = clock.now()
  const failuresSince = addSeconds(now, -policy.countFailuresWithin)
  const found = await store.users.findForSignIn(zone.id, provider.originKey, { userName, failuresSince })
  /** The same work as for a known user: a hash, a write and a read of the failures. */
  const takeAsLong = async (): Promise<void> => {
    await matchingForm({ typed: attempt.password, hash: undefined, requester }, passwords)
    await store.events.recordNothing(now)
    await store.events.failures(zone.id, '', failuresSince)
  }
  if (!found?.user.active) {
    await takeAsLong()
    return refused('bad-credentials')
  }
  if (behaviour.directoryForUnknownNames && !found.user.passwordHash) {
    await takeAsLong()
    return { ...refused('bad-credentials', found.user), hasNoPassword: true }
  }
  const { user, failures } = found
  const locked = async (): Promise<SignInResult> => {
    if (behaviour.hideLockout) await takeAsLong()
    return refused('account-locked', user)
  }
  if (lockedUntil(policy, failures, now)) return locked()
  let form: string | undefined
  const matches = async (): Promise<boolean> => {
    form = await matchingForm({ typed: attempt.password, hash: user.passwordHash, requester }, passwords)
    return form !== undefined
  }
  const outcome = await countedGuess({ user, policy, failures, now, matches }, store)
  if (outcome === 'locked') return locked()
  if (outcome === 'wrong') return refused('bad-credentials', user)
  const problem = await problemOf({ zone, user, opensSession: attempt.opensSession === true }, deps)
  if (problem !== undefined) return refused(problem, user)
  const isOtherForm = form !== passwordForm(attempt.password)
  if (user.passwordHash && (isOtherForm || passwords.isOutdated(user.passwordHash))) {
    const renewed = await hashTyped(attempt.password, passwords, requester)
    await store.users.renewPasswordHash(zone.id, user.id, user.passwordRevision, renewed)
  }
  if (attempt.opensSession !== true) await store.users.recordLogon(zone.id, user.id, now)
  return {
    outcome: 'signed-in',
    amr: ['pwd'],
    user: afterSignIn(user, now),
  }
}

import { addSeconds } from '../../base/clock.ts'
import { createKeyedQueue } from '../../base/keyed-queue.ts'
import { lockedUntil, lockoutPolicy } from '../../model/identity-provider.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import type { User } from '../../model/user.ts'
import type { IdentitySourceType, PasswordAttempt, SignInRefusal, SignInResult, SourceDeps } from '../source.ts'
import { requesterOf } from '../../model/request.ts'
import type { RequestOrigin } from '../../model/request.ts'
import { userNameKey } from '../../model/user.ts'

const refused = (reason: SignInRefusal, user?: User): SignInResult => ({
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

async function check(deps: SourceDeps, { from, provider, attempt }: Attempt): Promise<SignInResult> {
  const { store, passwords, clock, behaviour } = deps
  const { userName } = attempt
  const { zone } = from
  const requester = requesterOf(from)
  const policy = lockoutPolicy(provider)
  const now = clock.now()
  const failuresSince = addSeconds(now, -policy.countFailuresWithin)
  const found = await store.users.findForSignIn(zone.id, provider.originKey, { userName, failuresSince })
  if (!found?.user.active) {
    // An unknown user takes as long as a known one: a hash and a write.
    await passwords.verifyNothing(attempt.password, requester)
    await store.events.recordNothing(now)
    return refused('bad-credentials')
  }
  const { user, failures } = found
  if (lockedUntil(policy, failures, now)) {
    if (behaviour.hideLockout) {
      await passwords.verifyNothing(attempt.password, requester)
      await store.events.recordNothing(now)
    }
    return refused('account-locked', user)
  }

  const matches = user.passwordHash
    ? await passwords.verify(user.passwordHash, attempt.password, requester)
    : await passwords.verifyNothing(attempt.password, requester)
  if (!matches) {
    await store.events.recordFailure(zone.id, user.id, now)
    return refused('bad-credentials', user)
  }
  if (!user.verified) return refused('account-not-verified', user)
  const demand = attempt.opensSession === true ? undefined : await deps.owedBy(zone, user, {})
  if (demand) return refused(demand.refusal, user)
  if (user.passwordHash && passwords.isOutdated(user.passwordHash)) {
    const renewed = await passwords.hash(attempt.password, requester)
    await store.users.renewPasswordHash(zone.id, user.id, user.passwordRevision, renewed)
  }
  if (attempt.opensSession !== true) await store.users.recordLogon(zone.id, user.id, now)
  return {
    outcome: 'signed-in',
    amr: ['pwd'],
    user: { ...user, lastLogonAt: now, ...(user.lastLogonAt && { previousLogonAt: user.lastLogonAt }) },
  }
}

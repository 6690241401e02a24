import { addSeconds } from '../../base/clock.ts'
import { TooManyHashes } from '../../base/passwords.ts'
import { lockedUntil, lockoutPolicy } from '../../model/identity-provider.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import { mustChangePassword, passwordPolicy } from '../../model/password-policy.ts'
import type { User } from '../../model/user.ts'
import type { Zone } from '../../model/zone.ts'
import type { IdentitySourceType, PasswordAttempt, SignInRefusal, SignInResult, SourceDeps } from '../source.ts'

const refused = (reason: SignInRefusal, user?: User): SignInResult => ({
  outcome: 'refused',
  reason,
  ...(user && { userId: user.id }),
})

/** The accounts that this server keeps itself: a password, a lockout policy, a verified address. */
export const internalSource = (serviceName: string): IdentitySourceType => {
  const inTurn = createTurns()
  return {
    type: serviceName,
    open: (zone, provider, deps) => ({
      password: {
        async check(attempt) {
          // One at a time for each name: guesses made side by side must not all be judged before one is counted.
          const turn = JSON.stringify([zone.id, provider.originKey, attempt.userName.toLowerCase()])
          return inTurn(turn, () => check(deps, { zone, provider, attempt }))
        },
      },
    }),
  }
}

interface Attempt {
  readonly zone: Zone
  readonly provider: IdentityProvider
  readonly attempt: PasswordAttempt
}

async function check(deps: SourceDeps, { zone, provider, attempt }: Attempt): Promise<SignInResult> {
  const { store, passwords, clock, behaviour } = deps
  const { userName } = attempt
  const requester = { zoneId: zone.id, address: attempt.remoteAddress }
  const policy = lockoutPolicy(provider)
  const now = clock.now()
  const failuresSince = addSeconds(now, -policy.countFailuresWithin)
  const found = await store.users.findForSignIn(zone.id, provider.originKey, { userName, failuresSince })
  if (!found?.user.active) {
    // An unknown user costs as much time as a known one: a hash, and a write.
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
  if (attempt.opensSession !== true && mustChangePassword(user, passwordPolicy(provider), now)) {
    return refused('password-change-required', user)
  }
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

/** How many may wait for their turn at one name; whoever fills it keeps out nobody but guessers of the same account. */
const MAX_TURNS = 64

/** Runs the works of one key after one another, those of different keys side by side. Throws `TooManyHashes`. */
function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const lines = new Map<string, { last: Promise<unknown>; count: number }>()
  return async (key, work) => {
    const line = lines.get(key) ?? { last: Promise.resolve(), count: 0 }
    if (line.count >= MAX_TURNS) throw new TooManyHashes()
    lines.set(key, line)
    line.count += 1
    const turn = line.last.then(work, work)
    line.last = turn.then(
      () => undefined,
      () => undefined,
    )
    try {
      return await turn
    } finally {
      line.count -= 1
      if (line.count === 0) lines.delete(key)
    }
  }
}

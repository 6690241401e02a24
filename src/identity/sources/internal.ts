import { addSeconds } from '../../base/clock.ts'
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
          const user = await deps.store.users.findByName(zone.id, provider.originKey, attempt.userName)
          if (!user?.active) {
            await deps.passwords.verifyNothing(attempt.password) // an unknown user costs as much time as a known one
            return refused('bad-credentials')
          }
          // One at a time for each account: guesses made side by side must not all be judged before one is counted.
          return inTurn(`${zone.id} ${user.id}`, () => checkKnownUser(deps, { zone, provider, user, attempt }))
        },
      },
    }),
  }
}

interface KnownUser {
  readonly zone: Zone
  readonly provider: IdentityProvider
  readonly user: User
  readonly attempt: PasswordAttempt
}

async function checkKnownUser(deps: SourceDeps, { zone, provider, user, attempt }: KnownUser): Promise<SignInResult> {
  const { store, passwords, clock } = deps
  const policy = lockoutPolicy(provider)
  const now = clock.now()
  const failures = await store.events.failures(zone.id, user.id, addSeconds(now, -policy.countFailuresWithin))
  if (lockedUntil(policy, failures, now)) return refused('account-locked', user)

  const matches = user.passwordHash
    ? await passwords.verify(user.passwordHash, attempt.password)
    : await passwords.verifyNothing(attempt.password)
  if (!matches) {
    await store.events.recordFailure(zone.id, user.id, now)
    return refused('bad-credentials', user)
  }
  if (!user.verified) return refused('account-not-verified', user)
  if (attempt.canChangePassword !== true && mustChangePassword(user, passwordPolicy(provider), now)) {
    return refused('password-change-required', user)
  }
  if (user.passwordHash && passwords.isOutdated(user.passwordHash)) {
    await store.users.renewPasswordHash(zone.id, user.id, user.passwordRevision, await passwords.hash(attempt.password))
  }
  await store.users.recordLogon(zone.id, user.id, now)
  return {
    outcome: 'signed-in',
    amr: ['pwd'],
    user: { ...user, lastLogonAt: now, ...(user.lastLogonAt && { previousLogonAt: user.lastLogonAt }) },
  }
}

/** Runs the works of one key after one another, those of different keys side by side. */
function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work)
    const done = turn.then(
      () => undefined,
      () => undefined,
    )
    last.set(key, done)
    void done.then(() => last.get(key) === done && last.delete(key))
    return turn
  }
}

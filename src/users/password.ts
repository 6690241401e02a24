// Sets a new password. Does not know how the user was authenticated, or
// what happens to sessions.
import { hashTyped, isTypedPassword } from './typed-password.ts'
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { createKeyedQueue } from '../base/concurrency/keyed-queue.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Audit } from '../model/audit/event.ts'
import { DEFAULT_LOCKOUT, lockedUntil, lockoutPolicy } from '../model/zones/identity-provider.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { countedGuess } from './counted-guess.ts'
import { originOf } from './caller.ts'
import type { Caller } from './caller.ts'
import type { Store } from '../store/store.ts'
import { passwordProblem } from './password-rules.ts'
import type { PasswordRuleDeps } from './password-rules.ts'

/** The result; the message is for the user. */
type NewPasswordResult =
  | { readonly outcome: 'changed'; readonly user: User }
  | { readonly outcome: 'refused'; readonly reason: 'same' | 'policy'; readonly message: string }
  /** The password was changed, or the account deleted, concurrently. */
  | { readonly outcome: 'too-many-conflicts' }

/** A chosen password, for an account of the internal provider. */
interface NewPassword {
  readonly zone: Zone
  readonly user: User
  readonly password: string
  /** Whether this is the change that the account requires. */
  readonly meetsDemand: boolean
  /** See `PasswordChange`. */
  readonly verifies?: boolean
  readonly remoteAddress?: string | undefined
  /** See `keptUserAgent`; for the audit trail. */
  readonly userAgent?: string | undefined
  /** The caller that sets it through an API, for the audit trail. */
  readonly by?: Caller | undefined
}

/** Dependencies of `setNewPassword`. */
interface NewPasswordDeps extends PasswordRuleDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly random: Random
  readonly audit: Audit
}

const WRONG = 'Old password is incorrect'
const SAME = 'Your new password cannot be the same as the old password.'
/** 132 bits. */
export const PASSWORD_REVISION_LENGTH = 22

/** Refuses the old password and one that breaks the policy, in this order; otherwise every older token and session ends. */
export async function setNewPassword(
  { zone, user, password, meetsDemand, verifies = false, remoteAddress, userAgent, by }: NewPassword,
  deps: NewPasswordDeps,
): Promise<NewPasswordResult> {
  const { store, passwords, clock, random, audit } = deps
  const requester = { zoneId: zone.id, address: remoteAddress }
  const { userId: caller } = by ?? {}
  const facts = factsOf({ zone, user, remoteAddress, userAgent, by })
  const refuse = (reason: 'same' | 'policy', message: string): NewPasswordResult => {
    audit({ type: 'PasswordChangeFailure', ...facts, data: message })
    return { outcome: 'refused', reason, message }
  }
  const hash = user.passwordHash
  if (hash !== undefined && (await isTypedPassword({ typed: password, hash, requester }, passwords))) {
    return refuse('same', SAME)
  }
  const problem = await passwordProblem(zone, { password, owner: user }, deps)
  if (problem !== undefined) return refuse('policy', problem)
  const passwordHash = await hashTyped(password, passwords, requester)
  const change = {
    passwordHash,
    passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH),
    passwordChangedAt: clock.now(),
    meetsDemand,
    verifies,
  }
  if (!(await store.users.setPassword(zone.id, user.id, user.passwordRevision, change))) {
    return { outcome: 'too-many-conflicts' }
  }
  audit({ type: 'PasswordChangeSuccess', ...facts, ...(caller !== undefined && { data: `caller=${caller}` }) })
  const { passwordRevision, passwordChangedAt } = change
  return {
    outcome: 'changed',
    user: {
      ...user,
      passwordHash,
      passwordRevision,
      passwordChangedAt,
      updatedAt: passwordChangedAt,
      passwordChangeRequired: user.passwordChangeRequired && !meetsDemand,
    },
  }
}

/** Members of an audit event about the password of the user. */
function factsOf({ zone, user, remoteAddress, userAgent, by }: Omit<ClaimedPassword, 'password' | 'countsFailures'>) {
  const from = originOf(user.id, { ...by, remoteAddress, ...(userAgent !== undefined && { userAgent }) })
  return { zoneId: zone.id, principal: user.id, origin: user.origin, ...from }
}

/** A password presented as that of an account. */
interface ClaimedPassword
  extends Pick<NewPassword, 'zone' | 'user' | 'password' | 'remoteAddress' | 'userAgent' | 'by'> {
  /** Whether a wrong one counts as a failed sign-in, and none is right while these lock the account. */
  readonly countsFailures: boolean
}

type ClaimDeps = Pick<NewPasswordDeps, 'store' | 'passwords' | 'clock' | 'audit'>

/** One queue for the process: ids of accounts are unique. */
const queued = createKeyedQueue()

/**
 * Whether the password is that of the account; takes as long for an account without one. One at a time for an account:
 * concurrent guesses must not be checked before earlier failures are counted. A wrong one is in the audit trail.
 */
export const isOwnPassword = (claim: ClaimedPassword, deps: ClaimDeps): Promise<boolean> =>
  queued(claim.user.id, async () => {
    const matches = await matchesClaim(claim, deps)
    if (!matches) deps.audit({ type: 'PasswordChangeFailure', ...factsOf(claim), data: WRONG })
    return matches
  })

async function matchesClaim(
  { zone, user, password, countsFailures, remoteAddress }: ClaimedPassword,
  { store, passwords, clock }: ClaimDeps,
): Promise<boolean> {
  const requester = { zoneId: zone.id, address: remoteAddress }
  const matches = (): Promise<boolean> =>
    isTypedPassword({ typed: password, hash: user.passwordHash, requester }, passwords)
  if (!countsFailures) return matches()
  const now = clock.now()
  const provider = await store.providers.findByOrigin(zone.id, user.origin)
  const policy = provider ? lockoutPolicy(provider) : DEFAULT_LOCKOUT
  const failures = await store.events.failures(zone.id, user.id, addSeconds(now, -policy.countFailuresWithin))
  const outcome =
    lockedUntil(policy, failures, now) === undefined
      ? await countedGuess({ user, policy, failures, now, matches }, store)
      : 'locked'
  if (outcome === 'locked') {
    await isTypedPassword({ typed: password, hash: undefined, requester }, passwords)
    await store.events.recordNothing(now) // as at a sign-in, it does not extend the lock
  }
  return outcome === 'right'
}

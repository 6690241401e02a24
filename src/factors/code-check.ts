// Checks a code that a user typed as a second factor. Guesses count with those of the password, in the account's lockout:
// each is counted when it begins, so that parallel ones cannot pass the limit, here or in another process.
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { createKeyedQueue } from '../base/concurrency/keyed-queue.ts'
import type { Audit } from '../model/audit/event.ts'
import { DEFAULT_LOCKOUT, lockedUntil, lockoutPolicy, withoutAttempt } from '../model/zones/identity-provider.ts'
import type { RequestOrigin } from '../model/request.ts'
import type { FactorMethod } from '../records/user.ts'
import { userAgentIn } from '../model/users/user-agent.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'
import { enteredOneTimePassword } from './one-time-passwords.ts'
import type { OneTimePasswords } from './one-time-passwords.ts'
import type { RecoveryCodes } from './recovery-codes.ts'

/** A code as typed. */
interface TypedCode {
  readonly user: User
  readonly code: string
  /** The user's factors that count; a one-time password is checked only with `totp`. */
  readonly methods: readonly FactorMethod[]
}

type CodeResult =
  | {
      readonly outcome: 'good'
      readonly by: 'totp' | 'recovery' | 'bypass'
      /** Puts a recovery or bypass code back, where the sign-in cannot go on. */
      readonly undo: () => Promise<void>
    }
  | { readonly outcome: 'refused'; readonly reason: 'wrong' | 'locked' }

/** Checks and consumes codes. The caller clears earlier failures when it signs the user in (`sessions.strengthen`). */
export type CodeCheck = (from: RequestOrigin, typed: TypedCode) => Promise<CodeResult>

/** Dependencies of `createCodeCheck`. */
interface CodeCheckDeps {
  readonly store: Store
  readonly clock: Clock
  readonly audit: Audit
  readonly oneTimePasswords: OneTimePasswords
  readonly recoveryCodes: RecoveryCodes
}

/** One instance serves every zone. */
export function createCodeCheck(deps: CodeCheckDeps): CodeCheck {
  const { store, clock, audit, oneTimePasswords, recoveryCodes } = deps
  const queued = createKeyedQueue()

  async function find({ zone }: RequestOrigin, { user, code, methods }: TypedCode) {
    const password = enteredOneTimePassword(code)
    if (password === undefined) {
      const used = await recoveryCodes.use(zone.id, user.id, code)
      return used && { by: used.kind, undo: () => store.factors.restoreCode(zone.id, user.id, used) }
    }
    const isValid = methods.includes('totp') && (await oneTimePasswords.verify(zone.id, user.id, password))
    return isValid ? ({ by: 'totp', undo: () => Promise.resolve() } as const) : undefined
  }

  async function check(from: RequestOrigin, typed: TypedCode): Promise<CodeResult> {
    const { zone, remoteAddress, headers } = from
    const { user } = typed
    const userAgent = userAgentIn(headers)
    const facts = {
      zoneId: zone.id,
      principal: user.id,
      origin: user.origin,
      remoteAddress,
      ...(userAgent !== undefined && { userAgent }),
    }
    const provider = await store.providers.findByOrigin(zone.id, user.origin)
    const policy = provider ? lockoutPolicy(provider) : DEFAULT_LOCKOUT
    const now = clock.now()
    const since = addSeconds(now, -policy.countFailuresWithin)
    const isLocked = (failures: readonly Date[]): boolean => lockedUntil(policy, failures, now) !== undefined
    const refuse = (reason: 'wrong' | 'locked'): CodeResult => {
      audit({
        type: 'MfaAuthenticationFailure',
        ...facts,
        ...(reason === 'locked' && { data: 'the account is locked' }),
      })
      return { outcome: 'refused', reason }
    }
    if (isLocked(await store.events.failures(zone.id, user.id, since))) return refuse('locked')
    const failure = await store.events.recordFailure(zone.id, user.id, now)
    let isWrong = false
    try {
      if (isLocked(withoutAttempt(await store.events.failures(zone.id, user.id, since), now))) return refuse('locked')
      const found = await find(from, typed)
      isWrong = found === undefined
      if (!found) return refuse('wrong')
      audit({ type: 'MfaAuthenticationSuccess', ...facts, data: found.by })
      return { outcome: 'good', ...found }
    } finally {
      // Also when it was not checked: neither a busy server nor a code that is right must lock accounts.
      if (!isWrong) await store.events.forgetFailure(zone.id, failure)
    }
  }

  return (from, typed) => queued(JSON.stringify([from.zone.id, typed.user.id]), () => check(from, typed))
}

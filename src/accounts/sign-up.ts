// Sign-up: creates an account of the internal provider that cannot sign in until its address is verified. The password
// becomes valid only with the code of the mail that its own request caused: an attacker who signs up with another user's
// address gains nothing when that user opens the mail. See docs/decisions/0029-sign-up.md.
import { isTypedPassword } from '../users/typed-password.ts'
import { sameSecret } from '../base/secrets.ts'
import { normalized } from '../base/text/normalized.ts'
import type { AuditOrigin } from '../model/audit/event.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { MailFrame } from '../pages/mails/frame.ts'
import { originOf } from '../users/caller.ts'
import { PASSWORD_REVISION_LENGTH } from '../users/password.ts'
import { checkEmailDomain } from '../users/rules.ts'
import { sendAccountMail } from './account-mails.ts'
import { issueCode, peekCode, spendCode } from './codes.ts'
import type { RequestedReturn, ValidCode } from './codes.ts'
import { isUserName } from './email-change.ts'
import { isMailAddress } from '../mail/mailer.ts'
import type { AccountDeps } from './deps.ts'

/** Why sign-up with the address is impossible; reveals nothing about accounts. */
export async function signUpProblem(
  zone: Zone,
  email: string,
  { store, service }: Pick<AccountDeps, 'store' | 'service'>,
): Promise<'invalid_email' | 'other_idp' | 'no_room' | undefined> {
  const origin = service.name
  if (!isMailAddress(email) || !isUserName(email, origin, service)) return 'invalid_email'
  // User names are compared in this form: with another spelling of an address, anyone could occupy it.
  if (email !== normalized(email, 'NFKC')) return 'invalid_email'
  try {
    await checkEmailDomain(store, zone, { email, origin }, origin)
  } catch (error) {
    if (error instanceof OAuthError) return 'other_idp'
    throw error
  }
  const { maxUsers = -1 } = zone.config.userConfig ?? {}
  return maxUsers >= 0 && (await store.users.count(zone.id)) >= maxUsers ? 'no_room' : undefined
}

/** A sign-up request with an address that `signUpProblem` accepts. */
interface SignUp {
  readonly email: string
  readonly passwordHash: string
  /** From `Csrf.browserOf`. */
  readonly browser: string | undefined
  readonly requestedReturn: RequestedReturn
  readonly frame: MailFrame
  readonly by: AuditOrigin
}

/** Creates the account unless it exists, and always sends a mail. The duration depends on the address. */
export async function signUp(zone: AddressedZone, wanted: SignUp, deps: AccountDeps): Promise<void> {
  const { email, passwordHash, browser, requestedReturn, frame } = wanted
  const user = await accountToVerify(zone, wanted, deps)
  if (!user) return sendAccountMail({ zone, frame, mail: 'accountExists', to: email, path: '/login' }, deps)
  const data = { ...requestedReturn, passwordHash, browser }
  const code = await issueCode(zone, { purpose: 'sign-up', user, data }, deps)
  const path = `/verify_user?code=${code.value}`
  await sendAccountMail({ zone, frame, mail: 'activate', to: user.email, path, usefulUntil: code.expiresAt }, deps)
}

/** The unverified account with this name and address, created if necessary; undefined if the name is in use. */
async function accountToVerify(
  zone: Zone,
  { email, passwordHash, by }: SignUp,
  { store, users, service, behaviour }: AccountDeps,
): Promise<User | undefined> {
  const origin = service.name
  const namesake = async (): Promise<User | undefined> => store.users.findByName(zone.id, origin, email)
  const found = (await namesake()) ?? (await store.users.findByEmail(zone.id, origin, email))[0]
  if (found) return isWaiting(found, email) ? found : undefined
  const draft = { userName: email, email, origin, active: true, verified: false }
  try {
    const password = behaviour.passwordWithVerification ? { withoutPassword: true } : { passwordHash }
    return await users.create(zone, { draft, ...password, by })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    // A concurrent request created it, or the zone has become full.
    const winner = await namesake()
    return winner && isWaiting(winner, email) ? winner : undefined
  }
}

/** Whether the recipient of the mail may get the account: it has no owner yet, and its name is its address. */
const isWaiting = (user: User, email: string): boolean =>
  user.active && !user.verified && sameText(user.userName, email) && sameText(user.email, email)

const sameText = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Reads the code of a mailed link without consuming it. */
export const peekSignUp = (zone: Zone, value: string, deps: AccountDeps): Promise<ValidCode<'sign-up'> | undefined> =>
  peekCode(zone, { purpose: 'sign-up', value }, deps)

/** Whether the user has to enter the password of the request: not in the browser that sent it. */
export const needsPassword = ({ user, data }: ValidCode<'sign-up'>, browser: string | undefined): boolean =>
  !user.verified &&
  data.passwordHash !== undefined &&
  (data.browser === undefined || browser === undefined || !sameSecret(data.browser, browser))

/** A visitor who opened the mailed link. */
interface Verification {
  readonly code: string
  readonly browser: string | undefined
  readonly password: string
  readonly by: AuditOrigin
}

type VerificationResult =
  | { readonly outcome: 'verified'; readonly user: User; readonly requestedReturn: RequestedReturn }
  /** The code is valid, but this is another browser, and the password is not that of the request. */
  | { readonly outcome: 'wrong-password'; readonly seen: ValidCode<'sign-up'> }
  | { readonly outcome: 'invalid' }

/** Consumes the code and verifies its account, with the password of the request that the code was sent for. */
export async function verifySignUp(
  zone: Zone,
  { code, browser, password, by }: Verification,
  deps: AccountDeps,
): Promise<VerificationResult> {
  const { passwords } = deps
  const seen = await peekSignUp(zone, code, deps)
  if (!seen) return { outcome: 'invalid' }
  if (seen.data.passwordHash !== undefined && needsPassword(seen, browser)) {
    const requester = { zoneId: zone.id, address: by.remoteAddress }
    if (!(await isTypedPassword({ typed: password, hash: seen.data.passwordHash, requester }, passwords)))
      return { outcome: 'wrong-password', seen }
  }
  const on = (good: ValidCode<'sign-up'>) => verifyByCode(zone, { good, by }, deps)
  return (await spendCode(zone, { purpose: 'sign-up', value: code, on }, deps)) ?? { outcome: 'invalid' }
}

async function verifyByCode(
  zone: Zone,
  { good, by }: { readonly good: ValidCode<'sign-up'>; readonly by: AuditOrigin },
  deps: AccountDeps,
): Promise<VerificationResult> {
  const { user, data } = good
  // It has been verified since: its password is in use.
  if (!user.verified) {
    if (data.passwordHash !== undefined && !(await usePassword(user, { passwordHash: data.passwordHash, by }, deps))) {
      return { outcome: 'invalid' }
    }
    await deps.users.verify(zone, user.id, { by })
  }
  await deps.store.oneTimeCodes.forget(zone.id, 'sign-up', user.id)
  return { outcome: 'verified', user, requestedReturn: data }
}

/** Sets the password of the account; false if another one was set concurrently. */
async function usePassword(
  user: User,
  { passwordHash, by }: { readonly passwordHash: string; readonly by: AuditOrigin },
  { store, clock, random, audit }: AccountDeps,
): Promise<boolean> {
  if (user.passwordHash === passwordHash) return true
  const { zoneId, id, origin, passwordRevision } = user
  const change = {
    passwordHash,
    passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH),
    passwordChangedAt: clock.now(),
    meetsDemand: true,
    verifies: true,
  }
  if (!(await store.users.setPassword(zoneId, id, passwordRevision, change))) return false
  audit({ type: 'PasswordChangeSuccess', zoneId, principal: id, origin, ...originOf(id, by) })
  return true
}

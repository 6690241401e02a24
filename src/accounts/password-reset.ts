// New passwords for users who forgot theirs, for the pages and for login servers: a code that was mailed or handed out takes
// the place of the password.
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import { LDAP_ORIGIN } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Caller } from '../users/caller.ts'
import { setNewPassword } from '../users/password.ts'
import { issueCode, peekCode, spendCode } from './codes.ts'
import type { CodeDeps, RequestedReturn, ValidCode, NewCode } from './codes.ts'
import type { AccountDeps } from './deps.ts'

/** Where the password of an account is stored: here, or at a provider. */
type ResetAccount = { readonly kept: 'here' | 'elsewhere'; readonly user: User }

/** The account of the name: that of the internal provider, else the first of another one. */
export async function accountToReset(
  zone: Zone,
  userName: string,
  deps: AccountDeps,
): Promise<ResetAccount | undefined> {
  if (userName === '') return undefined
  const own = await deps.store.users.findByName(zone.id, deps.service.name, userName)
  return own ? { kept: 'here', user: own } : accountElsewhere(zone, userName, deps)
}

/**
 * The account for what a visitor entered: a user name, or an address that exactly one account of the internal provider has. The
 * names of sign-ups that nobody confirmed, and of users elsewhere, come last: anyone may have chosen them. Before those come names
 * of a directory.
 */
export async function enteredAccountToReset(
  zone: Zone,
  entered: string,
  deps: AccountDeps,
): Promise<ResetAccount | undefined> {
  if (entered === '') return undefined
  const { store, service } = deps
  const named = await store.users.findByName(zone.id, service.name, entered)
  if (named?.verified) return { kept: 'here', user: named }
  const addressed = entered.includes('@') ? await store.users.findByEmail(zone.id, service.name, entered) : []
  const verified = only(addressed.filter(user => user.verified))
  if (verified) return { kept: 'here', user: verified }
  // Nobody chooses the name that a directory assigns.
  const assigned = named && (await store.users.findByName(zone.id, LDAP_ORIGIN, entered))
  if (assigned?.active) return { kept: 'elsewhere', user: assigned }
  const user = named ?? only(addressed)
  return user ? { kept: 'here', user } : accountElsewhere(zone, entered, deps)
}

const only = (users: readonly User[]): User | undefined => (users.length === 1 ? users[0] : undefined)

async function accountElsewhere(
  zone: Zone,
  userName: string,
  { store }: AccountDeps,
): Promise<ResetAccount | undefined> {
  const named = { kind: 'compare', attribute: 'username', comparison: 'eq', value: userName } as const
  const query = { filter: named, sortBy: 'origin', descending: false, startIndex: 1, count: 1 }
  const [user] = (await store.users.list(zone.id, query)).records
  return user && { kept: 'elsewhere', user }
}

/** Issues a code for a new password; invalidates earlier ones of the account. For `endsAt` see `issueCode`. */
export const issueReset = (
  zone: Zone,
  {
    user,
    requestedReturn,
    endsAt,
  }: { readonly user: User; readonly requestedReturn: RequestedReturn; readonly endsAt?: Date },
  deps: CodeDeps,
): Promise<NewCode> => issueCode(zone, { purpose: 'password-reset', user, data: requestedReturn, endsAt }, deps)

type ValidReset = ValidCode<'password-reset'>

/** The contents of a code, without consuming it; undefined if it is invalid, or the password is stored elsewhere. */
export async function peekReset(
  zone: Zone,
  value: string,
  { service, ...deps }: Omit<CodeDeps, 'random'> & { readonly service: Service },
): Promise<ValidReset | undefined> {
  const good = await peekCode(zone, { purpose: 'password-reset', value }, deps)
  return good?.user.origin === service.name ? good : undefined
}

/** A new password, with the code that allows it. */
interface Reset {
  readonly code: string
  readonly password: string
  readonly by: Caller
}

/** The result; the code is consumed except for `invalid`. */
type ResetResult =
  | { readonly outcome: 'changed'; readonly user: User; readonly requestedReturn: RequestedReturn }
  /** The code is invalid, or the password was changed concurrently. */
  | { readonly outcome: 'invalid' }
  /** The message is for the user. */
  | {
      readonly outcome: 'refused'
      readonly message: string
      readonly user: User
      readonly requestedReturn: RequestedReturn
      /** When the code would have ended. */
      readonly endsAt: Date
    }

/**
 * Consumes the code and sets the password. Marks the account as verified, because the code reached its owner, unlocks it
 * unless it has a second factor, and clears a required password change. Ends every earlier session, code and token.
 */
export async function resetPassword(
  zone: Zone,
  { code: value, ...reset }: Reset,
  deps: AccountDeps,
): Promise<ResetResult> {
  const on = (code: ValidReset) => setByCode(zone, { ...reset, code }, deps)
  return (await spendCode(zone, { purpose: 'password-reset', value, on }, deps)) ?? { outcome: 'invalid' }
}

async function setByCode(
  zone: Zone,
  { code, password, by }: Omit<Reset, 'code'> & { readonly code: ValidReset },
  deps: AccountDeps,
): Promise<ResetResult> {
  const { user, data: requestedReturn, expiresAt: endsAt } = code
  if (user.origin !== deps.service.name) return { outcome: 'invalid' }
  const { remoteAddress, userAgent } = by
  const change = { zone, user, password, meetsDemand: true, verifies: true, remoteAddress, userAgent, by }
  const result = await setNewPassword(change, deps)
  switch (result.outcome) {
    case 'too-many-conflicts':
      return { outcome: 'invalid' }
    case 'refused':
      return { outcome: 'refused', message: result.message, user, requestedReturn, endsAt }
    case 'changed': {
      if (!user.verified) await deps.users.verify(zone, user.id, { by })
      return { outcome: 'changed', user: { ...result.user, verified: true }, requestedReturn }
    }
  }
}

// Changes of an account's e-mail address, for the pages and for login servers: a code proves the new address, and redeeming
// it makes the change. A user name that equals the old address changes with it.
import { checkUserName } from '../users/rules.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import { userNameKey, withEmail } from '../model/users/user.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { isMailAddress } from '../mail/mailer.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Caller } from '../users/caller.ts'
import { spendCode } from './codes.ts'
import type { RequestedReturn, ValidCode } from './codes.ts'
import type { AccountDeps } from './deps.ts'

/** The purposes of codes that change an address; they are not interchangeable. */
type EmailPurpose = 'email-change' | 'email-verification'

/** Whether the user name is the e-mail address, so that it changes with the address. */
const nameFollows = ({ userName, email }: User): boolean => userNameKey(userName) === userNameKey(email)

const withNewEmail = (user: User, email: string): User => ({
  ...withEmail(user, email),
  userName: nameFollows(user) ? email : user.userName,
})

/** Why an account cannot have this address; undefined if it can. The change checks again whether the name is taken. */
export async function emailProblem(
  zone: Zone,
  { user, email }: { readonly user: User; readonly email: string },
  { store, service }: Pick<AccountDeps, 'store' | 'service'>,
): Promise<'invalid' | 'taken' | undefined> {
  const problem = addressProblem(user, email, service)
  if (problem !== undefined || !nameFollows(user)) return problem
  const namesake = await store.users.findByName(zone.id, user.origin, email)
  return namesake === undefined || namesake.id === user.id ? undefined : 'taken'
}

/** The same, without looking at other accounts. UAA: a user name that already is the address counts as taken. */
export function addressProblem(user: User, email: string, service: Service): 'invalid' | 'taken' | undefined {
  if (!isMailAddress(email)) return 'invalid'
  if (!nameFollows(user)) return undefined
  if (!isUserName(email, user.origin, service)) return 'invalid'
  return user.userName === email && user.email === email ? 'taken' : undefined
}

/** Whether an account of the origin can have the name. */
export function isUserName(userName: string, origin: string, service: Service): boolean {
  try {
    checkUserName({ userName, origin }, service.name)
    return true
  } catch (error) {
    if (error instanceof OAuthError) return false
    throw error
  }
}

/** The result of redeeming a code. */
type EmailChange =
  | {
      readonly outcome: 'changed'
      readonly before: User
      readonly user: User
      readonly requestedReturn: RequestedReturn
    }
  /** The code is invalid. */
  | { readonly outcome: 'invalid' }
  /** Another account has taken the name since; the code is consumed. */
  | { readonly outcome: 'taken' }

/** Consumes the code and sets the address that it proves. */
export async function changeEmail(
  zone: Zone,
  { purpose, code, by }: { readonly purpose: EmailPurpose; readonly code: string; readonly by: Caller },
  deps: AccountDeps,
): Promise<EmailChange> {
  const on = (good: ValidCode<EmailPurpose>) => changeByCode(zone, { good, by }, deps)
  return (await spendCode(zone, { purpose, value: code, on }, deps)) ?? { outcome: 'invalid' }
}

async function changeByCode(
  zone: Zone,
  { good, by }: { readonly good: ValidCode<EmailPurpose>; readonly by: Caller },
  { users, service }: AccountDeps,
): Promise<EmailChange> {
  const { user: before, data } = good
  if (before.origin !== service.name) return { outcome: 'invalid' }
  // The owner changes the own account, so its rights are not checked.
  const owner = { ...by, scopes: [service.scope('admin')], ofDefaultZone: true }
  try {
    const change = { by: owner }
    const user = await users.change(zone, before.id, found => withNewEmail(found, data.email), change)
    return { outcome: 'changed', before, user, requestedReturn: data }
  } catch (error) {
    if (error instanceof AlreadyExists) return { outcome: 'taken' }
    throw error
  }
}

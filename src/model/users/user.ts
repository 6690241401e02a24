import { normalized } from '../../base/text/normalized.ts'
import type { Profile } from '../../records/profile.ts'
import type { UserFields } from '../../records/user.ts'

export type { Profile } from '../../records/profile.ts'

/** A user's account. Those of the internal provider have a password here; the others are shadows of a directory's. */
export interface User extends UserFields {
  /** Names of the groups that the user is in, directly or through others, where they were read with the account. */
  readonly groupNames?: readonly string[]
}

/** Given and family name with a blank between, or undefined when neither is known: never an empty text. */
export function fullName(user: User): string | undefined {
  const parts = [user.givenName, user.familyName].filter(part => part !== undefined && part !== '')
  return parts.length > 0 ? parts.join(' ') : undefined
}

/** The names of a user, in the order of forms. */
export const OWN_NAMES = ['givenName', 'familyName', 'displayName'] as const
/** Characters; as many as UAA's columns have. */
export const MAX_NAME_LENGTH = 255

/** The languages that the account asks for, as in `Accept-Language`; undefined for none. */
export const preferredLanguage = (user: User | undefined): string | undefined =>
  (user?.profile?.preferredLanguage || user?.profile?.locale)?.replaceAll('_', '-')

/** The key by which user names are compared: ignores case, Unicode form and letter width (NFKC). */
export const userNameKey = (userName: string): string => normalized(normalized(userName, 'NFKC').toLowerCase(), 'NFKC')

/** A name that looks like an e-mail address is used as one. */
export function nameAsEmail(userName: string): string | undefined {
  const at = userName.indexOf('@')
  return at > 0 && at < userName.length - 1 && at === userName.lastIndexOf('@') ? userName : undefined
}

/** Whether the address of the account was marked as the primary one. */
export const hasPrimaryEmail = ({ profile, email }: User): boolean =>
  profile?.emails?.find(({ value }) => value === email)?.primary === true

/** The user with another primary e-mail address, which also takes the place of the former one in the profile's list. */
export const withEmail = (user: User, email: string): User => ({
  ...user,
  email,
  ...withFirst(user, 'emails', { former: user.email, value: email }),
})

/** The user with another telephone number, or none, in the same way. */
export function withPhoneNumber(user: User, phoneNumber: string | undefined): User {
  const { phoneNumber: former, ...others } = user
  return {
    ...others,
    ...(phoneNumber !== undefined && { phoneNumber }),
    ...withFirst(user, 'phoneNumbers', { former, value: phoneNumber }),
  }
}

/** The profile with the entry replaced, removed, or put before the others; nothing where the profile has no such list. */
function withFirst(
  { profile }: User,
  list: 'emails' | 'phoneNumbers',
  { former, value }: { readonly former: string | undefined; readonly value: string | undefined },
): { readonly profile?: Profile } {
  const entries = profile?.[list]
  if (profile === undefined || entries === undefined || former === value) return {}
  const formerIndex = entries.findIndex(entry => entry.value === former)
  const others = entries.filter((entry, index) => index !== formerIndex && entry.value !== value)
  const { display: _, ...kept } = entries[formerIndex] ?? {}
  return { profile: { ...profile, [list]: value === undefined ? others : [{ ...kept, value }, ...others] } }
}

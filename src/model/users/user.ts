import { normalized } from '../../base/text/normalized.ts'
import type { ProfileValue } from '../../records/profile.ts'
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

/** The user after a change; a formatted name that the change leaves as it was follows given and family name. */
export function withFormattedName(before: User, after: User): User {
  const { profile } = after
  const isRenamed = before.givenName !== after.givenName || before.familyName !== after.familyName
  if (!isRenamed || profile?.name?.formatted === undefined) return after
  if (profile.name.formatted !== before.profile?.name?.formatted) return after
  const { formatted: _, ...others } = profile.name
  const formatted = fullName(after)
  return { ...after, profile: { ...profile, name: { ...others, ...(formatted !== undefined && { formatted }) } } }
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
export function withEmail(user: User, email: string): User {
  const { profile, email: former } = user
  if (profile?.emails === undefined || former === email) return { ...user, email }
  return { ...user, email, profile: { ...profile, emails: withFirst(profile.emails, former, email) } }
}

/** The user with another telephone number, in the same way; without one, there are none in the profile either. */
export function withPhoneNumber(user: User, phoneNumber: string | undefined): User {
  const { phoneNumber: former, ...others } = user
  const changed = { ...others, ...(phoneNumber !== undefined && { phoneNumber }) }
  if (user.profile?.phoneNumbers === undefined || former === phoneNumber) return changed
  const { phoneNumbers, ...rest } = user.profile
  const list = phoneNumber === undefined ? [] : withFirst(phoneNumbers, former, phoneNumber)
  const isPlain = list.every(entry => list.length === 1 && Object.keys(entry).length === 1) // as the column has it
  const { profile, ...bare } = { ...changed, profile: { ...rest, ...(!isPlain && { phoneNumbers: list }) } }
  return Object.keys(profile).length === 0 ? bare : { ...bare, profile }
}

/**
 * The list with the entry replaced, or put before the others. None of these stays the primary one: its value would take the place of
 * the new one with the next change by SCIM.
 */
function withFirst(entries: readonly ProfileValue[], former: string | undefined, value: string): ProfileValue[] {
  const ofFormer = entries.filter(entry => entry.value === former)
  const replaced = ofFormer.find(({ primary }) => primary) ?? ofFormer[0]
  const { display: _, ...kept } = replaced ?? {}
  const others = entries.filter(entry => entry !== replaced && entry.value !== value)
  return [{ ...kept, value }, ...others.map(({ primary: __, ...entry }) => entry)]
}

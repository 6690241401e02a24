// Applies the claims of a provider to an account: names, addresses, roles and attributes.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { isMailAddress, placeholderAddress } from '../model/mail.ts'
import { nameAsEmail, withEmail, withFormattedName, withPhoneNumber } from '../model/users/user.ts'
import type { User } from '../model/users/user.ts'
import { newUser } from '../users/new-user.ts'
import type { ExternalUser } from './source.ts'

/** A user with the roles that result from their groups; absent if the provider does not send groups. */
export type ExternalUserWithRoles = ExternalUser & { readonly roles?: readonly string[] }

/** A new account for a user. */
export function newAccount(
  { zoneId, origin }: { readonly zoneId: string; readonly origin: string },
  externalUser: ExternalUserWithRoles,
  deps: { readonly clock: Clock; readonly random: Random },
): User {
  const { userName, givenName, familyName, phoneNumber, externalId, externalIdFormat, email } = externalUser
  const draft = {
    userName,
    origin,
    email: email ?? assumedEmail(userName, origin),
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    externalId,
    active: true,
    verified: assertsAddress(externalUser),
  }
  // Without a password, so it cannot be used with one here.
  const user = newUser(draft, { zoneId }, deps)
  return withDetails({ ...user, ...(externalIdFormat !== undefined && { externalIdFormat }) }, externalUser)
}

/**
 * The account with the claims; the same object if nothing changed. Keeps values that the provider omits: access tokens have
 * fewer claims.
 */
export function upToDate(user: User, externalUser: ExternalUserWithRoles): User {
  const { email, givenName, familyName, phoneNumber, externalIdFormat } = externalUser
  const claimed = {
    ...(externalIdFormat !== undefined && { externalIdFormat }),
    ...(email !== undefined && { email }),
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    verified: isVerified(user, externalUser),
  }
  const detailed = withDetails(user, externalUser)
  const differs = Object.entries(claimed).some(([member, value]) => Reflect.get(user, member) !== value)
  if (!differs && detailed === user) return user
  const updated = withPhoneNumber(withEmail(detailed, email ?? user.email), phoneNumber ?? user.phoneNumber)
  return withFormattedName(user, { ...updated, ...claimed, userName: externalUser.userName })
}

/** The account with the provider's roles and attributes; the same object if it has them already. */
function withDetails(user: User, { roles, attributes }: ExternalUserWithRoles): User {
  const { profile: { custom, ...profile } = {}, providerRoles, ...rest } = user
  const newRoles = roles ?? providerRoles ?? []
  // Attributes that the provider does not map are set by the APIs, and stay.
  const newCustom = Object.fromEntries(
    Object.entries({ ...custom, ...(attributes && limited(attributes)) }).filter(
      ([name, values]) => values.length > 0 && name !== '__proto__',
    ),
  )
  if (isDeepStrictEqual([newRoles, newCustom], [providerRoles ?? [], { ...custom }])) return user
  const newProfile = { ...profile, ...(Object.keys(newCustom).length > 0 && { custom: newCustom }) }
  return {
    ...rest,
    ...(newRoles.length > 0 && { providerRoles: newRoles }),
    ...(Object.keys(newProfile).length > 0 && { profile: newProfile }),
  }
}

/** As many as the APIs accept. */
const MAX_ATTRIBUTE_VALUES = 100
/** Characters of all attributes together, including names: they are read with the account and included in tokens. */
const MAX_ATTRIBUTES_LENGTH = 65_536

/** One value can be mapped to many attributes; what exceeds the limit is left out. */
function limited(
  attributes: NonNullable<ExternalUserWithRoles['attributes']>,
): NonNullable<ExternalUserWithRoles['attributes']> {
  let left = MAX_ATTRIBUTES_LENGTH
  return Object.fromEntries(
    Object.entries(attributes).map(([name, values]) => [
      name,
      values.slice(0, MAX_ATTRIBUTE_VALUES).filter(value => (left -= name.length + value.length) >= 0),
    ]),
  )
}

/** The provider's claim decides; without one, an unchanged address stays verified. */
function isVerified(user: User, externalUser: ExternalUserWithRoles): boolean {
  const { email, emailVerified } = externalUser
  if (emailVerified === false) return false
  if (email === undefined) return user.verified
  return assertsAddress(externalUser) || (user.verified && user.email === email)
}

/** Whether the provider has verified the address. Text that is not one plain mailbox may be read as that of another user. */
const assertsAddress = ({ email, emailVerified }: Pick<ExternalUser, 'email' | 'emailVerified'>): boolean =>
  emailVerified === true && email !== undefined && isMailAddress(email)

/** The address of a user whose provider names none: the name, if it is one, or else a placeholder. */
export const assumedEmail = (userName: string, origin: string): string =>
  nameAsEmail(userName) ?? placeholderAddress(userName, origin)

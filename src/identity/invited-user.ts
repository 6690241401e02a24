import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { nameAsEmail } from '../model/users/user.ts'
import type { User } from '../model/users/user.ts'
import type { ExternalUser } from './source.ts'

/**
 * A provider's claims about a user who accepts an invitation. SAML providers rarely state whether an address is verified, or
 * send none. That is accepted, because their administrators assign the addresses, and the invitation was mailed to this one.
 * A user name that is an address counts as one too. The account keeps its user name unless that is the address.
 */
export function invitedUser(
  { type }: Pick<IdentityProvider, 'type'>,
  externalUser: ExternalUser,
  invited: User,
): ExternalUser {
  if (type !== 'saml') return externalUser
  const { email = nameAsEmail(externalUser.userName) ?? invited.email, emailVerified = true } = externalUser
  const isNamedByAddress = invited.userName.toLowerCase() === invited.email.toLowerCase()
  return {
    ...externalUser,
    email,
    emailVerified,
    userName: isNamedByAddress ? externalUser.userName : invited.userName,
  }
}

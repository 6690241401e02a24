import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { nameAsEmail } from '../model/people/user.ts'
import type { User } from '../model/people/user.ts'
import type { ExternalPerson } from './source.ts'

/**
 * What a provider says of a user who accepts an invitation. A SAML provider seldom says whether an address is verified, or
 * names none: its administrators keep the addresses, and the invitation was mailed to this one. An address that is a name
 * there is one too. The account keeps its user name unless that is the address.
 */
export function invitedPerson(
  { type }: Pick<IdentityProvider, 'type'>,
  person: ExternalPerson,
  invited: User,
): ExternalPerson {
  if (type !== 'saml') return person
  const { email = nameAsEmail(person.userName) ?? invited.email, emailVerified = true } = person
  const isNamedByAddress = invited.userName.toLowerCase() === invited.email.toLowerCase()
  return { ...person, email, emailVerified, userName: isNamedByAddress ? person.userName : invited.userName }
}

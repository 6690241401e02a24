// The format of a SAML NameID (SAML Core §8.3). The same text can be two users in two formats: an id that the provider assigned,
// and an address that a user chose. See docs/decisions/0018-identifying-upstream-users.md.
import type { User } from '../model/users/user.ts'
import type { ExternalUser, ExternalRefusal } from './source.ts'

/** Whether the account's external id is known to be of another format than the user's. */
export const hasOtherFormat = (user: User, { externalIdFormat: format }: ExternalUser): boolean =>
  format !== undefined && user.externalIdFormat !== undefined && user.externalIdFormat !== format

/** The refusal of such a user. */
export const OTHER_FORMAT: ExternalRefusal = {
  outcome: 'refused',
  reason: 'unusable',
  description: 'The identity provider did not send a permanent identifier for you. Contact your administrator.',
  detail: 'name-id: an account has this NameID in another format (nameID in the record says which format counts)',
  audit: 'name-id',
}

// Finds the account that was created for a user of a provider before the first sign-in.
import type { Behaviour } from '../model/compatibility.ts'
import type { User } from '../model/users/user.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import { MAX_UNBOUND } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import type { ExternalRefusal, ExternalUser } from './source.ts'

/** Settings of the provider for its accounts; users of an external login server have no provider. */
export type Origin = Pick<IdentityProvider, 'originKey' | 'config'>

const unusable = (description: string): ExternalRefusal => ({ outcome: 'refused', reason: 'unusable', description })

/** The refusal of a user who cannot get an account. */
export const NOT_USABLE = unusable('Unable to register user in internal UAA store.')
/** The same of a deactivated account. */
export const NOT_ACTIVE: ExternalRefusal = { ...NOT_USABLE, detail: 'the account is not active' }
/** Whether there is an account that cannot be used, or none. */
export const isNotUsable = (refusal: object): boolean => refusal === NOT_USABLE || refusal === NOT_ACTIVE
const AMBIGUOUS = unusable('Several accounts of the identity provider have this email address.')

/** Whether the account is not linked to an external id, and has no password. */
export const isUnbound = ({ externalId, passwordHash }: User): boolean => !externalId && passwordHash === undefined

/** Finds a pre-created account for this user that has never been used. */
export async function findUnbound(
  { id: zoneId }: Zone,
  { provider, externalUser }: { readonly provider: Origin; readonly externalUser: ExternalUser },
  { store, behaviour }: { readonly store: Store; readonly behaviour: Behaviour },
): Promise<User | ExternalRefusal | undefined> {
  const { originKey, config } = provider
  const { userName, externalId, nameIsAssigned = false, email, emailVerified } = externalUser
  // Any other name may be chosen by the user at the provider.
  const isTheirs = userName === externalId || nameIsAssigned
  const namesake = isTheirs ? await store.users.findByName(zoneId, originKey, userName) : undefined
  const isSameName =
    namesake?.userName === userName ||
    (nameIsAssigned && namesake && asciiLower(namesake.userName) === asciiLower(userName))
  if (namesake && isSameName && isUnbound(namesake)) return namesake.active ? namesake : NOT_ACTIVE
  const linkByEmail = config['linkByEmail'] ?? !behaviour.linkByEmailWhereAsked
  if (linkByEmail !== true || email === undefined || emailVerified !== true) return undefined
  const found = await store.users.findUnboundByEmail(zoneId, originKey, email)
  const [first, second] = found.filter(user => asciiLower(user.email) === asciiLower(email))
  // One more may be among those that were not read.
  return second || found.length === MAX_UNBOUND ? AMBIGUOUS : first
}

/** Folds A to Z only: Unicode case folding could equate different users of a provider. */
export const asciiLower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

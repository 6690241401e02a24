// Shadow accounts of users of external providers: found, created and updated at every sign-in. Decides which account a
// user gets; does not know how the provider authenticated them. See
// docs/decisions/0018-identifying-upstream-users.md.
import { digest } from '../base/secrets.ts'
import { beginningOf } from '../base/text/beginning.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { LDAP_ORIGIN } from '../model/zones/identity-provider.ts'
import { MAX_NAME_LENGTH } from '../model/users/user.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { AlreadyExists } from '../store/store.ts'
import { newAccount } from './account-details.ts'
import type { ExternalUserWithRoles } from './account-details.ts'
import { createAccountWrites } from './account-writes.ts'
import type { AccountWriteDeps, EnteredAccount } from './account-writes.ts'
import { hasOtherFormat, OTHER_FORMAT } from './name-format.ts'
import type { ExternalRefusal } from './source.ts'
import { asciiLower, findUnbound, isNotUsable, isUnbound, NOT_ACTIVE, NOT_USABLE } from './unbound-account.ts'
import type { Origin } from './unbound-account.ts'

/** The user's account, or why there is none. */
type Entry = EnteredAccount | ExternalRefusal

/** Shadow accounts. */
export interface Accounts {
  /** Finds and updates the user's account; creates it if the provider allows that (`addShadowUserOnLogin`). */
  enter(zone: Zone, provider: Origin, externalUser: ExternalUserWithRoles): Promise<Entry>
  /**
   * Links the user to the account that they were invited to, if the provider has verified that they have its address, or
   * updates it where they are linked already. No other account is found, and none is made. A directory's address counts
   * unless it is marked as unverified: administrators keep it, and the invitation was mailed there.
   */
  enterInvited(zone: Zone, provider: Origin, externalUser: ExternalUserWithRoles, invited: User): Promise<Entry>
  /** Finds and updates the user's account; undefined if there is none. */
  find(zone: Zone, provider: Origin, externalUser: ExternalUserWithRoles): Promise<Entry | undefined>
}

const NOT_PRECREATED: ExternalRefusal = {
  outcome: 'refused',
  reason: 'not-precreated',
  description: 'The user account must be pre-created. Please contact your system administrator.',
}
const ZONE_FULL: ExternalRefusal = {
  ...NOT_USABLE,
  detail: 'The zone has reached its maximum number of users (maxUsers).',
}
const NAME_TAKEN: ExternalRefusal = {
  ...NOT_USABLE,
  detail: 'another account of the provider has the user name; if it is theirs, give it their external id',
}
const notInvited = (description: string): ExternalRefusal => ({
  outcome: 'refused',
  reason: 'not-invited',
  description,
})
const OTHER_EMAIL = notInvited(
  'Your provider did not confirm that you have the email address that was invited. Sign in with the invited account.',
)
const OTHER_ACCOUNT = notInvited('The account that was invited is not yours at this identity provider.')

/**
 * Matches by provider and exact external id: an account with an external id is found by nothing else, and an account of
 * another origin never.
 */
export function createAccounts(deps: AccountWriteDeps & { readonly behaviour: Behaviour }): Accounts {
  const { store } = deps
  const { changeFormat, update, bind } = createAccountWrites(deps)

  const findOwn = (zone: Zone, origin: string, { externalId }: ExternalUserWithRoles): Promise<User | undefined> =>
    store.users.findByExternalId(zone.id, origin, externalId)

  async function create(zone: Zone, origin: string, externalUser: ExternalUserWithRoles): Promise<Entry> {
    const user = newAccount({ zoneId: zone.id, origin }, externalUser, deps)
    const { userName: named } = externalUser
    // The second name is the same at the next attempt; the third cannot be taken by users who want to keep this one out.
    for (const suffix of ['', `-${digest(externalUser.externalId).slice(0, 8)}`, `-${deps.random.urlSafe(8)}`]) {
      const userName = beginningOf(named, MAX_NAME_LENGTH - suffix.length) + suffix
      try {
        const isMade = await store.users.create(zone.id, { ...user, userName }, { maxUsers: maxUsersOf(zone) })
        return isMade ? { outcome: 'entered', user: { ...user, userName }, isNew: true } : ZONE_FULL
      } catch (error) {
        if (!(error instanceof AlreadyExists)) throw error
      }
      const own = await findOwn(zone, origin, externalUser) // a concurrent sign-in of the same user
      if (own) return enterOwn(zone, own, externalUser)
      // A matching unbound account must not be bypassed: an administrator must assign it.
      const holder = await store.users.findByName(zone.id, origin, userName)
      if (holder && isUnbound(holder)) return NAME_TAKEN
    }
    return NAME_TAKEN
  }

  async function enterOwn(zone: Zone, own: User, externalUser: ExternalUserWithRoles): Promise<Entry> {
    if (!own.active) return NOT_ACTIVE
    if (!hasOtherFormat(own, externalUser)) return update(zone, own, externalUser)
    return externalUser.isRequestedFormat === true ? changeFormat(zone, own, externalUser) : OTHER_FORMAT
  }

  async function find(zone: Zone, provider: Origin, externalUser: ExternalUserWithRoles): Promise<Entry | undefined> {
    const own = await findOwn(zone, provider.originKey, externalUser)
    if (own) return enterOwn(zone, own, externalUser)
    const unbound = await findUnbound(zone, { provider, externalUser }, deps)
    if (!unbound || 'outcome' in unbound) return unbound
    if (hasOtherFormat(unbound, externalUser) && externalUser.isRequestedFormat !== true) return OTHER_FORMAT
    const bound = await bind(zone, unbound, externalUser)
    if (bound) return bound
    const other = await findOwn(zone, provider.originKey, externalUser)
    return other && enterOwn(zone, other, externalUser)
  }

  return {
    find,
    async enterInvited(zone, { originKey }, externalUser, invited) {
      const { email, emailVerified } = externalUser
      const isVerified = emailVerified ?? originKey === LDAP_ORIGIN
      const isVouchedFor = email !== undefined && isVerified && asciiLower(email) === asciiLower(invited.email)
      if (!isVouchedFor) return OTHER_EMAIL
      const own = await findOwn(zone, originKey, externalUser)
      if (own) return own.id === invited.id ? enterOwn(zone, own, externalUser) : OTHER_ACCOUNT
      if (!invited.active || !isUnbound(invited)) return OTHER_ACCOUNT
      const bound = await bind(zone, invited, externalUser)
      if (bound) return bound
      const linked = await findOwn(zone, originKey, externalUser) // by a sign-in at the same instant
      return linked?.id === invited.id ? enterOwn(zone, linked, externalUser) : OTHER_ACCOUNT
    },
    async enter(zone, provider, externalUser) {
      const entry = await find(zone, provider, externalUser)
      const isClosed = provider.config['addShadowUserOnLogin'] === false
      if (isClosed && isNotUsable(entry ?? NOT_USABLE)) return NOT_PRECREATED
      return entry ?? create(zone, provider.originKey, externalUser)
    },
  }
}

const maxUsersOf = ({ config: { userConfig: { maxUsers = -1 } = {} } }: Zone): number | undefined =>
  maxUsers < 0 ? undefined : maxUsers

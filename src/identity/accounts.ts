// Shadow accounts of users of external providers: found, created and updated at every sign-in. Decides which account a
// user gets; does not know how the provider authenticated them. See
// docs/decisions/0018-identifying-upstream-users.md.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { LDAP_ORIGIN } from '../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { User } from '../model/users/user.ts'
import { nameAsEmail, withEmail, withPhoneNumber } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Aliases } from '../users/aliases.ts'
import { newUser } from '../users/new-user.ts'
import { PASSWORD_REVISION_LENGTH } from '../users/password.ts'
import { hasOtherFormat, OTHER_FORMAT } from './name-format.ts'
import type { ExternalUser, ExternalRefusal } from './source.ts'

/** The user's account, or why there is none. */
type Entry = { readonly outcome: 'entered'; readonly user: User } | ExternalRefusal

/** A user with the roles that follow from their groups; absent where the provider says nothing of them. */
export type ExternalUserWithRoles = ExternalUser & { readonly roles?: readonly string[] }

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

/** What a provider says of its accounts; an origin that an external login server vouches for has no provider. */
type Origin = Pick<IdentityProvider, 'originKey' | 'config'>

const refuse = (description: string): ExternalRefusal => ({ outcome: 'refused', reason: 'unusable', description })

const NOT_PRECREATED: ExternalRefusal = {
  outcome: 'refused',
  reason: 'not-precreated',
  description: 'The user account must be pre-created. Please contact your system administrator.',
}
const NOT_USABLE = refuse('Unable to register user in internal UAA store.')
const ZONE_FULL: ExternalRefusal = { ...NOT_USABLE, detail: 'The zone has as many users as it may have (maxUsers).' }
const AMBIGUOUS = refuse('Several accounts of the identity provider have this e-mail address.')
const notInvited = (description: string): ExternalRefusal => ({
  outcome: 'refused',
  reason: 'not-invited',
  description,
})
const OTHER_EMAIL = notInvited(
  'Your provider did not confirm that you have the e-mail address that was invited. Sign in with the invited account.',
)
const OTHER_ACCOUNT = notInvited('The account that was invited is not yours at this identity provider.')

/**
 * Matches by provider and exact external id: an account with an external id is found by nothing else, and an account of
 * another origin never.
 */
export function createAccounts(deps: {
  store: Store
  clock: Clock
  random: Random
  behaviour: Behaviour
  /** Brings the copy of a changed account in another zone up to date. */
  aliases?: Pick<Aliases, 'follow'>
}): Accounts {
  const { store, clock, random, behaviour } = deps

  const findOwn = (zone: Zone, origin: string, { externalId }: ExternalUserWithRoles): Promise<User | undefined> =>
    store.users.findByExternalId(zone.id, origin, externalId)

  /** Finds a pre-created account for this user that has never been used. */
  async function findUnbound(
    zone: Zone,
    { originKey, config }: Origin,
    externalUser: ExternalUserWithRoles,
  ): Promise<User | ExternalRefusal | undefined> {
    const { userName, externalId, nameIsAssigned = false, email, emailVerified } = externalUser
    // Any other name may be chosen by the user at the provider.
    const isTheirs = userName === externalId || nameIsAssigned
    const namesake = isTheirs ? await store.users.findByName(zone.id, originKey, userName) : undefined
    const isSameName =
      namesake?.userName === userName ||
      (nameIsAssigned && namesake && asciiLower(namesake.userName) === asciiLower(userName))
    if (namesake && isSameName && isUnbound(namesake)) return namesake.active ? namesake : NOT_USABLE
    const linkByEmail = config['linkByEmail'] ?? !behaviour.linkByEmailWhereAsked
    if (linkByEmail !== true || email === undefined || emailVerified !== true) return undefined
    const found = await store.users.findByEmail(zone.id, originKey, email)
    const [first, second] = found.filter(
      user => user.active && isUnbound(user) && asciiLower(user.email) === asciiLower(email),
    )
    return second ? AMBIGUOUS : first
  }

  /** Writes the account with the provider's user name or, if that is taken, with its current name. */
  async function withName<T>(user: User, before: User, write: (user: User) => Promise<T>): Promise<T> {
    try {
      return await write(user)
    } catch (error) {
      if (!(error instanceof AlreadyExists) || user.userName === before.userName) throw error
      return write({ ...user, userName: before.userName })
    }
  }

  /** For an administrator's choice of another format: ends everything of the user who had the account by the former one. */
  async function changeFormat(zone: Zone, user: User, externalUser: ExternalUserWithRoles): Promise<Entry> {
    const passwordRevision = random.urlSafe(PASSWORD_REVISION_LENGTH)
    await store.users.endAccess(zone.id, user.id, passwordRevision)
    return update(zone, { ...user, passwordRevision }, externalUser)
  }

  async function update(zone: Zone, user: User, externalUser: ExternalUserWithRoles): Promise<Entry> {
    const current = upToDate(user, externalUser)
    if (current === user) return { outcome: 'entered', user }
    const changed = { ...current, version: user.version + 1, updatedAt: clock.now() }
    return withName(changed, user, async written => {
      await store.users.updateProfile(zone.id, written)
      await deps.aliases?.follow(written)
      return { outcome: 'entered', user: written }
    })
  }

  /** Binds the account to the user and ends all earlier sessions and tokens of it. */
  async function bind(zone: Zone, user: User, externalUser: ExternalUserWithRoles): Promise<Entry | undefined> {
    const now = clock.now()
    const { externalId, userName } = externalUser
    const bound: User = {
      ...upToDate(user, externalUser),
      externalId,
      userName,
      passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH), // invalidates tokens issued before
      passwordChangedAt: now,
      version: user.version + 1,
      updatedAt: now,
    }
    try {
      return await withName(bound, user, async written =>
        (await store.users.bind(zone.id, written)) ? { outcome: 'entered', user: written } : undefined,
      )
    } catch (error) {
      if (error instanceof AlreadyExists) return undefined // a concurrent sign-in of the same user
      throw error
    }
  }

  async function create(zone: Zone, origin: string, externalUser: ExternalUserWithRoles): Promise<Entry> {
    const user = newAccount(zone, origin, externalUser)
    for (const userName of [
      externalUser.userName,
      `${externalUser.userName}-${digest(externalUser.externalId).slice(0, 8)}`,
    ]) {
      try {
        const isMade = await store.users.create(zone.id, { ...user, userName }, { maxUsers: maxUsersOf(zone) })
        return isMade ? { outcome: 'entered', user: { ...user, userName } } : ZONE_FULL
      } catch (error) {
        if (!(error instanceof AlreadyExists)) throw error
      }
      const own = await findOwn(zone, origin, externalUser) // a concurrent sign-in of the same user
      if (own) return enterOwn(zone, own, externalUser)
      // A matching unbound account must not be bypassed: an administrator must decide whose it is.
      const holder = await store.users.findByName(zone.id, origin, userName)
      if (holder && isUnbound(holder)) return NOT_USABLE
    }
    return NOT_USABLE
  }

  function newAccount(zone: Zone, origin: string, externalUser: ExternalUserWithRoles): User {
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
      verified: email !== undefined && externalUser.emailVerified === true,
    }
    // Without a password, so it cannot be used with one here.
    const user = newUser(draft, { zoneId: zone.id }, deps)
    return withDetails({ ...user, ...(externalIdFormat !== undefined && { externalIdFormat }) }, externalUser)
  }

  async function enterOwn(zone: Zone, own: User, externalUser: ExternalUserWithRoles): Promise<Entry> {
    if (!own.active) return NOT_USABLE
    if (!hasOtherFormat(own, externalUser)) return update(zone, own, externalUser)
    return externalUser.isRequestedFormat === true ? changeFormat(zone, own, externalUser) : OTHER_FORMAT
  }

  async function find(zone: Zone, provider: Origin, externalUser: ExternalUserWithRoles): Promise<Entry | undefined> {
    const own = await findOwn(zone, provider.originKey, externalUser)
    if (own) return enterOwn(zone, own, externalUser)
    const unbound = await findUnbound(zone, provider, externalUser)
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
      if (isClosed && (entry ?? NOT_USABLE) === NOT_USABLE) return NOT_PRECREATED
      return entry ?? create(zone, provider.originKey, externalUser)
    },
  }
}

/** Not linked to an external id, and without a password. */
const isUnbound = ({ externalId, passwordHash }: User): boolean => !externalId && passwordHash === undefined

/** Returns the same object if nothing changed. Keeps values that the provider omits: access tokens have fewer claims. */
function upToDate(user: User, externalUser: ExternalUserWithRoles): User {
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
  return { ...updated, ...claimed, userName: externalUser.userName }
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
/** Characters of all of them together, each with its name: they are read with the account, and stand in tokens. */
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
function isVerified(user: User, { email, emailVerified }: ExternalUserWithRoles): boolean {
  if (emailVerified === false) return false
  if (email === undefined) return user.verified
  return emailVerified === true || (user.verified && user.email === email)
}

const maxUsersOf = ({ config: { userConfig: { maxUsers = -1 } = {} } }: Zone): number | undefined =>
  maxUsers < 0 ? undefined : maxUsers

/** Folds A to Z only: Unicode case folding could equate different users of a provider. */
const asciiLower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

/** The address of a user whose provider names none: the name, if it is one, or else a placeholder. */
export const assumedEmail = (userName: string, origin: string): string =>
  nameAsEmail(userName) ?? placeholderEmail(userName, origin)

/** Placeholder, because every account has an address; it cannot receive mail and is never used for look-ups. */
const placeholderEmail = (userName: string, origin: string): string =>
  `${userName.replaceAll('@', '')}@user.from.${origin}.cf`

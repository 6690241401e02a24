// The accounts that stand here for people of other providers: found, made and kept up to date at every sign-in. Owns
// which account a person of a provider gets; refuses to know how the provider proved who it is.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import { AlreadyExists } from '../store/store.ts'
import type { ExternalPerson, ExternalRefusal } from './source.ts'

/** The account of a person, or why there is none. */
export type Entry = { readonly outcome: 'entered'; readonly user: User } | ExternalRefusal

/** Shadow accounts. */
export interface Accounts {
  /** The person's account, made when the provider allows it (`addShadowUserOnLogin`), and brought up to date. */
  enter(zone: Zone, provider: IdentityProvider, person: ExternalPerson): Promise<Entry>
}

const refuse = (description: string): ExternalRefusal => ({ outcome: 'refused', reason: 'unusable', description })

const NOT_PRECREATED = refuse('The user account must be pre-created. Please contact your system administrator.')
const NAME_TAKEN = refuse('Unable to register user in internal UAA store.')
const AMBIGUOUS = refuse('Several accounts of the identity provider have this e-mail address.')

/** An account belongs to its provider: one of another origin is never found, whatever its name and address. */
export function createAccounts(deps: { store: Store; clock: Clock; random: Random }): Accounts {
  const { store, clock, random } = deps

  /** Somebody whose account was made before the first sign-in may be known here by the address alone. */
  async function findByEmail(zone: Zone, origin: string, person: ExternalPerson): Promise<readonly User[]> {
    const { email = nameAsEmail(person.userName), emailVerified } = person
    // An address that the provider itself does not vouch for would open the account of whoever really has it.
    if (email === undefined || emailVerified === false) return []
    return (await store.users.findByEmail(zone.id, origin, email)).filter(user => user.active)
  }

  async function update(zone: Zone, user: User, person: ExternalPerson): Promise<Entry> {
    const current = upToDate(user, person)
    return current === user ? { outcome: 'entered', user } : write(zone, user, current)
  }

  async function write(zone: Zone, before: User, current: User): Promise<Entry> {
    const written = { ...current, version: before.version + 1, updatedAt: clock.now() }
    try {
      await store.users.updateProfile(zone.id, written)
    } catch (error) {
      if (error instanceof AlreadyExists) return NAME_TAKEN // a renaming that met another
      throw error
    }
    return { outcome: 'entered', user: written }
  }

  async function create(zone: Zone, origin: string, person: ExternalPerson): Promise<Entry> {
    const now = clock.now()
    const { userName, givenName, familyName, phoneNumber, externalId } = person
    const user: User = {
      zoneId: zone.id,
      id: random.uuid(),
      userName,
      origin,
      passwordRevision: random.urlSafe(22), // no password: nobody signs in to it here
      email: person.email ?? nameAsEmail(userName) ?? madeUpEmail(userName, origin),
      ...(givenName !== undefined && { givenName }),
      ...(familyName !== undefined && { familyName }),
      ...(phoneNumber !== undefined && { phoneNumber }),
      ...(externalId !== undefined && { externalId }),
      active: true,
      verified: person.emailVerified === true,
      passwordChangedAt: now,
      passwordChangeRequired: false,
      version: 0,
      createdAt: now,
      updatedAt: now,
    }
    try {
      await store.users.insert(zone.id, user)
      return { outcome: 'entered', user }
    } catch (error) {
      if (!(error instanceof AlreadyExists)) throw error
      // The same person came twice at once, and the other was faster.
      const other = await store.users.findByName(zone.id, origin, userName)
      return other?.active ? update(zone, other, person) : NAME_TAKEN
    }
  }

  return {
    async enter(zone, { originKey, config }, person) {
      const namesake = await store.users.findByName(zone.id, originKey, person.userName)
      if (namesake?.active) return update(zone, namesake, person)
      if (!namesake) {
        const [known, second] = await findByEmail(zone, originKey, person)
        if (second) return AMBIGUOUS
        if (known) return write(zone, known, { ...upToDate(known, person), userName: person.userName })
      }
      if (config['addShadowUserOnLogin'] === false) return NOT_PRECREATED
      return namesake ? NAME_TAKEN : create(zone, originKey, person)
    },
  }
}

/** The same object when nothing changed. What the provider does not say stays: an access token says less than an ID token. */
function upToDate(user: User, person: ExternalPerson): User {
  const { email, givenName, familyName, phoneNumber, externalId } = person
  const told = {
    ...(email !== undefined && { email }),
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    ...(externalId !== undefined && { externalId }),
    ...(person.emailVerified === true && { verified: true }), // sticky: a later doubt takes nothing away
  }
  const differs = Object.entries(told).some(([member, value]) => Reflect.get(user, member) !== value)
  return differs ? { ...user, ...told, userName: person.userName } : user
}

/** A name that looks like an address is one. */
function nameAsEmail(userName: string): string | undefined {
  const at = userName.indexOf('@')
  return at > 0 && at < userName.length - 1 && at === userName.lastIndexOf('@') ? userName : undefined
}

/** Every account has an address; this one reaches nobody, and is never looked for. */
const madeUpEmail = (userName: string, origin: string): string =>
  `${userName.replaceAll('@', '')}@user.from.${origin}.cf`

// Changes of the account of an external user: brought up to date, bound to the user, or given another format of names.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Aliases } from '../users/aliases.ts'
import { PASSWORD_REVISION_LENGTH } from '../users/password.ts'
import { upToDate } from './account-details.ts'
import type { ExternalUserWithRoles } from './account-details.ts'

/** Dependencies of `createAccountWrites`. */
export interface AccountWriteDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Brings the copy of a changed account in another zone up to date. */
  readonly aliases?: Pick<Aliases, 'follow'>
}

/** An account of a user who may sign in. */
export interface EnteredAccount {
  readonly outcome: 'entered'
  readonly user: User
  readonly isNew?: boolean
}

/** One instance serves every zone. */
export function createAccountWrites({ store, clock, random, aliases }: AccountWriteDeps) {
  /** Writes the account with the provider's user name or, if that is taken, with its current name. */
  async function withName<T>(user: User, before: User, write: (user: User) => Promise<T>): Promise<T> {
    try {
      return await write(user)
    } catch (error) {
      if (!(error instanceof AlreadyExists) || user.userName === before.userName) throw error
      return write({ ...user, userName: before.userName })
    }
  }

  /** Takes over what the provider says of the user now. */
  async function update(zone: Zone, user: User, externalUser: ExternalUserWithRoles): Promise<EnteredAccount> {
    const current = upToDate(user, externalUser)
    if (current === user) {
      await aliases?.follow(user) // where that failed at an earlier sign-in
      return { outcome: 'entered', user }
    }
    const changed = { ...current, version: user.version + 1, updatedAt: clock.now() }
    return withName(changed, user, async written => {
      await store.users.updateProfile(zone.id, written)
      await aliases?.follow(written)
      return { outcome: 'entered', user: written }
    })
  }

  /** When an administrator changes the format: ends all sessions and tokens of the user of the former format. */
  async function changeFormat(zone: Zone, user: User, externalUser: ExternalUserWithRoles): Promise<EnteredAccount> {
    const passwordRevision = random.urlSafe(PASSWORD_REVISION_LENGTH)
    await store.users.endAccess(zone.id, user.id, passwordRevision)
    return update(zone, { ...user, passwordRevision }, externalUser)
  }

  /** Binds the account to the user and ends all earlier sessions and tokens of it. */
  async function bind(
    zone: Zone,
    user: User,
    externalUser: ExternalUserWithRoles,
  ): Promise<EnteredAccount | undefined> {
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
      return await withName(bound, user, async written => {
        if (!(await store.users.bind(zone.id, written))) return undefined
        await aliases?.follow(written)
        return { outcome: 'entered', user: written }
      })
    } catch (error) {
      if (error instanceof AlreadyExists) return undefined // a concurrent sign-in of the same user
      throw error
    }
  }

  return { update, changeFormat, bind }
}

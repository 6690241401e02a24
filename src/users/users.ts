// Creates, changes and deletes users for every API: the rules every user keeps, the password, one transaction for each
// operation, and the audit trail after it. Independent of HTTP.
import type { User } from '../model/users/user.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { Zone } from '../model/zones/zone.ts'
import { createAliases } from './aliases.ts'
import type { Caller } from './caller.ts'
import { createChangeQueue } from './change-queue.ts'
import { createGroupRights } from './groups/group-rights.ts'
import { noSuchResource, staleVersion } from './refusal.ts'
import { checkManageable } from './rules.ts'
import { changeUser, findUser } from './user-changes.ts'
import type { Compute, RecordChange, UserChange } from './user-changes.ts'
import { createUser } from './user-creation.ts'
import type { CreationDeps, NewUser } from './user-creation.ts'
import { createUserEvents } from './user-events.ts'

/** Users of every zone. All of it throws `OAuthError`, with the codes of UAA's API. */
export interface Users {
  /** Refuses where accounts of the origin are not to be changed here. */
  checkManageable(zone: Zone, origin: string): Promise<void>
  /** Checks everything in UAA's order (§2.3) and creates the user. Throws `scim_resource_already_exists` for a taken name. */
  create(zone: Zone, user: NewUser): Promise<User>
  /**
   * Replaces what `compute` changes of the user; it may run again if others change the user meanwhile. A user who
   * becomes inactive loses all sessions and tokens permanently. Throws `AlreadyExists` for a name or an external id that is taken,
   * and `scim_resource_conflict` for a version that is not the expected one.
   */
  change(zone: Zone, id: string, compute: Compute, change: RecordChange): Promise<User>
  /** Deletes the user with all of the user's data and returns the last state; throws as `change`. */
  delete(zone: Zone, id: string, change: UserChange): Promise<User>
  /** Sets `verified`, which does not count as a version; throws as `change`. */
  verify(zone: Zone, id: string, change: UserChange): Promise<User>
  /** Forgets failed sign-ins, which ends a lock. */
  unlock(zone: Zone, user: User, by: Caller): Promise<void>
  /** Demands a new password at the next sign-in. */
  requirePasswordChange(zone: Zone, user: User, by: Caller): Promise<void>
}

/** Dependencies of `createUsers`. */
interface UserDeps extends Omit<CreationDeps, 'aliases' | 'report'> {
  readonly settings: Pick<TokenSettings, 'aliasEntities'>
}

/** One instance serves every zone. */
export function createUsers(deps: UserDeps): Users {
  const { store, service } = deps
  const aliases = createAliases(deps)
  const rights = createGroupRights(deps)
  const report = createUserEvents(deps.audit)
  const parts = { ...deps, aliases, rights, report }
  const inTurn = createChangeQueue()
  const inTurnOfOwner = createChangeQueue()

  return {
    checkManageable: (zone, origin) => checkManageable(store, zone.id, origin, service.name),

    create: (zone, user) => createUser(zone, user, parts),

    change(zone, id, compute, change) {
      const key = JSON.stringify([zone.id, id])
      const run = (): Promise<User> => inTurn(key, () => changeUser({ zone, id, compute, change }, parts))
      // An administrator who locks an owner out waits for one change of the owner, not for as many as the owner sends.
      return change.by.userId === id ? inTurnOfOwner(key, run) : run()
    },

    async delete(zone, id, { expected, by }) {
      const user = await findUser(store, zone, id)
      await checkManageable(store, zone.id, user.origin, service.name)
      const copy = await aliases.forDelete(user, by.isServerAdmin === true)
      if (!(await store.users.delete(zone.id, id, expected, copy))) {
        const { version } = await findUser(store, zone, id)
        throw staleVersion('user', id, { stored: version, sent: expected ?? version })
      }
      report('UserDeletedEvent', user, by)
      if (copy) report('UserDeletedEvent', copy, by)
      return user
    },

    async verify(zone, id, { expected, by }) {
      const { version } = await findUser(store, zone, id)
      const user = await store.users.verify(zone.id, id, expected)
      if (!user) throw staleVersion('user', id, { stored: version, sent: expected ?? version })
      report('UserVerifiedEvent', user, by)
      return user
    },

    async unlock(zone, user, by) {
      await store.events.clearFailures(zone.id, user.id)
      report('UserAccountUnlockedEvent', user, by)
    },

    async requirePasswordChange(zone, user, by) {
      if (!(await store.users.requirePasswordChange(zone.id, user.id))) throw noSuchResource('User', user.id)
      report('UserModifiedEvent', user, by)
    },
  }
}

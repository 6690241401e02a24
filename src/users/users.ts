// Creates, changes and deletes users for every API: the rules every user keeps, the password, one transaction for each
// operation, and the audit trail after it. Independent of HTTP.
import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Approval } from '../model/users/approval.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit, AuditEventType } from '../model/audit/event.ts'
import type { Service } from '../model/service.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { PASSWORD_REVISION_LENGTH } from './password.ts'
import { passwordProblem } from './password-rules.ts'
import type { PasswordOwner, PasswordRuleDeps } from './password-rules.ts'
import { reportDecisions } from './approvals.ts'
import { createAliases, taken as takenInAliasZone } from './aliases.ts'
import { originOf } from './caller.ts'
import type { Caller } from './caller.ts'
import { callerIn, createGroupRights } from './groups/group-rights.ts'
import type { GroupCaller } from './groups/group-rights.ts'
import { newUser } from './new-user.ts'
import type { UserDraft } from './new-user.ts'
import { noSuchResource, tooManyConflicts, refuseResource, staleVersion } from './refusal.ts'
import { checkEmailDomain, checkLengths, checkManageable, checkOrigin, checkUserName } from './rules.ts'

/** A change of one user. */
interface UserChange {
  /** The version that it may replace; absent for any version. */
  readonly expected?: number | undefined
  readonly by: Caller
}

/** A change of a user's record. */
interface RecordChange extends UserChange {
  /** A caller without the rights of the account can change neither its password nor what identifies its owner. */
  readonly by: GroupCaller
  /** A new one for an account of the internal provider, which ends all access; the password that it has changes nothing. */
  readonly password?: string | undefined
}

/** What a user signs in by or gets a new password by, and the salt: one of before makes revoked JWTs valid again. */
const IDENTITY = ['userName', 'email', 'externalId', 'salt'] as const satisfies readonly (keyof User)[]

const hasOtherIdentity = (before: User, after: User): boolean => IDENTITY.some(name => before[name] !== after[name])

/** The format belongs to one external id; a change that removes the id and names no other leaves it for the next sign-in. */
function withFormat({ externalId, externalIdFormat }: User, wanted: User): User {
  const isKept = !wanted.externalId || wanted.externalId === externalId
  const { externalIdFormat: _ignored, ...others } = wanted
  return { ...others, ...(isKept && externalIdFormat !== undefined && { externalIdFormat }) }
}

/** A user to be made. */
interface NewUser {
  readonly draft: UserDraft
  /** For accounts of the internal provider: a password that keeps the policy, or the hash of one. */
  readonly password?: string | undefined
  readonly passwordHash?: string | undefined
  /** Whether an account of the internal provider may have neither: sign-in is impossible until one is set. */
  readonly withoutPassword?: boolean
  /** Whether the e-mail address may be of a domain of another provider. */
  readonly ofAnyDomain?: boolean
  /** Whether an external login server authenticates the user: such an origin has no provider. */
  readonly vouched?: boolean
  /** Approval decisions made on behalf of the new user. */
  readonly approvals?: readonly Omit<Approval, 'zoneId' | 'userId'>[]
  readonly by: Caller
}

/** Users of every zone. All of it throws `OAuthError`, with the codes of UAA's API. */
export interface Users {
  /** Refuses where accounts of the origin are not to be changed here. */
  checkManageable(zone: Zone, origin: string): Promise<void>
  /** Checks everything in UAA's order (§2.3) and makes the user. Throws `scim_resource_already_exists` for a name that is taken. */
  create(zone: Zone, user: NewUser): Promise<User>
  /**
   * Replaces what `compute` changes of the user; it may run again if others change the user meanwhile. A user who
   * becomes inactive loses all sessions and tokens for good. Throws `AlreadyExists` for a name or an external id that is taken,
   * and `scim_resource_conflict` for a version that is not the expected one.
   */
  change(zone: Zone, id: string, compute: (user: User) => User | Promise<User>, change: RecordChange): Promise<User>
  /** Deletes the user with everything of theirs and returns the last state; throws as `change`. */
  delete(zone: Zone, id: string, change: UserChange): Promise<User>
  /** Sets `verified`, which does not count as a version; throws as `change`. */
  verify(zone: Zone, id: string, change: UserChange): Promise<User>
  /** Forgets failed sign-ins, which ends a lock. */
  unlock(zone: Zone, user: User, by: Caller): Promise<void>
  /** Demands a new password at the next sign-in. */
  requirePasswordChange(zone: Zone, user: User, by: Caller): Promise<void>
}

/** Dependencies of `createUsers`. */
export interface UserDeps extends PasswordRuleDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
  readonly settings: Pick<TokenSettings, 'aliasEntities'>
}

/** A change is computed again this often when others are faster. */
const MAX_ATTEMPTS = 8

/** One instance serves every zone. */
export function createUsers(deps: UserDeps): Users {
  const { store, passwords, clock, random, service, behaviour, audit } = deps
  const internalOrigin = service.name
  const aliases = createAliases(deps)
  const rights = createGroupRights(deps)

  function report(type: AuditEventType, { zoneId, id, userName, origin }: User, by: Caller): void {
    const { userId } = by
    const facts = [`user_id=${id}`, `username=${userName}`, ...(userId === undefined ? [] : [`caller=${userId}`])]
    audit({ type, zoneId, principal: id, origin, ...originOf(id, by), data: JSON.stringify(facts) })
  }

  async function find(zone: Zone, id: string): Promise<User> {
    const user = await store.users.find(zone.id, id)
    if (!user) throw noSuchResource('User', id)
    return user
  }

  const manageable = (zone: Zone, origin: string): Promise<void> =>
    checkManageable(store, zone.id, origin, internalOrigin)

  async function checkPassword(zone: Zone, password: string, owner: PasswordOwner): Promise<void> {
    const problem = await passwordProblem(zone, { password, owner }, deps)
    if (problem !== undefined) throw refuseResource('invalid_password', problem)
  }

  /** The hash of a new password that keeps the policy; undefined for the password that the user has. */
  async function hashOfNew(
    zone: Zone,
    id: string,
    { password, by }: { readonly password: string; readonly by: GroupCaller },
  ): Promise<string | undefined> {
    const user = await find(zone, id)
    await manageable(zone, user.origin)
    await rights.checkUser(user, by)
    if (user.origin !== internalOrigin) {
      throw refuseResource('invalid_password', 'The password is kept by the identity provider of the user.')
    }
    const requester = { zoneId: zone.id, address: by.remoteAddress }
    await checkPassword(zone, password, user)
    const isKnown = user.passwordHash !== undefined && (await passwords.verify(user.passwordHash, password, requester))
    return isKnown ? undefined : passwords.hash(password, requester)
  }

  /** Avoids a needless hash; the insertion decides. */
  async function checkRoom(zone: Zone): Promise<number | undefined> {
    const { maxUsers = -1 } = zone.config.userConfig ?? {}
    if (maxUsers < 0) return undefined
    if ((await store.users.count(zone.id)) >= maxUsers) throw full(zone, maxUsers)
    return maxUsers
  }

  const taken = ({ userName, origin }: UserDraft, cause?: unknown): Error =>
    refuseResource('scim_resource_already_exists', `Username already in use: ${userName}`, {
      extra: { origin },
      cause,
    })

  /** Whether a name that is taken is so in the zone of the copy. */
  const isFree = async ({ zoneId, origin, userName, id }: User, cause: unknown): Promise<boolean> => {
    if (!(cause instanceof AlreadyExists)) return false
    const namesake = await store.users.findByName(zoneId, origin, userName)
    return namesake === undefined || namesake.id === id
  }

  return {
    checkManageable: manageable,

    async create(
      zone,
      { draft, password, passwordHash, withoutPassword = false, vouched = false, ofAnyDomain, approvals = [], by },
    ) {
      const { origin } = draft
      await manageable(zone, origin)
      checkUserName(draft, internalOrigin)
      if (ofAnyDomain !== true) await checkEmailDomain(store, zone, draft, internalOrigin)
      const isInternal = origin === internalOrigin
      const isHashed = isInternal && passwordHash === undefined && !(withoutPassword && password === undefined)
      if (isHashed) await checkPassword(zone, password ?? '', draft)
      const made = newUser(draft, { zoneId: zone.id }, { clock, random })
      const plan = await aliases.forNew(made, by.isServerAdmin === true)
      const maxUsers = await checkRoom(zone)
      if (!vouched) await checkOrigin(store, zone, origin, behaviour)
      checkLengths(draft)
      if (await store.users.findByName(zone.id, origin, draft.userName)) throw taken(draft)
      const requester = { zoneId: zone.id, address: by.remoteAddress }
      const hash = isHashed ? await passwords.hash(password ?? '', requester) : isInternal ? passwordHash : undefined
      const user = { ...plan.user, ...(hash !== undefined && { passwordHash: hash }) }
      const { copy } = plan
      const decisions = approvals.map(approval => ({ ...approval, zoneId: zone.id, userId: user.id }))
      try {
        if (!(await store.users.create(zone.id, user, { maxUsers, approvals: decisions, copy }))) {
          throw full(zone, maxUsers ?? 0)
        }
      } catch (cause) {
        if (!(cause instanceof AlreadyExists)) throw cause
        const namesake = await store.users.findByName(zone.id, origin, draft.userName)
        throw namesake ? taken(draft, cause) : copy ? takenInAliasZone(cause) : externalIdTaken(draft, cause)
      }
      if (copy) report('UserCreatedEvent', copy.user, by)
      report('UserCreatedEvent', user, by)
      reportDecisions({ zone, userId: user.id, origin: by }, { before: [], after: decisions }, deps)
      return user
    },

    async change(zone, id, compute, { expected, by, password }) {
      const passwordHash = password === undefined ? undefined : await hashOfNew(zone, id, { password, by })
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const before = await find(zone, id)
        await manageable(zone, before.origin)
        const wanted = withFormat(before, await compute(before))
        if (wanted.origin !== before.origin) {
          throw refuseResource('invalid_scim_resource', "Cannot change user's origin in update operation.")
        }
        // An account that came with another name by an import can still be changed and deactivated.
        if (wanted.userName !== before.userName) checkUserName(wanted, internalOrigin)
        checkLengths(wanted)
        if (password !== undefined && passwordHash !== undefined) await checkPassword(zone, password, wanted) // new names
        if (expected !== undefined && before.version !== expected) {
          throw staleVersion('user', id, before.version, expected)
        }
        if (hasOtherIdentity(before, wanted)) await rights.checkUser(before, by)
        const ends = (before.active && !wanted.active) || passwordHash !== undefined
        const passwordRevision = ends ? random.urlSafe(PASSWORD_REVISION_LENGTH) : before.passwordRevision
        const now = clock.now()
        const credentials = passwordHash === undefined ? {} : { passwordHash, passwordChangedAt: now }
        const after = { ...wanted, ...credentials, passwordRevision, updatedAt: now }
        const { user, copy } = await aliases.forChange(before, after, by.isServerAdmin === true)
        if (copy?.before && hasOtherIdentity(copy.before, copy.user)) {
          await rights.checkUser(copy.before, callerIn(copy.before.zoneId, by, service))
        }
        const written = await store.users.replace(zone.id, before, user, copy).catch(async (cause: unknown) => {
          throw copy && (await isFree(user, cause)) ? takenInAliasZone(cause) : cause
        })
        if (!written) continue
        if (copy) report(copy.before ? 'UserModifiedEvent' : 'UserCreatedEvent', copy.user, by)
        report('UserModifiedEvent', written, by)
        if (written.email !== before.email) report('EmailChangedEvent', written, by)
        if (passwordHash !== undefined) report('PasswordChangeSuccess', written, by)
        return written
      }
      throw tooManyConflicts('user', id)
    },

    async delete(zone, id, { expected, by }) {
      const user = await find(zone, id)
      await manageable(zone, user.origin)
      const copy = await aliases.forDelete(user, by.isServerAdmin === true)
      if (!(await store.users.delete(zone.id, id, expected, copy))) {
        const { version } = await find(zone, id)
        throw staleVersion('user', id, version, expected ?? version)
      }
      report('UserDeletedEvent', user, by)
      if (copy) report('UserDeletedEvent', copy, by)
      return user
    },

    async verify(zone, id, { expected, by }) {
      const { version } = await find(zone, id)
      const user = await store.users.verify(zone.id, id, expected)
      if (!user) throw staleVersion('user', id, version, expected ?? version)
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

const full = (zone: Zone, maxUsers: number): Error =>
  refuseResource(
    'invalid_scim_resource',
    `The maximum allowed numbers of users: ${maxUsers} is reached already in Identity Zone ${zone.id}`,
  )

/** Accounts of other providers are found by their external id: two cannot share one. */
const externalIdTaken = ({ externalId = '', origin }: UserDraft, cause: unknown): Error =>
  refuseResource('scim_resource_already_exists', `External id already in use: ${externalId}`, {
    extra: { origin },
    cause,
  })

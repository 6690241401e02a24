// Changes the record of a user, for every API. A change reads the user and replaces the version that it read; when another
// process was faster, it is computed again.
import { hashTyped, isTypedPassword } from './typed-password.ts'
import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { taken as takenInAliasZone } from './aliases.ts'
import type { Aliases } from './aliases.ts'
import type { Caller } from './caller.ts'
import { MAX_ATTEMPTS } from './change-queue.ts'
import type { GroupCaller, GroupRights } from './groups/group-rights.ts'
import { PASSWORD_REVISION_LENGTH } from './password.ts'
import { checkPassword } from './password-rules.ts'
import type { PasswordRuleDeps } from './password-rules.ts'
import { noSuchResource, refuseResource, staleVersion, tooManyConflicts } from './refusal.ts'
import { checkLengths, checkManageable, checkUserName, getsOtherOwner } from './rules.ts'
import type { UserReport } from './user-events.ts'

/** A change of one user. */
export interface UserChange {
  /** The version that it may replace; absent for any version. */
  readonly expected?: number | undefined
  readonly by: Caller
}

/** A change of a user's record. */
export interface RecordChange extends UserChange {
  /** A caller without the rights of the account can change neither its password nor what identifies its owner, nor let them in. */
  readonly by: GroupCaller
  /** A new one for an account of the internal provider, which ends all access; the password that it has changes nothing. */
  readonly password?: string | undefined
}

/** Computes the changed user. */
export type Compute = (user: User) => User | Promise<User>

interface ChangeDeps extends PasswordRuleDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly aliases: Aliases
  readonly rights: GroupRights
  readonly report: UserReport
}

/** What a user signs in by or gets a new password by, and the salt: one of before makes revoked JWTs valid again. */
const IDENTITY = ['userName', 'email', 'externalId', 'salt'] as const satisfies readonly (keyof User)[]

const hasOtherIdentity = (before: User, after: User): boolean => IDENTITY.some(name => before[name] !== after[name])

/** Whether the change lets a user sign in who could not. */
const letsIn = (before: User, after: User): boolean =>
  (after.active && !before.active) || (after.verified && !before.verified)

/** Replaces what `compute` changes of the user; see `Users`. */
export async function changeUser(
  {
    zone,
    id,
    compute,
    change,
  }: {
    readonly zone: Zone
    readonly id: string
    readonly compute: Compute
    readonly change: RecordChange
  },
  deps: ChangeDeps,
): Promise<User> {
  const { password } = change
  const newHash = password === undefined ? undefined : await hashOfNew(zone, id, { ...change, password }, deps)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const before = await findUser(deps.store, zone, id)
    await checkManageable(deps.store, zone.id, before.origin, deps.service.name)
    const wanted = withFormat(before, await compute(before))
    const written = await replace(zone, { before, wanted, newHash, change }, deps)
    if (written) return written
  }
  throw tooManyConflicts('user', id)
}

/** Refuses an id that the zone does not have. */
export async function findUser(store: Store, zone: Zone, id: string): Promise<User> {
  const user = await store.users.find(zone.id, id)
  if (!user) throw noSuchResource('User', id)
  return user
}

/** The format belongs to one external id; a change that removes the id and names no other leaves it for the next sign-in. */
function withFormat({ externalId, externalIdFormat }: User, wanted: User): User {
  const isKept = !wanted.externalId || wanted.externalId === externalId
  const { externalIdFormat: _ignored, ...others } = wanted
  return { ...others, ...(isKept && externalIdFormat !== undefined && { externalIdFormat }) }
}

/** The hash of a new password that keeps the policy; undefined for the password that the user has. */
async function hashOfNew(
  zone: Zone,
  id: string,
  { password, by }: { readonly password: string; readonly by: GroupCaller },
  deps: ChangeDeps,
): Promise<string | undefined> {
  const { store, passwords, service, rights } = deps
  const user = await findUser(store, zone, id)
  await checkManageable(store, zone.id, user.origin, service.name)
  await rights.checkUser(user, by)
  if (user.origin !== service.name) {
    throw refuseResource('invalid_password', 'The password is managed by the identity provider of the user.')
  }
  const requester = { zoneId: zone.id, address: by.remoteAddress }
  await checkPassword(zone, { password, owner: user }, deps)
  const hash = user.passwordHash
  const isKnown = hash !== undefined && (await isTypedPassword({ typed: password, hash, requester }, passwords))
  return isKnown ? undefined : hashTyped(password, passwords, requester)
}

/** One attempt of a change. */
interface Attempt {
  readonly before: User
  readonly wanted: User
  /** Hash of a new password. */
  readonly newHash: string | undefined
  readonly change: RecordChange
}

/** Checks and writes the change; undefined if another change was faster. */
async function replace(zone: Zone, attempt: Attempt, deps: ChangeDeps): Promise<User | undefined> {
  const { store, clock, random, aliases, rights, report } = deps
  const { before, wanted, newHash, change } = attempt
  const { by } = change
  await checkChange(zone, attempt, deps)
  const isTakenAway = (before.active && !wanted.active) || getsOtherOwner(before, wanted, deps.service.name)
  const ends = isTakenAway || newHash !== undefined
  const passwordRevision = ends ? random.urlSafe(PASSWORD_REVISION_LENGTH) : before.passwordRevision
  const now = clock.now()
  const credentials = newHash === undefined ? {} : { passwordHash: newHash, passwordChangedAt: now }
  const after = { ...wanted, ...credentials, passwordRevision, updatedAt: now }
  const { user, copy } = await aliases.forChange(before, after, by.isServerAdmin === true)
  const pairs = [[before, wanted] as const, ...(copy?.before ? [[copy.before, copy.user] as const] : [])]
  if (pairs.some(([from, to]) => hasOtherIdentity(from, to) || letsIn(from, to))) await rights.checkOwner(before, by)
  const written = await store.users.replace(zone.id, before, user, copy).catch(async (cause: unknown) => {
    throw copy && (await isFree(user, cause, store)) ? takenInAliasZone(cause) : cause
  })
  if (!written) return undefined
  if (copy) report(copy.before ? 'UserModifiedEvent' : 'UserCreatedEvent', copy.user, by)
  report('UserModifiedEvent', written, by)
  if (written.email !== before.email) report('EmailChangedEvent', written, by)
  if (newHash !== undefined) report('PasswordChangeSuccess', written, by)
  return written
}

async function checkChange(
  zone: Zone,
  { before, wanted, newHash, change: { expected, password } }: Attempt,
  deps: ChangeDeps,
): Promise<void> {
  if (wanted.origin !== before.origin) {
    throw refuseResource('invalid_scim_resource', "Cannot change user's origin in update operation.")
  }
  // An account that came with another name by an import can still be changed and deactivated.
  if (wanted.userName !== before.userName) checkUserName(wanted, deps.service.name)
  checkLengths(wanted)
  // The policy forbids passwords that are like the names, which may be new.
  if (password !== undefined && newHash !== undefined) await checkPassword(zone, { password, owner: wanted }, deps)
  if (expected !== undefined && before.version !== expected) {
    throw staleVersion('user', before.id, { stored: before.version, sent: expected })
  }
}

/** Whether a name that is taken is so in the zone of the copy. */
async function isFree({ zoneId, origin, userName, id }: User, cause: unknown, store: Store): Promise<boolean> {
  if (!(cause instanceof AlreadyExists)) return false
  const namesake = await store.users.findByName(zoneId, origin, userName)
  return namesake === undefined || namesake.id === id
}

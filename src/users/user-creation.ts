// Creates a user, for every API: everything is checked in UAA's order (§2.3), then written in one transaction.
import { hashTyped } from './typed-password.ts'
import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { Approval } from '../model/users/approval.ts'
import type { User } from '../model/users/user.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { taken as takenInAliasZone } from './aliases.ts'
import type { Aliases } from './aliases.ts'
import { reportDecisions } from './approvals.ts'
import type { Caller } from './caller.ts'
import { newUser } from './new-user.ts'
import type { UserDraft } from './new-user.ts'
import { checkPassword } from './password-rules.ts'
import type { PasswordRuleDeps } from './password-rules.ts'
import { refuseResource } from './refusal.ts'
import {
  checkEmailDomain,
  checkLengths,
  checkManageable,
  checkOrigin,
  checkRoom,
  checkUserName,
  invalidOrigin,
  zoneFull,
} from './rules.ts'
import type { UserReport } from './user-events.ts'

/** A user to be made. */
export interface NewUser {
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

/** Dependencies of `createUser`. */
export interface CreationDeps extends PasswordRuleDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
  readonly aliases: Aliases
  readonly report: UserReport
}

/** Makes the user; see `Users`. */
export async function createUser(zone: Zone, wanted: NewUser, deps: CreationDeps): Promise<User> {
  const { store, clock, random, service, behaviour, aliases, report } = deps
  const { draft, vouched = false, ofAnyDomain, approvals = [], by } = wanted
  const { origin } = draft
  await checkManageable(store, zone.id, origin, service.name)
  checkUserName(draft, service.name)
  if (ofAnyDomain !== true) await checkEmailDomain(store, zone, draft, service.name)
  const password = passwordToHash(wanted, service)
  if (password !== undefined) await checkPassword(zone, { password, owner: draft }, deps)
  const made = newUser(draft, { zoneId: zone.id }, { clock, random })
  const plan = await aliases.forNew(made, by.isServerAdmin === true)
  const maxUsers = await checkRoom(zone, store)
  const provider = vouched ? undefined : await checkOrigin(store, zone, origin, behaviour)
  checkLengths(draft)
  if (await store.users.findByName(zone.id, origin, draft.userName)) throw nameTaken(draft)
  const passwordHash = await hashOf(zone, { wanted, password }, deps)
  const user = { ...plan.user, ...(passwordHash !== undefined && { passwordHash }) }
  const { copy } = plan
  const decisions = approvals.map(approval => ({ ...approval, zoneId: zone.id, userId: user.id }))
  await insert(zone, { draft, user, rows: { maxUsers, approvals: decisions, copy } }, store)
  if (provider && !(await isUnchanged(provider, deps))) {
    await store.users.delete(zone.id, user.id, undefined, copy?.user)
    throw invalidOrigin(zone, origin)
  }
  if (copy) report('UserCreatedEvent', copy.user, by)
  report('UserCreatedEvent', user, by)
  reportDecisions({ zone, userId: user.id, origin: by }, { before: [], after: decisions }, deps)
  return user
}

/** Writes the user with its approvals and its copy. Refuses what another request has taken since it was checked. */
async function insert(
  zone: Zone,
  { draft, user, rows }: { readonly draft: UserDraft; readonly user: User; readonly rows: RowsOfUser },
  { users }: Pick<Store, 'users'>,
): Promise<void> {
  try {
    if (!(await users.create(zone.id, user, rows))) throw zoneFull(zone, rows.maxUsers ?? 0)
  } catch (cause) {
    if (!(cause instanceof AlreadyExists)) throw cause
    const namesake = await users.findByName(zone.id, draft.origin, draft.userName)
    throw namesake ? nameTaken(draft, cause) : rows.copy ? takenInAliasZone(cause) : externalIdTaken(draft, cause)
  }
}

type RowsOfUser = NonNullable<Parameters<Store['users']['create']>[2]>

/**
 * Whether the provider still exists. Its deletion deletes its accounts; one that is created meanwhile must not be left to the
 * next provider of that origin. The internal provider cannot be deleted.
 */
const isUnchanged = async (
  { zoneId, id, originKey }: IdentityProvider,
  { store, service }: Pick<CreationDeps, 'store' | 'service'>,
): Promise<boolean> => originKey === service.name || (await store.providers.findStored(zoneId, originKey))?.id === id

/** The password to check and hash, empty if it is missing; undefined for an account that gets none, or that has a hash. */
function passwordToHash(
  { draft, password, passwordHash, withoutPassword = false }: NewUser,
  service: Service,
): string | undefined {
  if (draft.origin !== service.name || passwordHash !== undefined) return undefined
  return withoutPassword ? password : (password ?? '')
}

async function hashOf(
  zone: Zone,
  { wanted, password }: { readonly wanted: NewUser; readonly password: string | undefined },
  { passwords, service }: CreationDeps,
): Promise<string | undefined> {
  const requester = { zoneId: zone.id, address: wanted.by.remoteAddress }
  if (password !== undefined) return hashTyped(password, passwords, requester)
  return wanted.draft.origin === service.name ? wanted.passwordHash : undefined
}

const nameTaken = ({ userName, origin }: UserDraft, cause?: unknown): Error =>
  refuseResource('scim_resource_already_exists', `Username already in use: ${userName}`, {
    extra: { origin },
    cause,
  })

/** Accounts of other providers are found by their external id: two cannot share one. */
const externalIdTaken = ({ externalId = '', origin }: UserDraft, cause: unknown): Error =>
  refuseResource('scim_resource_already_exists', `External id already in use: ${externalId}`, {
    extra: { origin },
    cause,
  })

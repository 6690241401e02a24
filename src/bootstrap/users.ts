import { hashTyped, isTypedPassword } from '../users/typed-password.ts'
import type { BootstrapDeps } from './deps.ts'
import type { ExternalGroupRecord, GroupRecord, UserRecord } from '../config/records/records.ts'
import { profileOf } from '../config/records/user-profile.ts'
import type { Group } from '../model/users/group.ts'
import type { User } from '../model/users/user.ts'
import { userNameKey } from '../model/users/user.ts'
import { newUser } from '../users/new-user.ts'
import type { UserDraft } from '../users/new-user.ts'
import { PASSWORD_REVISION_LENGTH } from '../users/password.ts'
import { newGroup } from '../users/groups/default-groups.ts'
import { getsOtherOwner } from '../users/rules.ts'
import { upsert } from './ledger.ts'

/** The ledger key for the id of a configured account: another account may get its name later. */
const ACCOUNT = 'user-account'

/** The key under which a user is remembered: names are unique within an origin, ignoring case. */
export const userKey = ({ origin, userName }: UserRecord, service: string): string =>
  JSON.stringify([origin ?? service, userNameKey(userName)])

/** Writes the group as the configuration defines it. */
export function applyGroup(
  zoneId: string,
  record: GroupRecord,
  { store, clock, random }: BootstrapDeps,
): Promise<void> {
  const { displayName } = record
  const description = record.description === undefined ? {} : { description: record.description }
  const now = clock.now()
  return upsert({
    find: () => store.groups.findByName(zoneId, displayName),
    insert: () =>
      store.groups.insert(zoneId, newGroup({ zoneId, displayName, ...description }, { id: random.uuid(), now })),
    update: ({ id, externalId, version, createdAt }) =>
      store.groups.update(zoneId, {
        ...newGroup({ zoneId, displayName, externalId, ...description }, { id, now }),
        version: version + 1,
        createdAt,
      }),
  })
}

/** The group of this name, created if missing; an existing one is not changed. */
export async function groupNamed(
  zoneId: string,
  displayName: string,
  { store, clock, random }: BootstrapDeps,
): Promise<Group> {
  let group: Group | undefined
  const find = async (): Promise<Group | undefined> => (group = await store.groups.findByName(zoneId, displayName))
  await upsert({
    find,
    async insert() {
      const made = newGroup({ zoneId, displayName }, { id: random.uuid(), now: clock.now() })
      await store.groups.insert(zoneId, made)
      group = made
    },
    update: async () => undefined,
  })
  if (group === undefined) throw new Error(`the group ${displayName} disappeared`)
  return group
}

/** Maps a group of a provider to a group of the zone. */
export async function applyExternalGroup(
  zoneId: string,
  { displayName, externalGroup, origin = 'ldap' }: ExternalGroupRecord,
  deps: BootstrapDeps,
): Promise<void> {
  const { id } = await groupNamed(zoneId, displayName, deps)
  await deps.store.groups.addExternal(zoneId, {
    groupId: id,
    externalGroup: externalGroup.trim().toLowerCase(),
    origin,
    createdAt: deps.clock.now(),
  })
}

/**
 * Writes the user as the configuration defines it and adds the memberships. The password is replaced only when it
 * differs, because a new revision makes the user's tokens invalid.
 */
export async function applyUser(
  zoneId: string,
  record: UserRecord,
  deps: BootstrapDeps & { readonly defaultGroups: readonly string[] },
): Promise<void> {
  const { store, passwords, config } = deps
  const origin = record.origin ?? config.service
  const password = origin === config.service ? record.password : undefined
  const key = userKey(record, config.service)
  const find = (): Promise<User | undefined> => findConfigured(zoneId, { record, origin }, deps)
  await upsert({
    find,
    async insert() {
      const passwordHash = password === undefined ? undefined : await hashTyped(password, passwords)
      await store.users.insert(zoneId, newUser(definitionOf(record, origin), { zoneId, passwordHash }, deps))
    },
    async update(existing) {
      const credentials = await credentialsAfter(existing, { record, password }, deps)
      // Another user may have made the account before, with a passkey that signs in without the password.
      const isTakenOver = credentials.passwordRevision !== existing.passwordRevision
      if (isTakenOver && !(await isConfigured(existing, key, deps))) await store.factors.reset(zoneId, existing.id)
      await store.users.update(zoneId, redefined(existing, { record, origin, credentials }, deps))
    },
  })
  const user = await find()
  if (user === undefined) return // deleted meanwhile
  await store.bootstrap.remember(zoneId, ACCOUNT, key, user.id)
  await addMemberships(user, record.groups ?? [], deps)
}

/** The account of the name, or of the external id: users of external providers may have been renamed at a sign-in. */
async function findConfigured(
  zoneId: string,
  { record: { userName, externalId = '' }, origin }: { readonly record: UserRecord; readonly origin: string },
  { store, config }: BootstrapDeps,
): Promise<User | undefined> {
  const named = await store.users.findByName(zoneId, origin, userName)
  if (named || origin === config.service || externalId === '') return named
  return store.users.findByExternalId(zoneId, origin, externalId)
}

type Credentials = Pick<User, 'passwordHash' | 'passwordRevision' | 'passwordChangedAt' | 'passwordChangeRequired'>

/** Those of the account unless the password is another one, or the account belongs to another user from now on. */
async function credentialsAfter(
  existing: User,
  { record: { externalId = '' }, password }: { readonly record: UserRecord; readonly password: string | undefined },
  { passwords, random, clock, config }: BootstrapDeps,
): Promise<Credentials> {
  const { passwordHash, passwordRevision, passwordChangedAt, passwordChangeRequired } = existing
  const kept = passwordHash === undefined ? {} : { passwordHash }
  const isSame =
    password === undefined ||
    (passwordHash !== undefined && (await isTypedPassword({ typed: password, hash: passwordHash }, passwords)))
  // The new revision ends everything from before.
  const isAnother = getsOtherOwner(existing, { externalId }, config.service)
  if (isSame && !isAnother) return { ...kept, passwordRevision, passwordChangedAt, passwordChangeRequired }
  return {
    ...(password === undefined ? {} : { passwordHash: await hashTyped(password, passwords) }),
    passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH),
    passwordChangedAt: clock.now(),
    passwordChangeRequired: false,
  }
}

/** Whether the configuration made the account or took it over before; earlier versions did not remember which one. */
async function isConfigured({ zoneId, id }: User, key: string, { store }: BootstrapDeps): Promise<boolean> {
  const known = await store.bootstrap.applied(zoneId, ACCOUNT, key)
  return known === undefined ? (await store.bootstrap.applied(zoneId, 'user', key)) !== undefined : known === id
}

/** The account with everything that the configuration determines, and what belongs to the account itself. */
function redefined(
  existing: User,
  {
    record,
    origin,
    credentials,
  }: { readonly record: UserRecord; readonly origin: string; readonly credentials: Credentials },
  { clock, random, config }: BootstrapDeps,
): User {
  const { externalId = '', salt = existing.salt, active = true } = record
  const { zoneId, id, createdAt, externalIdFormat, lastLogonAt, previousLogonAt, aliasId, aliasZoneId } = existing
  const isSameId = externalId === '' || externalId === existing.externalId
  // Tokens that the salt of the account has revoked must not be valid again, nor those from before the user was deactivated.
  const isRevoked = salt !== existing.salt || (existing.active && !active)
  return {
    // A user who signed in to an account of another provider keeps it, where the definition does not name its owner.
    ...(origin !== config.service && existing.externalId !== undefined && { externalId: existing.externalId }),
    ...definitionOf(record, origin),
    ...(isSameId && externalIdFormat !== undefined && { externalIdFormat }),
    zoneId,
    id,
    ...credentials,
    ...(isRevoked && { passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH) }),
    ...(salt !== undefined && { salt }),
    ...(aliasId === undefined ? {} : { aliasId }),
    ...(aliasZoneId === undefined ? {} : { aliasZoneId }),
    ...(lastLogonAt === undefined ? {} : { lastLogonAt }),
    ...(previousLogonAt === undefined ? {} : { previousLogonAt }),
    version: existing.version + 1,
    createdAt,
    updatedAt: clock.now(),
  }
}

async function addMemberships(
  { zoneId, id: memberId, origin }: User,
  groups: readonly string[],
  deps: BootstrapDeps & { readonly defaultGroups: readonly string[] },
): Promise<void> {
  const implied = new Set(deps.defaultGroups.map(name => name.toLowerCase())) // every user is in these anyway
  for (const name of new Set(groups)) {
    if (implied.has(name.toLowerCase())) continue
    const { id: groupId } = await groupNamed(zoneId, name, deps)
    await deps.store.groups.addMember(zoneId, { groupId, memberId, memberType: 'USER', origin })
  }
}

/** The fields that the configuration determines. */
type UserDefinition = Omit<UserDraft, 'version'>

function definitionOf(record: UserRecord, origin: string): UserDefinition {
  const { userName, name = {}, emails, phoneNumbers = [], active = true, verified = true, externalId, salt } = record
  const phoneNumber = phoneNumbers.map(phone => phone.value.trim()).find(value => value !== '')
  const profile = profileOf(record)
  return {
    userName,
    origin,
    email: emails[0]?.value ?? '', // the schema wants exactly one
    ...(name.givenName === undefined ? {} : { givenName: name.givenName }),
    ...(name.familyName === undefined ? {} : { familyName: name.familyName }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
    ...(externalId === undefined || externalId === '' ? {} : { externalId }),
    active,
    verified,
    ...(salt === undefined ? {} : { salt }),
    ...(profile === undefined ? {} : { profile }),
  }
}

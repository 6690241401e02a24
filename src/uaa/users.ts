// The users of a UAA with their hashed passwords. The id stays, which is `sub` in tokens.
import { isJsonRecord, stringsIn } from '../base/json.ts'
import * as v from 'valibot'
import { hasControlCharacter } from '../base/text/control-characters.ts'
import { isKeepable } from '../records/kinds.ts'
import { profileKind } from '../records/profile.ts'
import type { Profile } from '../records/profile.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { passwordHashProblem } from '../model/users/password-hash.ts'
import type { User } from '../model/users/user.ts'
import type { UaaRow } from '../store/uaa/tables.ts'
import { AlreadyExists } from '../store/store.ts'
import { checkLengths } from '../users/rules.ts'
import { PASSWORD_REVISION_LENGTH } from '../users/password.ts'
import { isResourceId, zoneProblem } from './import-deps.ts'
import type { ImportDeps } from './import-deps.ts'
import { inPortions } from './in-portions.ts'
import { storedJson, storedTime, storedVersion } from './stored-json.ts'

type UserRow = UaaRow<'users'>

/** Writes every user, and says what will differ for some. */
export async function importUsers(deps: ImportDeps): Promise<void> {
  const { source, report } = deps
  let unverified = 0
  await inPortions(source.rows('users'), async portion => {
    const users = portion.flatMap(row => read(row, deps) ?? [])
    for (const [zoneId, ofZone] of Map.groupBy(users, ({ user }) => user.zoneId)) {
      const imported = await insert(zoneId, ofZone, deps)
      unverified += imported.filter(({ row }) => row.verified === false && row.legacyVerification === true).length
    }
  })
  if (unverified === 0) return
  report.note(
    `users without a verified address who may sign in to UAA (legacy_verification_behavior) verify it here first, by a new password: ${unverified}`,
  )
}

interface ReadUser {
  readonly row: UserRow
  readonly user: User
}

const nameOf = ({ id, userName, zoneId }: UserRow): string => `${id ?? ''} (${userName ?? ''}, zone ${zoneId ?? ''})`

/** The record of a row that can be taken; of any other one the report says why not. */
function read(row: UserRow, deps: ImportDeps): ReadUser | undefined {
  const { report } = deps
  const problem = zoneProblem(row.zoneId, deps.zones)
  if (problem) {
    if ('refused' in problem) report.refused('user', nameOf(row), problem.refused)
    else report.leftOut('user', nameOf(row), problem.leftOut)
    return undefined
  }
  const user = readUser(row, deps)
  if (typeof user !== 'string') return { row, user }
  report.refused('user', nameOf(row), user)
  return undefined
}

/** Inserts them together, or one by one if there is a reason against one of them; returns those that were inserted. */
async function insert(zoneId: string, users: readonly ReadUser[], deps: ImportDeps): Promise<readonly ReadUser[]> {
  const { store, report } = deps
  try {
    await store.users.insertAll(
      zoneId,
      users.map(({ user }) => user),
    )
    for (const _ of users) report.imported('user')
    return users
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error
  }
  const inserted: ReadUser[] = []
  for (const each of users) if (await insertOne(zoneId, each, deps)) inserted.push(each)
  return inserted
}

async function insertOne(zoneId: string, { row, user }: ReadUser, { store, report }: ImportDeps): Promise<boolean> {
  try {
    await store.users.insert(zoneId, user)
    report.imported('user')
    return true
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error
    const why = 'another user of its origin has its name, in another form or case, or its external id'
    if ((await store.users.find(zoneId, user.id)) !== undefined) report.same('user')
    else report.refused('user', nameOf(row), why)
    return false
  }
}

/** The record, or what is wrong with the row. */
function readUser(row: UserRow, deps: ImportDeps): User | string {
  const { clock, random, rules } = deps
  const { info: _, ...columns } = row
  if (!Object.values(columns).every(isKeepable)) return 'it contains characters that cannot be stored'
  const id = row.id ?? ''
  if (!isResourceId(id)) return 'its id is not one of 1 to 36 visible characters, other than dots'
  const userName = row.userName ?? ''
  if (userName.trim() === '' || hasControlCharacter(userName)) return 'its user name cannot be displayed'
  const origin = row.origin ?? ''
  if (origin === '') return 'it has no origin'
  const stored = row.password ?? ''
  // Accounts of other providers have the hash of an empty password in UAA, which must not allow a sign-in.
  const hash = origin === rules.service.name ? stored.replace(/^\{bcrypt\}/, '') : ''
  const hashProblem = hash === '' ? undefined : passwordHashProblem(hash)
  if (hashProblem !== undefined) return `the hash of its password ${hashProblem}`
  const now = clock.now()
  const updatedAt = storedTime(row.updated) ?? now
  const user: User = {
    zoneId: row.zoneId ?? '',
    id,
    userName,
    origin,
    ...(hash !== '' && { passwordHash: hash }),
    // UAA computes `rev_sig` from it: with another value, no token of UAA would stay valid.
    passwordRevision: stored === '' ? random.urlSafe(PASSWORD_REVISION_LENGTH) : stored,
    email: row.email ?? '',
    ...texts(row),
    active: row.active ?? false,
    verified: row.verified ?? false,
    passwordChangedAt: storedTime(row.passwordChanged) ?? updatedAt,
    passwordChangeRequired: row.passwordChangeRequired ?? false,
    ...times(row),
    ...aliasOf(row, deps),
    ...detailsOf(row, deps),
    version: storedVersion(row.version),
    createdAt: storedTime(row.created) ?? updatedAt,
    updatedAt,
  }
  return lengthProblem(user) ?? user
}

const TEXTS = ['givenName', 'familyName', 'phoneNumber', 'externalId', 'salt'] as const

/** The copy in another zone. Without that zone, the user could not be changed any more. */
function aliasOf(row: UserRow, { zones, report }: ImportDeps): Partial<Pick<User, 'aliasId' | 'aliasZoneId'>> {
  const { aliasId, aliasZoneId } = row
  if (!aliasId || !aliasZoneId) return {}
  if (zones.get(aliasZoneId) === true) return { aliasId, aliasZoneId }
  report.note(`user ${nameOf(row)}: without its alias, whose zone was not imported`)
  return {}
}

/** The texts that are not empty; an empty salt is part of `rev_sig`, as in UAA. */
const texts = (row: UserRow): Partial<Pick<User, (typeof TEXTS)[number]>> =>
  Object.fromEntries(
    TEXTS.flatMap(name => {
      const value = row[name]
      return value === null || (value === '' && name !== 'salt') ? [] : [[name, value]]
    }),
  )

function times({ lastLogon, previousLogon }: UserRow): Partial<Pick<User, 'lastLogonAt' | 'previousLogonAt'>> {
  const lastLogonAt = storedTime(lastLogon)
  const previousLogonAt = storedTime(previousLogon)
  return { ...(lastLogonAt && { lastLogonAt }), ...(previousLogonAt && { previousLogonAt }) }
}

function lengthProblem(user: User): string | undefined {
  try {
    checkLengths(user)
    return undefined
  } catch (error) {
    if (error instanceof OAuthError) return error.message
    throw error
  }
}

/** Roles and attributes of the last sign-in with another provider. Values of another form are skipped, with a note. */
function detailsOf(row: UserRow, { report }: ImportDeps): Partial<Pick<User, 'providerRoles' | 'profile'>> {
  if (row.info === null) return {}
  const info = storedJson(row.info)
  if (!info) {
    report.note(
      `user ${row.id ?? ''}: without the roles and attributes in user_info, which is not JSON that can be stored`,
    )
    return {}
  }
  const roles = stringsIn(info['roles'])
  const attributes = isJsonRecord(info['user_attributes']) ? info['user_attributes'] : {}
  const values = Object.entries(attributes).map(([name, value]) => [name, stringsIn(value)] as const)
  const custom = Object.fromEntries(values.filter(([, list]) => list.length > 0))
  const profile = v.safeParse(profileKind, Object.keys(custom).length === 0 ? {} : { custom })
  if (!profile.success) report.note(`user ${row.id ?? ''}: without the attributes in user_info, which are too long`)
  return {
    ...(roles.length > 0 && { providerRoles: roles }),
    ...(profile.success && Object.keys(custom).length > 0 && { profile: profile.output satisfies Profile }),
  }
}

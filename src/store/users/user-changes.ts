// Creates, changes and deletes users for the APIs. Every statement compares the version itself, so that of two concurrent
// changes one is refused and none is lost.
import { userNameKey } from '../../model/users/user.ts'
import type { User } from '../../model/users/user.ts'
import { isKeepable } from '../../records/kinds.ts'
import { saveApprovals } from '../approvals.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Transaction } from '../database.ts'
import { noteDeletedUser, TABLES_OF_USERS } from '../deletion/deletions.ts'
import { noteEnded } from '../sessions/ended-sessions.ts'
import { CLEAR_FAILURES } from '../events.ts'
import { toUser, toUserRow } from './user-rows.ts'
import { flag } from '../rows.ts'
import { insertInto, list, USER_COLUMNS } from '../schema.ts'
import type { Flag, UserRow } from '../schema.ts'
import { ChangedMeanwhile } from '../store.ts'
import type { UserStore } from '../store.ts'
import {
  addUserValues,
  countAdded,
  countAllAdded,
  countRemoved,
  COUNT_USERS,
  replaceUserValues,
} from './user-values.ts'

interface UserKey {
  readonly zone_id: string
  readonly id: string
}
type Versioned = UserKey & { readonly version: number }

const INSERT = statement<UserRow>(insertInto('users', USER_COLUMNS))

const REPLACED = [
  'user_name',
  'user_name_lower',
  'email',
  'given_name',
  'family_name',
  'phone_number',
  'external_id',
  'external_id_format',
  'profile',
  'active',
  'password_revision',
  'alias_id',
  'alias_zone_id',
  'updated_at',
] as const satisfies readonly (keyof UserRow)[]
const REPLACE = statement<
  Pick<UserRow, (typeof REPLACED)[number] | 'salt' | 'verified' | 'password_hash' | 'password_changed_at'> &
    Versioned & {
      readonly known_revision: string
      readonly versions: number
      readonly keeps_salt: Flag
      readonly keeps_verified: Flag
      readonly keeps_password: Flag
    },
  UserRow
>(
  `update users set ${list(REPLACED.map(column => `${column} = :${column}`))}, version = version + :versions,
   salt = case when :keeps_salt = 1 then salt else :salt end,
   verified = case when :keeps_verified = 1 then verified else :verified end,
   password_hash = case when :keeps_password = 1 then password_hash else :password_hash end,
   password_changed_at = case when :keeps_password = 1 then password_changed_at else :password_changed_at end
   where zone_id = :zone_id and id = :id and version = :version and password_revision = :known_revision
   returning ${list(USER_COLUMNS)}`,
)
const VERIFY_TEXT = `update users set verified = 1 where zone_id = :zone_id and id = :id`
const RETURNING = `returning ${list(USER_COLUMNS)}`
const VERIFY = statement<UserKey, UserRow>(`${VERIFY_TEXT} ${RETURNING}`)
const VERIFY_VERSION = statement<Versioned, UserRow>(`${VERIFY_TEXT} and version = :version ${RETURNING}`)
const DEMAND_PASSWORD = statement<UserKey>(
  `update users set password_change_required = 1 where zone_id = :zone_id and id = :id`,
)
const RENEW_REVISION = statement<UserKey & { password_revision: string }>(
  `update users set password_revision = :password_revision where zone_id = :zone_id and id = :id`,
)
const DELETE_TEXT = `delete from users where zone_id = :zone_id and id = :id`
const DELETE = statement<UserKey>(DELETE_TEXT)
const DELETE_VERSION = statement<Versioned>(`${DELETE_TEXT} and version = :version`)
const DELETE_ROWS = TABLES_OF_USERS.map(([table, user]) =>
  statement<{ zone_id: string; user_id: string }>(
    `delete from ${table} where zone_id = :zone_id and ${user} = :user_id`,
  ),
)
const NOTE_SESSIONS = noteEnded<{ zone_id: string; user_id: string }>(`zone_id = :zone_id and user_id = :user_id`)
/** Tables whose rows grant access as the user without a new sign-in. */
const ACCESS_OF_USER = ['sessions', 'tokens', 'authorization_codes', 'one_time_codes'].map(table =>
  statement<{ zone_id: string; user_id: string }>(
    `delete from ${table} where zone_id = :zone_id and user_id = :user_id`,
  ),
)

/** Implements the changes of `UserStore` for both databases. */
export function createUserChanges(
  db: Database,
): Pick<UserStore, 'create' | 'replace' | 'delete' | 'verify' | 'requirePasswordChange' | 'endAccess'> {
  return {
    async create(zoneId, user, { maxUsers, approvals = [], copy } = {}) {
      return db.transaction(async within => {
        if (maxUsers !== undefined && (await isFull(within, zoneId, maxUsers))) return false
        await insertUser(within, zoneId, user)
        await saveApprovals(within, zoneId, approvals)
        if (copy) await insertUser(within, copy.user.zoneId, copy.user)
        return true
      })
    },
    async replace(zoneId, before, user, copy) {
      const replaced = await db
        .transaction(async within => {
          if (copy) await lockPair(within, [user.id, copy.user.id])
          if (
            copy?.before &&
            !(await replaceUser(within, copy.user.zoneId, { before: copy.before, user: copy.user }))
          ) {
            throw new ChangedMeanwhile('user') // takes everything back
          }
          if (copy && !copy.before) await insertUser(within, copy.user.zoneId, copy.user)
          const versions = copy && !copy.before ? 2 : 1
          const after = await replaceUser(within, zoneId, { before, user, versions })
          if (copy && !after) throw new ChangedMeanwhile('user')
          return after
        })
        .catch((error: unknown) => {
          if (error instanceof ChangedMeanwhile) return undefined
          throw error
        })
      return replaced
    },
    async delete(zoneId, id, version, copy) {
      return db.transaction(async within => {
        if (copy) await lockPair(within, [id, copy.id])
        if (!(await deleteUser(within, { zone_id: zoneId, id }, version))) return false
        const zones = [zoneId]
        if (copy && (await deleteUser(within, { zone_id: copy.zoneId, id: copy.id }))) zones.push(copy.zoneId)
        // Last, and in one order, since each locks a counter.
        for (const each of zones.toSorted()) await countRemoved(within, each, 1)
        return true
      })
    },
    async verify(zoneId, id, version) {
      const key = { zone_id: zoneId, id }
      const { rows } = await (version === undefined
        ? db.write(VERIFY, key)
        : db.write(VERIFY_VERSION, { ...key, version }))
      const [row] = rows
      return row && toUser(row)
    },
    async endAccess(zoneId, id, passwordRevision) {
      if (!isStorable(id)) return false
      return db.transaction(async within => {
        const key = { zone_id: zoneId, id }
        const { changes } = await within.run(RENEW_REVISION, { ...key, password_revision: passwordRevision })
        if (changes > 0) await endAccess(within, zoneId, id)
        return changes > 0
      })
    },
    async requirePasswordChange(zoneId, id) {
      return (await db.write(DEMAND_PASSWORD, { zone_id: zoneId, id })).changes > 0
    },
  }
}

/** Without it, two changes of a user and its copy from both sides would deadlock, which PostgreSQL notices after a second. */
const lockPair = (within: Transaction, ids: readonly [string, string]): Promise<void> =>
  within.lock(`user and copy ${ids.toSorted().join(' ')}`)

async function replaceUser(
  within: Transaction,
  zoneId: string,
  { before, user, versions = 1 }: { readonly before: User; readonly user: User; readonly versions?: number },
): Promise<User | undefined> {
  const setsPassword = user.passwordHash !== before.passwordHash
  const { rows } = await within.run(REPLACE, {
    ...toRow(zoneId, user),
    version: before.version,
    known_revision: before.passwordRevision,
    versions,
    keeps_salt: flag(user.salt === before.salt),
    keeps_verified: flag(user.verified === before.verified),
    keeps_password: flag(!setsPassword),
  })
  const [row] = rows
  if (row === undefined) return undefined
  await replaceUserValues(within, zoneId, user)
  if (user.passwordRevision !== before.passwordRevision) await endAccess(within, zoneId, user.id)
  if (setsPassword) await within.run(CLEAR_FAILURES, { zone_id: zoneId, user_id: user.id }) // after sessions, as sign-ins do
  return toUser(row)
}

/** Does not count. */
async function deleteUser(within: Transaction, key: UserKey, version?: number): Promise<boolean> {
  const { changes } = await (version === undefined
    ? within.run(DELETE, key)
    : within.run(DELETE_VERSION, { ...key, version }))
  if (changes === 0) return false
  const rows = { zone_id: key.zone_id, user_id: key.id }
  for (const each of [...NOTE_SESSIONS, ...DELETE_ROWS]) await within.run(each, rows)
  await noteDeletedUser(within, key.zone_id, key.id)
  return true
}

/** Inserts a user with what is derived from it, inside a transaction. */
export async function insertUser(within: Transaction, zoneId: string, user: User): Promise<void> {
  await addRow(within, zoneId, user)
  await countAdded(within, zoneId, user.id)
}

/** Inserts several inside a transaction. */
export async function insertUsers(within: Transaction, zoneId: string, users: readonly User[]): Promise<void> {
  for (const user of users) await addRow(within, zoneId, user)
  await countAllAdded(within, zoneId, users.length)
}

async function addRow(within: Transaction, zoneId: string, user: User): Promise<void> {
  await within.run(INSERT, { ...toRow(zoneId, user), factors: null }) // a copy does not have the factors of the other
  await addUserValues(within, zoneId, user)
}

/** Deletes what grants access as the user, inside a transaction. */
export async function endAccess(within: Transaction, zoneId: string, userId: string): Promise<void> {
  for (const each of [...NOTE_SESSIONS, ...ACCESS_OF_USER]) await within.run(each, { zone_id: zoneId, user_id: userId })
}

/** The row of a user with its derived columns. Throws a `TypeError` for a profile with characters that no filter can read. */
export function toRow(zoneId: string, user: User): UserRow {
  // As JSON they could be stored, and PostgreSQL would refuse each query that extracts them.
  if (!isKeepable(user.profile)) throw new TypeError('the profile holds text that cannot be kept')
  return { ...toUserRow({ ...user, zoneId }), user_name_lower: userNameKey(user.userName) }
}

/** Counts under a lock, so that of users that are created concurrently one is counted at a time. */
async function isFull(within: Transaction, zoneId: string, maxUsers: number): Promise<boolean> {
  await within.lock(`users of ${zoneId}`)
  const [row] = (await within.run(COUNT_USERS, { zone_id: zoneId })).rows
  return (row?.total ?? 0) >= maxUsers
}

import type { User } from '../../model/users/user.ts'
import { userNameKey } from '../../model/users/user.ts'
import type { UserFactors } from '../../records/user.ts'
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import { CLEAR_FAILURES } from '../events.ts'
import { FIND_WITH_GROUPS, JOINED_USER_COLUMNS, toJoinedUser, toUser } from './user-rows.ts'
import type { JoinedUserRow } from './user-rows.ts'
import { flag, fromJson, lowerCase } from '../rows.ts'
import { MAX_UNBOUND } from './user-store.ts'
import { list, updateByKey, USER_COLUMNS } from '../schema.ts'
import type { Flag, UserRow } from '../schema.ts'
import type { UserStore } from '../store.ts'
import { createUserChanges, endAccess, insertUser, insertUsers, toRow } from './user-changes.ts'
import { createUserDetails } from './user-details.ts'
import { createUserList } from './user-list.ts'
import { replaceUserValues } from './user-values.ts'

const FIND = statement<{ zone_id: string; id: string }, UserRow>(
  `select ${list(USER_COLUMNS)} from users where zone_id = :zone_id and id = :id`,
)
const FIND_BY_NAME = statement<{ zone_id: string; origin: string; user_name_lower: string }, UserRow>(
  `select ${list(USER_COLUMNS)} from users
   where zone_id = :zone_id and origin = :origin and user_name_lower = :user_name_lower`,
)
// Case-sensitive in both databases. Excludes accounts with a password.
const FIND_BY_EXTERNAL_ID = statement<{ zone_id: string; origin: string; external_id: string }, UserRow>(
  `select ${list(USER_COLUMNS)} from users
   where zone_id = :zone_id and origin = :origin and external_id = :external_id
   and external_id <> '' and password_hash is null`,
)
// Both databases lower ASCII; with other letters an address is found only as it was stored, or not at all.
const FIND_BY_EMAIL = statement<{ zone_id: string; origin: string; email_lower: string }, UserRow>(
  `select ${list(USER_COLUMNS)} from users
   where zone_id = :zone_id and origin = :origin and lower(email) = :email_lower
   order by verified desc limit 3`,
)
const FIND_UNBOUND_BY_EMAIL = statement<{ zone_id: string; origin: string; email_lower: string }, UserRow>(
  `select ${list(USER_COLUMNS)} from users
   where zone_id = :zone_id and origin = :origin and lower(email) = :email_lower
   and active = 1 and coalesce(external_id, '') = '' and password_hash is null limit ${MAX_UNBOUND}`,
)
// Failure times are aggregated into a string, so that there is exactly one row for the account.
const FIND_FOR_SIGN_IN = statement<
  { zone_id: string; origin: string; user_name_lower: string; since: number },
  JoinedUserRow & { failures: string | null }
>(
  `select ${JOINED_USER_COLUMNS}, (select string_agg(cast(failed_at as text), ' ') from sign_in_failures
     where sign_in_failures.zone_id = users.zone_id and user_id = users.id and failed_at > :since) as failures
   from users
   where users.zone_id = :zone_id and users.origin = :origin and users.user_name_lower = :user_name_lower`,
)
// The factors are those of `store.factors`: an account that was read before must not bring removed ones back.
const UPDATE = statement<UserRow>(
  updateByKey(
    'users',
    USER_COLUMNS.filter(column => column !== 'factors'),
    ['zone_id', 'id'],
  ),
)
const RENEW_HASH = statement<{ zone_id: string; id: string; password_revision: string; password_hash: string }>(
  `update users set password_hash = :password_hash
   where zone_id = :zone_id and id = :id and password_revision = :password_revision`,
)
const SET_PASSWORD = statement<
  {
    zone_id: string
    id: string
    known_revision: string
    password_hash: string
    password_revision: string
    password_changed_at: number
    demand_left: number
    verifies: Flag
  },
  { factors: string | null }
>(
  `update users set password_hash = :password_hash, password_revision = :password_revision,
   password_changed_at = :password_changed_at, updated_at = :password_changed_at,
   password_change_required = password_change_required * :demand_left,
   verified = case when :verifies = 1 then 1 else verified end
   where zone_id = :zone_id and id = :id and password_revision = :known_revision returning factors`,
)
const PROFILE = [
  'user_name',
  'user_name_lower',
  'email',
  'given_name',
  'family_name',
  'phone_number',
  'profile',
  'provider_roles',
  'verified',
  'updated_at',
] as const satisfies readonly (keyof UserRow)[]
const assigned = (columns: readonly (keyof UserRow)[]): readonly string[] =>
  columns.map(column => `${column} = :${column}`)
/** Increments the version in the database: a change through an API may come in between. */
const setting = (assignments: readonly string[]): string =>
  `update users set ${list(assignments)}, version = version + 1 where zone_id = :zone_id and id = :id`
/** The format belongs to one external id, which an API may have changed. */
const FORMAT = `external_id_format = case when coalesce(external_id, '') = coalesce(:external_id, '')
  then :external_id_format else external_id_format end`
const UPDATE_PROFILE = statement<UserRow>(setting([...assigned(PROFILE), FORMAT]))
const BOUND = [...PROFILE, 'external_id', 'external_id_format', 'password_revision', 'password_changed_at'] as const
const BIND = statement<UserRow>(
  `${setting(assigned(BOUND))} and coalesce(external_id, '') = '' and password_hash is null`,
)
const SET_SALT = statement<{ zone_id: string; id: string; salt: string }>(
  `update users set salt = :salt where zone_id = :zone_id and id = :id`,
)
/** Moves the last logon time to the previous one and sets the new one. */
export const RECORD_LOGON = statement<{ zone_id: string; id: string; at: number }>(
  `update users set previous_logon_at = last_logon_at, last_logon_at = :at where zone_id = :zone_id and id = :id`,
)

/** Implements `UserStore` for both databases. */
export function createUsers(db: Database): UserStore {
  async function change(as: typeof UPDATE, zoneId: string, user: User): Promise<void> {
    await db.transaction(async within => {
      const { changes } = await within.run(as, toRow(zoneId, user))
      if (changes > 0) await replaceUserValues(within, zoneId, user)
    })
  }

  return {
    async find(zoneId, id) {
      const [row] = await db.read(FIND, { zone_id: zoneId, id })
      return row && toUser(row)
    },
    async findByName(zoneId, origin, userName) {
      const [row] = await db.read(FIND_BY_NAME, { zone_id: zoneId, origin, user_name_lower: userNameKey(userName) })
      return row && toUser(row)
    },
    async findByExternalId(zoneId, origin, externalId) {
      const [row] = await db.read(FIND_BY_EXTERNAL_ID, { zone_id: zoneId, origin, external_id: externalId })
      return row && toUser(row)
    },
    async findByEmail(zoneId, origin, email) {
      const rows = await db.read(FIND_BY_EMAIL, { zone_id: zoneId, origin, email_lower: lowerCase(email) })
      return rows.map(toUser)
    },
    async findUnboundByEmail(zoneId, origin, email) {
      const rows = await db.read(FIND_UNBOUND_BY_EMAIL, { zone_id: zoneId, origin, email_lower: lowerCase(email) })
      return rows.map(toUser)
    },
    async findWithGroups(zoneId, id) {
      const [row] = await db.read(FIND_WITH_GROUPS, { zone_id: zoneId, id })
      return row && toJoinedUser(row)
    },
    async findForSignIn(zoneId, origin, { userName, failuresSince }) {
      const [row] = await db.read(FIND_FOR_SIGN_IN, {
        zone_id: zoneId,
        origin,
        user_name_lower: userNameKey(userName),
        since: failuresSince.getTime(),
      })
      const user = row && toJoinedUser(row)
      const failures = row?.failures?.split(' ').map(Number) ?? []
      return user && { user, failures: failures.toSorted((a, b) => a - b).map(time => new Date(time)) }
    },
    ...createUserList(db),
    insert: (zoneId, user) => db.transaction(within => insertUser(within, zoneId, user)),
    insertAll: (zoneId, users) => db.transaction(within => insertUsers(within, zoneId, users)),
    ...createUserChanges(db),
    ...createUserDetails(db),
    update: (zoneId, user) => change(UPDATE, zoneId, user),
    async renewPasswordHash(zoneId, id, passwordRevision, hash) {
      await db.write(RENEW_HASH, { zone_id: zoneId, id, password_revision: passwordRevision, password_hash: hash })
    },
    async setPassword(
      zoneId,
      id,
      known,
      { passwordHash, passwordRevision, passwordChangedAt, meetsDemand, verifies = false },
    ) {
      return db.transaction(async within => {
        const { rows } = await within.run(SET_PASSWORD, {
          zone_id: zoneId,
          id,
          known_revision: known,
          password_hash: passwordHash,
          password_revision: passwordRevision,
          password_changed_at: passwordChangedAt.getTime(),
          demand_left: flag(!meetsDemand),
          verifies: flag(verifies),
        })
        const [row] = rows
        if (row === undefined) return false
        // Anyone who reads the user's mail can set passwords repeatedly, and must not get new guesses of second factors each time.
        const { methods } = row.factors === null ? { methods: [] } : fromJson<UserFactors>(row.factors)
        if (methods.length === 0) await within.run(CLEAR_FAILURES, { zone_id: zoneId, user_id: id })
        return true
      })
    },
    updateProfile: (zoneId, user) => change(UPDATE_PROFILE, zoneId, user),
    async bind(zoneId, user) {
      return db.transaction(async within => {
        const { changes } = await within.run(BIND, toRow(zoneId, user))
        if (changes === 0) return false
        await replaceUserValues(within, zoneId, user)
        await endAccess(within, zoneId, user.id)
        return true
      })
    },
    async setSalt(zoneId, id, salt) {
      await db.write(SET_SALT, { zone_id: zoneId, id, salt })
    },
    async recordLogon(zoneId, id, at) {
      await db.transaction(async within => {
        await within.run(RECORD_LOGON, { zone_id: zoneId, id, at: at.getTime() })
        await within.run(CLEAR_FAILURES, { zone_id: zoneId, user_id: id })
      })
    },
  }
}

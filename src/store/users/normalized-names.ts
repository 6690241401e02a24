// A step of the schema that SQL cannot do.
import { userNameKey } from '../../model/users/user.ts'
import { statement } from '../database.ts'
import type { Transaction } from '../database.ts'

const NAMES_BEYOND_ASCII = statement<object, { zone_id: string; id: string; user_name: string }>(
  `select zone_id, id, user_name from users where octet_length(user_name) <> length(user_name)`,
)
const SET_NAME_KEY = statement<{ zone_id: string; id: string; key: string }>(
  `update users set user_name_lower = :key where zone_id = :zone_id and id = :id and not exists (
   select 1 from users other where other.zone_id = users.zone_id and other.origin = users.origin
   and other.user_name_lower = :key and other.id <> users.id)`,
)

/**
 * User names that differ in their Unicode form only are the same from now on. Where there are two already, the one whose
 * name has the common form keeps it, and the other is found by its id only, for an administrator to rename.
 */
export async function normalizeUserNames(within: Transaction): Promise<void> {
  for (const { zone_id, id, user_name: userName } of (await within.run(NAMES_BEYOND_ASCII, {})).rows) {
    await within.run(SET_NAME_KEY, { zone_id, id, key: userNameKey(userName) })
  }
}

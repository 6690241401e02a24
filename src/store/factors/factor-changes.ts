// The transaction of every change of a user's factors, which brings `factors` of the account up to date.
import type { FactorMethod, UserFactors } from '../../records/user.ts'
import { isStorable, statement } from '../database.ts'
import type { Database, Transaction } from '../database.ts'
import { fromJson, toJson } from '../rows.ts'

/** Which user. */
export interface UserKey {
  zone_id: string
  user_id: string
}

/** The condition for `UserKey`. */
export const OF_USER = `zone_id = :zone_id and user_id = :user_id`

/** Counts the passkeys of a user. */
export const COUNT_PASSKEYS = statement<UserKey, { count: number }>(
  `select count(*) as count from passkeys where ${OF_USER}`,
)
/** Deletes the codes of one kind. */
export const REMOVE_CODES = statement<UserKey & { kind: string }>(
  `delete from factor_codes where ${OF_USER} and kind = :kind`,
)
/** Locks the account's row, so that the second of two concurrent changes sees the result of the first. */
export const HOLD_USER = statement<UserKey, { factors: string | null }>(
  `update users set factors = factors where zone_id = :zone_id and id = :user_id returning factors`,
)
const METHODS = statement<UserKey, { method: string }>(
  `select 'passkey' as method from passkeys where ${OF_USER}
   union select 'totp' as method from totp_secrets where ${OF_USER}`,
)
const SET_FACTORS = statement<UserKey & { factors: string }>(
  `update users set factors = :factors where zone_id = :zone_id and id = :user_id`,
)

/** The cast: `METHODS` selects no other names. */
const methodsOf = async (within: Transaction, key: UserKey): Promise<readonly FactorMethod[]> =>
  (await within.run(METHODS, key)).rows.map(({ method }) => method as FactorMethod).toSorted()

/** A change of factors. */
interface FactorChange {
  /** Whether remembered browsers are forgotten with it. */
  readonly forgetsBrowsers: boolean
  /** Which factors there must be before. */
  readonly expected?: readonly FactorMethod[] | undefined
  /** Whether the user declines an offered passkey by it. */
  readonly declinesOffer?: boolean
  readonly make: (within: Transaction) => Promise<boolean>
}

/** Makes the change and writes the resulting factors to the account's row; false for an unknown user, and if it is refused. */
export async function changeFactors(
  db: Database,
  key: UserKey,
  { forgetsBrowsers, expected, declinesOffer = false, make }: FactorChange,
): Promise<boolean> {
  if (!isStorable(key.user_id)) return false
  return db.transaction(async within => {
    const [held] = (await within.run(HOLD_USER, key)).rows
    if (!held) return false
    const before: UserFactors = held.factors === null ? { methods: [], revision: 0 } : fromJson(held.factors)
    if (expected && before.methods.join() !== expected.join()) return false
    if (!(await make(within))) return false
    const { revision, hasDeclined } = before
    const methods = await methodsOf(within, key)
    if (methods.length === 0) await within.run(REMOVE_CODES, { ...key, kind: 'recovery' })
    const factors: UserFactors = {
      methods,
      revision: forgetsBrowsers ? revision + 1 : revision,
      ...((declinesOffer || hasDeclined === true) && { hasDeclined: true }),
    }
    await within.run(SET_FACTORS, { ...key, factors: toJson(factors) })
    return true
  })
}

/** Whether one of the methods in `leaves` remains when a factor of the method `removed` is removed. */
export async function leavesOne(
  within: Transaction,
  {
    key,
    removed,
    leaves,
  }: {
    readonly key: UserKey
    readonly removed: FactorMethod
    readonly leaves: readonly FactorMethod[] | undefined
  },
): Promise<boolean> {
  if (!leaves) return true
  const [passkeys] = (await within.run(COUNT_PASSKEYS, key)).rows
  const hasAnother = removed === 'passkey' && (passkeys?.count ?? 0) > 1
  const methods = await methodsOf(within, key)
  return methods.some(method => leaves.includes(method) && (method !== removed || hasAnother))
}

import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import type { FactorStore } from './factor-store.ts'
import { changeFactors, OF_USER } from './factor-changes.ts'
import type { UserKey } from './factor-changes.ts'
import { createFactorCodes } from './factor-codes.ts'
import { createOneTimePasswords } from './one-time-passwords.ts'
import { createPasskeys } from './passkeys.ts'

const REMOVE_ALL = ['passkeys', 'totp_secrets', 'factor_codes'].map(table =>
  statement<UserKey>(`delete from ${table} where ${OF_USER}`),
)

/** Implements `FactorStore` for both databases. */
export function createFactors(db: Database): FactorStore {
  return {
    ...createPasskeys(db),
    ...createOneTimePasswords(db),
    ...createFactorCodes(db),
    async reset(zoneId, userId) {
      const key = { zone_id: zoneId, user_id: userId }
      return changeFactors(db, key, {
        forgetsBrowsers: true,
        async make(within) {
          for (const remove of REMOVE_ALL) await within.run(remove, key)
          return true
        },
      })
    },
    async forgetDevices(zoneId, userId) {
      return changeFactors(
        db,
        { zone_id: zoneId, user_id: userId },
        { forgetsBrowsers: true, make: () => Promise.resolve(true) },
      )
    },
    async declineOffer(zoneId, userId) {
      const key = { zone_id: zoneId, user_id: userId }
      return changeFactors(db, key, { forgetsBrowsers: false, declinesOffer: true, make: () => Promise.resolve(true) })
    },
  }
}

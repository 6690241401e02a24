import type { Totp } from '../../model/users/passkey.ts'
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import type { FactorStore } from './factor-store.ts'
import { timeOrNull, withoutNulls } from '../rows.ts'
import { insertInto, list, TOTP_COLUMNS } from '../schema.ts'
import type { TotpRow } from '../schema.ts'
import { changeFactors, leavesOne, OF_USER } from './factor-changes.ts'
import type { UserKey } from './factor-changes.ts'

const FIND_TOTP = statement<UserKey, TotpRow>(`select ${list(TOTP_COLUMNS)} from totp_secrets where ${OF_USER}`)
const SET_TOTP = statement<TotpRow>(
  `${insertInto('totp_secrets', TOTP_COLUMNS)} on conflict (zone_id, user_id) do update set
   sealed_secret = excluded.sealed_secret, last_step = excluded.last_step, created_at = excluded.created_at,
   last_used_at = excluded.last_used_at`,
)
const USE_TOTP = statement<UserKey & { step: number; at: number }>(
  `update totp_secrets set last_step = :step, last_used_at = :at where ${OF_USER} and last_step < :step`,
)
const REMOVE_TOTP = statement<UserKey>(`delete from totp_secrets where ${OF_USER}`)

/** Implements the part of `FactorStore` for secrets of one-time passwords. */
export function createOneTimePasswords(
  db: Database,
): Pick<FactorStore, 'totpOf' | 'setTotp' | 'useTotp' | 'removeTotp'> {
  return {
    async totpOf(zoneId, userId) {
      const [row] = await db.read(FIND_TOTP, { zone_id: zoneId, user_id: userId })
      return row && toTotp(row)
    },
    async setTotp(zoneId, userId, totp, expected) {
      const key = { zone_id: zoneId, user_id: userId }
      const row = {
        ...key,
        sealed_secret: totp.sealedSecret,
        last_step: totp.lastStep,
        created_at: totp.createdAt.getTime(),
        last_used_at: timeOrNull(totp.lastUsedAt),
      }
      return changeFactors(db, key, {
        forgetsBrowsers: true,
        expected,
        make: async within => (await within.run(SET_TOTP, row)).changes > 0,
      })
    },
    async useTotp(zoneId, userId, { step, at }) {
      return (await db.write(USE_TOTP, { zone_id: zoneId, user_id: userId, step, at: at.getTime() })).changes > 0
    },
    async removeTotp(zoneId, userId, leaves) {
      const key = { zone_id: zoneId, user_id: userId }
      return changeFactors(db, key, {
        forgetsBrowsers: true,
        make: async within =>
          (await leavesOne(within, { key, removed: 'totp', leaves })) &&
          (await within.run(REMOVE_TOTP, key)).changes > 0,
      })
    },
  }
}

const toTotp = (row: TotpRow): Totp =>
  withoutNulls<Totp>({
    sealedSecret: row.sealed_secret,
    lastStep: row.last_step,
    createdAt: new Date(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at),
  })

import type { OneTimeCode } from '../model/token.ts'
import { type Database, isStorable, statement } from './database.ts'
import { insertInto, list, ONE_TIME_CODE_COLUMNS, type OneTimeCodeRow } from './schema.ts'
import type { OneTimeCodeStore } from './store.ts'

const SAVE = statement<OneTimeCodeRow>(
  `${insertInto('one_time_codes', ONE_TIME_CODE_COLUMNS)} on conflict (zone_id, purpose, user_id) do update set
   code_digest = excluded.code_digest, password_revision = excluded.password_revision,
   expires_at = excluded.expires_at`,
)
const REDEEM = statement<{ zone_id: string; purpose: string; code_digest: string }, OneTimeCodeRow>(
  `delete from one_time_codes where zone_id = :zone_id and purpose = :purpose and code_digest = :code_digest
   returning ${list(ONE_TIME_CODE_COLUMNS)}`,
)

/** Implements `OneTimeCodeStore` for both databases. */
export function createOneTimeCodes(db: Database): OneTimeCodeStore {
  return {
    async save(zoneId, code) {
      await db.write(SAVE, toRow(zoneId, code))
    },
    async redeem(zoneId, purpose, codeDigest) {
      if (!isStorable(codeDigest)) return undefined
      const [row] = (await db.write(REDEEM, { zone_id: zoneId, purpose, code_digest: codeDigest })).rows
      return row && toCode(row)
    },
  }
}

const toRow = (zoneId: string, code: OneTimeCode): OneTimeCodeRow => ({
  zone_id: zoneId,
  purpose: code.purpose,
  user_id: code.userId,
  code_digest: code.codeDigest,
  password_revision: code.passwordRevision ?? null,
  expires_at: code.expiresAt.getTime(),
})

const toCode = (row: OneTimeCodeRow): OneTimeCode => ({
  zoneId: row.zone_id,
  purpose: row.purpose as OneTimeCode['purpose'], // written by toRow
  userId: row.user_id,
  codeDigest: row.code_digest,
  ...(row.password_revision !== null && { passwordRevision: row.password_revision }),
  expiresAt: new Date(row.expires_at),
})

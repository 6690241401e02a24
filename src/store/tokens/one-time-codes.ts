import { SINGLE_CODE_PURPOSES } from '../../model/tokens/token.ts'
import type { OneTimeCode } from '../../model/tokens/token.ts'
import { isStorable, statement } from '../database.ts'
import type { Database } from '../database.ts'
import { insertInto, list, ONE_TIME_CODE_COLUMNS } from '../schema.ts'
import type { OneTimeCodeRow } from '../schema.ts'
import type { OneTimeCodeStore } from '../store.ts'

interface Key {
  zone_id: string
  purpose: string
  code_digest: string
}

const INSERT = insertInto('one_time_codes', ONE_TIME_CODE_COLUMNS)
const RESTORE = statement<OneTimeCodeRow>(`${INSERT} on conflict do nothing`)
const SAVE = statement<OneTimeCodeRow>(
  `${INSERT} on conflict (zone_id, slot) where slot is not null do update set
   code_digest = excluded.code_digest, password_revision = excluded.password_revision, data = excluded.data,
   expires_at = excluded.expires_at`,
)
const OF_CODE = `zone_id = :zone_id and purpose = :purpose and code_digest = :code_digest`
const FIND = statement<Key, OneTimeCodeRow>(
  `select ${list(ONE_TIME_CODE_COLUMNS)} from one_time_codes where ${OF_CODE}`,
)
const REDEEM = statement<Key, OneTimeCodeRow>(
  `delete from one_time_codes where ${OF_CODE} returning ${list(ONE_TIME_CODE_COLUMNS)}`,
)
const FORGET = statement<{ zone_id: string; purpose: string; user_id: string }>(
  `delete from one_time_codes where zone_id = :zone_id and user_id = :user_id and purpose = :purpose`,
)

/** Implements `OneTimeCodeStore` for both databases. */
export function createOneTimeCodes(db: Database): OneTimeCodeStore {
  return {
    async save(zoneId, code) {
      await db.write(SAVE, toRow(zoneId, code))
    },
    async find(zoneId, purpose, codeDigest) {
      const [row] = await db.read(FIND, { zone_id: zoneId, purpose, code_digest: codeDigest })
      return row && toCode(row)
    },
    async redeem(zoneId, purpose, codeDigest) {
      if (!isStorable(codeDigest)) return undefined
      const [row] = (await db.write(REDEEM, { zone_id: zoneId, purpose, code_digest: codeDigest })).rows
      return row && toCode(row)
    },
    async restore(zoneId, code) {
      await db.write(RESTORE, toRow(zoneId, code))
    },
    async forget(zoneId, purpose, userId) {
      await db.write(FORGET, { zone_id: zoneId, purpose, user_id: userId })
    },
  }
}

const toRow = (zoneId: string, { purpose, userId, ...code }: OneTimeCode): OneTimeCodeRow => ({
  zone_id: zoneId,
  purpose,
  code_digest: code.codeDigest,
  slot: userId !== undefined && SINGLE_CODE_PURPOSES.has(purpose) ? `${purpose} ${userId}` : null,
  user_id: userId ?? null,
  password_revision: code.passwordRevision ?? null,
  data: code.data ?? null,
  expires_at: code.expiresAt.getTime(),
})

const toCode = (row: OneTimeCodeRow): OneTimeCode => ({
  zoneId: row.zone_id,
  purpose: row.purpose as OneTimeCode['purpose'], // written by toRow
  ...(row.user_id !== null && { userId: row.user_id }),
  codeDigest: row.code_digest,
  ...(row.password_revision !== null && { passwordRevision: row.password_revision }),
  ...(row.data !== null && { data: row.data }),
  expiresAt: new Date(row.expires_at),
})

import type { FactorCodeKind } from '../../model/users/passkey.ts'
import type { UserFactors } from '../../records/user.ts'
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import type { FactorStore, UsedFactorCode } from './factor-store.ts'
import { fromJson, timeOrNull, withoutNulls } from '../rows.ts'
import { FACTOR_CODE_COLUMNS, insertInto, list } from '../schema.ts'
import type { FactorCodeRow } from '../schema.ts'
import { HOLD_USER, OF_USER, REMOVE_CODES } from './factor-changes.ts'
import type { UserKey } from './factor-changes.ts'

const ADD_CODE = statement<FactorCodeRow>(insertInto('factor_codes', FACTOR_CODE_COLUMNS))
const CODES_LEFT = statement<
  UserKey & { now: number },
  { kind: string; count: number; created_at: number; expires_at: number | null }
>(
  `select kind, count(*) as count, max(created_at) as created_at, max(expires_at) as expires_at from factor_codes
   where ${OF_USER} and (expires_at is null or expires_at > :now) group by kind`,
)
const USE_CODE = statement<UserKey & { code_digest: string }, FactorCodeRow>(
  `delete from factor_codes where ${OF_USER} and code_digest = :code_digest returning ${list(FACTOR_CODE_COLUMNS)}`,
)
const NEWER_CODE = statement<UserKey & { kind: string; created_at: number }, { code_digest: string }>(
  `select code_digest from factor_codes where ${OF_USER} and kind = :kind and created_at > :created_at limit 1`,
)

/** Implements the part of `FactorStore` for codes that stand in for a factor. */
export function createFactorCodes(
  db: Database,
): Pick<FactorStore, 'setCodes' | 'codesLeft' | 'useCode' | 'restoreCode' | 'removeCodes'> {
  return {
    async setCodes(zoneId, userId, { kind, digests, createdAt, expiresAt }) {
      const key = { zone_id: zoneId, user_id: userId }
      return db.transaction(async within => {
        if ((await within.run(HOLD_USER, key)).rows.length === 0) return false
        await within.run(REMOVE_CODES, { ...key, kind })
        const shared = { ...key, kind, created_at: createdAt.getTime(), expires_at: timeOrNull(expiresAt) }
        for (const digest of digests) await within.run(ADD_CODE, { ...shared, code_digest: digest })
        return true
      })
    },
    async codesLeft(zoneId, userId, now) {
      const rows = await db.read(CODES_LEFT, { zone_id: zoneId, user_id: userId, now: now.getTime() })
      const of = (kind: FactorCodeKind): (typeof rows)[number] | undefined => rows.find(row => row.kind === kind)
      const [recovery, bypass] = [of('recovery'), of('bypass')]
      return {
        recovery: recovery?.count ?? 0,
        ...(recovery && { recoveryCreatedAt: new Date(recovery.created_at) }),
        ...(bypass?.expires_at != null && { bypassUntil: new Date(bypass.expires_at) }),
      }
    },
    async useCode(zoneId, userId, digest, now) {
      const [row] = (await db.write(USE_CODE, { zone_id: zoneId, user_id: userId, code_digest: digest })).rows
      if (!row || (row.expires_at !== null && row.expires_at <= now.getTime())) return undefined
      return withoutNulls<UsedFactorCode>({
        kind: row.kind as FactorCodeKind, // written by setCodes
        digest,
        createdAt: new Date(row.created_at),
        expiresAt: row.expires_at === null ? null : new Date(row.expires_at),
      })
    },
    async restoreCode(zoneId, userId, { kind, digest, createdAt, expiresAt }) {
      const key = { zone_id: zoneId, user_id: userId }
      const code = { ...key, kind, created_at: createdAt.getTime() }
      await db.transaction(async within => {
        const [held] = (await within.run(HOLD_USER, key)).rows
        const methods = held?.factors == null ? [] : fromJson<UserFactors>(held.factors).methods
        // Gone as well: recovery codes go with the last factor.
        if (!held || (kind === 'recovery' && methods.length === 0)) return
        if ((await within.run(NEWER_CODE, code)).rows.length > 0) return
        await within.run(ADD_CODE, { ...code, code_digest: digest, expires_at: timeOrNull(expiresAt) })
      })
    },
    async removeCodes(zoneId, userId, kind) {
      return (await db.write(REMOVE_CODES, { zone_id: zoneId, user_id: userId, kind })).changes > 0
    },
  }
}

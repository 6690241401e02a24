import type { Passkey } from '../../model/users/passkey.ts'
import { isStorable, statement } from '../database.ts'
import type { Database } from '../database.ts'
import type { FactorStore } from './factor-store.ts'
import { flag, fromJson, timeOrNull, toJson, withoutNulls } from '../rows.ts'
import { insertInto, list, PASSKEY_COLUMNS } from '../schema.ts'
import type { Flag, PasskeyRow } from '../schema.ts'
import { changeFactors, COUNT_PASSKEYS, leavesOne, OF_USER } from './factor-changes.ts'
import type { UserKey } from './factor-changes.ts'

type PasskeyKey = UserKey & { id: string }
interface CredentialKey {
  zone_id: string
  credential_id: string
}

const OF_CREDENTIAL = `zone_id = :zone_id and credential_id = :credential_id`

const PASSKEYS = statement<UserKey, PasskeyRow>(
  `select ${list(PASSKEY_COLUMNS)} from passkeys where ${OF_USER} order by created_at, id`,
)
const FIND_PASSKEY = statement<CredentialKey, PasskeyRow>(
  `select ${list(PASSKEY_COLUMNS)} from passkeys where ${OF_CREDENTIAL}`,
)
const ADD_PASSKEY = statement<PasskeyRow>(
  `${insertInto('passkeys', PASSKEY_COLUMNS)} on conflict (zone_id, credential_id) do nothing`,
)
type UseKey = CredentialKey & { counter: number; eligible: Flag; is_backed_up: Flag; verified: Flag; at: number }

const USE_PASSKEY = statement<UseKey>(
  `update passkeys set counter = :counter, is_backed_up = :is_backed_up, last_used_at = :at,
     is_backup_eligible = coalesce(is_backup_eligible, :eligible),
     has_verified_user = case when :verified = 1 then 1 else has_verified_user end
   where ${OF_CREDENTIAL} and (counter < :counter or (counter = 0 and :counter = 0))`,
)
const RENAME_PASSKEY = statement<PasskeyKey & { name: string }>(
  `update passkeys set name = :name where ${OF_USER} and id = :id`,
)
const REMOVE_PASSKEY = statement<PasskeyKey>(`delete from passkeys where ${OF_USER} and id = :id`)

type PasskeyStore = Pick<
  FactorStore,
  'passkeysOf' | 'findPasskey' | 'addPasskey' | 'usePasskey' | 'renamePasskey' | 'removePasskey'
>

/** Implements the part of `FactorStore` for passkeys. */
export function createPasskeys(db: Database): PasskeyStore {
  return {
    async passkeysOf(zoneId, userId) {
      return (await db.read(PASSKEYS, { zone_id: zoneId, user_id: userId })).map(toPasskey)
    },
    async findPasskey(zoneId, credentialId) {
      const [row] = await db.read(FIND_PASSKEY, { zone_id: zoneId, credential_id: credentialId })
      return row && toPasskey(row)
    },
    async addPasskey(zoneId, passkey, max, expected) {
      const key = { zone_id: zoneId, user_id: passkey.userId }
      return changeFactors(db, key, {
        forgetsBrowsers: false,
        expected,
        async make(within) {
          const [counted] = (await within.run(COUNT_PASSKEYS, key)).rows
          if ((counted?.count ?? 0) >= max) return false
          return (await within.run(ADD_PASSKEY, toRow(zoneId, passkey))).changes > 0
        },
      })
    },
    async usePasskey(zoneId, credentialId, { counter, isBackupEligible, isBackedUp, isUserVerified, at }) {
      const key = { zone_id: zoneId, credential_id: credentialId }
      const flags = { eligible: flag(isBackupEligible), is_backed_up: flag(isBackedUp), verified: flag(isUserVerified) }
      const use = { ...key, ...flags, counter, at: at.getTime() }
      return (await db.write(USE_PASSKEY, use)).changes > 0
    },
    async renamePasskey(zoneId, { userId, id }, name) {
      if (!isStorable(id)) return false
      return (await db.write(RENAME_PASSKEY, { zone_id: zoneId, user_id: userId, id, name })).changes > 0
    },
    async removePasskey(zoneId, { userId, id }, leaves) {
      if (!isStorable(id)) return false
      const key = { zone_id: zoneId, user_id: userId }
      return changeFactors(db, key, {
        forgetsBrowsers: true,
        make: async within =>
          (await leavesOne(within, { key, removed: 'passkey', leaves })) &&
          (await within.run(REMOVE_PASSKEY, { ...key, id })).changes > 0,
      })
    },
  }
}

const toRow = (zoneId: string, passkey: Passkey): PasskeyRow => ({
  zone_id: zoneId,
  credential_id: passkey.credentialId,
  id: passkey.id,
  user_id: passkey.userId,
  public_key: passkey.publicKey,
  counter: passkey.counter,
  transports: toJson(passkey.transports),
  aaguid: passkey.aaguid,
  is_backup_eligible: passkey.isBackupEligible === undefined ? null : flag(passkey.isBackupEligible),
  is_backed_up: flag(passkey.isBackedUp),
  is_attested: flag(passkey.isAttested),
  has_verified_user: flag(passkey.hasVerifiedUser),
  name: passkey.name,
  created_at: passkey.createdAt.getTime(),
  last_used_at: timeOrNull(passkey.lastUsedAt),
})

const toPasskey = (row: PasskeyRow): Passkey =>
  withoutNulls<Passkey>({
    id: row.id,
    userId: row.user_id,
    credentialId: row.credential_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: fromJson<readonly string[]>(row.transports),
    aaguid: row.aaguid,
    isBackupEligible: eligibilityIn(row),
    isBackedUp: row.is_backed_up === 1,
    isAttested: row.is_attested === 1,
    hasVerifiedUser: row.has_verified_user === 1,
    name: row.name,
    createdAt: new Date(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at),
  })

/** A backup implies that it was eligible, and an attestation counts only for one that was not. */
function eligibilityIn(row: PasskeyRow): boolean | null {
  if (row.is_backup_eligible !== null) return row.is_backup_eligible === 1
  if (row.is_attested === 1) return false
  return row.is_backed_up === 1 ? true : null
}

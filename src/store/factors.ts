import type { FactorCodeKind, Passkey, Totp } from '../model/users/passkey.ts'
import type { FactorMethod, UserFactors } from '../records/user.ts'
import { type Database, isStorable, statement, type Transaction } from './database.ts'
import type { FactorStore } from './factor-store.ts'
import { flag, fromJson, timeOrNull, toJson, withoutNulls } from './rows.ts'
import {
  FACTOR_CODE_COLUMNS,
  type FactorCodeRow,
  insertInto,
  list,
  PASSKEY_COLUMNS,
  type PasskeyRow,
  TOTP_COLUMNS,
  type TotpRow,
} from './schema.ts'

interface UserKey {
  zone_id: string
  user_id: string
}
type PasskeyKey = UserKey & { id: string }
interface CredentialKey {
  zone_id: string
  credential_id: string
}

const OF_USER = `zone_id = :zone_id and user_id = :user_id`
const OF_CREDENTIAL = `zone_id = :zone_id and credential_id = :credential_id`

const PASSKEYS = statement<UserKey, PasskeyRow>(
  `select ${list(PASSKEY_COLUMNS)} from passkeys where ${OF_USER} order by created_at, id`,
)
const FIND_PASSKEY = statement<CredentialKey, PasskeyRow>(
  `select ${list(PASSKEY_COLUMNS)} from passkeys where ${OF_CREDENTIAL}`,
)
const COUNT_PASSKEYS = statement<UserKey, { count: number }>(`select count(*) as count from passkeys where ${OF_USER}`)
const ADD_PASSKEY = statement<PasskeyRow>(
  `${insertInto('passkeys', PASSKEY_COLUMNS)} on conflict (zone_id, credential_id) do nothing`,
)
const USE_PASSKEY = statement<CredentialKey & { counter: number; is_backed_up: number; at: number }>(
  `update passkeys set counter = :counter, is_backed_up = :is_backed_up, last_used_at = :at
   where ${OF_CREDENTIAL} and (counter < :counter or (counter = 0 and :counter = 0))`,
)
const RENAME_PASSKEY = statement<PasskeyKey & { name: string }>(
  `update passkeys set name = :name where ${OF_USER} and id = :id`,
)
const REMOVE_PASSKEY = statement<PasskeyKey>(`delete from passkeys where ${OF_USER} and id = :id`)
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
const ADD_CODE = statement<FactorCodeRow>(insertInto('factor_codes', FACTOR_CODE_COLUMNS))
const REMOVE_CODES = statement<UserKey & { kind: string }>(`delete from factor_codes where ${OF_USER} and kind = :kind`)
const CODES_LEFT = statement<
  UserKey & { now: number },
  { kind: string; count: number; created_at: number; expires_at: number | null }
>(
  `select kind, count(*) as count, max(created_at) as created_at, max(expires_at) as expires_at from factor_codes
   where ${OF_USER} and (expires_at is null or expires_at > :now) group by kind`,
)
const USE_CODE = statement<UserKey & { code_digest: string }, { kind: string; expires_at: number | null }>(
  `delete from factor_codes where ${OF_USER} and code_digest = :code_digest returning kind, expires_at`,
)
const REMOVE_ALL = ['passkeys', 'totp_secrets', 'factor_codes'].map(table =>
  statement<UserKey>(`delete from ${table} where ${OF_USER}`),
)

// Holds the account's row, so that of two changes at once the second sees what the first did.
const HOLD_USER = statement<UserKey, { factors: string | null }>(
  `update users set factors = factors where zone_id = :zone_id and id = :user_id returning factors`,
)
const METHODS = statement<UserKey, { method: string }>(
  `select 'passkey' as method from passkeys where ${OF_USER}
   union select 'totp' as method from totp_secrets where ${OF_USER}`,
)
const SET_FACTORS = statement<UserKey & { factors: string }>(
  `update users set factors = :factors where zone_id = :zone_id and id = :user_id`,
)

// What was written of these names is what `METHODS` selects.
const methodsOf = async (within: Transaction, key: UserKey): Promise<readonly FactorMethod[]> =>
  (await within.run(METHODS, key)).rows.map(({ method }) => method as FactorMethod).toSorted()

/** Whether one of `leaves` is there without a factor of this kind. */
async function leavesOne(
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
  const staysKind = removed === 'passkey' && (passkeys?.count ?? 0) > 1
  const methods = await methodsOf(within, key)
  return methods.some(method => leaves.includes(method) && (method !== removed || staysKind))
}

/** Implements `FactorStore` for both databases. */
export function createFactors(db: Database): FactorStore {
  /**
   * Makes the change and writes the resulting factors to the account's row; false for an unknown user, and if the change
   * is refused. `ends`: whether remembered browsers are forgotten with it; `expected`: which factors there must be before.
   */
  async function change(
    key: UserKey,
    {
      ends,
      expected,
      declines = false,
      make,
    }: {
      readonly ends: boolean
      readonly expected?: readonly FactorMethod[] | undefined
      readonly declines?: boolean
      readonly make: (within: Transaction) => Promise<boolean>
    },
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
        revision: ends ? revision + 1 : revision,
        ...((declines || hasDeclined === true) && { hasDeclined: true }),
      }
      await within.run(SET_FACTORS, { ...key, factors: toJson(factors) })
      return true
    })
  }

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
      return change(key, {
        ends: false,
        expected,
        async make(within) {
          const [counted] = (await within.run(COUNT_PASSKEYS, key)).rows
          if ((counted?.count ?? 0) >= max) return false
          return (await within.run(ADD_PASSKEY, toRow(zoneId, passkey))).changes > 0
        },
      })
    },
    async usePasskey(zoneId, credentialId, { counter, isBackedUp, at }) {
      const key = { zone_id: zoneId, credential_id: credentialId }
      const use = { ...key, counter, is_backed_up: flag(isBackedUp), at: at.getTime() }
      return (await db.write(USE_PASSKEY, use)).changes > 0
    },
    async renamePasskey(zoneId, { userId, id }, name) {
      if (!isStorable(id)) return false
      return (await db.write(RENAME_PASSKEY, { zone_id: zoneId, user_id: userId, id, name })).changes > 0
    },
    async removePasskey(zoneId, { userId, id }, leaves) {
      if (!isStorable(id)) return false
      const key = { zone_id: zoneId, user_id: userId }
      return change(key, {
        ends: true,
        make: async within =>
          (await leavesOne(within, { key, removed: 'passkey', leaves })) &&
          (await within.run(REMOVE_PASSKEY, { ...key, id })).changes > 0,
      })
    },
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
      return change(key, { ends: true, expected, make: async within => (await within.run(SET_TOTP, row)).changes > 0 })
    },
    async useTotp(zoneId, userId, { step, at }) {
      return (await db.write(USE_TOTP, { zone_id: zoneId, user_id: userId, step, at: at.getTime() })).changes > 0
    },
    async removeTotp(zoneId, userId, leaves) {
      const key = { zone_id: zoneId, user_id: userId }
      return change(key, {
        ends: true,
        make: async within =>
          (await leavesOne(within, { key, removed: 'totp', leaves })) &&
          (await within.run(REMOVE_TOTP, key)).changes > 0,
      })
    },
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
      return row.kind as FactorCodeKind // written by setCodes
    },
    async removeCodes(zoneId, userId, kind) {
      return (await db.write(REMOVE_CODES, { zone_id: zoneId, user_id: userId, kind })).changes > 0
    },
    async reset(zoneId, userId) {
      const key = { zone_id: zoneId, user_id: userId }
      return change(key, {
        ends: true,
        async make(within) {
          for (const remove of REMOVE_ALL) await within.run(remove, key)
          return true
        },
      })
    },
    async forgetDevices(zoneId, userId) {
      return change({ zone_id: zoneId, user_id: userId }, { ends: true, make: () => Promise.resolve(true) })
    },
    async declineOffer(zoneId, userId) {
      const key = { zone_id: zoneId, user_id: userId }
      return change(key, { ends: false, declines: true, make: () => Promise.resolve(true) })
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
  is_backed_up: flag(passkey.isBackedUp),
  is_attested: flag(passkey.isAttested),
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
    isBackedUp: row.is_backed_up === 1,
    isAttested: row.is_attested === 1,
    name: row.name,
    createdAt: new Date(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at),
  })

const toTotp = (row: TotpRow): Totp =>
  withoutNulls<Totp>({
    sealedSecret: row.sealed_secret,
    lastStep: row.last_step,
    createdAt: new Date(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at),
  })

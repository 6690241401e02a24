import type { SigningAlgorithm, SigningKeyRecord } from '../model/signing-key.ts'
import { type Caches, remembered } from './changes.ts'
import { type Database, statement } from './database.ts'
import { dateOrNull, flag, timeOrNull, withoutNulls } from './rows.ts'
import { insertInto, list, SIGNING_KEY_COLUMNS, type SigningKeyRow } from './schema.ts'
import { AlreadyExists, type SigningKeyStore } from './store.ts'

const LIST = statement<{ zone_id: string }, SigningKeyRow>(
  `select ${list(SIGNING_KEY_COLUMNS)} from signing_keys where zone_id = :zone_id order by created_at, key_id`,
)
const DEACTIVATE = statement<{ zone_id: string; key_id: string }>(
  `update signing_keys set active = 0 where zone_id = :zone_id and key_id <> :key_id and active = 1`,
)
const SAVE = statement<SigningKeyRow>(
  `${insertInto('signing_keys', SIGNING_KEY_COLUMNS)} on conflict (zone_id, key_id) do update set
   algorithm = excluded.algorithm, sealed_private_key = excluded.sealed_private_key,
   public_key = excluded.public_key, active = excluded.active, created_at = excluded.created_at,
   expires_at = excluded.expires_at`,
)
const INSERT = statement<SigningKeyRow>(insertInto('signing_keys', SIGNING_KEY_COLUMNS))

/** The signing keys of the database. */
export function createKeys(db: Database, caches: Caches): SigningKeyStore {
  return {
    async list(zoneId) {
      const keys = await remembered(db, caches.keys, [zoneId], async () =>
        (await db.read(LIST, { zone_id: zoneId })).map(toKey),
      )
      return keys ?? []
    },
    async save(zoneId, key) {
      const row = toRow(zoneId, key)
      await db.transaction(async within => {
        await within.lock(`keys ${zoneId}`)
        if (key.active) await within.run(DEACTIVATE, { zone_id: zoneId, key_id: key.keyId })
        await within.run(SAVE, row)
        await within.announce({ kind: 'keys', zoneId, key: '' })
      })
    },
    saveFirst: (zoneId, key) =>
      db.transaction(async within => {
        await within.lock(`keys ${zoneId}`)
        const before = (await within.run(LIST, { zone_id: zoneId })).rows.map(toKey)
        if (before.some(({ active }) => active)) return before
        if (before.some(({ keyId }) => keyId === key.keyId)) throw new AlreadyExists('signing key')
        await within.run(INSERT, toRow(zoneId, { ...key, active: true }))
        await within.announce({ kind: 'keys', zoneId, key: '' })
        return (await within.run(LIST, { zone_id: zoneId })).rows.map(toKey)
      }),
  }
}

const toRow = (zoneId: string, key: SigningKeyRecord): SigningKeyRow => ({
  zone_id: zoneId,
  key_id: key.keyId,
  algorithm: key.algorithm,
  sealed_private_key: key.sealedPrivateKey ?? null,
  public_key: key.publicKey,
  active: flag(key.active),
  created_at: key.createdAt.getTime(),
  expires_at: timeOrNull(key.expiresAt),
})

const toKey = (row: SigningKeyRow): SigningKeyRecord =>
  withoutNulls<SigningKeyRecord>({
    zoneId: row.zone_id,
    keyId: row.key_id,
    algorithm: row.algorithm as SigningAlgorithm, // written by toRow
    sealedPrivateKey: row.sealed_private_key,
    publicKey: row.public_key,
    active: row.active === 1,
    createdAt: new Date(row.created_at),
    expiresAt: dateOrNull(row.expires_at),
  })

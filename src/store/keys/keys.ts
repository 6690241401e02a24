import type { SigningAlgorithm, SigningKeyRecord } from '../../model/tokens/signing-key.ts'
import { remembered } from '../changes.ts'
import type { Caches } from '../changes.ts'
import { statement } from '../database.ts'
import type { Database, Transaction } from '../database.ts'
import { dateOrNull, flag, timeOrNull, withoutNulls } from '../rows.ts'
import { insertInto, list, SIGNING_KEY_COLUMNS } from '../schema.ts'
import type { SigningKeyRow } from '../schema.ts'
import { AlreadyExists } from '../store.ts'
import type { SigningKeyStore } from '../store.ts'

const LIST = statement<{ zone_id: string }, SigningKeyRow>(
  `select ${list(SIGNING_KEY_COLUMNS)} from signing_keys where zone_id = :zone_id order by created_at, key_id`,
)
const DEACTIVATE = statement<{ zone_id: string; key_id: string }>(
  `update signing_keys set active = 0 where zone_id = :zone_id and key_id <> :key_id and active = 1`,
)
const ACTIVATE = statement<{ zone_id: string; key_id: string }>(
  `update signing_keys set active = 1, expires_at = null where zone_id = :zone_id and key_id = :key_id`,
)
const RETIRE = statement<{ zone_id: string; key_id: string; expires_at: number }>(
  `update signing_keys set expires_at = :expires_at where zone_id = :zone_id and key_id = :key_id`,
)
const ZONES_WITH_EXPIRED = statement<{ before: number }, { zone_id: string }>(
  `select distinct zone_id from signing_keys where expires_at < :before and active = 0 limit 50`,
)
const DELETE_EXPIRED = statement<{ zone_id: string; before: number }>(
  `delete from signing_keys where zone_id = :zone_id and expires_at < :before and active = 0`,
)
const SAVE = statement<SigningKeyRow>(
  `${insertInto('signing_keys', SIGNING_KEY_COLUMNS)} on conflict (zone_id, key_id) do update set
   algorithm = excluded.algorithm, sealed_private_key = excluded.sealed_private_key,
   public_key = excluded.public_key, certificate = excluded.certificate, active = excluded.active,
   created_at = excluded.created_at, expires_at = excluded.expires_at`,
)
const INSERT = statement<SigningKeyRow>(insertInto('signing_keys', SIGNING_KEY_COLUMNS))
const DELETE_ALL = statement<{ zone_id: string }>(`delete from signing_keys where zone_id = :zone_id`)

/** Implements `SigningKeyStore` for both databases. */
export function createKeys(db: Database, caches: Caches): SigningKeyStore {
  /** Serialises changes of a zone's keys and announces them; a result of `false` announces nothing. */
  function change(
    zoneId: string,
    work: (within: Transaction, before: readonly SigningKeyRecord[]) => Promise<boolean>,
  ) {
    return db.transaction(async within => {
      await within.lock(`keys ${zoneId}`)
      const before = (await within.run(LIST, { zone_id: zoneId })).rows.map(toKey)
      const isChanged = await work(within, before)
      if (isChanged) await within.announce({ kind: 'keys', zoneId, key: '' })
      return isChanged
    })
  }

  return {
    async list(zoneId) {
      const keys = await remembered(db, caches.keys, [zoneId], async () =>
        (await db.read(LIST, { zone_id: zoneId })).map(toKey),
      )
      return keys ?? []
    },
    async save(zoneId, key) {
      const row = toRow(zoneId, key)
      await change(zoneId, async within => {
        if (key.active) await within.run(DEACTIVATE, { zone_id: zoneId, key_id: key.keyId })
        await within.run(SAVE, row)
        return true
      })
    },
    async insert(zoneId, key) {
      const row = toRow(zoneId, { ...key, active: false })
      await change(zoneId, async (within, before) => {
        if (before.some(({ keyId }) => keyId === key.keyId)) throw new AlreadyExists('signing key')
        await within.run(INSERT, row)
        return true
      })
    },
    activate: (zoneId, keyId, now) => change(zoneId, within => activateKey(within, zoneId, keyId, now)),
    retire: (zoneId, keyId, expiresAt) =>
      change(zoneId, async (within, before) => {
        const key = before.find(each => each.keyId === keyId)
        if (key === undefined || key.active) return false
        const earliest = Math.min(expiresAt.getTime(), key.expiresAt?.getTime() ?? Infinity)
        await within.run(RETIRE, { zone_id: zoneId, key_id: keyId, expires_at: earliest })
        return true
      }),
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

/** Replaces all keys of the zone, inside a transaction that announces it. */
export async function replaceKeys(
  within: Transaction,
  zoneId: string,
  keys: readonly SigningKeyRecord[],
): Promise<void> {
  await within.lock(`keys ${zoneId}`)
  await within.run(DELETE_ALL, { zone_id: zoneId })
  for (const key of keys) await within.run(INSERT, toRow(zoneId, key))
}

/** Activates a key, inside a transaction that announces it; false when it is missing, expired at `now` or cannot sign. */
export async function activateKey(within: Transaction, zoneId: string, keyId: string, now: Date): Promise<boolean> {
  await within.lock(`keys ${zoneId}`)
  const keys = (await within.run(LIST, { zone_id: zoneId })).rows.map(toKey)
  const key = keys.find(each => each.keyId === keyId)
  if (key?.sealedPrivateKey === undefined || (key.expiresAt && key.expiresAt <= now)) return false
  await within.run(DEACTIVATE, { zone_id: zoneId, key_id: keyId }) // first: the index allows one active key
  await within.run(ACTIVATE, { zone_id: zoneId, key_id: keyId })
  return true
}

/** Deletes the keys that expired before `now`, zone by zone to announce each; returns the number. */
export async function purgeKeys(db: Database, now: Date): Promise<number> {
  const before = now.getTime()
  const zones = await db.read(ZONES_WITH_EXPIRED, { before })
  let gone = 0
  for (const { zone_id } of zones) {
    gone += await db.transaction(async within => {
      await within.lock(`keys ${zone_id}`)
      const { changes } = await within.run(DELETE_EXPIRED, { zone_id, before })
      if (changes > 0) await within.announce({ kind: 'keys', zoneId: zone_id, key: '' })
      return changes
    })
  }
  return gone
}

const toRow = (zoneId: string, key: SigningKeyRecord): SigningKeyRow => ({
  zone_id: zoneId,
  key_id: key.keyId,
  algorithm: key.algorithm,
  sealed_private_key: key.sealedPrivateKey ?? null,
  public_key: key.publicKey ?? '', // the column is older than keys without a public half
  certificate: key.certificate ?? null,
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
    publicKey: row.public_key === '' ? null : row.public_key,
    certificate: row.certificate,
    active: row.active === 1,
    createdAt: new Date(row.created_at),
    expiresAt: dateOrNull(row.expires_at),
  })

import { statement } from '../database.ts'
import type { Database, Statement } from '../database.ts'
import type { AssertionStore, OnceStore } from '../store.ts'

interface Used {
  zone_id: string
  id_digest: string
  expires_at: number
}

const useIn = (table: string): Statement<Used, never> =>
  statement<Used>(
    `insert into ${table} (zone_id, id_digest, expires_at) values (:zone_id, :id_digest, :expires_at)
     on conflict (zone_id, id_digest) do nothing`,
  )

const USE_ASSERTION = useIn('used_assertions')
const KEEP_ASSERTION = statement<Used>(
  `insert into used_assertions (zone_id, id_digest, expires_at) values (:zone_id, :id_digest, :expires_at)
   on conflict (zone_id, id_digest) do update set expires_at = excluded.expires_at
   where excluded.expires_at > used_assertions.expires_at`,
)
const RELEASE_ASSERTION = statement<Omit<Used, 'expires_at'>>(
  `delete from used_assertions where zone_id = :zone_id and id_digest = :id_digest`,
)
const FIND_ASSERTION = statement<Omit<Used, 'expires_at'>, Pick<Used, 'expires_at'>>(
  `select expires_at from used_assertions where zone_id = :zone_id and id_digest = :id_digest`,
)
/** Uses an id of a proof; changes nothing if it was used. */
export const USE_PROOF = useIn('used_proofs')

const createOnce = (db: Database, use: Statement<Used, never>): OnceStore => ({
  async use(zoneId, idDigest, expiresAt) {
    const key = { zone_id: zoneId, id_digest: idDigest, expires_at: expiresAt.getTime() }
    return (await db.write(use, key)).changes > 0
  },
})

/** Ids of assertions, for both databases. */
export const createAssertions = (db: Database): AssertionStore => ({
  ...createOnce(db, USE_ASSERTION),
  async release(zoneId, idDigest) {
    await db.write(RELEASE_ASSERTION, { zone_id: zoneId, id_digest: idDigest })
  },
  async isUsed(zoneId, idDigest) {
    return (await db.read(FIND_ASSERTION, { zone_id: zoneId, id_digest: idDigest })).length > 0
  },
  async keep(zoneId, idDigest, expiresAt) {
    await db.write(KEEP_ASSERTION, { zone_id: zoneId, id_digest: idDigest, expires_at: expiresAt.getTime() })
  },
  async expiryOf(zoneId, idDigest) {
    const [row] = await db.read(FIND_ASSERTION, { zone_id: zoneId, id_digest: idDigest })
    return row && new Date(row.expires_at)
  },
})

/** Ids of proofs; a table of its own, because there is one for each request, and each counts for minutes only. */
export const createProofs = (db: Database): OnceStore => createOnce(db, USE_PROOF)

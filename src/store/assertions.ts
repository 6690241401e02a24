import { type Database, statement } from './database.ts'
import type { AssertionStore } from './store.ts'

const USE = statement<{ zone_id: string; id_digest: string; expires_at: number }>(
  `insert into used_assertions (zone_id, id_digest, expires_at) values (:zone_id, :id_digest, :expires_at)
   on conflict (zone_id, id_digest) do nothing`,
)

/** Implements `AssertionStore` for both databases. */
export function createAssertions(db: Database): AssertionStore {
  return {
    async use(zoneId, idDigest, expiresAt) {
      const key = { zone_id: zoneId, id_digest: idDigest, expires_at: expiresAt.getTime() }
      return (await db.write(USE, key)).changes > 0
    },
  }
}

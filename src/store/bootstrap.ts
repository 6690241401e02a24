import { statement } from './database.ts'
import type { Database } from './database.ts'
import type { BootstrapStore } from './store.ts'

interface Key {
  zone_id: string
  kind: string
  record_key: string
}

const FIND = statement<Key, { definition_digest: string }>(
  `select definition_digest from bootstrap_records
   where zone_id = :zone_id and kind = :kind and record_key = :record_key`,
)
const OF_ZONE = statement<{ zone_id: string }, { kind: string; key: string; digest: string }>(
  `select kind, record_key as key, definition_digest as digest from bootstrap_records where zone_id = :zone_id`,
)
const REMEMBER = statement<Key & { definition_digest: string }>(
  `insert into bootstrap_records (zone_id, kind, record_key, definition_digest)
   values (:zone_id, :kind, :record_key, :definition_digest)
   on conflict (zone_id, kind, record_key) do update set definition_digest = excluded.definition_digest`,
)

/** Records of the bootstrap about its own work. */
export function createBootstrap(db: Database): BootstrapStore {
  return {
    async applied(zoneId, kind, key) {
      return (await db.read(FIND, { zone_id: zoneId, kind, record_key: key }))[0]?.definition_digest
    },
    appliedInZone: zoneId => db.read(OF_ZONE, { zone_id: zoneId }),
    async remember(zoneId, kind, key, definitionDigest) {
      await db.write(REMEMBER, { zone_id: zoneId, kind, record_key: key, definition_digest: definitionDigest })
    },
  }
}

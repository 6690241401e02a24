import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import { StoreUnavailable } from '../store.ts'
import type { ServerKey, ServerKeyStore } from '../store.ts'

interface Row {
  name: string
  sealed_private_key: string
  certificate: string
  created_at: number
}

const FIND = statement<{ name: string }, Row>(
  `select name, sealed_private_key, certificate, created_at from server_keys where name = :name`,
)
const SAVE_FIRST = statement<Row>(
  `insert into server_keys (name, sealed_private_key, certificate, created_at)
   values (:name, :sealed_private_key, :certificate, :created_at) on conflict (name) do nothing`,
)

/** Implements `ServerKeyStore` for both databases. Not cached: callers keep what never changes. */
export function createServerKeys(db: Database): ServerKeyStore {
  async function find(name: string): Promise<ServerKey | undefined> {
    const [row] = await db.read(FIND, { name })
    return (
      row && {
        name: row.name,
        sealedPrivateKey: row.sealed_private_key,
        certificate: row.certificate,
        createdAt: new Date(row.created_at),
      }
    )
  }

  return {
    find,
    async saveFirst(key) {
      const { name, sealedPrivateKey, certificate, createdAt } = key
      const row = { name, sealed_private_key: sealedPrivateKey, certificate, created_at: createdAt.getTime() }
      await db.write(SAVE_FIRST, row)
      const saved = await find(name)
      if (!saved) throw new StoreUnavailable(`the key ${name} is missing after it was stored`)
      return saved
    },
  }
}

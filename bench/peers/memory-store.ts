// The peer's store: plain Maps in memory. Its built-in store drops entries beyond a thousand and iterates over all
// tokens of a grant on each write, so a long run would measure that store instead of the server.
import type { Adapter, StoredPayload } from 'oidc-provider'

const MAX_ENTRIES = 300_000

/** A store for one model; drops the oldest entries beyond 300,000. */
export function createMemoryStore(): Adapter {
  const records = new Map<string, StoredPayload>()
  const idByUid = new Map<string, string>()

  return {
    async upsert(id, payload) {
      records.set(id, payload)
      if (payload.uid) idByUid.set(payload.uid, id)
      if (records.size <= MAX_ENTRIES) return
      const [oldest] = records.keys()
      if (oldest !== undefined) records.delete(oldest)
    },
    async find(id) {
      return records.get(id)
    },
    async findByUid(uid) {
      return records.get(idByUid.get(uid) ?? '')
    },
    async findByUserCode() {
      return undefined
    },
    async consume(id) {
      const record = records.get(id)
      if (record) record.consumed = Math.floor(Date.now() / 1000)
    },
    async destroy(id) {
      records.delete(id)
    },
    async revokeByGrantId(grantId) {
      for (const [id, record] of records) if (record.grantId === grantId) records.delete(id)
    },
  }
}

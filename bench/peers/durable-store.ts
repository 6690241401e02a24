// A durable store for the peer, on Latchkey's SQLite layer, so that both have the same durability and group commits.
// The peer decides what is stored and how often.
import type { Adapter, StoredPayload } from 'oidc-provider'
import { systemClock } from '../../src/base/clock.ts'
import { statement } from '../../src/store/database.ts'
import { openSqlite } from '../../src/store/engine/sqlite/sqlite.ts'

const CREATE = [
  `create table records (model text not null, id text not null, uid text, grant_id text, payload text not null,
     consumed integer, primary key (model, id)) strict, without rowid`,
  `create index records_by_uid on records (model, uid) where uid is not null`,
  `create index records_by_grant on records (grant_id) where grant_id is not null`,
]

interface RecordRow {
  readonly model: string
  readonly id: string
  readonly uid: string | null
  readonly grant_id: string | null
  readonly payload: string
}

type Found = Pick<RecordRow, 'payload'> & { readonly consumed: number | null }

const UPSERT = statement<RecordRow>(
  `insert into records (model, id, uid, grant_id, payload) values (:model, :id, :uid, :grant_id, :payload)
   on conflict (model, id) do update set uid = excluded.uid, grant_id = excluded.grant_id, payload = excluded.payload`,
)
const FIND = statement<{ model: string; id: string }, Found>(
  `select payload, consumed from records where model = :model and id = :id`,
)
const FIND_BY_UID = statement<{ model: string; uid: string }, Found>(
  `select payload, consumed from records where model = :model and uid = :uid`,
)
const CONSUME = statement<{ model: string; id: string; consumed: number }>(
  `update records set consumed = :consumed where model = :model and id = :id`,
)
const DESTROY = statement<{ model: string; id: string }>(`delete from records where model = :model and id = :id`)
const REVOKE = statement<{ grant_id: string }>(`delete from records where grant_id = :grant_id`)

/** Creates a new file with one table for all models of the peer; never purges. */
export async function createDurableStore(path: string): Promise<(model: string) => Adapter> {
  const onError = (error: unknown): void => console.error(error)
  const listener = { changed: () => {}, missed: () => {} }
  const db = await openSqlite(path, { clock: systemClock, listener, onError })
  for (const text of CREATE) await db.write(statement(text), {})

  const payloadOf = ([row]: readonly Found[]): StoredPayload | undefined => {
    if (!row) return undefined
    const payload: StoredPayload = JSON.parse(row.payload)
    return row.consumed === null ? payload : { ...payload, consumed: row.consumed }
  }

  return model => ({
    async upsert(id, payload) {
      const { uid = null, grantId = null } = payload
      await db.write(UPSERT, { model, id, uid, grant_id: grantId, payload: JSON.stringify(payload) })
    },
    find: async id => payloadOf(await db.read(FIND, { model, id })),
    findByUid: async uid => payloadOf(await db.read(FIND_BY_UID, { model, uid })),
    findByUserCode: () => Promise.resolve(undefined),
    async consume(id) {
      await db.write(CONSUME, { model, id, consumed: Math.floor(Date.now() / 1000) })
    },
    async destroy(id) {
      await db.write(DESTROY, { model, id })
    },
    async revokeByGrantId(grantId) {
      await db.write(REVOKE, { grant_id: grantId })
    },
  })
}

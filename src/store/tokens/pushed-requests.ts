import type { PushedRequest } from '../../model/tokens/pushed-request.ts'
import { isStorable, statement } from '../database.ts'
import type { Database } from '../database.ts'
import { insertInto, list, PUSHED_REQUEST_COLUMNS } from '../schema.ts'
import type { PushedRequestRow } from '../schema.ts'
import type { PushedRequestStore } from '../store.ts'

interface Key {
  zone_id: string
  id_digest: string
}

const INSERT = statement<PushedRequestRow>(insertInto('pushed_requests', PUSHED_REQUEST_COLUMNS))
const FIND = statement<Key, PushedRequestRow>(
  `select ${list(PUSHED_REQUEST_COLUMNS)} from pushed_requests where zone_id = :zone_id and id_digest = :id_digest`,
)
const TAKE = statement<Key>(`delete from pushed_requests where zone_id = :zone_id and id_digest = :id_digest`)
const COUNT = statement<{ zone_id: string; client_id: string; most: number }, { number: number }>(
  `select count(*) as number from (select 1 from pushed_requests
   where zone_id = :zone_id and client_id = :client_id limit :most) as kept`,
)

/** Implements `PushedRequestStore` for both databases. */
export function createPushedRequests(db: Database): PushedRequestStore {
  return {
    async insert(zoneId, request) {
      await db.write(INSERT, toRow(zoneId, request))
    },
    async find(zoneId, idDigest) {
      const [row] = await db.read(FIND, { zone_id: zoneId, id_digest: idDigest })
      return row && toRequest(row)
    },
    async take(zoneId, idDigest) {
      if (!isStorable(idDigest)) return false
      return (await db.write(TAKE, { zone_id: zoneId, id_digest: idDigest })).changes > 0
    },
    async count(zoneId, clientId, most) {
      const [row] = await db.read(COUNT, { zone_id: zoneId, client_id: clientId, most })
      return row?.number ?? 0
    },
  }
}

const toRow = (zoneId: string, request: PushedRequest): PushedRequestRow => ({
  zone_id: zoneId,
  id_digest: request.idDigest,
  client_id: request.clientId,
  parameters: request.parameters,
  is_signed: request.isSigned ? 1 : 0,
  expires_at: request.expiresAt.getTime(),
  kept_until: request.keptUntil.getTime(),
})

const toRequest = (row: PushedRequestRow): PushedRequest => ({
  zoneId: row.zone_id,
  idDigest: row.id_digest,
  clientId: row.client_id,
  parameters: row.parameters,
  isSigned: row.is_signed === 1,
  expiresAt: new Date(row.expires_at),
  keptUntil: new Date(row.kept_until),
})

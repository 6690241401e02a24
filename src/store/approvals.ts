import type { Approval } from '../model/approval.ts'
import { type Database, statement, type Transaction } from './database.ts'
import { APPROVAL_COLUMNS, type ApprovalRow, insertInto, list, updateByKey } from './schema.ts'
import type { ApprovalStore } from './store.ts'

const KEYS = ['zone_id', 'user_id', 'client_id', 'scope'] as const satisfies readonly (keyof ApprovalRow)[]
const LIST = statement<{ zone_id: string; user_id: string; client_id: string; now: number }, ApprovalRow>(
  `select ${list(APPROVAL_COLUMNS)} from approvals
   where zone_id = :zone_id and user_id = :user_id and client_id = :client_id and expires_at > :now order by scope`,
)
const LIST_OF_USER = statement<{ zone_id: string; user_id: string; now: number }, ApprovalRow>(
  `select ${list(APPROVAL_COLUMNS)} from approvals
   where zone_id = :zone_id and user_id = :user_id and expires_at > :now order by client_id, scope limit 1000`,
)
const DECIDE_AGAIN = statement<Pick<ApprovalRow, (typeof KEYS)[number] | 'status' | 'updated_at'>>(
  updateByKey('approvals', [...KEYS, 'status', 'updated_at'], KEYS),
)
const DELETE_OF_CLIENT = statement<{ zone_id: string; user_id: string; client_id: string }>(
  `delete from approvals where zone_id = :zone_id and user_id = :user_id and client_id = :client_id`,
)
const SAVE = statement<ApprovalRow>(
  `${insertInto('approvals', APPROVAL_COLUMNS)} on conflict (zone_id, user_id, client_id, scope) do update set
   status = excluded.status, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
)

/** Implements `ApprovalStore` for both databases. */
export function createApprovals(db: Database): ApprovalStore {
  return {
    async list(zoneId, userId, clientId, now) {
      const args = { zone_id: zoneId, user_id: userId, client_id: clientId, now: now.getTime() }
      return (await db.read(LIST, args)).map(toApproval)
    },
    async listOfUser(zoneId, userId, now) {
      return (await db.read(LIST_OF_USER, { zone_id: zoneId, user_id: userId, now: now.getTime() })).map(toApproval)
    },
    async decideAgain(zoneId, approvals) {
      await db.transaction(async within => {
        for (const approval of approvals) {
          const { expires_at: _, ...change } = toRow(zoneId, approval)
          await within.run(DECIDE_AGAIN, change)
        }
      })
    },
    async deleteOfClient(zoneId, userId, clientId) {
      const args = { zone_id: zoneId, user_id: userId, client_id: clientId }
      return (await db.write(DELETE_OF_CLIENT, args)).changes > 0
    },
    async save(zoneId, approvals) {
      await db.transaction(within => saveApprovals(within, zoneId, approvals))
    },
  }
}

/** Stores or replaces the decisions inside a transaction. */
export async function saveApprovals(
  within: Transaction,
  zoneId: string,
  approvals: readonly Approval[],
): Promise<void> {
  for (const approval of approvals) await within.run(SAVE, toRow(zoneId, approval))
}

const toRow = (zoneId: string, approval: Approval): ApprovalRow => ({
  zone_id: zoneId,
  user_id: approval.userId,
  client_id: approval.clientId,
  scope: approval.scope,
  status: approval.status,
  expires_at: approval.expiresAt.getTime(),
  updated_at: approval.updatedAt.getTime(),
})

/** The decision of a row. */
export const toApproval = (row: ApprovalRow): Approval => ({
  zoneId: row.zone_id,
  userId: row.user_id,
  clientId: row.client_id,
  scope: row.scope,
  status: row.status as Approval['status'], // written by toRow
  expiresAt: new Date(row.expires_at),
  updatedAt: new Date(row.updated_at),
})

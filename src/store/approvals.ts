import type { Approval } from '../model/users/approval.ts'
import { approvalFields } from '../records/approval.ts'
import type { ApprovalRow } from '../records/approval.ts'
import { rowMapping } from '../records/record.ts'
import { statement } from './database.ts'
import type { Database, Transaction } from './database.ts'
import { APPROVAL_COLUMNS, insertInto, list, updateByKey } from './schema.ts'
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
// More than a user decides on; without a limit, a caller could fill the memory with stored approvals.
const LIST_ALL_OF_USER = statement<{ zone_id: string; user_id: string }, ApprovalRow>(
  `select ${list(APPROVAL_COLUMNS)} from approvals
   where zone_id = :zone_id and user_id = :user_id order by client_id, scope limit 10000`,
)
const DECIDE_AGAIN = statement<Pick<ApprovalRow, (typeof KEYS)[number] | 'status' | 'updated_at'>>(
  updateByKey('approvals', [...KEYS, 'status', 'updated_at'], KEYS),
)
const DELETE_OF_USER = statement<{ zone_id: string; user_id: string }, ApprovalRow>(
  `delete from approvals where zone_id = :zone_id and user_id = :user_id returning ${list(APPROVAL_COLUMNS)}`,
)
const DELETE_OF_CLIENT = statement<{ zone_id: string; user_id: string; client_id: string }, ApprovalRow>(
  `delete from approvals where zone_id = :zone_id and user_id = :user_id and client_id = :client_id
   returning ${list(APPROVAL_COLUMNS)}`,
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
    async listAllOfUser(zoneId, userId) {
      return (await db.read(LIST_ALL_OF_USER, { zone_id: zoneId, user_id: userId })).map(toApproval)
    },
    async decideAgain(zoneId, approvals) {
      await db.transaction(async within => {
        for (const approval of approvals) {
          const { expires_at: _, ...change } = toRow(zoneId, approval)
          await within.run(DECIDE_AGAIN, change)
        }
      })
    },
    async replace(zoneId, { userId, clientId }, approvals) {
      const ofUser = { zone_id: zoneId, user_id: userId }
      const former = await db.transaction(async within => {
        await within.lock(`approvals ${zoneId} ${userId}`)
        const { rows } =
          clientId === undefined
            ? await within.run(DELETE_OF_USER, ofUser)
            : await within.run(DELETE_OF_CLIENT, { ...ofUser, client_id: clientId })
        await saveApprovals(within, zoneId, approvals)
        return rows
      })
      return former.map(toApproval)
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

const mapping = rowMapping(approvalFields)

/** The decision of a row. */
export const toApproval = mapping.toRecord

/** The row of the approval in this zone, regardless of the zone that the record names. */
const toRow = (zoneId: string, approval: Approval): ApprovalRow => mapping.toRow({ ...approval, zoneId })

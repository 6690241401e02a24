// Changes what a user allows clients to do: for the profile page and for `/approvals`. Each change is reported, and a
// client without any approval left loses what it holds for the user.
import type { Approval } from '../model/users/approval.ts'
import { clientsWithoutApproval } from '../model/users/approval.ts'
import { ALL_REVOKED } from '../model/audit/event.ts'
import type { Audit, AuditOrigin } from '../model/audit/event.ts'
import type { Zone } from '../model/zones/zone.ts'
import { findClientSummary } from '../token/client-summary.ts'
import { approvalFields } from '../records/approval.ts'
import { showRecord } from '../records/record.ts'
import type { AccessDeps } from './access.ts'
import { endAccessOfClient } from './access.ts'

/** Dependencies of changes of approvals. */
interface ApprovalDeps extends AccessDeps {
  readonly audit: Audit
}

/** The user whose approvals change, and the caller. */
export interface ApprovalOwner {
  readonly zone: Zone
  readonly userId: string
  readonly origin: AuditOrigin
}

/** An approval as `/approvals` and `/Users` show it. */
export const approvalToJson = (approval: Approval): Record<string, unknown> => showRecord(approvalFields, approval)

/** Replaces all approvals of the user, or those for one client, with these; atomically. */
export async function replaceApprovals(
  owner: ApprovalOwner,
  { clientId, approvals }: { readonly clientId?: string | undefined; readonly approvals: readonly Approval[] },
  deps: ApprovalDeps,
): Promise<void> {
  const { zone, userId } = owner
  const before = await deps.store.approvals.replace(zone.id, { userId, clientId }, approvals)
  await finish(owner, { before, after: approvals }, deps)
}

/**
 * Approves what is among `approvedScopes` and denies the rest of the listed scopes, or of all. Changes existing decisions only,
 * and not when they expire.
 */
export async function decideAgain(
  owner: ApprovalOwner,
  {
    clientId,
    approvedScopes,
    listedScopes,
  }: {
    readonly clientId: string
    readonly approvedScopes: ReadonlySet<string>
    readonly listedScopes?: readonly string[]
  },
  deps: ApprovalDeps,
): Promise<void> {
  const { store, clock } = deps
  const { zone, userId } = owner
  const now = clock.now()
  const before = await store.approvals.list(zone.id, userId, clientId, now)
  // Another tab may have added some since the page was shown.
  const isListed = ({ scope }: Approval): boolean => listedScopes?.includes(scope) !== false
  const changed = before.filter(isListed).map(
    (approval): Approval => ({
      ...approval,
      status: approvedScopes.has(approval.scope) ? 'APPROVED' : 'DENIED',
      updatedAt: now,
    }),
  )
  if (changed.length === 0) return
  await store.approvals.decideAgain(zone.id, changed)
  const after = [...changed, ...before.filter(approval => !isListed(approval))]
  await finish(owner, { before, after }, deps)
}

interface Change {
  readonly before: readonly Approval[]
  readonly after: readonly Approval[]
}

async function finish(owner: ApprovalOwner, change: Change, deps: ApprovalDeps): Promise<void> {
  reportDecisions(owner, change, deps)
  const { zone, userId } = owner
  for (const clientId of clientsWithoutApproval(change.before, change.after)) {
    const client = (await findClientSummary(deps.store, zone, clientId))?.client ?? { clientId }
    await endAccessOfClient(zone, { userId, client }, deps)
  }
}

/** Characters of a line in the audit trail. */
const MAX_DATA_LENGTH = 2000

/** One event for each client whose approvals change. */
export function reportDecisions(
  { zone, userId, origin }: ApprovalOwner,
  { before, after }: Change,
  { audit }: Pick<ApprovalDeps, 'audit'>,
): void {
  const decisions = Map.groupBy(after, ({ clientId }) => clientId)
  const caller = origin.clientId === undefined ? '' : `; by client ${origin.clientId}`
  for (const clientId of new Set([...before, ...after].map(approval => approval.clientId))) {
    const words = (decisions.get(clientId) ?? []).map(({ scope, status }) => `${scope} ${status}`)
    const detail = words.length === 0 ? ALL_REVOKED : words.join(', ').slice(0, MAX_DATA_LENGTH)
    const from = { ...origin, clientId }
    audit({ type: 'ApprovalModifiedEvent', zoneId: zone.id, principal: userId, ...from, data: detail + caller })
  }
}

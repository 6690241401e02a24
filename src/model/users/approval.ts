import type { ApprovalFields } from '../../records/approval.ts'

/** A user's stored decision about one scope for one client. */
export interface Approval extends ApprovalFields {}

/** Whether the decision is still valid. */
export const isCurrent = (approval: Approval, now: Date): boolean => approval.expiresAt > now

/** A decision on the approval page is valid for a month. */
export const APPROVAL_SECONDS = 30 * 86_400

/** A decision sent to an API without an expiry is valid for half an hour. */
export const REQUESTED_APPROVAL_SECONDS = 30 * 60

/** The clients that had an approval before and have none now, regardless of denials. */
export function clientsWithoutApproval(before: readonly Approval[], after: readonly Approval[]): readonly string[] {
  const approved = (approvals: readonly Approval[]): ReadonlySet<string> =>
    new Set(approvals.flatMap(({ clientId, status }) => (status === 'APPROVED' ? [clientId] : [])))
  const left = approved(after)
  return [...approved(before)].filter(clientId => !left.has(clientId))
}

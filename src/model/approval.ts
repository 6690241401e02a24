/** A person's stored decision about one scope for one client. */
export interface Approval {
  readonly zoneId: string
  readonly userId: string
  readonly clientId: string
  readonly scope: string
  readonly status: 'APPROVED' | 'DENIED'
  readonly expiresAt: Date
  readonly updatedAt: Date
}

/** Whether the decision still counts. */
export const isCurrent = (approval: Approval, now: Date): boolean => approval.expiresAt > now

/** A decision on the approval page holds for a month. */
export const APPROVAL_SECONDS = 30 * 86_400

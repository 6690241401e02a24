import type { AuditEvent, AuditOrigin } from '../model/audit/event.ts'

/** The caller of a change, for the audit trail. */
export interface Caller extends AuditOrigin {
  /** Where it is a user. */
  readonly userId?: string
  /** Whether they administer the whole server, and so may change copies of users in other zones. */
  readonly isServerAdmin?: boolean
}

/** The audit trail's facts about the caller that changed this user; a caller without a name is the user, on a page. */
export function originOf(
  principal: string,
  { userId, clientId, remoteAddress, userAgent }: Caller,
): AuditOrigin & Pick<AuditEvent, 'byOther'> {
  const isOther = userId === undefined ? clientId !== undefined : userId !== principal
  return {
    remoteAddress,
    ...(userAgent !== undefined && { userAgent }),
    ...(clientId !== undefined && { clientId }),
    ...(isOther && { byOther: true }),
    ...(isOther && userId !== undefined && { actor: userId }),
  }
}

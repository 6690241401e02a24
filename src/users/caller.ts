import type { AuditEvent, AuditOrigin } from '../model/audit/event.ts'

/** Who asks for a change, for the audit trail. */
export interface Caller extends AuditOrigin {
  /** Where it is a person. */
  readonly userId?: string
  /** Whether they administer the whole server, and so may change copies of users in other zones. */
  readonly isServerAdmin?: boolean
}

/** What the audit trail has of who changed the account of this user; a caller without a name is the person, on a page. */
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

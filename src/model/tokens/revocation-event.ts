import type { AuditEvent } from '../audit/event.ts'

/** The owner of the revoked tokens and the revoking client; `reason` for a revocation without a request. */
export interface RevocationFacts {
  /** The tokens' client; absent for all clients of the user. */
  readonly clientId?: string | undefined
  /** The tokens' user; absent for the client's own tokens and for those of all its users. */
  readonly userId?: string | undefined
  /** The calling client. */
  readonly caller: string
  readonly remoteAddress?: string | undefined
  readonly reason?: string
}

/** The audit event of a revocation, requested or caused by the reuse of a code or token. */
export function revocationEvent(zoneId: string, facts: RevocationFacts): AuditEvent {
  const { clientId, userId, caller, remoteAddress, reason } = facts
  const pairs = (client: string, user: string): string[] => [
    ...(clientId === undefined ? [] : [`${client}${clientId}`]),
    ...(userId === undefined ? [] : [`${user}${userId}`]),
  ]
  const subject = [...pairs('ClientID=', 'UserID='), `ZoneID=${zoneId}`].join(', ')
  return {
    type: 'TokenRevocationEvent',
    zoneId,
    principal: pairs('clientId:', 'userId:').join(','),
    clientId: caller,
    ...(remoteAddress !== undefined && { remoteAddress }),
    data: reason === undefined ? subject : `${subject}; ${reason}`,
  }
}

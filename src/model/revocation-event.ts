import type { AuditEvent } from './event.ts'

/** Whose tokens were revoked, by whom, and why where nobody asked for it. */
export interface RevocationFacts {
  /** Of the tokens; absent for every client of the user. */
  readonly clientId?: string | undefined
  /** Of the tokens; absent for every user of the client and for the client itself. */
  readonly userId?: string | undefined
  /** The client that called. */
  readonly caller: string
  readonly remoteAddress?: string | undefined
  readonly reason?: string
}

/** The event of a revocation, the same whether somebody asked for it or a code or token was used twice. */
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

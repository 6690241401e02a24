// Events of the audit trail that may have ended a token.
import type { AuditEventType } from '../../model/audit/event.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { auditEntryToJson } from '../../model/audit/audit-entry.ts'
import type { Claims } from '../../token/claims.ts'
import type { ExplainDeps } from './deps.ts'
import type { ExplainedEvent } from './explanation.ts'

const USER_EVENTS: readonly AuditEventType[] = [
  'TokenRevocationEvent',
  'SessionsEndedEvent',
  'PasswordChangeSuccess',
  'EmailChangedEvent',
  'UserModifiedEvent',
  'UserDeletedEvent',
  'ApprovalModifiedEvent',
  'MfaFactorRemovedEvent',
]

const OF_CLIENTS: readonly AuditEventType[] = [
  'TokenRevocationEvent',
  'SecretChangeSuccess',
  'ClientUpdateSuccess',
  'ClientDeleteSuccess',
  'ClientApprovalsDeleted',
]

const MAX_EVENTS = 10

/** Events since the token was issued, newest first; undefined where the trail is not stored. */
export async function endingEvents(
  zone: Zone,
  { claims, clientId, userId }: { claims: Claims; clientId: string | undefined; userId: string | undefined },
  { store, trail }: Pick<ExplainDeps, 'store' | 'trail'>,
): Promise<readonly ExplainedEvent[] | undefined> {
  if (!trail) return undefined
  const issuedAt = Number(claims['iat'])
  if (!Number.isSafeInteger(issuedAt)) return undefined
  await trail.flush()
  const from = new Date(issuedAt * 1000)
  const found = async (principal: string | undefined, types: readonly AuditEventType[]) =>
    principal === undefined
      ? []
      : (await store.audit.find(zone.id, { principal, types, from, count: MAX_EVENTS })).entries
  const entries = [...(await found(userId, USER_EVENTS)), ...(await found(clientId, OF_CLIENTS))]
  return entries
    .toSorted((a, b) => b.number - a.number)
    .slice(0, MAX_EVENTS)
    .map(entry => {
      const { data } = auditEntryToJson(entry)
      const { number, type, happenedAt } = entry
      return { number, type, time: new Date(happenedAt).toISOString(), ...(typeof data === 'string' && { data }) }
    })
}

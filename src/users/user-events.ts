import type { Audit, AuditEventType } from '../model/audit/event.ts'
import type { User } from '../model/users/user.ts'
import { originOf } from './caller.ts'
import type { Caller } from './caller.ts'

/** Records what was done with a user, and who did it. */
export type UserReport = (type: AuditEventType, user: User, by: Caller) => void

/** The events of users in the audit trail. */
export function createUserEvents(audit: Audit): UserReport {
  return (type, { zoneId, id, userName, origin }, by) => {
    const { userId } = by
    const facts = [`user_id=${id}`, `username=${userName}`, ...(userId === undefined ? [] : [`caller=${userId}`])]
    audit({ type, zoneId, principal: id, origin, ...originOf(id, by), data: JSON.stringify(facts) })
  }
}

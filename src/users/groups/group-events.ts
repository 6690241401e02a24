// The events of the audit trail for changes of groups.
import type { Audit, AuditEventType } from '../../model/audit/event.ts'
import type { Group } from '../../model/users/group.ts'
import type { GroupCaller } from './group-rights.ts'

/** Reports a change of the group; `facts` are added to its name. */
export type GroupReport = (
  type: AuditEventType,
  group: Group,
  change: { readonly by: GroupCaller; readonly facts?: readonly string[] },
) => void

/** One instance serves every zone. */
export const createGroupEvents =
  (audit: Audit): GroupReport =>
  (type, { zoneId, id, displayName }, { by, facts = [] }) => {
    const { userId, remoteAddress, clientId } = by
    const data = [`group_name=${displayName}`, ...facts, ...(userId === undefined ? [] : [`caller=${userId}`])]
    const origin = {
      remoteAddress,
      ...(clientId !== undefined && { clientId }),
      ...(userId !== undefined && { actor: userId }),
    }
    audit({ type, zoneId, principal: id, ...origin, data: JSON.stringify(data) })
  }

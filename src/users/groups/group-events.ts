// The events of the audit trail for changes of groups.
import type { Audit, AuditEventType } from '../../model/audit/event.ts'
import type { Group } from '../../model/users/group.ts'
import type { LostGroup, MemberChange } from '../../store/store.ts'
import type { GroupCaller } from './group-rights.ts'

/** Members that an event names. */
const MAX_REPORTED = 20

/** Reports a change of the group; `facts` are added to its name. */
export type GroupReport = (
  type: AuditEventType,
  group: Pick<Group, 'zoneId' | 'id' | 'displayName'>,
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

/** The added and the removed members, for `facts`. */
export const memberFacts = ({ add, remove }: MemberChange): readonly string[] => [
  ...(remove === 'others' ? ['members=replaced'] : factOf('removed', remove)),
  ...factOf(
    'added',
    add.map(({ memberId }) => memberId),
  ),
]

/** Records that the deletion of a zone has taken groups of the default zone from their members, all of whom are named. */
export function recordLostGroups(
  groups: readonly LostGroup[],
  { zoneId, audit, by }: { readonly zoneId: string; readonly audit: Audit; readonly by: GroupCaller },
): void {
  const report = createGroupEvents(audit)
  for (const { id, displayName, memberIds } of groups) {
    const group = { zoneId, id, displayName }
    for (let start = 0; start < memberIds.length; start += MAX_REPORTED) {
      const remove = memberIds.slice(start, start + MAX_REPORTED)
      report('GroupModifiedEvent', group, { by, facts: memberFacts({ add: [], remove }) })
    }
    report('GroupDeletedEvent', group, { by })
  }
}

const factOf = (name: string, ids: readonly string[]): readonly string[] =>
  ids.length === 0 ? [] : [`${name}=${ids.slice(0, MAX_REPORTED).join(' ')}${ids.length > MAX_REPORTED ? ' …' : ''}`]

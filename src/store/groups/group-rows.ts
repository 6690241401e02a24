// Maps groups, memberships and mappings to rows and back, and lists of ids to statements.
import type { ExternalGroup, Group, Member, Membership } from '../../model/users/group.ts'
import { groupFields } from '../../records/group.ts'
import { rowMapping } from '../../records/record.ts'
import { statement, statementOnce } from '../database.ts'
import type { Statement } from '../database.ts'
import { dateOrNull, lowerCase, timeOrNull, withoutNulls } from '../rows.ts'
import type { ExternalGroupRow, GroupMemberRow, GroupRow } from '../schema.ts'

const { toRow: toFields, toRecord } = rowMapping(groupFields)

/** The row of a group. */
export const toGroupRow = (zoneId: string, group: Group): GroupRow => ({
  ...toFields({ ...group, zoneId }),
  display_name_lower: lowerCase(group.displayName),
})

/** The group of a row. */
export const toGroup = (row: GroupRow): Group => toRecord(row)

/** The row of a membership. */
export const toMemberRow = (zoneId: string, { groupId, memberId, memberType, origin }: Membership): GroupMemberRow => ({
  zone_id: zoneId,
  group_id: groupId,
  member_id: memberId,
  member_type: memberType,
  origin,
})

/** The member of a row. */
export const toMember = (row: Pick<GroupMemberRow, 'member_id' | 'member_type' | 'origin'>): Member => ({
  memberId: row.member_id,
  memberType: row.member_type === 'GROUP' ? 'GROUP' : 'USER',
  origin: row.origin,
})

/** The row of a mapping. */
export const toExternalRow = (zoneId: string, mapping: ExternalGroup): ExternalGroupRow => ({
  zone_id: zoneId,
  group_id: mapping.groupId,
  origin: mapping.origin,
  external_group: mapping.externalGroup,
  created_at: timeOrNull(mapping.createdAt),
})

/** The mapping of a row. */
export const toExternalGroup = (row: ExternalGroupRow): ExternalGroup =>
  withoutNulls<ExternalGroup>({
    groupId: row.group_id,
    origin: row.origin,
    externalGroup: row.external_group,
    createdAt: dateOrNull(row.created_at),
  })

// Lists are padded to one of these sizes by repeating an item, so that few prepared statements suffice. The longest are planned
// each time: PostgreSQL keeps the plan of a prepared statement, and with one from when a zone had a few users, it took half a
// minute to add 20,000 members.
const LIST_SIZES = [4, 16, 64] as const
/** A longer list is split into several statements. */
const MAX_LIST_SIZE = 64

/** Arguments of a statement with a list. */
export type ListArgs = Readonly<Record<string, string | number>>

/** Makes statements with `in (…)` of up to `MAX_LIST_SIZE` items, and their arguments. */
export function withList<Row>(
  text: (placeholders: string) => string,
): (items: readonly string[]) => { readonly of: Statement<ListArgs, Row>; readonly args: ListArgs } {
  const bySize = LIST_SIZES.map(size => {
    const sized = text(Array.from({ length: size }, (_, index) => `:item_${index}`).join(', '))
    return { size, of: size < MAX_LIST_SIZE ? statement<ListArgs, Row>(sized) : statementOnce<Row>(sized) }
  })
  return items => {
    const fitting = bySize.find(({ size }) => size >= items.length)
    if (fitting === undefined || items.length === 0) throw new RangeError(`a list of ${items.length} items`)
    const args: Record<string, string> = {}
    for (let index = 0; index < fitting.size; index += 1) args[`item_${index}`] = items[index] ?? items[0] ?? ''
    return { of: fitting.of, args }
  }
}

/** Parts of a list that fit into one statement each. */
export function chunks<T>(items: readonly T[]): readonly (readonly T[])[] {
  const parts = []
  for (let start = 0; start < items.length; start += MAX_LIST_SIZE)
    parts.push(items.slice(start, start + MAX_LIST_SIZE))
  return parts
}

// Refusals of changes to groups, in the words of UAA's API.
import type { Group, Member } from '../../model/users/group.ts'
import { InvalidNesting, NoSuchMember } from '../../store/store.ts'
import { refuseResource } from '../refusal.ts'

/** The refusal of a member that the group does not have. */
export const noSuchMember = (groupId: string, memberId: string): Error =>
  refuseResource('member_not_found', `Member ${memberId} does not exist in group ${groupId}`)

/** The refusal of a name that another group has. */
export const nameTaken = ({ displayName }: Pick<Group, 'displayName'>, cause?: unknown): Error =>
  refuseResource('scim_resource_already_exists', `A group with displayName: ${displayName} already exists.`, { cause })

/** The refusal of a member of a new group, for every reason. */
export const invalidMember = ({ memberId }: Pick<Member, 'memberId'>, cause?: unknown): Error =>
  refuseResource('invalid_scim_resource', `Invalid group member: ${memberId}`, { cause })

/** The refusal of members for a group that every user is in. */
export const toDefaultGroup = (): Error =>
  refuseResource('member_already_exists', 'Trying to add member to default group')

/** The refusal of a version that the group no longer has. */
export const staleGroup = (doing: 'updating' | 'deleting', id: string): Error =>
  refuseResource('scim', `error ${doing} group: ${id}`, { status: 409 })

const NESTING_TEXTS = {
  cycle: 'it would be nested in itself',
  'too deep': 'more than 20 groups would be nested',
  'too many': 'the zone has too many nested groups',
} as const

/** The refusal of a member that the store does not accept; anything else unchanged. */
export function refusalOf(
  cause: unknown,
  { group, code }: { readonly group: string; readonly code: 'scim' | 'scim_resource_not_found' },
): unknown {
  if (cause instanceof NoSuchMember) {
    const { memberId, memberType } = cause.member
    const kind = memberType === 'USER' ? 'User' : 'Group'
    return refuseResource(code, `${kind} ${memberId} does not exist`, { cause })
  }
  if (!(cause instanceof InvalidNesting)) return cause
  const message =
    cause.problem === 'itself'
      ? 'trying to nest group within itself, aborting'
      : `The group ${cause.memberId} cannot be a member of ${group}: ${NESTING_TEXTS[cause.problem]}`
  return refuseResource('invalid_scim_resource', message, { cause })
}

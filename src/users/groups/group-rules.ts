// What the body of a request may say of a group and of its members.
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import type { Member } from '../../model/users/group.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { MAX_GROUP_TEXT } from '../../records/group.ts'
import { refuseResource } from '../refusal.ts'
import { isDefaultGroup } from './default-groups.ts'
import { invalidMember } from './group-refusals.ts'

/** The fields of a group that a caller sets. */
export interface GroupDraft {
  readonly displayName: string
  readonly description?: string | undefined
  /** Null for none; absent leaves that of an existing group. */
  readonly externalId?: string | null | undefined
}

/** Members in one request; a group may have more. */
const MAX_MEMBERS = 10_000
/** Characters of the origin of a member or a mapping. */
export const MAX_ORIGIN_LENGTH = 36

/** Refuses fields that are too long, and names that the zone does not allow. */
export function checkDraft(
  zone: Zone,
  { displayName, description = '', externalId }: GroupDraft,
  deps: { readonly service: Service; readonly behaviour: Behaviour },
): void {
  if (displayName.trim() === '') throw refuseResource('scim', 'A displayName must be provided.')
  for (const [name, value] of Object.entries({ displayName, description, externalId: externalId ?? '' })) {
    if (value.length > MAX_GROUP_TEXT) {
      throw refuseResource('scim', `The value of ${name} must have at most ${MAX_GROUP_TEXT} characters`)
    }
  }
  const allowed = zone.config.userConfig?.allowedGroups
  if (!allowed || allowed.includes(displayName) || isDefaultGroup(zone, displayName, deps)) return
  throw refuseResource(
    'invalid_scim_resource',
    `The group with displayName: ${displayName} is not allowed in Identity Zone ${zone.id}`,
  )
}

/** Refuses too many members, and those that are named twice or incompletely. */
export function checkMembers(members: readonly Member[]): void {
  if (members.length > MAX_MEMBERS) {
    throw refuseResource(
      'scim',
      `At most ${MAX_MEMBERS} members can be sent at once; add the others in further requests`,
    )
  }
  const seen = new Set<string>()
  for (const member of members) {
    if (member.memberId === '' || member.origin === '' || seen.has(member.memberId)) throw invalidMember(member)
    if (member.origin.length > MAX_ORIGIN_LENGTH) {
      throw refuseResource('scim', `The value of origin must have at most ${MAX_ORIGIN_LENGTH} characters`)
    }
    seen.add(member.memberId)
  }
}

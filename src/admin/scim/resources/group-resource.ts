// Maps a group to a SCIM resource and back.
import { isJsonRecord, memberOf } from '../../../base/json.ts'
import type { Group, MemberType } from '../../../model/users/group.ts'
import type { MemberRecord } from '../../../store/store.ts'
import type { Json } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { metaOf } from '../meta.ts'
import { shown } from '../requests/reader.ts'
import { GROUP, OWN_GROUP } from '../schemas/schemas.ts'

/** The part of a group that a resource represents. */
export interface GroupDefinition {
  readonly displayName: string
  readonly description?: string
  readonly externalId?: string
  /** In their order, each id once. */
  readonly members: readonly SentMember[]
}

/** A member as it was sent; without a type it is a user or a group. */
export interface SentMember {
  readonly memberId: string
  readonly memberType?: MemberType
}

/** Everything but the members. */
export const groupToJson = (group: Group, base: string): Json & { readonly id: string } => ({
  schemas: [GROUP.schema.id, ...(group.description === undefined ? [] : [OWN_GROUP])],
  id: group.id,
  ...(group.externalId !== undefined && { externalId: group.externalId }),
  displayName: group.displayName,
  ...(group.description !== undefined && { [OWN_GROUP]: { description: group.description } }),
  meta: metaOf(group, GROUP, base),
})

const TYPES = {
  USER: { type: 'User', endpoint: 'Users' },
  GROUP: { type: 'Group', endpoint: 'Groups' },
} as const

/** A member in a response; with its name only if the record was read. */
export function memberToJson({ member, user, group }: MemberRecord, base: string): Json {
  const { type, endpoint } = TYPES[member.memberType]
  const display = user ? (user.profile?.displayName ?? user.userName) : group?.displayName
  return {
    value: member.memberId,
    $ref: `${base}/${endpoint}/${encodeURIComponent(member.memberId)}`,
    type,
    ...(display !== undefined && { display }),
  }
}

/** Converts a parsed or patched resource. Throws `ScimError`. */
export function groupDefinitionOf(resource: Json): GroupDefinition {
  const { displayName, externalId, members } = resource
  const description = memberOf(resource[OWN_GROUP], 'description')
  if (typeof displayName !== 'string') throw new ScimError('invalidValue', 'displayName is required')
  const list: readonly unknown[] = Array.isArray(members) ? members : []
  const byId = new Map<string, SentMember>()
  for (const member of list.map(memberOfGroup)) byId.set(member.memberId, member)
  return {
    displayName,
    ...(typeof description === 'string' && { description }),
    ...(typeof externalId === 'string' && { externalId }),
    members: [...byId.values()],
  }
}

function memberOfGroup(member: unknown): SentMember {
  const { value, type, $ref: reference } = isJsonRecord(member) ? member : {}
  const [, folder, id] = typeof reference === 'string' ? (/(?:^|\/)(Users|Groups)\/([^/]+)$/.exec(reference) ?? []) : []
  const memberId = typeof value === 'string' ? value : id
  if (memberId === undefined || memberId === '') throw new ScimError('invalidValue', 'members.value is required')
  const named = typeof type === 'string' ? type.toLowerCase() : folder?.slice(0, -1).toLowerCase()
  if (named === undefined) return { memberId }
  if (named === 'user') return { memberId, memberType: 'USER' }
  if (named === 'group') return { memberId, memberType: 'GROUP' }
  throw new ScimError('invalidValue', `members.type must be User or Group, and not ${shown(named)}`)
}

import type { GroupFields } from '../../records/group.ts'

/** A named set of users and groups; its name is the scope that its members may receive in tokens. */
export interface Group extends GroupFields {}

/** What a member of a group is. */
export type MemberType = 'USER' | 'GROUP'

/** A member of a group; `origin` is the provider that owns the membership. */
export interface Member {
  readonly memberId: string
  readonly memberType: MemberType
  readonly origin: string
}

/** A user or a group in a group. */
export interface Membership extends Member {
  readonly groupId: string
}

/** A mapping from a group of an external provider to a group here. */
export interface ExternalGroup {
  readonly groupId: string
  /** Lower case. */
  readonly externalGroup: string
  readonly origin: string
  /** Absent where it was made before that was kept. */
  readonly createdAt?: Date
}

/** The names that no group has, ignoring case. */
export function missingGroups(
  names: readonly string[],
  groups: readonly { readonly displayName: string }[],
): readonly string[] {
  const existing = new Set(groups.map(({ displayName }) => displayName.toLowerCase()))
  return names.filter(name => !existing.has(name.toLowerCase()))
}

// The part of the store's interface that is about groups.
import type { ExternalGroup, Group, Member, Membership } from '../../model/users/group.ts'
import type { User } from '../../model/users/user.ts'
import type { CursorPage, CursorQuery, ListQuery, NamedAttributes, Page } from '../list-query.ts'

/** Thrown by a write that would add a member which the zone does not have, or not as this type. */
export class NoSuchMember extends Error {
  override name = 'NoSuchMember'
  readonly member: Pick<Member, 'memberId' | 'memberType'>
  constructor({ memberId, memberType }: Pick<Member, 'memberId' | 'memberType'>) {
    super(`there is no ${memberType} with the id ${memberId}`)
    this.member = { memberId, memberType }
  }
}

/** Thrown by a write that would put a group where it cannot be. */
export class InvalidNesting extends Error {
  override name = 'InvalidNesting'
  readonly problem: 'itself' | 'cycle' | 'too deep' | 'too many'
  /** The group that was to be a member. */
  readonly memberId: string
  constructor(problem: InvalidNesting['problem'], memberId: string) {
    super(`the group ${memberId} cannot be a member: ${problem}`)
    this.problem = problem
    this.memberId = memberId
  }
}

/** Groups, their members, and the mappings of external groups; not cached. */
export interface GroupStore {
  find(zoneId: string, id: string): Promise<Group | undefined>
  /** By name, case-insensitive. */
  findByName(zoneId: string, displayName: string): Promise<Group | undefined>
  /** The groups among these names that exist; for the descriptions on the approval page. */
  findByNames(zoneId: string, displayNames: readonly string[]): Promise<readonly Group[]>
  /** Throws `InvalidFilter` for an unsupported attribute or value. */
  list(zoneId: string, query: ListQuery & NamedAttributes): Promise<Page<Group>>
  /** A group that exists throughout and keeps the sort attribute is on exactly one page. Throws as `list`. */
  page(zoneId: string, query: CursorQuery & NamedAttributes): Promise<CursorPage<Group>>
  /** The group with its members, in one transaction. Throws `AlreadyExists` for a name that is taken, and as `change` does. */
  insert(zoneId: string, group: Group, members?: readonly Member[]): Promise<void>
  /** Adds the groups whose names the zone does not have yet. */
  insertMissing(zoneId: string, groups: readonly Group[]): Promise<void>
  /** Replaces the record, regardless of its version. */
  update(zoneId: string, group: Group): Promise<void>
  /**
   * Replaces the record, raises its version and changes its members, in one transaction. Throws `ChangedMeanwhile` unless
   * `group.version` is the stored one, `AlreadyExists` when the name is taken, `NoSuchMember` and `InvalidNesting`.
   */
  change(zoneId: string, group: Group, members: MemberChange): Promise<void>
  /**
   * Deletes the group, its memberships in both directions and its mappings, in one transaction. Throws `ChangedMeanwhile`
   * unless the group has this version.
   */
  delete(zoneId: string, id: string, version: number): Promise<void>

  findMember(zoneId: string, groupId: string, memberId: string): Promise<Member | undefined>
  /** The members after the id `after`, in the order of their ids. */
  listMembers(zoneId: string, groupId: string, page: MemberPage): Promise<readonly Member[]>
  /** The same with the record of each, which is absent when it was deleted meanwhile. */
  listMemberRecords(zoneId: string, groupId: string, page: MemberPage): Promise<readonly MemberRecord[]>
  /** At most `count` memberships of these groups (64 at most), in the order of group and member. */
  listMembersOfGroups(zoneId: string, groupIds: readonly string[], count: number): Promise<readonly Membership[]>
  /**
   * Adds one member; `same` when it was one already, `missing` without the group. Throws `NoSuchMember` and
   * `InvalidNesting`.
   */
  insertMember(zoneId: string, membership: Membership): Promise<'added' | 'same' | 'missing'>
  /** Adds several in one transaction and returns how many were none before; throws as `insertMember`. */
  insertMembers(zoneId: string, groupId: string, members: readonly Member[]): Promise<number | 'missing'>
  /** Adds a member that is known to exist, if it is not one yet; even a cycle, which an earlier version may have left. */
  addMember(zoneId: string, membership: Membership): Promise<void>
  /** Undefined when it was no member. */
  removeMember(zoneId: string, groupId: string, memberId: string): Promise<Member | undefined>

  /** Names of the user's groups, direct and nested. */
  namesOfUser(zoneId: string, userId: string): Promise<readonly string[]>
  /** The groups among these that accounts of the origin are in, or that mappings of it lead to, directly or through others. */
  reachedFrom(zoneId: string, groupIds: ReadonlySet<string>, origin: string): Promise<ReadonlySet<string>>
  /** The groups that this one is in, directly or through others. */
  listOuter(zoneId: string, id: string): Promise<readonly Group[]>

  /** Names of the groups that each of these is in, directly or through others. */
  listOuterNames(
    zoneId: string,
    ids: readonly string[],
  ): Promise<readonly { readonly inner: string; readonly displayName: string }[]>

  /** The groups that the user is a member of, each with the owner of the membership. */
  listDirect(zoneId: string, userId: string): Promise<readonly Pick<Membership, 'groupId' | 'origin'>[]>
  /**
   * Changes those that the provider of this origin owns, in one transaction. What is not there (any more) is left out, and a
   * membership that the user has otherwise stays as it is.
   */
  changeOwned(
    zoneId: string,
    of: { readonly userId: string; readonly origin: string },
    change: { readonly remove: readonly string[]; readonly add: readonly string[] },
  ): Promise<void>
  /** The groups that any of these external groups, in lower case, is mapped to. */
  findMapped(zoneId: string, origin: string, externalGroups: readonly string[]): Promise<readonly NamedGroup[]>
  /**
   * Mappings that `findMapped` may miss if they are DNs: with escapes, several values in a name, or spaces that do not count.
   */
  listOddlyMapped(zoneId: string, origin: string): Promise<readonly (NamedGroup & { readonly externalGroup: string })[]>

  /** Adds a mapping if it does not exist yet. */
  addExternal(zoneId: string, mapping: ExternalGroup): Promise<void>
  findExternal(zoneId: string, mapping: ExternalGroup): Promise<ExternalGroup | undefined>
  /** False when there was none. */
  deleteExternal(zoneId: string, mapping: ExternalGroup): Promise<boolean>
  /** Mapped groups that fit, in the order of external group and name; case counts. */
  listExternal(zoneId: string, query: ExternalGroupQuery): Promise<Page<MappedGroup>>
}

/** A group as far as a sign-in needs it. */
export type NamedGroup = Pick<Group, 'id' | 'displayName'>

/** What happens to the members of a group. */
export interface MemberChange {
  /** Ids that are members no longer; `others` are all that are not in `add`. */
  readonly remove: readonly string[] | 'others'
  /** Members of this type already stay as they are. Each id once. */
  readonly add: readonly Member[]
  /** Whether nobody is added: those of `add` that are no members, or no longer, stay out. */
  readonly addsNone?: boolean
}

/** A page of members. */
export interface MemberPage {
  readonly after?: string | undefined
  readonly count: number
}

/** A member with its record. */
export interface MemberRecord {
  readonly member: Member
  readonly user?: User
  readonly group?: Group
}

/** A mapping with the name of its group. */
interface MappedGroup extends ExternalGroup {
  readonly displayName: string
}

/** Which mappings to list. */
interface ExternalGroupQuery {
  readonly origin?: string | undefined
  readonly externalGroup?: string | undefined
  /** From 1. */
  readonly startIndex: number
  readonly count: number
}

// Creates, changes and deletes groups for every API: the rules of names and members, the rights of callers, one
// transaction for each operation, and the audit trail after it. Independent of HTTP.
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/audit/event.ts'
import type { Group, Member } from '../../model/users/group.ts'
import type { Service } from '../../model/service.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { MAX_GROUP_TEXT } from '../../records/group.ts'
import { AlreadyExists, ChangedMeanwhile, InvalidNesting, NoSuchMember } from '../../store/store.ts'
import type { MemberChange, Store } from '../../store/store.ts'
import { defaultGroupsOf, newGroup } from './default-groups.ts'
import { createGroupEvents } from './group-events.ts'
import { createGroupMappings, MAX_ORIGIN_LENGTH } from './group-mappings.ts'
import type { GroupMappings } from './group-mappings.ts'
import type { GroupCaller, GroupRights } from './group-rights.ts'
import { createGroupRights } from './group-rights.ts'
import { invalidMember, nameTaken, noSuchMember, refusalOf, staleGroup, toDefaultGroup } from './group-refusals.ts'
import { noSuchResource, tooManyConflicts, refuseResource } from '../refusal.ts'

/** The fields of a group that a caller sets. */
interface GroupDraft {
  readonly displayName: string
  readonly description?: string | undefined
  /** Null for none; absent leaves that of an existing group. */
  readonly externalId?: string | null | undefined
}

/** A group to be made. */
interface NewGroup extends GroupDraft {
  readonly members: readonly Member[]
  /** UAA: the body may set the first version of a group. */
  readonly version?: number | undefined
}

/** A change of one group. */
export interface GroupChange {
  /** The version that it may replace; absent for any version. */
  readonly expected?: number | undefined
  readonly by: GroupCaller
}

/** Groups of every zone. All of it throws `OAuthError`, with the codes of UAA's API. */
export interface Groups extends GroupMappings {
  create(zone: Zone, group: NewGroup, by: GroupCaller): Promise<Group>
  /** Replaces what `compute` gives; it may run again if others change the group meanwhile. */
  change(
    zone: Zone,
    id: string,
    compute: (group: Group) => GroupDraft & { readonly members: MemberChange },
    change: GroupChange,
  ): Promise<Group>
  /** Deletes the group with its memberships and mappings, and returns its last state; members are not among it. */
  delete(zone: Zone, id: string, change: GroupChange): Promise<Group>
  addMember(zone: Zone, groupId: string, member: Member, by: GroupCaller): Promise<Member>
  removeMember(zone: Zone, groupId: string, memberId: string, by: GroupCaller): Promise<Member>
}

/** Dependencies of `createGroups`. */
export interface GroupDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** A change is computed again this often when others are faster. */
const MAX_ATTEMPTS = 8
/** Of one request; a group may have more. */
const MAX_MEMBERS = 10_000
/** Members that an event names. */
const MAX_REPORTED = 20

/** One instance serves every zone. */
export function createGroups(deps: GroupDeps): Groups {
  const { store, clock, random, audit } = deps
  const rights: GroupRights = createGroupRights(deps)
  const report = createGroupEvents(audit)

  async function find(zone: Zone, id: string): Promise<Group> {
    const group = await store.groups.find(zone.id, id)
    if (!group) throw noSuchResource('Group', id)
    return group
  }

  const isDefault = (zone: Zone, name: string): boolean =>
    defaultGroupsOf(zone, deps).some(each => each.toLowerCase() === name.toLowerCase())

  function checkDraft(zone: Zone, { displayName, description = '', externalId }: GroupDraft): void {
    if (displayName.trim() === '') throw refuseResource('scim', 'A displayName must be provided.')
    for (const [name, value] of Object.entries({ displayName, description, externalId: externalId ?? '' })) {
      if (value.length > MAX_GROUP_TEXT) {
        throw refuseResource('scim', `The value of ${name} must have at most ${MAX_GROUP_TEXT} characters`)
      }
    }
    const allowed = zone.config.userConfig?.allowedGroups
    if (!allowed || allowed.includes(displayName) || isDefault(zone, displayName)) return
    throw refuseResource(
      'invalid_scim_resource',
      `The group with displayName: ${displayName} is not allowed in Identity Zone ${zone.id}`,
    )
  }

  async function checkAdditions(
    zone: Zone,
    group: Group,
    { add, by }: { readonly add: readonly Member[]; readonly by: GroupCaller },
  ): Promise<void> {
    if (add.length === 0) return
    if (isDefault(zone, group.displayName)) throw toDefaultGroup()
    if (await rights.mayGive(zone, group, by)) return
    // Callers who may not add members may list existing ones again.
    for (const { memberId } of add) {
      if (!(await store.groups.findMember(zone.id, group.id, memberId))) await rights.checkGroup(zone, group, by)
    }
  }

  async function attempt(
    zone: Zone,
    id: string,
    { compute, expected, by }: GroupChange & { readonly compute: Parameters<Groups['change']>[2] },
  ): Promise<Group> {
    const before = await find(zone, id)
    if (expected !== undefined && before.version !== expected) throw staleGroup('updating', id)
    const { members, ...draft } = compute(before)
    checkDraft(zone, draft)
    checkMembers(members.add)
    if (draft.displayName !== before.displayName) {
      rights.checkNames(zone, [before.displayName, draft.displayName], by)
    }
    const { description: _, externalId: current, ...kept } = before
    const { displayName, description, externalId = current } = draft
    const after: Group = {
      ...kept,
      displayName,
      ...(description !== undefined && { description }),
      ...(externalId !== undefined && externalId !== null && { externalId }),
      updatedAt: clock.now(),
    }
    await checkAdditions(zone, after, { add: members.add, by })
    await store.groups.change(zone.id, after, members)
    const written = { ...after, version: before.version + 1 }
    report('GroupModifiedEvent', written, { by, facts: memberFacts(members) })
    return written
  }

  return {
    ...createGroupMappings({ store, clock, rights, report }),

    async create(zone, { members, version = 0, ...draft }, by) {
      checkDraft(zone, draft)
      if (await store.groups.findByName(zone.id, draft.displayName)) throw nameTaken(draft)
      rights.checkNames(zone, [draft.displayName], by)
      checkMembers(members)
      const [first] = members
      if (first && isDefault(zone, draft.displayName)) throw invalidMember(first)
      const made = { id: random.uuid(), now: clock.now() }
      const group = { ...newGroup({ ...draft, zoneId: zone.id }, made), version }
      try {
        await store.groups.insert(zone.id, group, members)
      } catch (cause) {
        if (cause instanceof NoSuchMember) throw invalidMember(cause.member, cause)
        if (cause instanceof InvalidNesting) throw invalidMember(cause, cause)
        throw cause instanceof AlreadyExists ? nameTaken(draft, cause) : cause
      }
      report('GroupCreatedEvent', group, { by, facts: memberFacts({ add: members, remove: [] }) })
      return group
    },

    async change(zone, id, compute, { expected, by }) {
      for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
        try {
          return await attempt(zone, id, { compute, expected, by })
        } catch (cause) {
          if (cause instanceof ChangedMeanwhile) continue
          if (cause instanceof AlreadyExists) {
            const { displayName } = compute(await find(zone, id))
            const message = `A group with displayName: ${displayName} already exists`
            throw refuseResource('invalid_scim_resource', message, { cause })
          }
          throw refusalOf(cause, { group: id, code: 'scim' })
        }
      }
      throw tooManyConflicts('group', id)
    },

    async delete(zone, id, { expected, by }) {
      for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
        const group = await find(zone, id)
        if (expected !== undefined && group.version !== expected) throw staleGroup('deleting', id)
        try {
          await store.groups.delete(zone.id, id, group.version)
        } catch (cause) {
          if (cause instanceof ChangedMeanwhile) continue
          throw cause
        }
        report('GroupDeletedEvent', group, { by })
        return group
      }
      throw tooManyConflicts('group', id)
    },

    async addMember(zone, groupId, member, by) {
      const group = await find(zone, groupId)
      if (member.memberId === '' || member.origin === '') {
        const message = 'group-id, member-id, origin and member-type must be non-empty'
        throw refuseResource('invalid_scim_resource', message)
      }
      checkMembers([member])
      if (isDefault(zone, group.displayName)) throw toDefaultGroup()
      await rights.checkGroup(zone, group, by)
      const outcome = await store.groups
        .insertMember(zone.id, { ...member, groupId })
        .catch((cause: unknown): never => {
          throw refusalOf(cause, { group: groupId, code: 'scim_resource_not_found' })
        })
      if (outcome === 'missing') throw noSuchResource('Group', groupId)
      if (outcome === 'same') {
        const message = `${member.memberId} is already part of the group: ${groupId}`
        throw refuseResource('member_already_exists', message)
      }
      report('GroupModifiedEvent', group, { by, facts: memberFacts({ add: [member], remove: [] }) })
      return member
    },

    async removeMember(zone, groupId, memberId, by) {
      const group = await store.groups.find(zone.id, groupId)
      const removed = group && (await store.groups.removeMember(zone.id, groupId, memberId))
      if (!removed) throw noSuchMember(groupId, memberId)
      report('GroupModifiedEvent', group, { by, facts: memberFacts({ add: [], remove: [memberId] }) })
      return removed
    },
  }
}

function checkMembers(members: readonly Member[]): void {
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

const memberFacts = ({ add, remove }: MemberChange): readonly string[] => [
  ...(remove === 'others' ? ['members=replaced'] : factOf('removed', remove)),
  ...factOf(
    'added',
    add.map(({ memberId }) => memberId),
  ),
]

const factOf = (name: string, ids: readonly string[]): readonly string[] =>
  ids.length === 0 ? [] : [`${name}=${ids.slice(0, MAX_REPORTED).join(' ')}${ids.length > MAX_REPORTED ? ' …' : ''}`]

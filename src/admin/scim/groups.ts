// The groups of SCIM, over the records and rules that every API of groups shares. Members are read and changed by their ids,
// and never all of them unless a request is about all.
import { mapInBatches } from '../../base/in-batches.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Group, Member } from '../../model/users/group.ts'
import type { Service } from '../../model/service.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { CursorPage, MemberChange, MemberRecord, Page, Store } from '../../store/store.ts'
import type { Groups } from '../../users/groups/groups.ts'
import { noSuchResource, tooManyConflicts } from '../../users/refusal.ts'
import { namesOf } from './attribute.ts'
import type { Json } from './attribute.ts'
import { ScimError } from './error.ts'
import { groupDefinitionOf, groupToJson, memberToJson } from './group-resource.ts'
import type { GroupDefinition, SentMember } from './group-resource.ts'
import { neededMembers } from './member-operations.ts'
import type { Condition } from './meta.ts'
import { checkMatch } from './meta.ts'
import { readOperations } from './patch-operations.ts'
import { applyPatch } from './patch.ts'
import { readResource } from './reader.ts'
import type { Change, Context, Resource, Resources } from './resources.ts'
import { GROUP } from './schemas.ts'
import type { Selection } from './selection.ts'

/** Dependencies of groups. */
export interface ScimGroupDeps {
  readonly store: Store
  readonly groups: Groups
  readonly service: Service
}

/** Members that are read at a time. */
const MEMBERS_PER_PAGE = 500
/** Of all groups on a page of a list. */
const MAX_MEMBERS_OF_LIST = 10_000
/** As many as a request can have; for filters that are not about ids. */
const MAX_MEMBERS_TO_FILTER = 10_000
/** Number of groups whose members the store reads at once. */
const GROUPS_AT_ONCE = 64
const MAX_ATTEMPTS = 8

/** One instance serves every zone. */
export function createScimGroups({ store, groups, service }: ScimGroupDeps): Resources {
  const names = namesOf(GROUP)

  async function* membersOf(
    { zone, base }: Context,
    id: string,
    selection: Selection,
  ): AsyncGenerator<readonly unknown[]> {
    const showsNames = selection.wants('members', 'display')
    let after: string | undefined
    for (;;) {
      const page = { count: MEMBERS_PER_PAGE, after }
      const records: readonly MemberRecord[] = showsNames
        ? await store.groups.listMemberRecords(zone.id, id, page)
        : (await store.groups.listMembers(zone.id, id, page)).map(member => ({ member }))
      yield listIn(selection.of({ members: records.map(record => memberToJson(record, base)) }))
      after = records.at(-1)?.member.memberId
      if (records.length < MEMBERS_PER_PAGE) return
    }
  }

  /** The group with its members, which are read when they are sent. */
  function shownOne(context: Context, group: Group, selection: Selection): Resource {
    const json = groupToJson(group, context.base)
    const members = selection.wants('members') && { name: 'members', pages: membersOf(context, group.id, selection) }
    const { id, version } = group
    return { id, version, json: selection.of(json), isOfVersion: !members, ...(members && { list: members }) }
  }

  /** The groups of a list with their members, which must not be too many. */
  async function shown(
    { zone, base }: Context,
    records: readonly Group[],
    selection: Selection,
  ): Promise<readonly Resource[]> {
    const byGroup = new Map<string, Json[]>()
    let count = 0
    for (let start = 0; selection.wants('members') && start < records.length; start += GROUPS_AT_ONCE) {
      const ids = records.slice(start, start + GROUPS_AT_ONCE).map(({ id }) => id)
      const found = await store.groups.listMembersOfGroups(zone.id, ids, MAX_MEMBERS_OF_LIST - count + 1)
      count += found.length
      if (count > MAX_MEMBERS_OF_LIST) {
        throw new ScimError('tooMany', 'The groups have too many members: ask with excludedAttributes=members')
      }
      for (const { groupId, ...member } of found) {
        const members = byGroup.get(groupId)
        const json = memberToJson({ member }, base)
        if (members) members.push(json)
        else byGroup.set(groupId, [json])
      }
    }
    return records.map(group => {
      const members = byGroup.get(group.id)
      const json = { ...groupToJson(group, base), ...(members && { members }) }
      return { id: group.id, version: group.version, json: selection.of(json), isOfVersion: members === undefined }
    })
  }

  async function find({ id: zoneId }: Zone, id: string): Promise<Group> {
    const group = await store.groups.find(zoneId, id)
    if (!group) throw noSuchResource('Group', id)
    return group
  }

  /** The members with their types; a member of this API belongs to the accounts kept here. */
  const typed = (zone: Zone, members: readonly SentMember[]): Promise<readonly Member[]> =>
    mapInBatches(members, async ({ memberId, memberType }) => ({
      memberId,
      memberType: memberType ?? ((await store.groups.find(zone.id, memberId)) ? 'GROUP' : 'USER'),
      origin: service.name,
    }))

  /** Computes a change of the group as it is, again if others were faster. */
  async function change(
    { zone, by }: Context,
    { id, condition }: Pick<Change, 'id' | 'condition'>,
    compute: (group: Group) => Promise<{ readonly definition: GroupDefinition; readonly members: MemberChange }>,
  ): Promise<Group> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const group = await find(zone, id)
      checkMatch(condition, group.version)
      const { definition, members } = await compute(group)
      if (isSame(group, definition) && members.add.length === 0 && members.remove.length === 0) return group
      const { displayName, description, externalId = null } = definition
      try {
        return await groups.change(zone, id, () => ({ displayName, description, externalId, members }), {
          expected: group.version,
          by,
        })
      } catch (cause) {
        if (!isStale(cause)) throw cause
      }
    }
    throw tooManyConflicts('group', id)
  }

  return {
    names,

    async read(context, id, selection) {
      return shownOne(context, await find(context.zone, id), selection)
    },

    async list(context, query, selection): Promise<Page<Resource>> {
      const { records, totalResults } = await store.groups.list(context.zone.id, { ...query, dialect: 'scim' })
      return { records: await shown(context, records, selection), totalResults }
    },

    async page(context, query, selection): Promise<CursorPage<Resource>> {
      const { records, ...positions } = await store.groups.page(context.zone.id, { ...query, dialect: 'scim' })
      return { ...positions, records: await shown(context, records, selection) }
    },

    async create(context, body, selection) {
      const { members, ...draft } = groupDefinitionOf(readResource(names, body))
      const { zone, by } = context
      const group = await groups.create(zone, { ...draft, members: await typed(zone, members) }, by)
      return shownOne(context, group, selection)
    },

    async replace(context, { body, selection, ...request }) {
      const definition = groupDefinitionOf(readResource(names, body))
      const group = await change(context, request, async () => ({
        definition,
        members: { remove: 'others', add: await typed(context.zone, definition.members) },
      }))
      return shownOne(context, group, selection)
    },

    async patch(context, { body, selection, ...request }) {
      const { zone, base } = context
      const operations = readOperations(names, body)
      const needed = neededMembers(names, operations)
      const group = await change(context, request, async current => {
        const before = await loadMembers(zone, current.id, needed.ids)
        const shownBefore = before.map(member => memberToJson({ member }, base))
        const resource = { ...groupToJson(current, base), ...(shownBefore.length > 0 && { members: shownBefore }) }
        const definition = groupDefinitionOf(applyPatch(names, resource, operations))
        const after = new Set(definition.members.map(({ memberId }) => memberId))
        const memberIds = new Set(before.map(({ memberId }) => memberId))
        const added = needed.isReplaced
          ? definition.members
          : definition.members.filter(each => !memberIds.has(each.memberId))
        const removed = before.flatMap(({ memberId }) => (after.has(memberId) ? [] : [memberId]))
        return {
          definition,
          members: { remove: needed.isReplaced ? 'others' : removed, add: await typed(zone, added) },
        }
      })
      return shownOne(context, group, selection)
    },

    async delete({ zone, by }, id, condition: Condition) {
      const { version } = await find(zone, id)
      checkMatch(condition, version)
      await groups.delete(zone, id, { by, ...(condition !== undefined && { expected: version }) })
    },
  }

  /** The members with these ids, or all of them. */
  async function loadMembers(zone: Zone, id: string, ids: readonly string[] | 'all'): Promise<readonly Member[]> {
    if (ids === 'all') {
      const members = await store.groups.listMembers(zone.id, id, { count: MAX_MEMBERS_TO_FILTER + 1 })
      if (members.length <= MAX_MEMBERS_TO_FILTER) return members
      throw new ScimError('tooMany', 'The group has too many members for a filter: name them by members[value eq "…"]')
    }
    const found = await mapInBatches(ids, memberId => store.groups.findMember(zone.id, id, memberId))
    return found.filter(member => member !== undefined)
  }
}

const listIn = ({ members }: Json): readonly unknown[] => (Array.isArray(members) ? members : [])

const isSame = (group: Group, { displayName, description, externalId }: GroupDefinition): boolean =>
  group.displayName === displayName && group.description === description && group.externalId === externalId

/** Whether the group was changed since its version was read; that of the condition, if there is one, is checked again. */
const isStale = (cause: unknown): boolean =>
  cause instanceof OAuthError && cause.status === 409 && cause.error === 'scim'

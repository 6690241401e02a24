// The groups of SCIM, over the records and rules that every API of groups shares. Members are read and changed by their ids,
// and never all of them unless the request concerns all.
import { OAuthError } from '../../../model/oauth-error.ts'
import type { Group } from '../../../model/users/group.ts'
import type { Service } from '../../../model/service.ts'
import type { Zone } from '../../../model/zones/zone.ts'
import type { CursorPage, MemberChange, Page, Store } from '../../../store/store.ts'
import type { Groups } from '../../../users/groups/groups.ts'
import { noSuchResource, tooManyConflicts } from '../../../users/refusal.ts'
import { namesOf } from '../schemas/attribute.ts'
import { createGroupMembers } from './group-members.ts'
import { groupDefinitionOf, groupToJson, memberToJson } from './group-resource.ts'
import type { GroupDefinition } from './group-resource.ts'
import { neededMembers } from '../patch/member-operations.ts'
import type { NeededMembers } from '../patch/member-operations.ts'
import type { Condition } from '../meta.ts'
import { checkMatch } from '../meta.ts'
import { readOperations } from '../patch/patch-operations.ts'
import type { Operation } from '../patch/patch-operations.ts'
import { applyPatch } from '../patch/patch.ts'
import { readResource } from '../requests/reader.ts'
import type { Change, Context, Resource, Resources } from './resources.ts'
import { GROUP } from '../schemas/schemas.ts'
import type { Selection } from '../requests/selection.ts'

/** Dependencies of groups. */
export interface ScimGroupDeps {
  readonly store: Store
  readonly groups: Groups
  readonly service: Service
}

const MAX_ATTEMPTS = 8

interface ComputedChange {
  readonly definition: GroupDefinition
  readonly memberChange: MemberChange
}

/** One instance serves every zone. */
export function createScimGroups({ store, groups, service }: ScimGroupDeps): Resources {
  const names = namesOf(GROUP)
  const members = createGroupMembers({ store, service })

  /** The group with its members, which are read when they are sent. */
  function shownOne(context: Context, group: Group, selection: Selection): Resource {
    const json = groupToJson(group, context.base)
    const { id, version } = group
    const resource = { id, version, json: selection.of(json) }
    if (!selection.wants('members')) return { ...resource, isOfVersion: true }
    const list = { name: 'members', pages: members.pages(context, id, selection) }
    return { ...resource, isOfVersion: false, list }
  }

  /** The groups of a list with their members, which must not be too many. */
  async function shown(
    { zone, base }: Context,
    records: readonly Group[],
    selection: Selection,
  ): Promise<readonly Resource[]> {
    const byGroup = selection.wants('members') ? await members.ofGroups(zone, records) : undefined
    return records.map(group => {
      const own = byGroup?.get(group.id)?.map(member => memberToJson({ member }, base))
      const json = { ...groupToJson(group, base), ...(own && { members: own }) }
      return { id: group.id, version: group.version, json: selection.of(json), isOfVersion: own === undefined }
    })
  }

  async function find({ id: zoneId }: Zone, id: string): Promise<Group> {
    const group = await store.groups.find(zoneId, id)
    if (!group) throw noSuchResource('Group', id)
    return group
  }

  /** Computes a change of the current group; repeats it after concurrent changes. */
  async function change(
    { zone, by }: Context,
    { id, condition }: Pick<Change, 'id' | 'condition'>,
    compute: (group: Group) => Promise<ComputedChange>,
  ): Promise<Group> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const group = await find(zone, id)
      checkMatch(condition, group.version)
      const { definition, memberChange } = await compute(group)
      if (isSame(group, definition) && memberChange.add.length === 0 && memberChange.remove.length === 0) return group
      const { displayName, description, externalId = null } = definition
      try {
        return await groups.change(zone, id, () => ({ displayName, description, externalId, members: memberChange }), {
          expected: group.version,
          by,
        })
      } catch (cause) {
        if (!isStale(cause)) throw cause
      }
    }
    throw tooManyConflicts('group', id)
  }

  /** Reads only the members that the operations concern. */
  async function patched(
    { zone, base }: Context,
    group: Group,
    { operations, needed }: { readonly operations: readonly Operation[]; readonly needed: NeededMembers },
  ): Promise<ComputedChange> {
    const before = await members.load(zone, group.id, needed.ids)
    const sent = before.map(member => memberToJson({ member }, base))
    const resource = { ...groupToJson(group, base), ...(sent.length > 0 && { members: sent }) }
    const definition = groupDefinitionOf(applyPatch(names, resource, operations))
    if (needed.isReplaced) {
      return { definition, memberChange: { remove: 'others', add: await members.typed(zone, definition.members) } }
    }
    const idsBefore = new Set(before.map(({ memberId }) => memberId))
    const idsAfter = new Set(definition.members.map(({ memberId }) => memberId))
    const added = definition.members.filter(({ memberId }) => !idsBefore.has(memberId))
    const remove = [...idsBefore].filter(memberId => !idsAfter.has(memberId))
    return { definition, memberChange: { remove, add: await members.typed(zone, added) } }
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
      const { members: sent, ...draft } = groupDefinitionOf(readResource(names, body))
      const { zone, by } = context
      const group = await groups.create(zone, { ...draft, members: await members.typed(zone, sent) }, by)
      return shownOne(context, group, selection)
    },

    async replace(context, { body, selection, ...request }) {
      const definition = groupDefinitionOf(readResource(names, body))
      const group = await change(context, request, async () => ({
        definition,
        memberChange: { remove: 'others', add: await members.typed(context.zone, definition.members) },
      }))
      return shownOne(context, group, selection)
    },

    async patch(context, { body, selection, ...request }) {
      const operations = readOperations(names, body)
      const needed = neededMembers(names, operations)
      const group = await change(context, request, current => patched(context, current, { operations, needed }))
      return shownOne(context, group, selection)
    },

    async delete({ zone, by }, id, condition: Condition) {
      const { version } = await find(zone, id)
      checkMatch(condition, version)
      await groups.delete(zone, id, { by, ...(condition !== undefined && { expected: version }) })
    },
  }
}

const isSame = (group: Group, { displayName, description, externalId }: GroupDefinition): boolean =>
  group.displayName === displayName && group.description === description && group.externalId === externalId

/** Whether the group was changed since its version was read; that of the condition, if there is one, is checked again. */
const isStale = (cause: unknown): boolean =>
  cause instanceof OAuthError && cause.status === 409 && cause.error === 'scim'

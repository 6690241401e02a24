// The groups of SCIM, over the records and rules that every API of groups shares. Members are read and changed by their ids,
// and never all of them unless the request concerns all.
import { mapInBatches } from '../../../base/concurrency/in-batches.ts'
import type { Group } from '../../../model/users/group.ts'
import type { CursorPage, Page } from '../../../store/store.ts'
import { findGroup } from '../../../users/groups/group-changes.ts'
import { namesOf } from '../schemas/attribute.ts'
import { createGroupUpdates } from './group-updates.ts'
import { createGroupMembers } from './group-members.ts'
import { groupDefinitionOf, groupToJson, memberToJson } from './group-resource.ts'
import { neededMembers } from '../patch/member-operations.ts'
import type { Condition } from '../meta.ts'
import { deleteMatching } from '../meta.ts'
import { readOperations } from '../patch/patch-operations.ts'
import { readResource } from '../requests/reader.ts'
import type { Context, Resource, Resources } from './resources.ts'
import { GROUP } from '../schemas/schemas.ts'
import type { Selection } from '../requests/selection.ts'
import type { AdminDeps } from '../../deps.ts'

/** Groups made into resources at once: each may have hundreds of members. */
const BATCH = 16

/** One instance serves every zone. */
export function createScimGroups({ store, groups, service }: AdminDeps): Resources {
  const names = namesOf(GROUP)
  const members = createGroupMembers({ store, service })
  const { change, patched } = createGroupUpdates({ groups, members, names })

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
    context: Context,
    records: readonly Group[],
    selection: Selection,
  ): Promise<readonly Resource[]> {
    const { zone, base } = context
    const showsNames = selection.wants('members', 'display')
    const byGroup = selection.wants('members') ? await members.ofGroups(zone, records) : undefined
    const show = async (group: Group): Promise<Resource> => {
      const own = byGroup?.get(group.id)?.map(member => memberToJson({ member }, base))
      const json = selection.of({ ...groupToJson(group, base), ...(own && { members: own }) })
      const named: unknown[] = []
      if (own && showsNames) for await (const page of members.pages(context, group.id, selection)) named.push(...page)
      return {
        id: group.id,
        version: group.version,
        json: named.length === 0 ? json : { ...json, members: named },
        isOfVersion: own === undefined,
      }
    }
    return mapInBatches(records, show, showsNames ? 1 : BATCH)
  }

  return {
    names,

    async read(context, id, selection) {
      return shownOne(context, await findGroup(store, context.zone, id), selection)
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
      await deleteMatching(
        condition,
        () => findGroup(store, zone, id),
        expected => groups.delete(zone, id, { by, ...(expected !== undefined && { expected }) }),
      )
    },
  }
}

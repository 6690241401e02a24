// Computes what a request changes of a group and its members.
import type { Group } from '../../../model/users/group.ts'
import type { MemberChange } from '../../../store/store.ts'
import type { Groups } from '../../../users/groups/groups.ts'
import type { Names } from '../schemas/attribute.ts'
import type { GroupMembers } from './group-members.ts'
import { groupDefinitionOf, groupToJson, memberToJson } from './group-resource.ts'
import type { GroupDefinition } from './group-resource.ts'
import type { NeededMembers } from '../patch/member-operations.ts'
import { checkMatch } from '../meta.ts'
import type { Operation } from '../patch/patch-operations.ts'
import { applyPatch } from '../patch/patch.ts'
import type { Change, Context } from './resources.ts'

interface GroupUpdateDeps {
  readonly groups: Groups
  readonly members: GroupMembers
  readonly names: Names
}

interface ComputedChange {
  readonly definition: GroupDefinition
  readonly memberChange: MemberChange
}

/** One instance serves every zone. */
export function createGroupUpdates({ groups, members, names }: GroupUpdateDeps) {
  /** Changes the group by what is computed of it, again after a concurrent change. */
  async function change(
    { zone, by }: Context,
    { id, condition }: Pick<Change, 'id' | 'condition'>,
    compute: (group: Group) => Promise<ComputedChange>,
  ): Promise<Group> {
    const wanted = async (group: Group) => {
      checkMatch(condition, group.version)
      const { definition, memberChange } = await compute(group)
      if (isSame(group, definition) && memberChange.add.length === 0 && memberChange.remove.length === 0)
        return undefined
      const { displayName, description, externalId = null } = definition
      return { displayName, description, externalId, members: memberChange }
    }
    return groups.change(zone, id, wanted, { by })
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

  return { change, patched }
}

const isSame = (group: Group, { displayName, description, externalId }: GroupDefinition): boolean =>
  group.displayName === displayName && group.description === description && group.externalId === externalId

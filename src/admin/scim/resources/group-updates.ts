// Computes what a request changes of a group and its members, and repeats it after concurrent changes.
import { OAuthError } from '../../../model/oauth-error.ts'
import type { Group } from '../../../model/users/group.ts'
import type { MemberChange, Store } from '../../../store/store.ts'
import { findGroup } from '../../../users/groups/group-changes.ts'
import type { Groups } from '../../../users/groups/groups.ts'
import { tooManyConflicts } from '../../../users/refusal.ts'
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
  readonly store: Store
  readonly groups: Groups
  readonly members: GroupMembers
  readonly names: Names
}

const MAX_ATTEMPTS = 8

interface ComputedChange {
  readonly definition: GroupDefinition
  readonly memberChange: MemberChange
}

/** One instance serves every zone. */
export function createGroupUpdates({ store, groups, members, names }: GroupUpdateDeps) {
  /** Computes a change of the current group; repeats it after concurrent changes. */
  async function change(
    { zone, by }: Context,
    { id, condition }: Pick<Change, 'id' | 'condition'>,
    compute: (group: Group) => Promise<ComputedChange>,
  ): Promise<Group> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const group = await findGroup(store, zone, id)
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

  return { change, patched }
}

const isSame = (group: Group, { displayName, description, externalId }: GroupDefinition): boolean =>
  group.displayName === displayName && group.description === description && group.externalId === externalId

/** Whether the group was changed since its version was read; that of the condition, if there is one, is checked again. */
const isStale = (cause: unknown): boolean =>
  cause instanceof OAuthError && cause.status === 409 && cause.error === 'scim'

// Changes and deletes a group, for every API. A change reads the group and replaces the version that it read; when another
// process was faster, it is computed again.
import type { Clock } from '../../base/clock.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import type { Group, Member } from '../../model/users/group.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'
import type { MemberChange, Store } from '../../store/store.ts'
import { createChangeQueue, MAX_ATTEMPTS } from '../change-queue.ts'
import { noSuchResource, refuseResource, tooManyConflicts } from '../refusal.ts'
import { isDefaultGroup } from './default-groups.ts'
import { memberFacts } from './group-events.ts'
import type { GroupReport } from './group-events.ts'
import { refusalOf, staleGroup, toDefaultGroup } from './group-refusals.ts'
import type { GroupCaller, GroupRights } from './group-rights.ts'
import { checkDraft, checkMembers } from './group-rules.ts'
import type { GroupDraft } from './group-rules.ts'

/** A change of one group. */
export interface GroupChange {
  /** The version that it may replace; absent for any version. */
  readonly expected?: number | undefined
  readonly by: GroupCaller
}

/** Groups of every zone. */
export interface GroupChanges {
  /** Replaces what `compute` gives, if anything; it may run again if others change the group meanwhile. */
  change(zone: Zone, id: string, compute: Compute, change: GroupChange): Promise<Group>
  /** Deletes the group with its memberships and mappings, and returns its last state; members are not among it. */
  delete(zone: Zone, id: string, change: GroupChange): Promise<Group>
}

type Wanted = GroupDraft & { readonly members: MemberChange }
type Compute = (group: Group) => Wanted | Promise<Wanted | undefined>

interface ChangeDeps {
  readonly store: Store
  readonly clock: Clock
  readonly service: Service
  readonly behaviour: Behaviour
  readonly rights: GroupRights
  readonly report: GroupReport
}

/** One instance serves every zone. */
export function createGroupChanges(deps: ChangeDeps): GroupChanges {
  const { store, rights, report, clock } = deps
  const inTurn = createChangeQueue()

  async function replace(zone: Zone, before: Group, { members, ...draft }: Wanted, by: GroupCaller): Promise<Group> {
    checkDraft(zone, draft, deps)
    checkMembers(members.add)
    if (draft.displayName !== before.displayName) {
      // Providers assign groups by name: a new name could give other users the groups that it is nested in.
      await rights.checkGroup(zone, before, by)
      rights.checkNames(zone, [draft.displayName], by)
    }
    const after = { ...changed(before, draft), updatedAt: clock.now() }
    const mayAdd = await checkAdditions(zone, after, { add: members.add, by, deps })
    await store.groups.change(zone.id, after, { ...members, addsNone: !mayAdd })
    const written = { ...after, version: before.version + 1 }
    report('GroupModifiedEvent', written, { by, facts: memberFacts(members) })
    return written
  }

  /** Repeats an attempt that lost against another change. */
  const repeated = <T>(zone: Zone, id: string, attempt: () => Promise<T>): Promise<T> =>
    inTurn(JSON.stringify([zone.id, id]), async () => {
      for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
        try {
          return await attempt()
        } catch (cause) {
          if (!(cause instanceof ChangedMeanwhile)) throw cause
        }
      }
      throw tooManyConflicts('group', id)
    })

  return {
    change: (zone, id, compute, { expected, by }) =>
      repeated(zone, id, async () => {
        let wanted: Wanted | undefined
        try {
          const before = await findGroup(store, zone, id)
          if (expected !== undefined && before.version !== expected) throw staleGroup('updating', id)
          wanted = await compute(before)
          return wanted ? await replace(zone, before, wanted, by) : before
        } catch (cause) {
          throw failureOf(cause, id, wanted)
        }
      }),

    delete: (zone, id, { expected, by }) =>
      repeated(zone, id, async () => {
        const group = await findGroup(store, zone, id)
        if (expected !== undefined && group.version !== expected) throw staleGroup('deleting', id)
        await store.groups.delete(zone.id, id, group.version)
        report('GroupDeletedEvent', group, { by })
        return group
      }),
  }
}

/** The answer to a failed attempt; `ChangedMeanwhile` unchanged. */
function failureOf(cause: unknown, id: string, wanted: Wanted | undefined): unknown {
  if (!(cause instanceof AlreadyExists) || !wanted) return refusalOf(cause, { group: id, code: 'scim' })
  const message = `A group with displayName: ${wanted.displayName} already exists`
  return refuseResource('invalid_scim_resource', message, { cause })
}

/** Refuses an id that the zone does not have. */
export async function findGroup(store: Store, zone: Zone, id: string): Promise<Group> {
  const group = await store.groups.find(zone.id, id)
  if (!group) throw noSuchResource('Group', id)
  return group
}

function changed(group: Group, draft: GroupDraft): Group {
  const { description: _, externalId: current, ...kept } = group
  const { displayName, description, externalId = current } = draft
  return {
    ...kept,
    displayName,
    ...(description !== undefined && { description }),
    ...(externalId !== undefined && externalId !== null && { externalId }),
  }
}

/** False where the caller may not add members, but listed none other than existing ones: those of them that leave meanwhile stay out. */
async function checkAdditions(
  zone: Zone,
  group: Group,
  { add, by, deps }: { readonly add: readonly Member[]; readonly by: GroupCaller; readonly deps: ChangeDeps },
): Promise<boolean> {
  const { store, rights } = deps
  if (add.length === 0) return true
  if (isDefaultGroup(zone, group.displayName, deps)) throw toDefaultGroup()
  if (await rights.mayGive(zone, group, by)) return true
  for (const { memberId } of add) {
    if (!(await store.groups.findMember(zone.id, group.id, memberId))) await rights.checkGroup(zone, group, by)
  }
  return false
}

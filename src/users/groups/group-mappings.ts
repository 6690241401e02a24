// Mappings of groups of providers to groups here (`/Groups/External`), for every API.
import type { Clock } from '../../base/clock.ts'
import type { ExternalGroup, Group } from '../../model/users/group.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { MAX_GROUP_TEXT } from '../../records/group.ts'
import type { Store } from '../../store/store.ts'
import type { GroupReport } from './group-events.ts'
import type { GroupCaller, GroupRights } from './group-rights.ts'
import { MAX_ORIGIN_LENGTH } from './group-rules.ts'
import { refuseResource } from '../refusal.ts'

/** A requested mapping; the name of the external group in any case. */
type MappingDraft = Pick<ExternalGroup, 'externalGroup' | 'origin'>

/** Mappings of every zone. */
export interface GroupMappings {
  /** Adds the mapping unless it exists, and returns it. */
  map(zone: Zone, group: Group, mapping: MappingDraft, by: GroupCaller): Promise<ExternalGroup>
  unmap(zone: Zone, group: Group, mapping: MappingDraft, by: GroupCaller): Promise<ExternalGroup>
}

/** One instance serves every zone. */
export function createGroupMappings({
  store,
  clock,
  rights,
  report,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly rights: GroupRights
  readonly report: GroupReport
}): GroupMappings {
  return {
    async map(zone, group, draft, by) {
      const mapping = mappingOf(group, draft)
      if (mapping.externalGroup === '') {
        const message = 'external group must not be null when mapping an external group'
        throw refuseResource('scim_resource_constraint_failed', message)
      }
      for (const [name, max] of [
        ['externalGroup', MAX_GROUP_TEXT],
        ['origin', MAX_ORIGIN_LENGTH],
      ] as const) {
        if (mapping[name].length > max) {
          throw refuseResource('scim', `The value of ${name} must have at most ${max} characters`)
        }
      }
      await rights.checkGroup(zone, group, by)
      const existing = await store.groups.findExternal(zone.id, mapping)
      if (existing) return existing
      const made = { ...mapping, createdAt: clock.now() }
      await store.groups.addExternal(zone.id, made).catch(async (cause: unknown) => {
        if (await store.groups.find(zone.id, group.id)) throw cause
        throw refuseResource('scim', `Group ${group.id} does not exist`, { status: 404, cause }) // since it was read
      })
      report('GroupModifiedEvent', group, { by, facts: [`mapped=${made.origin} ${made.externalGroup}`] })
      return made
    },

    async unmap(zone, group, draft, by) {
      const mapping = mappingOf(group, draft)
      const existing = await store.groups.findExternal(zone.id, mapping)
      if (!existing || !(await store.groups.deleteExternal(zone.id, mapping))) {
        const message = `The mapping between groupId ${group.id} and external group ${draft.externalGroup} does not exist`
        throw refuseResource('scim', message, { status: 404 })
      }
      report('GroupModifiedEvent', group, { by, facts: [`unmapped=${mapping.origin} ${mapping.externalGroup}`] })
      return existing
    },
  }
}

const mappingOf = ({ id }: Group, { externalGroup, origin }: MappingDraft): ExternalGroup => ({
  groupId: id,
  externalGroup: externalGroup.trim().toLowerCase(),
  origin,
})

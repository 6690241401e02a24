// The policy of second factors in a change of a zone.
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { missingGroups } from '../../model/users/group.ts'
import { InvalidZoneConfig } from '../../model/zones/zone-rules.ts'
import type { Zone, ZoneConfig } from '../../model/zones/zone.ts'
import type { Store } from '../../store/store.ts'

type Policy = ZoneConfig['secondFactor']

/**
 * The policy after the request. Requests that omit it keep it: programs for UAA, which does not have it, would
 * otherwise switch it off with any change. Throws `InvalidZoneConfig` for groups and providers that the zone lacks and that
 * were not named before: the policy would apply to no user. A new zone has none yet.
 */
export async function secondFactorAfter(
  sent: JsonRecord,
  read: Policy,
  { before, store }: { readonly before: Zone | undefined; readonly store: Pick<Store, 'groups' | 'providers'> },
): Promise<Policy> {
  if (!before) return read
  const old = before.config.secondFactor ?? {}
  if (memberOf(sent, 'secondFactor') === undefined) return before.config.secondFactor
  const { groups = [], origins = [] } = read ?? {}
  const newGroups = groups.filter(name => !old.groups?.includes(name))
  const found = newGroups.length === 0 ? [] : await store.groups.findByNames(before.id, newGroups)
  const [unknownGroup] = missingGroups(newGroups, found)
  if (unknownGroup !== undefined) {
    throw new InvalidZoneConfig(`config.secondFactor.groups: there is no group named ${unknownGroup}`)
  }
  for (const origin of origins.filter(origin => !old.origins?.includes(origin))) {
    if (await store.providers.findByOrigin(before.id, origin)) continue
    throw new InvalidZoneConfig(`config.secondFactor.origins: there is no provider named ${origin}`)
  }
  return read
}

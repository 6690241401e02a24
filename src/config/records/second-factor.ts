// The policies of second factors in the configuration file.
import { behaviourOf } from '../../model/compatibility.ts'
import type { CompatibilityMode } from '../../model/compatibility.ts'
import { policyProblem, supportsLevels } from '../../model/users/second-factor.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'
import type { Problems } from '../problems.ts'
import type { Bootstrap, ClientRecord } from './records.ts'

/** Adds a broken rule between members of the policy of a zone; `path` is that of its settings. */
export function checkSecondFactor({ secondFactor = {} }: ZoneConfig, path: string, problems: Problems): void {
  if (!problems.hasValidTypes(`${path}.secondFactor`)) return
  const problem = policyProblem(secondFactor)
  if (problem) problems.add(`${path}.secondFactor.${problem.member}`, problem.message)
}

/** Warnings about clients that ask for a second factor where the zone has none. */
export function secondFactorWarnings(
  { identityZones, clients }: Pick<Bootstrap, 'identityZones' | 'clients'>,
  { zoneConfig, compatibility }: { readonly zoneConfig: ZoneConfig; readonly compatibility: CompatibilityMode },
): readonly string[] {
  const behaviour = behaviourOf(compatibility)
  const zones: readonly { config: ZoneConfig; clients: readonly ClientRecord[]; key: string }[] = [
    { config: zoneConfig, clients, key: 'zone_config' },
    ...identityZones.map(({ id, config, bootstrap }) => ({
      config,
      clients: bootstrap.clients,
      key: `the config of the zone ${id}`,
    })),
  ]
  return zones.flatMap(({ config, clients: own, key }) =>
    supportsLevels({ config }, behaviour)
      ? []
      : own
          .filter(client => (client['secondFactor'] ?? undefined) !== undefined)
          .map(
            client =>
              `client ${client.client_id}: its secondFactor has no effect, because that of the zone is off; set secondFactor.requirement in ${key}`,
          ),
  )
}

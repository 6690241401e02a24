// The public identifiers of zones in the configuration file: their issuers, and their entity ids in SAML.
import { isSameIssuer } from '../../model/zones/zone-names.ts'
import { InvalidZoneConfig, refuseForeignEntityId } from '../../model/zones/zone-rules.ts'
import type { SamlConfig } from '../../model/zones/zone.ts'
import type { Problems } from '../problems.ts'
import type { BootstrapFile } from './records.ts'

/**
 * Refuses those of the default zone for another one, as the API does. A zone without keys signs with those of the default zone:
 * nothing else tells the tokens and messages of the two apart.
 */
export function checkZoneIdentities(
  { identity_zones: zones }: BootstrapFile,
  {
    issuers,
    samlEntityId,
    problems,
  }: {
    readonly issuers: readonly (string | undefined)[]
    readonly samlEntityId: string
    readonly problems: Problems
  },
): void {
  if (!Array.isArray(zones)) return
  const taken = issuers.flatMap(issuer => URL.parse(issuer ?? '') ?? [])
  for (const [index, zone] of zones.entries()) {
    const key = `bootstrap.identity_zones[${index}]`
    if (!problems.hasValidTypes(key)) continue
    const { subdomain, config } = zone
    const issuer = URL.parse(config?.issuer ?? '')
    if (issuer && taken.some(each => isSameIssuer(each, issuer))) {
      problems.add(`${key}.config.issuer`, 'is that of the default zone')
    }
    const entityProblem = entityIdProblem(config?.samlConfig, {
      subdomain: subdomain.toLowerCase(),
      serverEntityId: samlEntityId,
    })
    if (entityProblem !== undefined) problems.add(`${key}.config.samlConfig.entityID`, entityProblem)
  }
}

function entityIdProblem(
  samlConfig: Pick<SamlConfig, 'entityID'> | undefined,
  names: Parameters<typeof refuseForeignEntityId>[1],
): string | undefined {
  try {
    refuseForeignEntityId(samlConfig, names)
    return undefined
  } catch (error) {
    if (error instanceof InvalidZoneConfig) return 'is that of the server, or of another zone'
    throw error
  }
}

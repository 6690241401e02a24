// The issuers of zones in the configuration file.
import { isSameIssuer } from '../model/zones/zone-names.ts'
import type { Problems } from './problems.ts'
import type { BootstrapFile } from './records.ts'

/**
 * Refuses the issuers of the default zone for another one, as the API does. A zone without keys signs with those of the default
 * zone: only the issuer tells the tokens of the two apart.
 */
export function checkIssuers(
  { identity_zones: zones }: BootstrapFile,
  { ofDefaultZone, problems }: { readonly ofDefaultZone: readonly (string | undefined)[]; readonly problems: Problems },
): void {
  if (!Array.isArray(zones)) return
  const taken = ofDefaultZone.flatMap(issuer => URL.parse(issuer ?? '') ?? [])
  for (const [index, zone] of zones.entries()) {
    const key = `bootstrap.identity_zones[${index}].config.issuer`
    const issuer = problems.hasValidTypes(key) ? URL.parse(zone.config?.issuer ?? '') : null
    if (issuer && taken.some(each => isSameIssuer(each, issuer))) problems.add(key, 'is that of the default zone')
  }
}

// The rules of a zone's settings that the schema cannot say. The API refuses the same.
import { standardDefaultGroups } from '../../model/zones/zone.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'
import { issuerProblem } from '../../model/zones/zone-names.ts'
import { checkZoneConfig, InvalidZoneConfig } from '../../model/zones/zone-rules.ts'
import { serviceNamed } from '../../model/service.ts'
import { checkZoneCors } from '../sections/cors.ts'
import type { Problems } from '../problems.ts'
import { checkRegistration } from './registration.ts'
import { checkSecondFactor } from './second-factor.ts'

/** Adds the broken rules; `path` is the key of the settings. */
export function checkZoneSettings(
  config: ZoneConfig,
  path: string,
  { problems, service }: { readonly problems: Problems; readonly service: string },
): void {
  checkZoneCors(config.corsPolicy, path, problems)
  checkSecondFactor(config, path, problems)
  checkRegistration(config, path, { problems, service })
  const issuer = config.issuer === undefined ? undefined : issuerProblem(config.issuer)
  if (issuer !== undefined) problems.add(`${path}.issuer`, issuer)
  if (problems.list.some(({ key }) => key.startsWith(`${path}.`))) return // the other rules may only repeat it
  try {
    checkZoneConfig(config, {
      standardDefaultGroups: standardDefaultGroups(service),
      service: serviceNamed(service),
    })
  } catch (error) {
    if (!(error instanceof InvalidZoneConfig)) throw error
    problems.add(path, error.message)
  }
}

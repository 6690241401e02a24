// The policies of dynamic registration in the configuration file.
import { scopesProblem } from '../../model/clients/registration.ts'
import { serviceNamed } from '../../model/service.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'
import type { Problems } from '../problems.ts'

/** Adds a broken rule of the policy of a zone; `path` is that of its settings. */
export function checkRegistration(
  { registration }: ZoneConfig,
  path: string,
  { problems, service }: { readonly problems: Problems; readonly service: string },
): void {
  if (!problems.hasValidTypes(`${path}.registration`)) return
  const problem = scopesProblem(registration, serviceNamed(service))
  if (problem !== undefined) problems.add(`${path}.registration.scopes`, problem)
}

import type { JsonRecord } from '../base/json.ts'
import { providerFromJson } from '../providers/provider-json.ts'
import type { Bootstrap } from './records.ts'

/** Warnings about identity providers of the configuration with which sign-in is not possible yet. */
export async function providerWarnings(
  { identityProviders, identityZones }: Pick<Bootstrap, 'identityProviders' | 'identityZones'>,
  serviceName: string,
): Promise<readonly string[]> {
  const records = [...identityProviders, ...identityZones.flatMap(({ bootstrap }) => bootstrap.identityProviders)]
  const warnings: string[] = []
  for (const record of records) {
    const { definition, problems } = providerFromJson({ ...record }, { serviceName })
    const directoryProblem = definition.type === 'ldap' ? await directoryProblemOf(definition.config) : undefined
    const texts = [
      ...problems.map(({ key, message }) => `${key}: ${message}`),
      ...(directoryProblem === undefined ? [] : [`config: ${directoryProblem}`]),
    ]
    warnings.push(...texts.map(text => `identity provider ${record.originKey}: it cannot be used as it is: ${text}`))
  }
  return warnings
}

/** The API accepts any directory, so a problem would otherwise show at the first sign-in. */
async function directoryProblemOf(config: JsonRecord): Promise<string | undefined> {
  const { directoryProblem } = await import('../identity/directory/settings.ts') // only needed with a directory
  return directoryProblem(config)
}

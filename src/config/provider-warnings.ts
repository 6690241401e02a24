import type { JsonRecord } from '../base/json.ts'
import { providerFromJson } from '../providers/provider-json.ts'
import { readSamlMetadata } from '../providers/saml-metadata.ts'
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
      ...(definition.type === 'saml' ? metadataProblems(definition.config) : []),
      ...(directoryProblem === undefined ? [] : [`config: ${directoryProblem}`]),
    ]
    warnings.push(...texts.map(text => `identity provider ${record.originKey}: it cannot be used as it is: ${text}`))
  }
  return warnings
}

/** Metadata at a URL is read at the first sign-in. */
function metadataProblems({ metaDataLocation: location }: JsonRecord): readonly string[] {
  if (typeof location !== 'string' || /^\s*https?:\/\//i.test(location)) return []
  const metadata = readSamlMetadata(location)
  if (metadata.outcome === 'readable') return []
  const reason = location.includes('<') ? `: ${metadata.problem}` : ''
  return [`config.metaDataLocation: must be an http or https URL, or the metadata itself${reason}`]
}

/** The API accepts any directory, so a problem would otherwise show at the first sign-in. */
async function directoryProblemOf(config: JsonRecord): Promise<string | undefined> {
  const { directoryProblem } = await import('../identity/directory/settings.ts') // only needed with a directory
  return directoryProblem(config)
}

import { providerFromJson } from '../providers/provider-json.ts'
import type { Bootstrap } from './records.ts'

/** Warnings about identity providers of the configuration with which sign-in is not possible yet; the API refuses such records. */
export function providerWarnings(
  { identityProviders, identityZones }: Pick<Bootstrap, 'identityProviders' | 'identityZones'>,
  serviceName: string,
): readonly string[] {
  const records = [...identityProviders, ...identityZones.flatMap(({ bootstrap }) => bootstrap.identityProviders)]
  return records.flatMap(record =>
    providerFromJson({ ...record }, { serviceName }).problems.map(
      ({ key, message }) => `identity provider ${record.originKey}: it cannot be used as it is: ${key}: ${message}`,
    ),
  )
}

// Reads the metadata of a SAML provider when its record is written, from the record or from a URL.
import { OutboundError } from '../../base/outbound.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import { isMetadataText } from '../../providers/saml-metadata.ts'
import { refuseWith } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'

/** Reads the entity id; refuses with 400 metadata that make sign-in impossible, or that cannot be fetched. */
export async function readEntityId(
  { zoneId, originKey }: { readonly zoneId: string; readonly originKey: string },
  config: JsonRecord,
  { outbound, clock, log }: AdminDeps,
): Promise<string> {
  const { metaDataLocation, metadataTrustCheck, metadataCertificates }: SamlProviderConfig = config
  const location = metaDataLocation ?? ''
  const isAddress = /^https?:\/\//i.test(location)
  if (!isAddress && !isMetadataText(location)) {
    throw refuseWith(400, `Invalid metadata type for alias[${originKey}]:${location.slice(0, 100)}`)
  }
  if (isAddress && metadataTrustCheck === true && !metadataCertificates) {
    const needed = 'metadataTrustCheck requires metadataCertificates if the metadata is fetched from a URL'
    throw refuseWith(400, `Invalid metadata for alias[${originKey}]: ${needed}`)
  }
  // Loaded here: most servers have no SAML provider.
  const { describe, fetchMetadata } = await import('../../identity/saml/providers.ts')
  const { SamlProblem } = await import('../../identity/saml/problem.ts')
  try {
    const share = { zoneId, purpose: 'background' } as const
    const text = isAddress ? await fetchMetadata(outbound.for('provider'), location, share) : location
    return describe({ config }, text, clock.now()).entityId
  } catch (error) {
    if (error instanceof SamlProblem) {
      throw refuseWith(400, `Invalid metadata for alias[${originKey}]: ${error.message}`)
    }
    if (!(error instanceof OutboundError)) throw error
    log.refusal(`SAML metadata of ${originKey}: ${error.message}`)
    // The reason could reveal hosts of the server's network.
    throw refuseWith(400, `The metadata for alias[${originKey}] cannot be fetched`)
  }
}

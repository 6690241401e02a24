// Reads the entity id of a SAML provider when its record is written, from inline metadata or from a URL.
import type { Outbound } from '../../base/outbound.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { JsonRecord } from '../../base/json.ts'
import { isMetadataText, MAX_METADATA_BYTES, readSamlMetadata } from '../../providers/saml-metadata.ts'
import { refuseWith } from './refusal.ts'

/** Reads the entity id; refuses with 400 metadata that is invalid or cannot be fetched. */
export type EntityIdReader = (
  record: { readonly zoneId: string; readonly originKey: string },
  config: JsonRecord,
) => Promise<string>

/** Fetches through `outbound`, which refuses private networks. */
export function createEntityIdReader(deps: {
  outbound: Outbound
  log: { refusal(message: string): void }
}): EntityIdReader {
  const { outbound, log } = deps

  async function fetchText({ zoneId, originKey }: Parameters<EntityIdReader>[0], address: string): Promise<string> {
    try {
      const accept = 'application/samlmetadata+xml, application/xml, text/xml'
      const response = await outbound.fetch(address, {
        headers: { accept },
        maxBytes: MAX_METADATA_BYTES,
        share: { zoneId, purpose: 'background' },
      })
      if (response.status !== 200) throw new OutboundError('bad-answer', `answered ${response.status}`)
      // The decoder drops a byte order mark.
      return new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())
    } catch (error) {
      if (error instanceof OutboundError) log.refusal(`SAML metadata of ${originKey}: ${error.message}`)
      else if (!(error instanceof TypeError)) throw error // invalid UTF-8
      // The reason could reveal hosts of the server's network.
      throw refuseWith(400, `The metadata for alias[${originKey}] cannot be fetched`)
    }
  }

  return async (record, config) => {
    const { originKey } = record
    const location = typeof config['metaDataLocation'] === 'string' ? config['metaDataLocation'] : ''
    const isAddress = /^https?:\/\//i.test(location)
    if (!isAddress && !isMetadataText(location)) {
      throw refuseWith(400, `Invalid metadata type for alias[${originKey}]:${location.slice(0, 100)}`)
    }
    const metadata = readSamlMetadata(isAddress ? (await fetchText(record, location)).trimStart() : location)
    if (metadata.outcome === 'readable') return metadata.entityId
    throw refuseWith(400, `Invalid metadata for alias[${originKey}]: ${metadata.problem}`)
  }
}

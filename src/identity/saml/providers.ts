// The metadata of identity providers, as their records hold it or name its address. Decides which document counts, and for how
// long; what is in it, provider-metadata.ts reads.
import { createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readCertificates } from '../../base/certificates/certificate.ts'
import type { Clock } from '../../base/clock.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'
import { digest } from '../../base/secrets.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { isMetadataText, MAX_METADATA_BYTES } from '../../providers/saml-metadata.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import { createDocuments } from '../sources/documents.ts'
import type { Fetched, Source } from '../sources/documents.ts'
import { resultOrProblem, SamlProblem } from './problem.ts'
import { readProviderMetadata, strongKeys } from './provider-metadata.ts'
import type { SamlProvider } from './provider-metadata.ts'
import { verifiedText } from './signed-xml.ts'

/** The providers that records describe. */
export interface SamlProviders {
  /** Throws a `SamlProblem` of the reason `metadata` while there is no usable metadata, and `OutboundBusy`. */
  read(record: IdentityProvider, purpose: OutboundShare['purpose']): Promise<SamlProvider>
  /** Whether browsers cannot be redirected there, as far as is known without reading metadata: a page may show a thousand records. */
  isOut(record: IdentityProvider): boolean
  /** What the metadata says that the provider is; undefined while there is no usable metadata. */
  entityIdOf(record: IdentityProvider): Promise<string | undefined>
  /** Fetches the metadata now, for a signature by an unknown key. Undefined if it was fetched recently. */
  renew(record: IdentityProvider): Promise<SamlProvider | undefined>
}

/** Dependencies of `createSamlProviders`. */
interface SamlProvidersDeps {
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: { refusal(message: string): void }
}

/** A record, as far as its metadata goes. */
type Described = Pick<IdentityProvider, 'config'>

const unusable = (detail: string): SamlProblem => new SamlProblem('metadata', detail)

/** One instance serves every zone. */
export function createSamlProviders({ outbound, clock, log }: SamlProvidersDeps): SamlProviders {
  const documents = createDocuments<SamlProvider>({ clock })
  /** Results for metadata in the record itself. */
  const inline = new WeakMap<IdentityProvider, SamlProvider | SamlProblem>()

  function inlineOf(record: IdentityProvider, text: string): SamlProvider {
    const described = inline.get(record) ?? resultOrProblem(() => describe(record, text, clock.now()))
    inline.set(record, described)
    if (described instanceof SamlProblem) throw described
    return described
  }

  async function get(record: IdentityProvider, address: string, share: OutboundShare): Promise<Fetched<SamlProvider>> {
    try {
      const document = describe(record, await fetchMetadata(outbound, address, share), clock.now())
      const { cacheSeconds } = document
      return { outcome: 'fetched', document, ...(cacheSeconds !== undefined && { cacheSeconds }) }
    } catch (error) {
      if (error instanceof OutboundError && error.failure === 'paused') return { outcome: 'paused' }
      if (!(error instanceof OutboundError || error instanceof SamlProblem)) throw error
      log.refusal(`SAML metadata of ${record.originKey}: ${error.message}`)
      return { outcome: 'failed' }
    }
  }

  const sourceOf = (record: IdentityProvider, address: string): Source<SamlProvider> => ({
    // The record also decides which metadata is acceptable.
    key: JSON.stringify([record.zoneId, address, digest(JSON.stringify(trustOf(record)))]),
    zoneId: record.zoneId,
    get: share => get(record, address, share),
  })

  /** Whether its entity id is that of the record: the document at a URL must not change to another provider. */
  function checked(record: IdentityProvider, provider: SamlProvider | undefined): SamlProvider {
    if (!provider) throw unusable('it cannot be fetched')
    const { externalKey } = record
    if (externalKey !== undefined && provider.entityId !== externalKey) {
      throw unusable('its entityID is not the one that the record was written with')
    }
    if (provider.validUntil && provider.validUntil <= clock.now()) {
      throw unusable('it is no longer valid (validUntil)')
    }
    return provider
  }

  async function read(record: IdentityProvider, purpose: OutboundShare['purpose']): Promise<SamlProvider> {
    const location = locationOf(record) ?? ''
    const isInline = location === '' || isMetadataText(location)
    return checked(
      record,
      isInline ? inlineOf(record, location) : await documents.read(sourceOf(record, location), purpose),
    )
  }

  return {
    read,
    async entityIdOf(record) {
      try {
        return (await read(record, 'background')).entityId
      } catch (error) {
        if (error instanceof SamlProblem) return undefined
        throw error
      }
    },
    isOut(record) {
      const location = locationOf(record) ?? ''
      const own = inline.get(record)
      const isInline = location === '' || isMetadataText(location)
      const cached = isInline ? own && { document: own } : documents.peek(sourceOf(record, location))
      if (!cached) return false
      const { document } = cached
      return !document || document instanceof SamlProblem || document.signOn.preferred === undefined
    },
    async renew(record) {
      const location = locationOf(record)
      if (location === undefined || isMetadataText(location)) return undefined
      const renewed = await documents.renew(sourceOf(record, location), 'sign-in')
      return renewed && checked(record, renewed)
    },
  }
}

const locationOf = ({ config }: Described): string | undefined => {
  const { metaDataLocation }: SamlProviderConfig = config
  return metaDataLocation ?? undefined
}

/** Fetches metadata; throws an `OutboundError`, or a `SamlProblem` if it is no UTF-8. */
export async function fetchMetadata(outbound: Outbound, address: string, share: OutboundShare): Promise<string> {
  const accept = 'application/samlmetadata+xml, application/xml, text/xml'
  const response = await outbound.fetch(address, { headers: { accept }, maxBytes: MAX_METADATA_BYTES, share })
  if (response.status !== 200) throw new OutboundError('bad-answer', `answered ${response.status}`)
  try {
    // The decoder drops a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer()).trimStart()
  } catch {
    throw new OutboundError('bad-answer', 'the response is not UTF-8')
  }
}

const trustOf = ({ config }: Described): readonly unknown[] => {
  const { metadataTrustCheck, metadataCertificates }: SamlProviderConfig = config
  return metadataTrustCheck === true ? [metadataCertificates ?? null] : []
}

/** Reads the metadata of a record, with the checks that the record asks for; throws a `SamlProblem` of the reason `metadata`. */
export const describe = (record: Described, text: string, now: Date): SamlProvider =>
  readProviderMetadata(trustedText(record, text), now)

/**
 * The received text or, if the record requires signed metadata (`metadataTrustCheck`), what its signature covers.
 * Keys are those of `metadataCertificates`; metadata in the record itself may do without, and must then be signed by one of
 * its own.
 */
function trustedText({ config }: Described, text: string): string {
  const { metadataTrustCheck, metadataCertificates, metaDataLocation }: SamlProviderConfig = config
  if (metadataTrustCheck !== true) return text
  if (metadataCertificates) return verified(text, keysOf(metadataCertificates))
  if (!isMetadataText(metaDataLocation ?? '')) throw unusable('metadataCertificates must say who signs it')
  return verified(text, readProviderMetadata(text, new Date(0)).signingKeys)
}

function verified(text: string, keys: readonly KeyObject[]): string {
  try {
    return `<?xml version="1.0"?>${verifiedText(text, keys)}`
  } catch (error) {
    if (error instanceof SamlProblem) throw unusable(`its signature cannot be verified (${error.reason})`)
    throw error
  }
}

const keysOf = (pem: string): readonly KeyObject[] =>
  strongKeys(
    (readCertificates(pem) ?? []).map(({ publicPem }) => createPublicKey(publicPem)),
    'metadataCertificates',
  )

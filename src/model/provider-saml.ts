// The record of a SAML identity provider (§6.5). Its metadata may be at an address, so that whoever writes the record reads
// the entity id; what the metadata is worth is decided at sign-in.
import { EXTERNAL_MEMBERS, FLAG, isPlainText, member, oneOf, TEXT, TEXTS, URL_TEXT, WHOLE } from './provider-members.ts'
import type { Kind } from './provider-members.ts'
import type { ProviderRecordType } from './provider-types.ts'
import { readSamlMetadata } from './saml-metadata.ts'

/** Metadata as text, or its address. */
const LOCATION: Kind = { ...TEXT, read: value => (isPlainText(value) ? value.trim() || null : undefined) }

/** An address, or the image itself; UAA's clients also send an empty text. */
const ICON: Kind = {
  expected: 'an http or https URL, or a data: URL of an image',
  read: value => (typeof value === 'string' && /^data:image\//i.test(value) ? TEXT.read(value) : URL_TEXT.read(value)),
}

/** Its people come with signed assertions. */
export const SAML_RECORD: ProviderRecordType = {
  type: 'saml',
  needsConfig: true,
  members: [
    ...EXTERNAL_MEMBERS,
    member('metaDataLocation', LOCATION),
    member('idpEntityAlias', TEXT),
    member('zoneId', TEXT),
    member('nameID', TEXT),
    member('assertionConsumerIndex', WHOLE, 0),
    member('metadataTrustCheck', FLAG, false),
    member('showSamlLink', FLAG, false),
    member('linkText', TEXT),
    member('iconUrl', ICON),
    member('groupMappingMode', oneOf('EXPLICITLY_MAPPED', 'AS_SCOPES'), 'EXPLICITLY_MAPPED'),
    member('skipSslValidation', FLAG, false),
    member('authnContext', TEXTS),
    // Named a Java class once.
    member('socketFactoryClassName', { expected: 'anything', read: () => null }),
  ],
  check: () => [],
  computed: ({ config, originKey, zoneId }) => ({
    idpEntityAlias: originKey,
    zoneId,
    linkText: config['linkText'] ?? originKey,
  }),
  externalKey(config) {
    const location = config['metaDataLocation']
    if (typeof location !== 'string') return undefined
    const metadata = readSamlMetadata(location)
    return metadata.outcome === 'readable' ? metadata.entityId : undefined
  },
}

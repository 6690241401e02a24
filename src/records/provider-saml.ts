// The settings of a SAML identity provider (§6.5).
import * as v from 'valibot'
import { string } from './kinds.ts'
import { acrMapping, choice, externalMembers, image, number, text, stringList, boolean } from './provider.ts'
import { section, setting } from './settings.ts'
import type { SettingsOf } from './settings.ts'

const location = setting({
  kind: v.pipe(
    string,
    v.transform(value => value.trim() || undefined),
  ),
  needs: 'a string',
  unset: null,
  about: 'The metadata as XML, or its address.',
})

/** Users come with signed assertions. */
export const samlSettings = section({
  unknown: 'ignored',
  members: {
    ...externalMembers,
    metaDataLocation: location,
    idpEntityAlias: text(null),
    zoneId: text(null),
    nameID: text(null),
    assertionConsumerIndex: number(0),
    metadataTrustCheck: boolean(false, { about: 'Whether the metadata must be signed.' }),
    metadataCertificates: text(undefined, {
      about:
        'Certificates in PEM, one of whose keys signs the metadata where `metadataTrustCheck` is true. Metadata in the record itself may be signed by one of its own keys instead.',
    }),
    showSamlLink: boolean(false),
    linkText: text(null),
    iconUrl: image(null),
    groupMappingMode: choice(['EXPLICITLY_MAPPED', 'AS_SCOPES'], 'EXPLICITLY_MAPPED'),
    skipSslValidation: boolean(false),
    authnContext: stringList(null),
    acrMapping,
    allowIdpInitiated: boolean(undefined, {
      about:
        'Whether sign-ins may begin at the provider. Without it: with `compatibility: uaa`, and where the zone has `samlConfig.disableInResponseToCheck`.',
    }),
    // Named a Java class once.
    socketFactoryClassName: setting({ kind: v.unknown(), needs: 'anything', unset: null, dropped: 'always' }),
  },
})

/** The stored settings. */
export type SamlProviderConfig = SettingsOf<typeof samlSettings>

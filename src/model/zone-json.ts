// A zone between the wire and the model. The settings are kept as they were sent, without what is only said by default,
// and shown complete; keys never leave, so they are read apart (zone-saml.ts, and the keys of tokens in the API itself).
import type { JsonRecord } from '../base/json.ts'
import { isJsonRecord } from '../base/json.ts'
import { ACCESS_TOKEN_TYPES } from '../records/client.ts'
import { LEGACY_SAML_KEY, samlActiveKeyId } from './zone-saml.ts'
import type { Field } from './zone-shape.ts'
import {
  corsPart,
  flag,
  ignored,
  number,
  object,
  oneOf,
  optionalOneOf,
  records,
  text,
  textMap,
  texts,
} from './zone-shape.ts'
import type { Zone, ZoneConfig } from './zone.ts'
import { usualDefaultGroups } from './zone.ts'

/** The two directions of a zone's settings. */
export interface ZoneConfigShape {
  /** What is kept of the settings that were sent, but for the keys. Throws `WrongShape`. */
  read(config: unknown): ZoneConfig
  /** The settings with every default, and without keys. */
  show(config: ZoneConfig): JsonRecord
}

const PROMPTS = [
  { name: 'username', type: 'text', text: 'Email' },
  { name: 'password', type: 'password', text: 'Password' },
  { name: 'passcode', type: 'password', text: 'Temporary Authentication Code (Get on at /passcode)' },
]

const cors = (): Field =>
  corsPart({
    allowedOrigins: texts(['.*']),
    allowedOriginPatterns: texts([]),
    allowedUris: texts(['.*']),
    allowedUriPatterns: texts([]),
    allowedHeaders: texts(['Accept', 'Authorization', 'Content-Type']),
    allowedMethods: texts(['GET']),
    allowedCredentials: flag(false),
    maxAge: number(1_728_000),
  })

/** Every member of the settings that is known (§5.2); others are dropped. */
export function zoneConfigShape(serviceName: string): ZoneConfigShape {
  const shape = object(
    {
      clientSecretPolicy: object({
        minLength: number(-1),
        maxLength: number(-1),
        requireUpperCaseCharacter: number(-1),
        requireLowerCaseCharacter: number(-1),
        requireDigit: number(-1),
        requireSpecialCharacter: number(-1),
        expireSecretInMonths: ignored(),
      }),
      tokenPolicy: object({
        accessTokenValidity: number(-1),
        refreshTokenValidity: number(-1),
        jwtRevocable: flag(false),
        refreshTokenUnique: flag(false),
        refreshTokenRotate: flag(false),
        refreshTokenFormat: oneOf('opaque', 'jwt'),
        accessTokenType: optionalOneOf(ACCESS_TOKEN_TYPES), // row T7
        activeKeyId: text(null),
      }),
      samlConfig: object({
        requestSigned: flag(true),
        wantAssertionSigned: flag(true),
        disableInResponseToCheck: flag(false),
        entityID: text(null),
        activeKeyId: text(null),
      }),
      corsPolicy: object({ xhrConfiguration: cors(), defaultConfiguration: cors() }, { nullable: false }),
      links: object({
        selfService: object({ selfServiceLinksEnabled: flag(true), signup: text(null), passwd: text(null) }),
        homeRedirect: text(null),
        logout: object({
          redirectUrl: text('/login'),
          redirectParameterName: text('redirect'),
          disableRedirectParameter: ignored(false),
          whitelist: texts(null),
        }),
      }),
      prompts: records(['name', 'type', 'text'], PROMPTS),
      idpDiscoveryEnabled: flag(false),
      accountChooserEnabled: flag(false),
      branding: object(
        {
          companyName: text(),
          productLogo: text(),
          squareLogo: text(),
          footerLegalText: text(),
          footerLinks: textMap(),
          banner: object(
            { text: text(), logo: text(), link: text(), textColor: text(), backgroundColor: text() },
            { optional: true },
          ),
          consent: object({ text: text(), link: text() }, { optional: true }),
        },
        { optional: true },
      ),
      userConfig: object({
        defaultGroups: texts(usualDefaultGroups(serviceName)),
        allowedGroups: texts(null),
        maxUsers: number(-1, -(2 ** 31)), // what is no limit is told with a text of its own
        checkOriginEnabled: flag(false),
        allowOriginLoop: flag(true),
      }),
      issuer: text(undefined, { nullable: false }), // left out: who sends null back is refused
      defaultIdentityProvider: text(null),
      require_nonce: flag(), // row A8
    },
    { nullable: false },
  )
  return {
    read: config => shape.read(config, 'config') as ZoneConfig, // the table above has the members of the type
    show: config => shape.show(config) as JsonRecord, // an object that is not optional shows an object
  }
}

/** Which key signs tokens, as far as the zone chose one. */
export interface ShownKeys {
  readonly activeKeyId?: string | undefined
}

/** The record of a zone as the API shows it (§5.1 to §5.3); `reduced` for who may only read inside of the zone. */
export function zoneToJson(
  zone: Zone,
  { activeKeyId }: ShownKeys,
  { shape, reduced = false }: { readonly shape: ZoneConfigShape; readonly reduced?: boolean },
): JsonRecord {
  const { tokenPolicy, samlConfig, ...others } = shape.show(zone.config)
  const config = reduced
    ? others
    : {
        ...others,
        tokenPolicy: { ...(isJsonRecord(tokenPolicy) && tokenPolicy), activeKeyId: activeKeyId ?? null },
        samlConfig: { ...(isJsonRecord(samlConfig) && samlConfig), ...shownSamlKeys(zone.config) },
      }
  return {
    id: zone.id,
    subdomain: zone.subdomain,
    name: zone.name,
    ...(zone.description !== undefined && { description: zone.description }),
    version: zone.version,
    active: zone.active,
    created: zone.createdAt.getTime(),
    last_modified: zone.updatedAt.getTime(),
    config,
  }
}

/** Certificates only; the old form repeats the key with the reserved name. */
function shownSamlKeys({ samlConfig = {} }: ZoneConfig): JsonRecord {
  const keys = samlConfig.keys ?? {}
  const shown = Object.entries(keys).map(([id, { certificate }]) => [id, { certificate }] as const)
  const legacy = Object.hasOwn(keys, LEGACY_SAML_KEY) ? keys[LEGACY_SAML_KEY] : undefined
  return {
    activeKeyId: samlActiveKeyId(samlConfig) ?? null,
    keys: Object.fromEntries(shown),
    ...(legacy && { certificate: legacy.certificate }),
  }
}

// The types of identity providers. A new one is a description in records/ and an entry in this list, with the rules
// across its members.
import { readCertificates } from '../base/certificates/certificate.ts'
import type { JsonRecord } from '../base/json.ts'
import { keystoneSettings } from '../records/provider.ts'
import { internalSettings } from '../records/provider-internal.ts'
import type { InternalProviderConfig } from '../records/provider-internal.ts'
import { ldapSettings } from '../records/provider-ldap.ts'
import { oauthSettings, oidcSettings } from '../records/provider-oauth.ts'
import { samlSettings } from '../records/provider-saml.ts'
import type { SamlProviderConfig } from '../records/provider-saml.ts'
import type { Section } from '../records/settings.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { authMethodOf, checkOauth, checkOidc } from './provider-oauth.ts'
import { readSamlMetadata } from './saml-metadata.ts'

/** A violated rule. */
export interface ProviderProblem {
  /** The member, with dots in between: `config.lockoutPolicy.countFailuresWithin`. */
  readonly key: string
  readonly message: string
  /**
   * `malformed`: a member outside `config` has the wrong type. `unreadable`: `config` does not match its type.
   * `invalid`: a value is not allowed. `unusable`: could be stored, but not used for sign-in.
   */
  readonly kind: 'malformed' | 'unreadable' | 'invalid' | 'unusable'
}

/** One type of provider: its settings, in the order of responses, and their rules. */
export interface ProviderType {
  readonly type: string
  readonly settings: Section
  /** Whether `config` is required. */
  readonly needsConfig?: true
  /** Problems across valid settings; keys are relative to `config`. */
  check?(config: JsonRecord): readonly ProviderProblem[]
  /** Settings that responses compute. */
  readonly computed?: (provider: IdentityProvider) => JsonRecord
  /** The issuer or entity id, unique per type and zone; undefined if `config` has none. */
  readonly externalKey?: (config: JsonRecord) => string | undefined
}

const { passwordPolicy, lockoutPolicy } = internalSettings.members
const OPTIONAL: ReadonlySet<string> = new Set(['passwordNewerThan', 'refuseCommonPasswords', 'refuseOwnWords'])
const POLICIES = [
  ['passwordPolicy', Object.keys(passwordPolicy.members).filter(name => !OPTIONAL.has(name))],
  ['lockoutPolicy', Object.keys(lockoutPolicy.members)],
] as const

/** A policy must have all of its numbers: a missing one would disable a rule. */
function checkInternal(config: InternalProviderConfig): readonly ProviderProblem[] {
  return POLICIES.flatMap(([name, numbers]) => {
    const policy = config[name]
    if (policy === undefined) return []
    const isCount = (number: unknown): boolean => typeof number === 'number' && number >= 0
    return numbers
      .filter(each => !isCount(Reflect.get(policy, each)))
      .map(each => ({
        key: `${name}.${each}`,
        message: 'must be a whole number that is not negative',
        kind: 'invalid' as const,
      }))
  })
}

/** Characters; ten chains of certificates have fewer. Reading a megabyte of them would take long. */
const MAX_CERTIFICATES_LENGTH = 65_536

/** Certificates of the signer of the metadata; whether they are needed depends on where it is. */
function checkSaml({ metadataCertificates: pem }: SamlProviderConfig): readonly ProviderProblem[] {
  if (pem === undefined || pem === null) return []
  if (pem.length <= MAX_CERTIFICATES_LENGTH && readCertificates(pem)) return []
  const message = `must be certificates in PEM, of ${MAX_CERTIFICATES_LENGTH} characters at most`
  return [{ key: 'metadataCertificates', message, kind: 'invalid' }]
}

const oauth = {
  needsConfig: true,
  computed: ({ config }: IdentityProvider): JsonRecord => ({ authMethod: authMethodOf(config) }),
  externalKey: ({ issuer }: JsonRecord) => (typeof issuer === 'string' && issuer !== '' ? issuer : undefined),
} as const

const TYPES: readonly ProviderType[] = [
  { type: 'ldap', settings: ldapSettings },
  {
    type: 'saml',
    settings: samlSettings,
    needsConfig: true,
    check: checkSaml,
    computed: ({ config, originKey, zoneId }) => ({
      idpEntityAlias: originKey,
      zoneId,
      linkText:
        typeof config['linkText'] === 'string' && config['linkText'].trim() !== '' ? config['linkText'] : originKey,
    }),
    externalKey({ metaDataLocation: location }) {
      const metadata = typeof location === 'string' ? readSamlMetadata(location) : undefined
      return metadata?.outcome === 'readable' ? metadata.entityId : undefined
    },
  },
  { ...oauth, type: 'oauth2.0', settings: oauthSettings, check: checkOauth },
  { ...oauth, type: 'oidc1.0', settings: oidcSettings, check: checkOidc },
  { type: 'keystone', settings: keystoneSettings },
]

/** Every type with settings of its own; the internal one has the name of the service. */
export const providerTypes = (serviceName: string): readonly ProviderType[] => [
  { type: serviceName, settings: internalSettings, check: checkInternal },
  ...TYPES,
]

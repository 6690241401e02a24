// The types of identity providers: a new one is a description in records/ and an entry in this list, with the rules that
// one member alone cannot say.
import type { JsonRecord } from '../base/json.ts'
import { keystoneSettings } from '../records/provider.ts'
import { internalSettings } from '../records/provider-internal.ts'
import type { InternalProviderConfig } from '../records/provider-internal.ts'
import { ldapSettings } from '../records/provider-ldap.ts'
import { oauthSettings, oidcSettings } from '../records/provider-oauth.ts'
import { samlSettings } from '../records/provider-saml.ts'
import type { Section } from '../records/settings.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import { authMethodOf, checkOauth, checkOidc } from './provider-oauth.ts'
import { readSamlMetadata } from './saml-metadata.ts'

/** A rule that a record breaks. */
export interface ProviderProblem {
  /** The member, with dots in between: `config.lockoutPolicy.countFailuresWithin`. */
  readonly key: string
  readonly message: string
  /**
   * `malformed`: a member of the envelope has another type. `unreadable`: the config does not fit its type. `invalid`: what
   * it says must not be. `unusable`: nobody could sign in by it, though it could be kept.
   */
  readonly kind: 'malformed' | 'unreadable' | 'invalid' | 'unusable'
}

/** One type of provider: its settings, in the order in which an answer has them, and their rules. */
export interface ProviderType {
  readonly type: string
  readonly settings: Section
  /** Whether a record without any config is refused. */
  readonly needsConfig?: true
  /** What is wrong with settings that each are right; keys are relative to `config`. */
  check?(config: JsonRecord): readonly ProviderProblem[]
  /** Settings that an answer computes instead of repeating what is kept. */
  readonly computed?: (provider: IdentityProvider) => JsonRecord
  /** What the provider calls itself, unique among those of its type in the zone; undefined when the config does not say. */
  readonly externalKey?: (config: JsonRecord) => string | undefined
}

const { passwordPolicy, lockoutPolicy } = internalSettings.members
const POLICIES = [
  ['passwordPolicy', Object.keys(passwordPolicy.members).filter(name => name !== 'passwordNewerThan')],
  ['lockoutPolicy', Object.keys(lockoutPolicy.members)],
] as const

/** Every number of a policy must be there, or a gap would switch off what it is about. */
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
    computed: ({ config, originKey, zoneId }) => ({
      idpEntityAlias: originKey,
      zoneId,
      linkText: config['linkText'] ?? originKey,
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

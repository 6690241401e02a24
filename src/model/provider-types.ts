// The types of identity providers: a new one is one file and one entry in this list.
import type { JsonRecord } from '../base/json.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { internalRecord } from './provider-internal.ts'
import { LDAP_RECORD } from './provider-ldap.ts'
import { EXTERNAL_MEMBERS } from './provider-members.ts'
import type { Member } from './provider-members.ts'
import { OAUTH_RECORD, OIDC_RECORD } from './provider-oauth.ts'
import { SAML_RECORD } from './provider-saml.ts'

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

/** The record of one type of provider: its members, in the order in which an answer has them, and their rules. */
export interface ProviderRecordType {
  readonly type: string
  readonly members: readonly Member[]
  /** Whether a record without any config is of no use. */
  readonly needsConfig: boolean
  /** What is wrong with members that have the right types; keys are relative to `config`. */
  readonly check: (config: JsonRecord) => readonly ProviderProblem[]
  /** Members that an answer computes instead of repeating what is kept. */
  readonly computed: (provider: IdentityProvider) => JsonRecord
  /** What the provider calls itself, unique among those of its type in the zone; undefined when the config does not say. */
  readonly externalKey: (config: JsonRecord) => string | undefined
}

/** Kept, though no login path uses it; `additionalConfiguration` holds its settings. */
const KEYSTONE_RECORD: ProviderRecordType = {
  type: 'keystone',
  members: EXTERNAL_MEMBERS,
  needsConfig: false,
  check: () => [],
  computed: () => ({}),
  externalKey: () => undefined,
}

/** Every type with a record of its own; the internal one has the name of the service. */
export const providerRecordTypes = (serviceName: string): readonly ProviderRecordType[] => [
  internalRecord(serviceName),
  LDAP_RECORD,
  SAML_RECORD,
  OAUTH_RECORD,
  OIDC_RECORD,
  KEYSTONE_RECORD,
]
